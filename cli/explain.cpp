// SPDX-License-Identifier: MIT
// gradwalk explain: splits a gradient into its deposits and into its paths from the root.
#include "gradwalk/explain.hpp"

#include <fmt/ranges.h>

#include <memory>

#include "commands.hpp"
#include "gradwalk/expression.hpp"
#include "input.hpp"
#include "show.hpp"
#include "table.hpp"

namespace gradwalk::cli {
namespace {

struct ExplainArguments {
  Input input;
  std::size_t paths = default_paths;
  bool json = false;
  int digits = 6;
};

std::string plural(const std::string& count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == "1" ? "" : "s");
}

// Joins the texts of the items. A long list is shortened to its first 8 and last 4 items.
template <class T, class Text> std::string join(const std::vector<T>& items, const char* separator, Text text_of) {
  constexpr std::size_t first = 8, last = 4;
  const bool is_long = items.size() > first + last + 1;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (is_long && i == first) {
      words.push_back("...");
      i = items.size() - last;
    }
    words.push_back(text_of(items[i]));
  }
  return fmt::format("{}", fmt::join(words, separator));
}

void print(const Explanation& explanation, int digits) {
  const Show show(explanation.graph, digits);
  const std::string node = show.gradient_of(explanation.node), root = show.name(explanation.graph.root());
  const std::string gradient = show.number(explanation.gradient);
  if (explanation.node == explanation.graph.root()) {
    fmt::print("{} = 1, the seed: it is the root, where backward() starts.\n", node);
    return;
  }
  fmt::print("{} = {}, the sum of {}:\n", node, gradient,
             plural(std::to_string(explanation.deposits.size()), "deposit"));
  std::vector<std::vector<std::string>> rows;
  for (const Explanation::Deposit& deposit : explanation.deposits)
    rows.push_back(
        {"", show.number(deposit.amount), "from " + show.definition(deposit.from),
         fmt::format("{} * {} = {} * {}", show.gradient_of(deposit.from), show.local(deposit.from, deposit.operand),
                     show.number(deposit.gradient), show.number(deposit.local))});
  fmt::print("{}", table(rows, "lrl"));

  const std::string& count = explanation.path_count;
  const std::string many =
      count.size() > 60 ? fmt::format("a number of paths with {} digits", count.size()) : plural(count, "path");
  if (std::to_string(explanation.paths.size()) == count) {
    fmt::print("\nand the sum of {} from {}:\n", many, root);
  } else {
    fmt::print("\nand the sum of {} from {}; the {} that contribute most:\n", many, root, explanation.paths.size());
  }
  rows.clear();
  for (const Explanation::Path& path : explanation.paths)
    rows.push_back({"", show.number(path.product),
                    join(path.nodes, " -> ", [&](std::size_t i) { return show.name(i); }),
                    join(path.locals, " * ", [&](double local) { return show.number(local); })});
  fmt::print("{}", table(rows, "lrl"));
}

void run(const ExplainArguments& options) {
  const Expression expression = parse(options.input.text());
  Snapshot graph = snapshot(expression.root);
  std::optional<std::size_t> node = graph.find(options.input.name());
  for (const auto& [name, value] : expression.names)  // a node may have a second name, as b in 'a=2; b=a'
    if (!node && name == options.input.name()) node = graph.find(value);
  if (!node) {
    std::string names;
    for (const Snapshot::Node& candidate : graph.nodes)
      if (!candidate.is_constant() && names.size() < 200) names += (names.empty() ? "" : ", ") + candidate.name;
    throw Error("explain", "a name below the root", "'" + options.input.name() + "'", "choose one of: " + names);
  }
  const Explanation explanation = explain(std::move(graph), *node, options.paths);
  options.json ? fmt::print("{}\n", to_json(explanation)) : print(explanation, options.digits);
}

}  // namespace

void add_explain(CLI::App& app) {
  const auto options = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand("explain", "Show the deposits and paths that add up to a gradient");
  options->input.add_to_with_name(*command);
  command
      ->add_option("--paths", options->paths,
                   "Maximum number of paths to list. Those that contribute most come first [default: 10]")
      ->check(CLI::Range(0, 100'000))
      ->option_text("N");
  command->add_option("--digits", options->digits, "Significant digits [default: 6]")
      ->check(CLI::Range(1, 17))
      ->option_text("N");
  command->add_flag("--json", options->json, "Print JSON, as docs/walk-format.md describes it");
  command->footer(
      "A deposit is one contribution to a gradient: the gradient of a node that uses\n"
      "the value, times the local derivative of that node.\n\n"
      "Examples:\n"
      "  gradwalk explain 'a=2; b=a+1; c=3*a; d=b*c' a\n"
      "  gradwalk explain --file graph.txt w1");
  command->callback([options] { run(*options); });
}

}  // namespace gradwalk::cli
