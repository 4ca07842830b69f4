// SPDX-License-Identifier: MIT
// Gives nodes the names that a person would use.
#include "names.hpp"

#include <unordered_map>

#include "text/numbers.hpp"

namespace gradwalk::detail {
namespace {

constexpr std::size_t longest_name = 28;  // for names that are expressions; a label may be longer

enum Precedence : int { comparison, sum, product, sign, power, atom };

Precedence precedence_of(const Snapshot::Node& node) {
  if (is_comparison(node.op)) return comparison;
  switch (node.op) {
    case Op::add:
    case Op::sub: return sum;
    case Op::mul:
    case Op::div: return product;
    case Op::neg: return sign;
    case Op::pow: return power;
    case Op::constant: return node.data < 0 ? sign : atom;
    default: return atom;
  }
}

class Names {
 public:
  explicit Names(std::vector<Snapshot::Node>& nodes) : nodes_(nodes) {
    for (const Snapshot::Node& node : nodes)
      if (!node.label.empty()) uses_.emplace(node.label, 0);
  }

  void give() {
    for (Snapshot::Node& node : nodes_) {
      std::string text = node.label.empty() ? expression(node) : "";
      const bool is_expression = !text.empty() && text.size() <= longest_name;
      if (!is_expression) text = node.label.empty() ? next_short_name() : node.label;
      precedences_.push_back(is_expression ? precedence_of(node) : atom);
      node.name = node.is_constant() ? text : unused(text);
      texts_.push_back(is_expression ? text : node.name);
    }
  }

 private:
  std::string expression(const Snapshot::Node& node) const {
    if (node.is_constant()) return format_number(node.data);
    const Precedence own = precedence_of(node);
    if (node.op == Op::neg) return "-" + operand_text(node, 0, sign);
    if (own == atom || node.operands.size() != 2) return call(node);
    // ** groups to the right, and a sign at its right needs no parentheses. The other operators group to the left.
    const auto tighter = static_cast<Precedence>(own + 1);
    const std::string space = own <= sum ? " " : "";
    return operand_text(node, 0, own == power || own == comparison ? tighter : own) + space + node.op_name + space +
           operand_text(node, 1, own == power ? sign : tighter);
  }

  std::string operand_text(const Snapshot::Node& node, std::size_t i, Precedence least) const {
    const std::size_t operand = node.operands[i];
    const std::string& text = texts_[operand];
    return precedences_[operand] >= least ? text : "(" + text + ")";
  }

  std::string call(const Snapshot::Node& node) const {
    if (node.operands.empty()) return "";  // a leaf without a label gets a short name
    std::string text = node.op_name + "(";
    for (std::size_t i = 0; i < node.operands.size() && text.size() <= longest_name; ++i) {
      if (i > 0) text += ", ";
      text += texts_[node.operands[i]];
    }
    return text + ")";
  }

  std::string next_short_name() {
    for (;;)
      if (std::string name = "t" + std::to_string(++unnamed_); !uses_.contains(name)) return name;
  }

  // Returns the name if no node has it, otherwise the name with the first free number.
  std::string unused(const std::string& name) {
    std::size_t number = ++uses_[name];
    if (number == 1) return name;
    std::string numbered = name + "#" + std::to_string(number);
    while (!uses_.emplace(numbered, 1).second) numbered = name + "#" + std::to_string(++number);
    uses_[name] = number;
    return numbered;
  }

  std::vector<Snapshot::Node>& nodes_;
  std::vector<std::string> texts_;       // each node so far as an operand of a larger expression
  std::vector<Precedence> precedences_;  // how tightly each of these texts binds
  std::unordered_map<std::string, std::size_t> uses_;
  std::size_t unnamed_ = 0;
};

}  // namespace

void name_nodes(std::vector<Snapshot::Node>& nodes) { Names(nodes).give(); }

}  // namespace gradwalk::detail
