// SPDX-License-Identifier: MIT
// The nodes that a record stands for, as the user wrote them. No other file knows how a fused record is taken apart.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "records.hpp"

namespace gradwalk::detail {

struct WrittenOperand {
  Ref ref;              // a node; or `literal` for a number; or `nothing` for an earlier node of the same record
  std::uint32_t index;  // the index of the earlier node
  double number;        // the number; for an operand of a custom node, the local derivative

  static WrittenOperand earlier(std::uint32_t index) { return {nothing, index, 0}; }
  static WrittenOperand at(Ref ref, double number) { return {ref, 0, number}; }
};

// Calls visit(op, operands) for each node that the record stands for, after its operands; the last one is the record
// itself. `terms` is memory that a caller can reuse from record to record.
template <class Visit> void each_written_node(Ref ref, Visit visit, std::vector<Ref>& terms);
template <class Visit> void each_written_node(Ref ref, Visit visit) {
  std::vector<Ref> terms;
  each_written_node(ref, visit, terms);
}

template <class Visit> void each_written_node(Ref ref, Visit visit, std::vector<Ref>& terms) {
  const Node& node = *tape.node(ref);
  const Op op = op_of(node);
  const auto call = [&](Op own, auto... operands) {
    visit(own, std::span<const WrittenOperand>(std::array{operands...}));
  };
  const auto operand = [](Ref x, Ref at) { return WrittenOperand::at(x, x == literal ? tape.number(at - 1) : 0); };
  const Ref a = first(node.operands), b = second(node.operands);
  switch (code(op)) {
    case code(Op::leaf):
    case code(Op::constant): break;
    case code(multiply_add):
    case code(minus_product):
    case code(product_minus): {
      const WrittenOperand product = WrittenOperand::earlier(0), other = WrittenOperand::at(extra_of(node), 0);
      call(Op::mul, operand(a, ref), operand(b, ref));
      const Op outer = op == multiply_add ? Op::add : Op::sub;
      if (is_third_first(node))
        call(outer, other, product);
      else
        call(outer, product, other);
      break;
    }
    case code(sum_of_products): {
      terms.clear();  // their positions, the last term first
      each_term(ref, [&](Word, Ref at) { terms.push_back(at); });
      std::uint32_t nodes = 0;
      WrittenOperand sum{};
      for (std::size_t i = terms.size(); i-- > 0;) {
        const Word factors = tape.word(terms[i]);
        WrittenOperand term = operand(first(factors), terms[i]);
        if (second(factors) != nothing) {
          call(Op::mul, term, operand(second(factors), terms[i]));
          term = WrittenOperand::earlier(nodes++);
        }
        if (i + 1 < terms.size()) {
          call(Op::add, sum, term);
          term = WrittenOperand::earlier(nodes++);
        }
        sum = term;
      }
      break;
    }
    case code(Op::select): {
      const auto [x, y] = values_of_choice(ref);
      call(op, WrittenOperand::at(condition_of(ref), 0), WrittenOperand::at(a, x), WrittenOperand::at(b, y));
      break;
    }
    case code(Op::custom): {
      std::vector<WrittenOperand> operands;
      for (Ref at = ref - extra_of(node); at < ref; at += 2)
        operands.push_back(WrittenOperand::at(static_cast<Ref>(tape.word(at + 1)), tape.number(at)));
      visit(op, std::span<const WrittenOperand>(operands));
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
