// SPDX-License-Identifier: MIT
// Names for nodes: what a person would call them.
#include "names.hpp"

#include <unordered_map>

#include "engine/store.hpp"

namespace gradwalk::detail {
namespace {

constexpr std::size_t longest_name = 28;  // of an expression; a label may be longer

enum Precedence : int { sum, product, sign, power, atom };

Precedence precedence_of(const Snapshot::Node& node) {
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

// Writes one node after the other in terms of its operands' texts; "" once a text is too long.
class Texts {
 public:
  explicit Texts(const std::vector<Snapshot::Node>& nodes) : nodes_(nodes) {
    for (const Snapshot::Node& node : nodes) {
      std::string text = node.label.empty() ? expression(node) : node.label;
      if (node.label.empty() && text.size() > longest_name) text.clear();
      texts_.push_back(std::move(text));
    }
  }
  const std::string& operator[](std::size_t i) const { return texts_[i]; }

 private:
  std::string expression(const Snapshot::Node& node) const {
    if (node.is_constant()) return format_number(node.data);
    for (const std::size_t operand : node.operands)
      if (texts_[operand].empty()) return "";
    const Precedence own = precedence_of(node);
    if (node.op == Op::neg) return std::string("-").append(operand_text(node, 0, sign));
    if (own == atom || node.operands.size() != 2) return call(node);
    // ** groups to the right and takes a sign there; the others group to the left.
    const auto tighter = static_cast<Precedence>(own + 1);
    std::string text = operand_text(node, 0, own == power ? tighter : own);
    const char* space = own == sum ? " " : "";
    text.append(space).append(node.op_name).append(space);
    return text.append(operand_text(node, 1, own == power ? sign : tighter));
  }

  std::string operand_text(const Snapshot::Node& node, std::size_t i, Precedence least) const {
    const Snapshot::Node& operand = nodes_[node.operands[i]];
    const std::string& text = texts_[node.operands[i]];
    const bool bare = !operand.label.empty() || precedence_of(operand) >= least;
    return bare ? text : std::string("(").append(text).append(")");
  }

  std::string call(const Snapshot::Node& node) const {
    if (node.operands.empty()) return "";  // a leaf without a label
    std::string text = node.op_name + "(";
    for (std::size_t i = 0; i < node.operands.size() && text.size() <= longest_name; ++i) {
      if (i > 0) text += ", ";
      text += texts_[node.operands[i]];
    }
    return text + ")";
  }

  const std::vector<Snapshot::Node>& nodes_;
  std::vector<std::string> texts_;
};

}  // namespace

void name_nodes(std::vector<Snapshot::Node>& nodes) {
  const Texts texts(nodes);
  std::unordered_map<std::string, std::size_t> uses;
  for (const Snapshot::Node& node : nodes)
    if (!node.label.empty()) uses.emplace(node.label, 0);
  std::size_t unnamed = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string base = texts[i];
    while (base.empty())
      if (std::string t = "t" + std::to_string(++unnamed); !uses.contains(t)) base = std::move(t);
    std::string name = base;
    for (std::size_t number = ++uses[base]; number > 1 && uses.contains(name = base + "#" + std::to_string(number));)
      number = ++uses[base];
    uses.emplace(name, 1);
    nodes[i].name = std::move(name);
  }
}

}  // namespace gradwalk::detail
