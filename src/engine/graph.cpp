// SPDX-License-Identifier: MIT
// Looking at a graph: inputs, the order of its nodes, evaluating it again, finding a NaN.
//
// Users must see the nodes that they wrote, so these functions expand fused records: the parts of a record become nodes
// in the leaf region, which are freed with the record.
#include <algorithm>
#include <array>
#include <cmath>

#include "by_op.hpp"
#include "chain_rule.hpp"
#include "leaf_region.hpp"
#include "picks.hpp"
#include "search.hpp"
#include "written_nodes.hpp"

namespace gradwalk {
namespace detail {
namespace {

// Whether a record stands for several nodes; a constant operand is a node, too.
bool is_fused(const Node& node) {
  const Op op = op_of(node);
  if (has_third(op) || op == sum_of_products) return true;
  return op > Op::constant && op < Op::custom && (first(node.operands) == literal || second(node.operands) == literal);
}

// Makes the deposits in the parts of a record that the last pass would have made, had they been nodes.
void deposit_in_parts(Ref record, const std::vector<Ref>& parts) {
  const auto is_part = [&](Ref ref) {
    return in_leaf_region(ref) && !is_leaf(ref) && extra_of(*tape.node(ref)) == record;
  };
  const auto pay = [&](Ref ref) {
    const double gradient = pass_gradient(ref);
    if (gradient == 0) return;
    each_local(ref, [&](Ref operand, double local) {
      if (is_part(operand)) tape.node(operand)->grad += gradient * local;
    });
  };
  pay(record);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) pay(*part);
}

// The value of a record for the present data of its operands. `values` is memory for the values of its parts.
double evaluate(Ref ref, std::vector<double>& values) {
  values.clear();
  if (op_of(*tape.node(ref)) == Op::custom) return tape.node(ref)->data;
  each_written_node(ref, [&](Op op, std::span<const WrittenOperand> operands) {
    std::array<double, 3> numbers{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto& [x, index, number] = operands[i];
      numbers[i] = x == literal ? number : x == nothing ? values[index] : tape.node(x)->data;
    }
    values.push_back(rule_value(op, numbers));
  });
  return values.back();
}

// Describes an operation in a message: "log(a=-1)".
std::string describe(const Value& node) {
  std::string text(node.op_name());
  text += '(';
  const char* separator = "";
  for (const Value& input : node.inputs()) {
    text += separator;
    if (const std::string label = input.label(); !label.empty()) text += label + '=';
    text += format_number(input.data());
    separator = ", ";
  }
  return text + ')';
}

}  // namespace

// The record itself becomes the last node that it stands for. If there is no memory for the others, it stays as it was.
void expand(Ref record) {
  Node* node = tape.node(record);
  if (!is_fused(*node)) return;
  struct Expansion {
    std::vector<Ref> parts, operations;  // all new nodes, and those that are not constants
    ~Expansion() {
      for (const Ref part : parts) free_leaf(part);
    }
    Ref add(Ref owner, Op op, Word operands, double data) {
      if (parts.size() == parts.capacity()) parts.reserve(2 * parts.size() + 8);
      parts.push_back(make_leaf(data));
      write_node(parts.back(), operands, unheld(op, owner), data);
      return parts.back();
    }
  } expansion;
  Op last_op = Op::leaf;
  Word last_operands = 0;
  each_written_node(record, [&](Op op, std::span<const WrittenOperand> operands) {
    if (last_op != Op::leaf) {  // Another node follows, so the one before is a part.
      const double x = tape.node(first(last_operands))->data, y = tape.node(second(last_operands))->data;
      const double data = rule_value(last_op, std::array{x, y});
      expansion.operations.push_back(expansion.add(record, last_op, last_operands, data));
    }
    std::array<Ref, 3> refs{nothing, nothing, nothing};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto& [x, index, number] = operands[i];
      refs[i] = x == literal   ? expansion.add(record, Op::constant, pair(nothing, nothing), number)
                : x == nothing ? expansion.operations[index]
                               : x;
    }
    last_op = op;
    last_operands = op == Op::select ? pair(refs[1], refs[2]) : pair(refs[0], refs[1]);
  });
  std::vector<Ref>& parts = tape.store->expanded_parts[record];
  parts.swap(expansion.parts);
  tape.store->swept_end = 0;
  node->head = (without_extra(node->head) & ~(Word{0xff} | z_first)) | expanded | unheld(last_op, words_below(*node));
  node->operands = last_operands;
  deposit_in_parts(record, parts);
  // While there are expanded records, every pass searches. So it no longer matters what the user writes.
  tape.store->exposed_gradients.erase(record);
  node->head &= ~exposed;
}

// The user gets a reference to the gradient and may write it at any time. The record stays as it is. The engine notes
// the present gradient where a written one could be mistaken for that of a pass:
// - If no pass has reached the record, the next pass expects 0 there. It checks first whether that is still true.
// - If the record is fused, expanding it later deposits in its parts. It uses the gradient of the last pass for that.
void expose_gradient(Ref ref) {
  settle();
  Node* node = tape.node(ref);
  node->head |= touched;
  const bool is_clean = ref >= tape.clean_from && ref < tape.top;
  if ((node->head & exposed) != 0 || !(is_clean || is_fused(*node))) return;
  Store& store = *tape.store;
  if (is_clean) store.exposed_clean.push_back(ref);
  store.exposed_gradients[ref] = node->grad;
  node->head |= exposed;
}

double pass_gradient(Ref ref) {
  const Node& node = *tape.node(ref);
  const bool is_exposed = !in_leaf_region(ref) && (node.head & exposed) != 0;
  return is_exposed ? tape.store->exposed_gradients.at(ref) : node.grad;
}

Ref look_into(const Value& value, const char* call) {
  const Ref ref = Handle::ref(value, call);
  expand(ref);
  return ref;
}

std::pair<std::uint64_t, std::size_t> written_id(const Value& value, std::unordered_map<Ref, std::size_t>& known) {
  const Ref ref = Handle::ref(value, "find");
  const Node& node = *tape.node(ref);
  if (!in_leaf_region(ref) || op_of(node) == Op::leaf) return {value.id(), 0};
  if (!known.contains(ref))
    for (const Ref part : tape.store->expanded_parts.at(extra_of(node))) known.emplace(part, known.size());
  const std::size_t first = known.at(tape.store->expanded_parts.at(extra_of(node)).front());
  return {pair(extra_of(node), tape.id), known.at(ref) - first + 1};
}

}  // namespace detail

using namespace detail;

Op Value::op() const {
  const Op op = op_of(*tape.node(Handle::ref(*this, "op")));
  return shown_op(op);
}

std::string_view Value::op_name() const {
  if (op() != Op::custom) return symbol(op());
  return custom_name(ref_);
}

std::vector<Value> Value::inputs() const {
  std::vector<Value> result;
  each_operand(look_into(*this, "inputs"), [&](Ref ref) { result.push_back(Handle::share(ref)); });
  std::reverse(result.begin(), result.end());
  return result;
}

std::vector<Value> topological_order(const Value& root) {
  const std::vector<Ref>& order = search(Handle::ref(root, "topological_order"), [](Ref ref) {
    expand(ref);
    return true;
  });
  std::vector<Value> result;
  result.reserve(order.size());
  for (const Ref ref : order) result.push_back(Handle::share(ref));
  return result;
}

void recompute(const Value& root) {
  const auto edges = [](Ref ref, auto visit) { each_choice(ref, "recompute", visit); };
  const std::vector<Ref>& order = search(Handle::ref(root, "recompute"), is_recorded, edges);
  for (const Ref ref : order)
    if (op_of(*tape.node(ref)) == Op::custom)
      throw Error("recompute", "ops with a rule of their own", "the custom node '" + custom_name(ref) + "'",
                  "record the graph again instead");
  std::vector<double> values;
  for (const Ref ref : order) {
    Node& node = *tape.node(ref);
    if (op_of(node) == Op::pick) {  // The index may choose another value now.
      const Ref index = second(node.operands);
      node.operands = pair(chosen_value(ref, tape.node(index)->data, "recompute"), index);
    }
    node.data = evaluate(ref, values);
  }
}

// Expands only records whose data is not finite: the parts of every other fused record are finite, too. So a finite
// graph stays as it is.
std::optional<NonFinite> find_nonfinite(const Value& root) {
  const auto is_finite = [](Ref ref) { return std::isfinite(tape.node(ref)->data); };
  const std::vector<Ref>& order = search(Handle::ref(root, "find_nonfinite"), [&](Ref ref) {
    if (!is_finite(ref)) expand(ref);
    return true;
  });
  const auto found =
      std::find_if(order.begin(), order.end(), [&](Ref ref) { return !is_constant(ref) && !is_finite(ref); });
  if (found == order.end()) return std::nullopt;
  const Ref ref = *found;

  NonFinite result{Handle::share(ref), ""};
  const Value& node = result.node;
  const std::string label = node.label();
  result.message = (label.empty() ? "a node" : "'" + label + "'") + " is " + format_number(node.data());
  if (is_recorded(ref)) {
    result.message += ": " + describe(node);
    if (const std::string_view domain = info(node.op()).domain; node.op() != Op::custom && domain != "true")
      result.message += "; " + std::string(name(node.op())) + " needs " + std::string(domain);
  } else {
    result.message += ", and it is a leaf: set its data";
  }
  return result;
}

}  // namespace gradwalk
