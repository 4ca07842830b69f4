// SPDX-License-Identifier: MIT
// A record as the nodes that were written: the one place that knows what a record which stands for several stands for.
#pragma once

#include <array>
#include <span>

#include "store.hpp"

namespace gradwalk::detail {

struct PartOperand {
  Ref ref;             // a node; or literal: a number; or nothing: a part that came before
  std::uint32_t part;  // which
  double number;       // the number; of a custom node's operand, the derivative

  static PartOperand earlier(std::uint32_t part) { return {nothing, part, 0}; }
  static PartOperand at(Ref ref, double number) { return {ref, 0, number}; }
};

// Calls visit(op, operands) for each node the record stands for, operands before their users, the record itself last.
// Who goes over many gives a vector to be used again for the terms of sums.
template <class Visit> void each_part(Ref ref, Visit visit, std::vector<Ref>& terms);
template <class Visit> void each_part(Ref ref, Visit visit) {
  std::vector<Ref> terms;
  each_part(ref, visit, terms);
}

template <class Visit> void each_part(Ref ref, Visit visit, std::vector<Ref>& terms) {
  const Node& node = *tape.node(ref);
  const Op op = op_of(node);
  const auto call = [&](Op own, auto... operands) {
    visit(own, std::span<const PartOperand>(std::array{operands...}));
  };
  const auto operand = [](Ref one, Ref at) { return PartOperand::at(one, one == literal ? tape.number(at - 1) : 0); };
  const Ref a = first(node.operands), b = second(node.operands);
  switch (code(op)) {
    case code(Op::leaf):
    case code(Op::constant): break;
    case code(multiply_add):
    case code(minus_product):
    case code(product_minus): {
      const PartOperand product = PartOperand::earlier(0), other = PartOperand::at(extra_of(node), 0);
      call(Op::mul, operand(a, ref), operand(b, ref));
      const Op outer = op == multiply_add ? Op::add : Op::sub;
      if (is_third_first(node))
        call(outer, other, product);
      else
        call(outer, product, other);
      break;
    }
    case code(sum_of_products): {
      terms.clear();  // where they stand, the last first
      each_term(ref, [&](Word, Ref at) { terms.push_back(at); });
      std::uint32_t parts = 0;
      PartOperand sum{};
      for (std::size_t i = terms.size(); i-- > 0;) {
        const Word factors = tape.word(terms[i]);
        PartOperand term = operand(first(factors), terms[i]);
        if (second(factors) != nothing) {
          call(Op::mul, term, operand(second(factors), terms[i]));
          term = PartOperand::earlier(parts++);
        }
        if (i + 1 < terms.size()) {
          call(Op::add, sum, term);
          term = PartOperand::earlier(parts++);
        }
        sum = term;
      }
      break;
    }
    case code(Op::select): {
      const auto [x, y] = values_of_choice(ref);
      call(op, PartOperand::at(condition_of(ref), 0), PartOperand::at(a, x), PartOperand::at(b, y));
      break;
    }
    case code(Op::custom): {
      std::vector<PartOperand> operands;
      for (Ref at = ref - extra_of(node); at < ref; at += 2)
        operands.push_back(PartOperand::at(static_cast<Ref>(tape.word(at + 1)), tape.number(at)));
      visit(op, std::span<const PartOperand>(operands));
      break;
    }
    default:
      if (b == nothing)
        call(op, operand(a, ref));
      else
        call(op, operand(a, ref), operand(b, ref));
  }
}

}  // namespace gradwalk::detail
