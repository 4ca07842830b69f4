// SPDX-License-Identifier: MIT
// record, of a function: called on several rows and watched. What must not differ from row to row is compared; what may
// come out otherwise on a row yet to come becomes a guard.
#include <algorithm>
#include <bit>

#include "gradwalk/error.hpp"
#include "left.hpp"
#include "passes.hpp"
#include "text/numbers.hpp"

namespace gradwalk::compiler {
namespace {

struct Once {
  Recorded recorded;
  std::vector<bool> guards;
};

const char* const advice =
    "leave data(), detach() and NoGrad out of the function, or write select(condition, a, b) in place of a branch";

Once record_once(const RowOutputs& function, const std::vector<double>& row, const CompileOptions& options) {
  const std::vector<Value> inputs(row.begin(), row.end());
  // As nodes, not as numbers in their Values: a number that is cast is reported with its node.
  for (const Value& leaf : inputs) leaf.id();
  for (const Value& leaf : options.parameters) leaf.id();
  std::vector<Condition> decided;
  std::vector<Value> left;
  Once once;
  std::vector<Value> outputs;
  {
    const WatchRecording watch([&](const Condition& condition) { decided.push_back(condition); },
                               [&](const Value& value) { left.push_back(value); });
    outputs = function(inputs);
  }
  if (outputs.empty())
    throw Error("compile", "a function with outputs", "one that returns none", "return a Value or several");
  refuse_left("compile", left, inputs, options.parameters,
              "write stop(x) in place of x.detach(), and select(condition, a, b) in place of a branch or an index");
  for (const Condition& condition : decided) {
    outputs.emplace_back(condition);
    once.guards.push_back(condition.holds());
  }
  once.recorded = record(outputs, inputs, options.parameters);
  return once;
}

void compare(const Once& first, const Once& other, std::size_t row) {
  const auto differ = [&](const std::string& wanted, const std::string& got) {
    throw Error("compile", "a function that records the same graph on every row: " + wanted,
                got + " on row " + std::to_string(row), advice);
  };
  const Scalars &a = first.recorded.scalars, &b = other.recorded.scalars;
  if (first.guards != other.guards) differ("comparisons that come out alike", "another way taken");
  const std::size_t count = std::min(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Scalar &x = a.nodes[i], &y = b.nodes[i];
    if (x.op == Op::constant && y.op == Op::constant) {
      const double wanted = a.numbers[x.operands[0]], got = b.numbers[y.operands[0]];
      if (std::bit_cast<std::uint64_t>(wanted) != std::bit_cast<std::uint64_t>(got))
        differ("the number " + detail::format_number(wanted) + ", which is neither input nor parameter",
               detail::format_number(got));
    } else if (x.op != y.op || x.operands != y.operands) {
      differ(std::string(name(x.op)) + " as node " + std::to_string(i), std::string(name(y.op)));
    }
  }
  if (a.tables != b.tables) differ("the same values to pick from", "others");
  if (a.nodes.size() != b.nodes.size())
    differ(std::to_string(a.nodes.size()) + " nodes", std::to_string(b.nodes.size()));
  if (a.outputs != b.outputs) differ("the same outputs", "others");
}

}  // namespace

Watched record(const RowOutputs& function, const std::vector<std::vector<double>>& rows,
               const CompileOptions& options) {
  if (!options.inputs.empty())
    throw Error("compile", "no inputs: a function is called with its own",
                detail::counted(options.inputs.size(), "input", "inputs"), "leave .inputs out");
  if (rows.size() < 2)
    throw Error("compile", "two rows at least, to see what differs", detail::counted(rows.size(), "row", "rows"),
                "give rows that are as different as those to come");
  for (const std::vector<double>& row : rows)
    if (row.size() != rows.front().size())
      throw Error("compile", "rows of " + std::to_string(rows.front().size()) + " numbers",
                  "one of " + std::to_string(row.size()), "give a number for each input of each row");
  Once first = record_once(function, rows.front(), options);
  for (std::size_t i = 1; i < rows.size(); ++i) compare(first, record_once(function, rows[i], options), i);
  return {std::move(first.recorded), std::move(first.guards)};
}

}  // namespace gradwalk::compiler
