// SPDX-License-Identifier: MIT
// Looking at a graph: inputs, the order of its nodes, evaluating it again, finding what is not finite.
//
// Whoever looks must see the nodes that were written, so a record that stands for several is opened first: its parts
// become nodes of their own, kept apart from the tape and freed with the record that owns them.
#include <algorithm>
#include <cmath>

#include "by_op.hpp"
#include "search.hpp"
#include "store.hpp"

namespace gradwalk {
namespace detail {
namespace {

struct Opening {
  Ref owner;
  std::vector<Ref>& own;

  Ref keep(Op op, Word operands, double data) {
    own.push_back(make_leaf(data));
    write_node(own.back(), operands, unheld(op, owner), data);
    return own.back();
  }

  Ref constant(double number) { return keep(Op::constant, pair(nothing, nothing), number); }

  // The operands (x, y) whose literal, if any, is `number`.
  Word without_literal(Word operands, double number) {
    const Ref x = first(operands), y = second(operands);
    return pair(x == literal ? constant(number) : x, y == literal ? constant(number) : y);
  }

  // The node that is one term of a sum.
  Ref term(Word operands, double number) {
    if (second(operands) == nothing) return first(operands) == literal ? constant(number) : first(operands);
    const Word factors = without_literal(operands, number);
    const double x = tape.node(first(factors))->data, y = tape.node(second(factors))->data;
    return keep(Op::mul, factors, rules::Rule<Op::mul>::value(x, y));
  }

  Ref add(Ref x, Ref y) {
    return keep(Op::add, pair(x, y), rules::Rule<Op::add>::value(tape.node(x)->data, tape.node(y)->data));
  }

  void become(Op op, Ref x, Ref y) const {
    Node* node = tape.node(owner);
    const Ref below = words_below(*node);
    node->head = (without_extra(node->head) & ~(Word{0xff} | z_first)) | unheld(op, below);
    node->operands = pair(x, y);
  }

  // What the last pass would have deposited in these nodes, had they been there.
  void deposit() {
    const auto is_own = [&](Ref ref) { return apart(ref) && !is_leaf(ref) && extra_of(*tape.node(ref)) == owner; };
    const auto pay = [&](Ref ref) {
      const double gradient = tape.node(ref)->grad;
      if (gradient == 0) return;
      each_local(ref, [&](Ref operand, double local) {
        if (is_own(operand)) tape.node(operand)->grad += gradient * local;
      });
    };
    pay(owner);
    for (auto ref = own.rbegin(); ref != own.rend(); ++ref) pay(*ref);
  }
};

// The op of a record that stands for several: that of its root.
Op shown_op(Op op) {
  if (op == multiply_add || op == sum_of_products) return Op::add;
  return op == minus_product || op == product_minus ? Op::sub : op;
}

bool is_compound(const Node& node) {
  const Op op = op_of(node);
  if (has_third(op) || op == sum_of_products) return true;
  return op > Op::constant && op < Op::custom && (first(node.operands) == literal || second(node.operands) == literal);
}

void open(Ref ref) {
  Node* node = tape.node(ref);
  if (!is_compound(*node)) return;
  Opening opening{ref, tape.store->kept_apart[ref]};
  node->head |= opened;
  tape.store->swept_end = 0;
  if (has_third(op_of(*node))) {
    const Ref z = extra_of(*node);
    const bool first_z = is_third_first(*node);
    const Ref product = opening.term(node->operands, 0);
    opening.become(shown_op(op_of(*node)), first_z ? z : product, first_z ? product : z);
  } else if (op_of(*node) == sum_of_products) {
    std::vector<std::pair<Word, double>> terms;
    each_term(ref, [&](Word operands, Ref at) { terms.emplace_back(operands, tape.number(at - 1)); });
    Ref sum = opening.term(terms.back().first, terms.back().second);
    for (std::size_t i = terms.size() - 1; i-- > 0;) {
      const Ref term = opening.term(terms[i].first, terms[i].second);
      if (i == 0)
        opening.become(Op::add, sum, term);
      else
        sum = opening.add(sum, term);
    }
  } else {
    node->operands = opening.without_literal(node->operands, tape.number(ref - 1));
  }
  opening.deposit();
}

double evaluate(Ref ref) {
  using rules::Rule;
  const Node& node = *tape.node(ref);
  const Word operands = node.operands;
  const auto value = [&](Ref operand) { return value_of(operand, ref); };
  switch (code(op_of(node))) {
    case code(minus_product):
      return Rule<Op::sub>::value(tape.node(extra_of(node))->data,
                                  Rule<Op::mul>::value(value(first(operands)), value(second(operands))));
    case code(product_minus):
      return Rule<Op::sub>::value(Rule<Op::mul>::value(value(first(operands)), value(second(operands))),
                                  tape.node(extra_of(node))->data);
    case code(multiply_add):
      return Rule<Op::add>::value(tape.node(extra_of(node))->data,
                                  Rule<Op::mul>::value(value(first(operands)), value(second(operands))));
    case code(sum_of_products): {
      std::vector<double> terms;
      each_term(ref, [&](Word term, Ref at) {
        const double x = value_of(first(term), at);
        terms.push_back(second(term) == nothing ? x : Rule<Op::mul>::value(x, value_of(second(term), at)));
      });
      double sum = terms.back();
      for (std::size_t i = terms.size() - 1; i-- > 0;) sum = Rule<Op::add>::value(sum, terms[i]);
      return sum;
    }
    case code(Op::custom): return node.data;
    default:
      return rule_value(op_of(node), value(first(operands)),
                        second(operands) == nothing ? 0.0 : value(second(operands)));
  }
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

// A gradient that its user may write: from now on it is not clean, and it must not be taken for one that a pass made,
// of which the parts of a compound node would have had their share.
void expose_gradient(Ref ref) {
  tape.node(ref)->head |= touched;
  tape.clean_from = tape.top;
  if (tape.store->no_grad > 0) freeze();
  open(ref);
}

Ref look_into(const Value& value, const char* call) {
  const Ref ref = Handle::ref(value, call);
  open(ref);
  return ref;
}

}  // namespace detail

using namespace detail;

Op Value::op() const {
  const Op op = op_of(*tape.node(Handle::ref(*this, "op")));
  return op == frozen ? Op::leaf : shown_op(op);
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
  for (const Ref ref : order) tape.node(ref)->data = evaluate(ref);
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
