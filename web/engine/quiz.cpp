// SPDX-License-Identifier: MIT
// Questions about gradients: the right answer, and the wrong ones that well-known mistakes give.
#include <algorithm>
#include <array>
#include <cmath>

#include "exchange.hpp"
#include "gradwalk/random.hpp"
#include "gradwalk/walk.hpp"

using namespace gradwalk;
using namespace gradwalk::web;

namespace {

struct Mistake {
  std::string_view rule;
  double value;
};

struct Question {
  std::size_t node;
  double answer;
  std::vector<Mistake> mistakes;
};

// Sums may be added up in another order by a rule that is wrong elsewhere.
bool is_same(double x, double y) { return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y)); }

Question ask(const Snapshot& graph, std::size_t node) {
  Question question{node, Walk(graph).outcomes()[node].gradient, {}};
  for (const WalkRule rule :
       {WalkRule::overwrite, WalkRule::forward_order, WalkRule::recursion, WalkRule::no_visited}) {
    const Walk walk(graph, {.rule = rule});
    const double value = walk.outcomes()[node].gradient;
    if (walk.is_complete() && !is_same(value, question.answer)) question.mistakes.push_back({info(rule).name, value});
  }
  return question;
}

std::string to_json(const Snapshot& graph, const Question& question) {
  JsonWriter json;
  json.object([&] {
    json("ask").value(graph.nodes[question.node].name);
    json("node").value(question.node);
    json("answer").value(question.answer);
    json("mistakes").array(question.mistakes, [&](const Mistake& mistake) {
      json.object([&] {
        json("rule").value(mistake.rule);
        json("value").value(mistake.value);
      });
    });
  });
  return json.take();
}

std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random.below(n)); }

// One to three leaves and two or three operations, five named nodes at most; each works on the one before it.
std::string random_text(Random& random) {
  constexpr std::array<std::string_view, 5> names{"a", "b", "c", "d", "e"};
  const std::size_t leaves = 1 + below(random, 3), operations = leaves == 3 ? 2 : 2 + below(random, 2);
  const auto number = [&] {
    const std::uint64_t size = 1 + below(random, 5);
    return (below(random, 3) == 0 ? "-" : "") + std::to_string(size);
  };
  std::string text;
  for (std::size_t i = 0; i < leaves + operations; ++i) {
    text.append(i == 0 ? "" : "; ").append(names[i]) += " = ";
    if (i < leaves) {
      text += number();
      continue;
    }
    std::string x(names[i == leaves ? below(random, leaves) : i - 1]);
    std::string y = below(random, 4) == 0 ? std::to_string(1 + below(random, 3)) : std::string(names[below(random, i)]);
    if (below(random, 2) == 0) std::swap(x, y);
    constexpr std::array<std::string_view, 8> signs{"+", "+", "+", "*", "*", "*", "*", "-"};
    text.append(x).append(" ").append(signs[below(random, signs.size())]).append(" ").append(y);
  }
  return text;
}

// Whether it can be answered in one's head, and answered wrong: short numbers, and a mistake that shows.
bool is_good(const Snapshot& graph, const Question& question) {
  const auto is_short = [](double x) { return std::abs(x) <= 200; };
  const bool is_easy = std::ranges::all_of(graph.nodes, [&](const auto& node) { return is_short(node.data); });
  return is_easy && is_short(question.answer) && question.answer != 0 && !question.mistakes.empty();
}

void give_quiz(const std::string& text, const Snapshot& graph, const Question& question) {
  JsonWriter json;
  json.object([&] { json("expression").value(text); });
  give(merged(json.take(), to_json(graph, question)));
}

}  // namespace

GRADWALK_CALL(check)(const char* text, std::size_t size, const char* name, std::size_t name_size) {
  const std::optional<Snapshot> graph = read_snapshot({text, size}, {});
  if (!graph) return;
  const std::optional<std::size_t> node = graph->find(std::string_view(name, name_size));
  if (!node || graph->nodes[*node].is_constant())
    return refuse(Error("check", "a node that is no constant", "'" + std::string(name, name_size) + "'",
                        "name one of the graph"));
  give(to_json(*graph, ask(*graph, *node)));
}

GRADWALK_CALL(quiz)(double seed) {
  Random random(count(seed, "quiz", 0xffffffff));
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    const std::string text = random_text(random);
    const Expression expression = std::get<Expression>(try_parse(text));
    const Snapshot graph = snapshot(expression.root);
    const bool uses_all =
        std::ranges::all_of(expression.names, [&](const auto& named) { return graph.find(named.second).has_value(); });
    if (!uses_all) continue;
    const std::size_t node = *graph.find(expression.names[below(random, expression.names.size() - 1)].second);
    const Question question = ask(graph, node);
    if (is_good(graph, question)) return give_quiz(text, graph, question);
  }
  const std::string text = "a = 2; b = a + 1; c = 3 * a; d = b * c";
  const Snapshot graph = snapshot(std::get<Expression>(try_parse(text)).root);
  give_quiz(text, graph, ask(graph, *graph.find("a")));
}
