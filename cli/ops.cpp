// SPDX-License-Identifier: MIT
// gradwalk ops: prints the op table, with rules and domains as ops.def writes them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "gradwalk/ops.hpp"

namespace gradwalk::cli {
namespace {

template <class Print> void each_op(Print print) {
  for (const OpInfo& op : op_table)
    if (op.operands > 0) print(op);
}

void print_table() {
  std::size_t name = 0, value = 0;
  each_op([&](const OpInfo& op) {
    name = std::max(name, op.name.size());
    value = std::max(value, op.value.size());
  });
  fmt::print(
      "x and y are the operands, and r is the result. dx and dy are the local derivatives.\n"
      "select(c, x, y) is x if the condition c is true, and y otherwise.\n"
      "\"where\" gives the domain of an operation.\n\n");
  each_op([&](const OpInfo& op) {
    fmt::print("{:<{}}  r = {:<{}}  dx = {}", op.name, name, op.value, value, op.dx);
    if (op.operands > 1) fmt::print("  dy = {}", op.dy);
    if (op.domain != "true") fmt::print("  where {}", op.domain);
    fmt::print("\n");
  });
}

void print_json() {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  each_op([&](const OpInfo& op) {
    nlohmann::ordered_json entry{{"name", op.name},     {"symbol", op.symbol}, {"operands", op.operands},
                                 {"domain", op.domain}, {"value", op.value},   {"dx", op.dx}};
    if (op.operands > 1) entry["dy"] = op.dy;
    ops.push_back(entry);
  });
  fmt::print("{}\n", nlohmann::ordered_json{{"ops", ops}}.dump());
}

}  // namespace

void add_ops(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("ops", "List the operations, their derivatives and domains");
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Example:\n  gradwalk ops");
  command->callback([json] { *json ? print_json() : print_table(); });
}

}  // namespace gradwalk::cli
