// SPDX-License-Identifier: MIT
// Looking at a graph: inputs, the order of its nodes, evaluating it again, finding what is not finite.
//
// Whoever looks must see the nodes that were written, so a record that stands for several is opened first: its parts
// become nodes of their own, kept apart from the tape and freed with the record that owns them.
#include <algorithm>
#include <array>
#include <cmath>

#include "by_op.hpp"
#include "chain_rule.hpp"
#include "parts.hpp"
#include "search.hpp"

namespace gradwalk {
namespace detail {
namespace {

bool is_compound(const Node& node) {
  const Op op = op_of(node);
  if (has_third(op) || op == sum_of_products) return true;
  return op > Op::constant && op < Op::custom && (first(node.operands) == literal || second(node.operands) == literal);
}

// Makes the deposits in the parts of a record that the last pass would have made, had they been nodes.
void deposit_in_parts(Ref owner, const std::vector<Ref>& own) {
  const auto is_own = [&](Ref ref) { return apart(ref) && !is_leaf(ref) && extra_of(*tape.node(ref)) == owner; };
  const auto pay = [&](Ref ref) {
    const double gradient = pass_gradient(ref);
    if (gradient == 0) return;
    each_local(ref, [&](Ref operand, double local) {
      if (is_own(operand)) tape.node(operand)->grad += gradient * local;
    });
  };
  pay(owner);
  for (auto ref = own.rbegin(); ref != own.rend(); ++ref) pay(*ref);
}

// What a record's rule gives for the present data of its operands; `parts` is room for those of its parts.
double evaluate(Ref ref, std::vector<double>& parts) {
  parts.clear();
  if (op_of(*tape.node(ref)) == Op::custom) return tape.node(ref)->data;
  each_part(ref, [&](Op op, std::span<const PartOperand> operands) {
    std::array<double, 3> numbers{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const PartOperand& one = operands[i];
      numbers[i] = one.ref == literal ? one.number : one.ref == nothing ? parts[one.part] : tape.node(one.ref)->data;
    }
    parts.push_back(rule_value(op, numbers));
  });
  return parts.back();
}

// "log(a=-1)", for messages.
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

// Gives a record that stands for several nodes a node for each, kept apart; it becomes the last of them itself. If
// there is no memory for them all, it stays as it was.
void open(Ref owner) {
  Node* node = tape.node(owner);
  if (!is_compound(*node)) return;
  struct Opening {
    std::vector<Ref> own, parts;
    ~Opening() {
      for (const Ref ref : own) free_leaf(ref);
    }
    Ref keep(Ref for_owner, Op op, Word operands, double data) {
      if (own.size() == own.capacity()) own.reserve(2 * own.size() + 8);
      own.push_back(make_leaf(data));
      write_node(own.back(), operands, unheld(op, for_owner), data);
      return own.back();
    }
  } opening;
  Op last_op = Op::leaf;
  Word last_operands = 0;
  each_part(owner, [&](Op op, std::span<const PartOperand> operands) {
    if (last_op != Op::leaf) {  // there is a user of it, so it is a part
      const double x = tape.node(first(last_operands))->data, y = tape.node(second(last_operands))->data;
      opening.parts.push_back(opening.keep(owner, last_op, last_operands, rule_value(last_op, std::array{x, y})));
    }
    std::array<Ref, 3> refs{nothing, nothing, nothing};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const PartOperand& one = operands[i];
      refs[i] = one.ref == literal   ? opening.keep(owner, Op::constant, pair(nothing, nothing), one.number)
                : one.ref == nothing ? opening.parts[one.part]
                                     : one.ref;
    }
    last_op = op;
    last_operands = op == Op::select ? pair(refs[1], refs[2]) : pair(refs[0], refs[1]);
  });
  std::vector<Ref>& own = tape.store->kept_apart[owner];
  own.swap(opening.own);
  tape.store->swept_end = 0;
  node->head = (without_extra(node->head) & ~(Word{0xff} | z_first)) | opened | unheld(last_op, words_below(*node));
  node->operands = last_operands;
  deposit_in_parts(owner, own);
  // With expanded nodes every pass searches, so it does not matter any more what the user writes.
  tape.store->exposed_gradients.erase(owner);
  node->head &= ~exposed;
}

// The user gets a reference to the gradient and may write it at any time. The record stays as it is; the engine takes
// notes where a written gradient would be mistaken for one that a pass made:
// - If no pass has reached the record, the next pass expects 0 there. It first checks whether that is still true.
// - If the record is fused, its parts get their share when it is expanded: their share of the gradient of the last
// pass.
void expose_gradient(Ref ref) {
  settle();
  Node* node = tape.node(ref);
  node->head |= touched;
  const bool is_clean = ref >= tape.clean_from && ref < tape.top;
  if ((node->head & exposed) != 0 || !(is_clean || is_compound(*node))) return;
  Store& store = *tape.store;
  if (is_clean) store.exposed_clean.push_back(ref);
  store.exposed_gradients[ref] = node->grad;
  node->head |= exposed;
}

double pass_gradient(Ref ref) {
  const Node& node = *tape.node(ref);
  const bool is_exposed = !apart(ref) && (node.head & exposed) != 0;
  return is_exposed ? tape.store->exposed_gradients.at(ref) : node.grad;
}

Ref look_into(const Value& value, const char* call) {
  const Ref ref = Handle::ref(value, call);
  open(ref);
  return ref;
}

std::pair<std::uint64_t, std::size_t> written_id(const Value& value, std::unordered_map<Ref, std::size_t>& known) {
  const Ref ref = Handle::ref(value, "find");
  const Node& node = *tape.node(ref);
  if (!apart(ref) || op_of(node) == Op::leaf) return {value.id(), 0};
  if (!known.contains(ref))
    for (const Ref own : tape.store->kept_apart.at(extra_of(node))) known.emplace(own, known.size());
  const std::size_t first = known.at(tape.store->kept_apart.at(extra_of(node)).front());
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
    open(ref);
    return true;
  });
  std::vector<Value> result;
  result.reserve(order.size());
  for (const Ref ref : order) result.push_back(Handle::share(ref));
  return result;
}

void recompute(const Value& root) {
  const std::vector<Ref>& order = search(Handle::ref(root, "recompute"), is_recorded);
  for (const Ref ref : order)
    if (op_of(*tape.node(ref)) == Op::custom)
      throw Error("recompute", "ops with a rule of their own", "the custom node '" + custom_name(ref) + "'",
                  "record the graph again instead");
  std::vector<double> parts;
  for (const Ref ref : order) tape.node(ref)->data = evaluate(ref, parts);
}

std::optional<NonFinite> find_nonfinite(const Value& root) {
  const std::vector<Ref>& order = search(Handle::ref(root, "find_nonfinite"), [](Ref) { return true; });
  const auto bad = [](Ref ref) { return !is_constant(ref) && !std::isfinite(tape.node(ref)->data); };
  const auto found = std::find_if(order.begin(), order.end(), bad);
  if (found == order.end()) return std::nullopt;
  Ref ref = *found;
  open(ref);
  if (const auto own = tape.store->kept_apart.find(ref); own != tape.store->kept_apart.end())
    if (const auto part = std::find_if(own->second.begin(), own->second.end(), bad); part != own->second.end())
      ref = *part;

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
