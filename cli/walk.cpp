// SPDX-License-Identifier: MIT
// gradwalk walk: prints the forward and the backward pass step by step. The backward pass can visit the nodes in a
// given order or break a rule; other modes try all orders, or show the depth-first sort.
#include "gradwalk/walk.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "checks.hpp"
#include "commands.hpp"
#include "drawing.hpp"
#include "extension.hpp"
#include "gradwalk/expression.hpp"
#include "gradwalk/files.hpp"
#include "input.hpp"
#include "interactive.hpp"
#include "show.hpp"
#include "style.hpp"
#include "table.hpp"

namespace gradwalk::cli {
namespace {

struct WalkArguments {
  Input input;
  Style style;
  WalkOptions walk;
  std::optional<std::string> order;
  std::string broken = "right", film;
  FilmOptions filming;
  bool interactive = false, orders = false, sort = false, json = false;
  int digits = 6;
};

bool is_broken(const Walk& walk) { return walk.options().rule != WalkRule::right || !walk.options().order.empty(); }

// Returns the index, among the lines that describe a step, of the line with the first wrong gradient. Returns a number
// that is no index if no line of this step has it.
std::size_t wrong_line(const Walk& walk, std::size_t step) {
  constexpr std::size_t none = ~std::size_t{0};
  if (!walk.parting() || walk.parting()->step != step) return none;
  const std::vector<Walk::Deposit>& deposits = walk.steps()[step].deposits;
  for (std::size_t k = 0; k < deposits.size(); ++k)
    if (deposits[k].to == walk.parting()->node && deposits[k].after == walk.parting()->wrong && deposits[k].before != 0)
      return walk.steps()[step].kind == Walk::Step::Kind::visit ? k + 1 : k;
  return 0;
}

void print_steps(const Walk& walk, const Show& show, const Style& style) {
  const std::vector<Walk::Step>& steps = walk.steps();
  std::string phase;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string now = Show::phase(steps[i]);
    if (now != phase) fmt::print("{}{}\n", phase.empty() ? "" : "\n", style.bold(now));
    phase = now;
    const std::vector<std::string> lines = show.step(steps[i]);
    const std::size_t wrong = wrong_line(walk, i);
    for (std::size_t k = 0; k < lines.size(); ++k) {
      const std::string indent = steps[i].kind == Walk::Step::Kind::visit && k > 0 ? "  " : "";
      fmt::print("{}  {}{}{}\n", style.dim(k == 0 ? fmt::format("{:>4}", i + 1) : "    "), indent,
                 steps[i].kind == Walk::Step::Kind::visit && k == 0 ? style.accent(lines[k]) : lines[k],
                 k == wrong ? style.bad("  <- the first error") : "");
    }
  }
}

void print_outcomes(const Walk& walk, const Show& show) {
  const bool broken = is_broken(walk), trained = walk.options().rule == WalkRule::no_zeroing;
  std::vector<std::vector<std::string>> rows{{"name", "data", "grad"}};
  if (broken) rows[0] = {"name", "data", "visits", "grad when visited", "grad at the end", "right grad"};
  if (trained) rows[0].emplace_back("right data");
  for (std::size_t i = 0; i < walk.outcomes().size(); ++i) {
    if (walk.graph().nodes[i].is_constant()) continue;
    const Walk::Outcome& outcome = walk.outcomes()[i];
    rows.push_back({show.name(i), show.number(outcome.data)});
    if (broken) rows.back().push_back(std::to_string(outcome.visits));
    if (broken) rows.back().push_back(outcome.visits > 0 ? show.number(outcome.when_visited) : "-");
    rows.back().push_back(show.number(outcome.gradient));
    if (broken) rows.back().push_back(show.number(outcome.right_gradient));
    if (trained) rows.back().push_back(show.number(outcome.right_data));
  }
  fmt::print("\n{}", table(rows));
}

void print_findings(const Walk& walk, const Show& show, const Style& style) {
  if (!walk.late().empty()) fmt::print("\n");
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < walk.late().size() && i < most; ++i) {
    std::string missing;
    for (const auto& [leaf, amount] : walk.worth(walk.late()[i]))
      missing += fmt::format("{}{} at {}", missing.empty() ? "" : ", ", show.number(amount), show.name(leaf));
    fmt::print("{}{}\n", walk.late()[i].reason, missing.empty() ? "" : " (missing at the leaves: " + missing + ")");
  }
  if (walk.late().size() > most) fmt::print("and {} more; --json has them all\n", walk.late().size() - most);
  if (!walk.is_complete())
    fmt::print("\nStopped after {} of {} visits. --max-visits N allows more.\n", walk.visits(),
               walk.visits_needed().size() > 40 ? fmt::format("a number with {} digits", walk.visits_needed().size())
                                                : walk.visits_needed());
  if (walk.parting()) {
    const Walk::Parting& parting = *walk.parting();
    fmt::print("\n{} is at step {}: {}.\n", style.bad("The first error"), parting.step + 1, parting.reason);
  } else if (walk.is_complete()) {
    fmt::print("\n{}\n", style.good("Every gradient is right."));
  }
}

void print_walk(const Walk& walk, const WalkArguments& options) {
  const Show show(walk.graph(), options.digits, walk.options().rule);
  if (walk.options().rule != WalkRule::right)
    fmt::print("{}: {}\n\n", options.style.bold(info(walk.options().rule).name), info(walk.options().rule).description);
  print_steps(walk, show, options.style);
  print_outcomes(walk, show);
  if (is_broken(walk)) print_findings(walk, show, options.style);
}

// The names of the nodes; of a long list only the last twelve.
std::string last_names(const Show& show, const std::vector<std::size_t>& nodes) {
  constexpr std::size_t most = 12;
  if (nodes.size() <= most) return show.names(nodes, " ");
  return "... " + show.names({nodes.end() - most, nodes.end()}, " ");
}

void print_sort(const Snapshot& graph, int digits) {
  const Sort sort(graph);
  const Show show(graph, digits);
  std::vector<std::vector<std::string>> rows{{"", "step", "stack", "list"}};
  std::vector<std::size_t> stack, list;
  for (const Sort::Step& step : sort.steps()) {
    std::string action;
    switch (step.action) {
      case Sort::Step::Action::enter:
        stack.push_back(step.node);
        action = "enter " + show.name(step.node);
        break;
      case Sort::Step::Action::skip: action = "skip " + show.name(step.node) + ", already visited"; break;
      case Sort::Step::Action::finish:
        stack.pop_back();
        list.push_back(step.node);
        action = "finish " + show.name(step.node);
        break;
    }
    rows.push_back({std::to_string(rows.size()), action, last_names(show, stack), last_names(show, list)});
  }
  fmt::print("{}", table(rows, "rl"));
  fmt::print(
      "\nA node counts as visited when it is on the stack or in the list.\n"
      "The backward pass goes through the list from its end: {}.\n",
      show.names({list.rbegin(), list.rend()}, ", "));
}

void print_orders(const Snapshot& graph, const WalkArguments& options) {
  const OrderTally tally = try_all_orders(graph);
  const Show show(graph, options.digits);
  std::vector<std::vector<std::string>> rows{{"orders"}};
  for (const std::size_t leaf : tally.leaves) rows[0].push_back(show.name(leaf) + ".grad");
  rows[0].emplace_back("example");
  for (const OrderTally::Result& result : tally.results) {
    rows.push_back({fmt::format("{} of {}", result.orders, tally.orders)});
    for (const double gradient : result.gradients) rows.back().push_back(show.number(gradient));
    rows.back().push_back(show.names(result.example, ",") + (result.right ? "  right" : ""));
  }
  fmt::print("{}", table(rows, std::string(rows[0].size() - 1, 'r') + "l"));
}

void film(const Walk& walk, const WalkArguments& options) {
  const std::string bytes = draw_calls("walk").film_webp(walk, options.filming);
  write_file(options.film, bytes);
  fmt::print("wrote {} ({} steps)\n", options.film, walk.steps().size());
}

void run(WalkArguments& options) {
  if (!options.film.empty() && extension_of(options.film) != ".webp")
    throw Error("walk", "a --film file that ends in .webp", "'" + options.film + "'", "rename it");
  const Expression expression = parse(options.input.text());
  const Snapshot graph = snapshot(expression.root);
  if (options.sort) {
    options.json ? fmt::print("{}\n", to_json(graph, Sort(graph))) : print_sort(graph, options.digits);
    return;
  }
  if (options.orders) {
    options.json ? fmt::print("{}\n", to_json(graph, try_all_orders(graph))) : print_orders(graph, options);
    return;
  }
  options.walk.rule = walk_rule(options.broken);
  if (options.order) options.walk.order = parse_order(graph, *options.order);
  Walk walk(graph, options.walk);
  if (!options.film.empty()) {
    film(walk, options);
  } else if (options.interactive) {
    walk_interactively(walk, options.digits, options.style.is_on());
  } else if (options.json) {
    fmt::print("{}\n", to_json(walk));
  } else {
    print_walk(walk, options);
  }
}

}  // namespace

void add_walk(CLI::App& app) {
  const auto options = std::make_shared<WalkArguments>();
  CLI::App* command = app.add_subcommand("walk", "Show the forward and the backward pass step by step");
  options->input.add_to(*command);
  std::vector<std::string> rules;
  std::string rule_help = "Make a common mistake in the backward pass and compare the gradients:";
  for (int i = 1; i <= static_cast<int>(WalkRule::no_zeroing); ++i) {
    const WalkRuleInfo& rule = info(static_cast<WalkRule>(i));
    rules.emplace_back(rule.name);
    rule_help += fmt::format("\n{}: {}", rule.name, rule.description);
  }
  auto* order =
      command->add_option("--order", options->order, "Visit the nodes in this order: names separated by commas")
          ->option_text("NAMES");
  auto* broken =
      command->add_option("--broken", options->broken, rule_help)->check(CLI::IsMember(rules))->option_text("MISTAKE");
  auto* orders =
      command->add_flag("--orders", options->orders, "Try every visiting order and count the different results")
          ->option_text(" ");
  auto* sort = command->add_flag("--sort", options->sort, "Show the depth-first sort that finds the visiting order")
                   ->option_text(" ");
  auto* interactive =
      command->add_flag("-i,--interactive", options->interactive, "Step through the walk with the keyboard")
          ->option_text(" ");
  auto* json =
      command->add_flag("--json", options->json, "Print JSON, as docs/walk-format.md describes it")->option_text(" ");
  auto* film = command->add_option("--film", options->film, "Write an animation of the walk to a .webp file")
                   ->option_text("FILE");
  command->add_option("--speed", options->filming.speed, "Speed of the animation. 2 is twice as fast [default: 1]")
      ->needs(film)
      ->check(number_from(0.1, 10))
      ->option_text("X");
  command
      ->add_option("--scale", options->filming.scale, "Size of the animation. 2 is twice as wide and high [default: 1]")
      ->needs(film)
      ->check(number_from(0.25, 4))
      ->option_text("X");
  film->excludes(orders)->excludes(sort)->excludes(interactive)->excludes(json);
  order->excludes(broken)->excludes(orders)->excludes(sort);
  broken->excludes(orders)->excludes(sort);
  orders->excludes(sort)->excludes(interactive);
  sort->excludes(interactive);
  interactive->excludes(json);
  command->add_option("--lr", options->walk.rate, "Learning rate of --broken no-zeroing [default: 0.1]")
      ->check(number_from(-1e12, 1e12))
      ->option_text("X");
  command
      ->add_option("--max-visits", options->walk.most_visits,
                   "Stop a walk with --broken after this many visits [default: 10000]")
      ->check(CLI::Range(1, 1'000'000))
      ->option_text("N");
  command->add_option("--digits", options->digits, "Significant digits [default: 6]")
      ->check(CLI::Range(1, 17))
      ->option_text("N");
  options->style.add_to(*command);
  command->footer(
      "A deposit is one contribution to a gradient: the gradient of a node that uses\n"
      "the value, times the local derivative of that node.\n\n"
      "Keys of --interactive:\n"
      "  right, space, n         next step\n"
      "  left, p                 previous step\n"
      "  u                       undo the last move\n"
      "  g NUMBER enter          go to a step\n"
      "  b                       go to the start of the backward pass\n"
      "  home, r                 go to the start\n"
      "  end                     go to the end\n"
      "  q                       quit\n\n"
      "Examples:\n"
      "  gradwalk walk 'a=2; b=-3; c=10; e=a+b; f=e*c'\n"
      "  gradwalk walk --interactive 'a=2; b=a+1; c=3*a; d=b*c'\n"
      "  gradwalk walk --order b,d,c,a 'a=2; b=a+1; c=3*a; d=b*c'\n"
      "  gradwalk walk --broken overwrite 'a=3; a*a'\n"
      "  gradwalk walk --film walk.webp 'a=2; b=a+1; c=3*a; d=b*c'");
  command->callback([options] { run(*options); });
}

}  // namespace gradwalk::cli
