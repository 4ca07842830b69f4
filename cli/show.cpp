// SPDX-License-Identifier: MIT
// Describes steps and nodes in words and numbers.
#include "show.hpp"

#include <fmt/format.h>

#include "table.hpp"

namespace gradwalk::cli {

std::string Show::number(double x) const { return number_text(x, digits_); }

std::string Show::names(const std::vector<std::size_t>& nodes, const char* separator) const {
  std::string text;
  for (const std::size_t node : nodes) text += (text.empty() ? "" : separator) + name(node);
  return text;
}

std::string Show::formula(std::size_t node) const {
  std::vector<std::string> operands;
  for (const std::size_t i : graph_.nodes[node].operands) operands.push_back(bracketed_name(graph_, i));
  return written_out(graph_.nodes[node], operands);
}

std::string Show::definition(std::size_t node) const {
  const Snapshot::Node& described = graph_.nodes[node];
  const bool name_is_formula = described.label.empty() && described.name.find_first_of("+-*/(") != described.name.npos;
  return described.operands.empty() || name_is_formula ? described.name : described.name + " = " + formula(node);
}

std::string Show::gradient_of(std::size_t node) const { return bracketed_name(graph_, node) + ".grad"; }

std::string Show::local(std::size_t node, std::size_t operand) const {
  const std::string formula = local_formula(graph_, node, operand);
  const bool is_one_word = local_formula(graph_.nodes[node].op, operand).find(' ') == std::string_view::npos;
  return is_one_word ? formula : "(" + formula + ")";
}

std::string Show::deposit(const Walk::Deposit& deposit, double gradient) const {
  return fmt::format("{} {} {} * {} = {} * {} = {}; {} -> {}{}", gradient_of(deposit.to), sign_,
                     gradient_of(deposit.from), local(deposit.from, deposit.operand), number(gradient),
                     number(deposit.local), number(deposit.amount), number(deposit.before), number(deposit.after),
                     deposit.late && deposit.amount != 0 ? " (late)" : "");
}

std::string Show::phase(const Walk::Step& step) {
  using Kind = Walk::Step::Kind;
  const char* second = step.pass > 1 ? "second " : "";
  const char* pass = step.kind == Kind::forward  ? "forward pass"
                     : step.kind == Kind::update ? "training step"
                                                 : "backward pass";
  return fmt::format("{}{}", second, pass);
}

std::vector<std::string> Show::step(const Walk::Step& step) const {
  using Kind = Walk::Step::Kind;
  const std::string& node = name(step.node);
  std::vector<std::string> lines;
  switch (step.kind) {
    case Kind::forward: {
      std::vector<std::string> operands;
      for (const double operand : step.operands) operands.push_back(number(operand));
      lines.push_back(fmt::format("{} = {} = {}", definition(step.node), written_out(graph_.nodes[step.node], operands),
                                  number(step.after)));
      break;
    }
    case Kind::seed:
      lines.push_back(fmt::format("{} = {}, the seed", gradient_of(step.node), number(step.after)));
      break;
    case Kind::visit:
      lines.push_back(fmt::format("visit {}, gradient {}{}", node, number(step.before),
                                  graph_.nodes[step.node].is_leaf() ? ": a leaf keeps its gradient" : ""));
      break;
    case Kind::deposit: break;
    case Kind::update:
      lines.push_back(fmt::format("{}.data -= rate * {}; {} -> {}", node, gradient_of(step.node), number(step.before),
                                  number(step.after)));
      break;
  }
  for (const Walk::Deposit& made : step.deposits) lines.push_back(deposit(made, step.before));
  return lines;
}

}  // namespace gradwalk::cli
