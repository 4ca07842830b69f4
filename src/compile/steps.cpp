// SPDX-License-Identifier: MIT
#include "steps.hpp"

#include "engine/by_op.hpp"
#include "engine/rule_facts.hpp"

namespace gradwalk::compiler {
// Three numbers by one step each take the time of a vector instruction; so do eight terms of one sum.
template <class T> bool Steps<T>::takes(const Instructions& program, const Instruction& one) {
  constexpr std::uint32_t few = 3, few_terms = 8;
  if (one.form == Instruction::Form::function || one.form == Instruction::Form::sums ||
      one.form == Instruction::Form::local)
    return one.count <= few;
  if (one.form != Instruction::Form::dot) return false;
  std::uint32_t terms = 0;
  for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) terms += program.factors[t].count;
  return terms <= few_terms;
}

template <class T> void Steps<T>::end_sum(std::uint32_t out, std::uint32_t start, std::size_t first_term) {
  Step& step = steps_.emplace_back();
  step.out = out;
  step.in = {start, static_cast<std::uint32_t>(first_term), static_cast<std::uint32_t>(terms_.size())};
}

template <class T>
void Steps<T>::append_layer(const Instructions& program, const Places& at, const Instruction& layer) {
  const auto one = static_cast<std::uint32_t>(at.one());
  for (std::uint32_t i = 0; i < layer.count; ++i)
    for (std::uint32_t c = 0; c < layer.copies; ++c) {
      const std::size_t first = terms_.size();
      auto start = static_cast<std::uint32_t>(at.zero());
      if (layer.in[2].exists()) start = at.of(layer.in[2].domain, Instructions::bias(layer, i, c));
      for (std::uint32_t t = 0; t < layer.depth; ++t)
        terms_.push_back({1, at.of(Domain::varying, program.input(layer, t, c)),
                          at.of(layer.in[0].domain, layer.in[0].place + i * layer.row + t * layer.column)});
      const std::uint32_t out = at.of(Domain::varying, layer.out + i * layer.copies + c);
      end_sum(out, start, first);
      if (layer.relu) steps_.push_back({Op::relu, no_local, out, {out, one, one}});
    }
}

// Sums that start with what is there already.
template <class T>
void Steps<T>::append_outer(const Instructions& program, const Places& at, const Instruction& outer) {
  const auto gradient = [&](std::uint32_t i, std::uint32_t c) {
    return at.of(Domain::varying, outer.in[3].place + i * outer.copies + c);
  };
  for (std::uint32_t i = 0; i < outer.count; ++i) {
    for (std::uint32_t t = 0; outer.in[0].domain == Domain::uniform && t < outer.depth; ++t) {
      const std::size_t first = terms_.size();
      for (std::uint32_t c = 0; c < outer.copies; ++c)
        terms_.push_back({1, gradient(i, c), at.of(Domain::varying, program.input(outer, t, c))});
      const std::uint32_t out = at.of(Domain::row_gradient, outer.in[0].place + i * outer.row + t * outer.column);
      end_sum(out, out, first);
    }
    for (std::uint32_t c = 0; outer.in[2].exists() && outer.in[2].domain == Domain::uniform && c < outer.copies; ++c) {
      const std::size_t first = terms_.size();
      terms_.push_back({1, gradient(i, c), static_cast<std::uint32_t>(at.one())});
      const std::uint32_t out = at.of(Domain::row_gradient, Instructions::bias(outer, i, c));
      end_sum(out, out, first);
    }
  }
}

template <class T> void Steps<T>::append(const Instructions& program, const Places& at, const Instruction& one) {
  if (one.form == Instruction::Form::layer) return append_layer(program, at, one);
  if (one.form == Instruction::Form::outer) return append_outer(program, at, one);
  const auto add_term = [&](const Factors& factors, std::uint32_t i) {
    T factor = 1;
    if (factors.factor.exists()) factor = static_cast<T>(program.constants[program.place(factors.factor, i)]);
    terms_.push_back({factor, at(factors.a, i, at.one()), at(factors.b, i, at.one())});
  };
  const bool is_dot = one.form == Instruction::Form::dot, is_row_sum = one.form == Instruction::Form::row_sums;
  for (std::uint32_t i = 0; i < (is_row_sum ? one.count : one.outputs()); ++i) {
    const std::uint32_t out =
        is_row_sum ? at.of(Domain::row_gradient, program.place(one.targets, i)) : at.of(one.domain, one.out + i);
    if (one.form == Instruction::Form::function) {
      steps_.push_back({one.op, no_local, out, {}});
      for (std::size_t k = 0; k < 3; ++k) steps_.back().in[k] = at(one.in[k], i, at.one());
      continue;
    }
    if (one.form == Instruction::Form::local) {
      steps_.push_back({one.op, one.by, out, {static_cast<std::uint32_t>(locals_.size()), 0, 0}});
      auto& operands = locals_.emplace_back();
      for (std::size_t k = 0; k < operands.size(); ++k) operands[k] = at(one.in[k], i, at.one());
      continue;
    }
    const std::size_t first = terms_.size();
    for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
      const Factors& factors = program.factors[t];
      for (std::uint32_t k = 0; is_dot && k < factors.count; ++k) add_term(factors, k);
      if (!is_dot) add_term(factors, i);
    }
    end_sum(out, is_row_sum ? out : at(one.start, i, at.zero()), first);
  }
}

// The rules are inlined: a call would cost as much as most of them.
template <class T> template <bool skip_zeros>
[[gnu::flatten]] void Steps<T>::run(std::size_t begin, std::size_t end, T* values) const {
  const auto product = [&](const Term& term) {
    const T scaled = term.factor * values[term.a];
    return skip_zeros && scaled == 0 ? T(0) : scaled * values[term.b];
  };
  for (std::size_t i = begin; i < end; ++i) {
    const Step& step = steps_[i];
    if (step.by != no_local) {
      const auto& [x, y, z, r, g] = locals_[step.in[0]];
      values[step.out] = local_times(step, {values[x], values[y], values[z]}, values[r], values[g]);
      continue;
    }
    if (step.op != Op::leaf) {
      const std::array<T, 3> in{values[step.in[0]], values[step.in[1]], values[step.in[2]]};
      values[step.out] = detail::rule_value<T>(step.op, in);
      continue;
    }
    // Two sums side by side: an addition does not wait for the last.
    std::uint32_t t = step.in[1];
    T sum = values[step.in[0]], other = 0;
    for (; t + 1 < step.in[2]; t += 2) {
      sum += product(terms_[t]);
      other += product(terms_[t + 1]);
    }
    if (t < step.in[2]) sum += product(terms_[t]);
    values[step.out] = sum + other;
  }
}

// A gradient of 0 passes nothing on, and neither does an operand that was not chosen.
template <class T>
[[gnu::noinline]] T Steps<T>::local_times(const Step& step, const std::array<T, 3>& in, T result, T gradient) {
  if (gradient == 0) return 0;
  const T local = detail::rule_local<T>(step.op, step.by, in, result);
  return step.op == Op::select && local == 0 ? T(0) : gradient * local;
}

template class Steps<float>;
template class Steps<double>;
template void Steps<float>::run<false>(std::size_t, std::size_t, float*) const;
template void Steps<float>::run<true>(std::size_t, std::size_t, float*) const;
template void Steps<double>::run<false>(std::size_t, std::size_t, double*) const;
template void Steps<double>::run<true>(std::size_t, std::size_t, double*) const;

}  // namespace gradwalk::compiler
