// SPDX-License-Identifier: MIT
// gradwalk eval: prints the value and the gradient of every name in an expression.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "gradwalk/expression.hpp"
#include "gradwalk/graph.hpp"
#include "gradwalk/snapshot.hpp"
#include "input.hpp"
#include "table.hpp"

namespace gradwalk::cli {
namespace {

struct EvalArguments {
  Input input;
  bool json = false;
  int digits = 6;
};

struct Row {
  std::string name;
  double data, grad;
};

// Makes one row per name, in order. A name that was assigned several times has a row for each of its nodes below the
// root, with the same names (a, a#2) that walk, explain and draw use.
std::vector<Row> rows_of(const Expression& expression) {
  std::map<std::string, std::vector<Row>> rows_of_label;
  if (!expression.earlier.empty())
    for (const Snapshot::Node& node : snapshot(expression.root).nodes)
      if (!node.label.empty()) rows_of_label[node.label].push_back({node.name, node.data, node.grad});
  std::vector<Row> rows;
  bool root_has_name = false;
  for (const auto& [name, value] : expression.names) {
    if (const auto found = rows_of_label.find(name); found != rows_of_label.end()) {
      rows.insert(rows.end(), found->second.begin(), found->second.end());
    } else {
      rows.push_back({name, value.data(), value.grad()});
    }
    root_has_name = root_has_name || same_node(value, expression.root);
  }
  if (!root_has_name) rows.push_back({"(root)", expression.root.data(), expression.root.grad()});
  return rows;
}

// JSON cannot represent infinities and NaN, so they become strings.
nlohmann::ordered_json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

void print_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const Row& row : rows)
    nodes.push_back({{"name", row.name}, {"data", number(row.data)}, {"grad", number(row.grad)}});
  fmt::print("{}\n", nlohmann::ordered_json{{"nodes", nodes}}.dump());
}

void print_table(const std::vector<Row>& rows, int digits) {
  std::vector<std::vector<std::string>> cells{{"name", "data", "grad"}};
  for (const Row& row : rows) cells.push_back({row.name, number_text(row.data, digits), number_text(row.grad, digits)});
  fmt::print("{}", table(cells));
}

}  // namespace

void add_eval(CLI::App& app) {
  const auto options = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "Compute the values and gradients of an expression");
  options->input.add_to(*command);
  command->add_option("--digits", options->digits, "Significant digits in the table [default: 6]")
      ->check(CLI::Range(1, 17))
      ->option_text("N");
  command->add_flag("--json", options->json, "Print JSON with all digits. Infinities and NaN become strings");
  command->footer(
      "Examples:\n  gradwalk eval 'a=2; b=-3; c=10; e=a+b; f=e*c'\n  echo 'x=0.5; tanh(x)' | gradwalk eval -");
  command->callback([options] {
    const Expression expression = parse(options->input.text());
    expression.root.backward();
    const std::vector<Row> rows = rows_of(expression);
    options->json ? print_json(rows) : print_table(rows, options->digits);
    if (const std::optional<NonFinite> found = find_nonfinite(expression.root)) {
      std::fflush(stdout);
      fmt::print(stderr, "{}\n", found->message);
    }
  });
}

}  // namespace gradwalk::cli
