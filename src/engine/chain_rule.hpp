// SPDX-License-Identifier: MIT
// The chain rule: the local derivatives of a record with respect to its operands. Every pass uses this one text; the
// rules themselves are in ops.def.
#pragma once

#include "records.hpp"
#include "rule_facts.hpp"

namespace gradwalk::detail {

// Calls visit(operand, local derivative) for each operand of the record that is a node and gets a gradient.
// A choice passes its gradient to the chosen branch only. Returns the number of words below the record.
//
// In a sweep all records are as they were recorded, so an operation without words below has two nodes as operands, and
// the function returns the number of words without another look at the head. A sweep also keeps `base` and its gradient
// in registers. A call in its loop would spill them, so rules that call a function are left to by_call(record).
template <bool is_sweep, class Visit, class ByCall>
[[gnu::always_inline]] inline Ref each_local_derivative(Word* base, Ref ref, Visit visit, ByCall by_call) {
  using rules::Rule;
  const auto data = [base](Ref operand) { return reinterpret_cast<const Node*>(base + operand)->data; };
  const auto number = [base](Ref at) { return *reinterpret_cast<const double*>(base + at); };
  const Node& node = *reinterpret_cast<const Node*>(base + ref);
  const Word head = node.head, operands = node.operands;
  const Ref a = first(operands), b = second(operands), extra = static_cast<Ref>(head >> 32);
  const double r = node.data;
  const auto product = [&](Word factors, double times) {
    const double x = data(first(factors)), y = data(second(factors));
    visit(first(factors), times * Rule<Op::mul>::dx(x, y, 0.0));
    visit(second(factors), times * Rule<Op::mul>::dy(x, y, 0.0));
  };
  switch (head & 0xff) {
#define GRADWALK_UNARY(name, ...)                              \
  case code(Op::name):                                         \
    if constexpr (!passes_on(Op::name))                        \
      return 0;                                                \
    else if constexpr (is_sweep && calls_function<Op::name>()) \
      by_call(ref);                                            \
    else                                                       \
      visit(a, Rule<Op::name>::dx(data(a), r));                \
    return 0;
#define GRADWALK_BINARY(name, ...)                                                                     \
  case code(Op::name):                                                                                 \
    if constexpr (!passes_on(Op::name, 0) && !passes_on(Op::name, 1)) {                                \
      return extra;                                                                                    \
    } else if constexpr (is_sweep && (calls_function<Op::name>() || !passes_on(Op::name, 1))) {        \
      by_call(ref);                                                                                    \
      return extra;                                                                                    \
    } else if (is_sweep ? extra == 0 : are_nodes(operands)) {                                          \
      const double x = data(a), y = data(b);                                                           \
      if constexpr (passes_on(Op::name, 0)) visit(a, Rule<Op::name>::dx(x, y, r));                     \
      if constexpr (passes_on(Op::name, 1)) visit(b, Rule<Op::name>::dy(x, y, r));                     \
      return 0;                                                                                        \
    } else if (b == literal) {                                                                         \
      if constexpr (passes_on(Op::name, 0)) visit(a, Rule<Op::name>::dx(data(a), number(ref - 1), r)); \
    } else {                                                                                           \
      if constexpr (passes_on(Op::name, 1)) visit(b, Rule<Op::name>::dy(number(ref - 1), data(b), r)); \
    }                                                                                                  \
    return 1;
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
    case code(multiply_add):
      visit(extra, Rule<Op::add>::dx(0.0, 0.0, 0.0));
      product(operands, Rule<Op::add>::dy(0.0, 0.0, 0.0));
      return 0;
    case code(minus_product):
      visit(extra, Rule<Op::sub>::dx(0.0, 0.0, 0.0));
      product(operands, Rule<Op::sub>::dy(0.0, 0.0, 0.0));
      return 0;
    case code(product_minus):
      visit(extra, Rule<Op::sub>::dy(0.0, 0.0, 0.0));
      product(operands, Rule<Op::sub>::dx(0.0, 0.0, 0.0));
      return 0;
    case code(sum_of_products):
      for (Ref at = ref, begin = ref - extra; at >= begin; --at) {
        const Word term = base[at];
        const Ref x = first(term), y = second(term);
        constexpr double slope = Rule<Op::add>::dx(0.0, 0.0, 0.0);
        if (are_nodes(term)) [[likely]] {
          product(term, slope);
        } else if (y == nothing) {
          if (x == literal)
            --at;
          else
            visit(x, slope);
        } else if (x == literal) {
          --at;
          visit(y, Rule<Op::mul>::dy(number(at), data(y), 0.0));
        } else {
          --at;
          visit(x, Rule<Op::mul>::dx(data(x), number(at), 0.0));
        }
      }
      return extra;
    case code(Op::select):
      if constexpr (is_sweep) {
        by_call(ref);
      } else {
        const double c = data(condition_of(ref)), dx = Rule<Op::select>::dx(c), dy = Rule<Op::select>::dy(c);
        if (dx != 0 && a != literal) visit(a, dx);
        if (dy != 0 && b != literal) visit(b, dy);
      }
      return extra;
    case code(Op::pick): visit(a, Rule<Op::pick>::dx<double>()); return extra;
    case code(Op::custom):
      if constexpr (is_sweep)
        by_call(ref);
      else
        for (Ref at = ref - extra; at < ref; at += 2) visit(static_cast<Ref>(base[at + 1]), number(at));
      return extra;
    default: return extra;
  }
}

// The same for a record anywhere, also for one that was expanded.
template <class Visit> void each_local(Ref ref, Visit visit) {
  each_local_derivative<false>(tape.base, ref, visit, [](Ref) {});
}

}  // namespace gradwalk::detail
