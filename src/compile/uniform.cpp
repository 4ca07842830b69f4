// SPDX-License-Identifier: MIT
#include "uniform.hpp"

#include <algorithm>
#include <cstring>

namespace gradwalk::compiler {

using detail::In;
using detail::Kernels;

// An instruction with its addresses, worked out once: nothing of it changes between runs.
template <class T> struct UniformPart<T>::Bound {
  using Form = Instruction::Form;
  struct Gather {
    const T* from;
    const std::uint32_t* table;
    std::size_t count;
    T* to;
  };
  Form form = Form::function;
  Op op = Op::leaf;
  std::size_t count = 0;
  T* out = nullptr;
  typename Kernels<T>::Value value = nullptr;
  typename Kernels<T>::Local local = nullptr;
  std::array<In<T>, local_operands> in{};
  In<T> start{};
  std::vector<detail::Term<T>> terms;
  std::vector<std::uint32_t> counts;  // of a dot's terms
  std::vector<Gather> gathers;
  std::vector<Buffer<T>> gathered;
  std::span<const std::uint32_t> steps;
};

template <class T> UniformPart<T>::UniformPart(const Instructions& program, const Kernels<T>& kernels, std::size_t more)
    : program_(program), kernels_(kernels), at_(program), values_(at_.varying() + more) {
  for (std::size_t i = 0; i < program.constants.size(); ++i)
    values_.data()[at_.constants() + i] = static_cast<T>(program.constants[i]);
  values_.data()[at_.one()] = 1;
  forward_ = bind(program.uniform);
  backward_ = bind(program.uniform_backward);
  list_copies();
}

template <class T> UniformPart<T>::~UniformPart() = default;

template <class T> std::size_t UniformPart<T>::bytes() const {
  std::size_t all = values_.size() * sizeof(T) + copies_.size() * sizeof(Copy);
  for (const std::vector<Bound>* list : {&forward_, &backward_}) {
    all += list->size() * sizeof(Bound);
    for (const Bound& one : *list) {
      all += one.terms.capacity() * sizeof(detail::Term<T>) + one.counts.capacity() * sizeof(std::uint32_t) +
             one.gathers.capacity() * sizeof(one.gathers[0]);
      for (const Buffer<T>& buffer : one.gathered) all += sizeof(buffer) + buffer.size() * sizeof(T);
    }
  }
  return all;
}

template <class T> auto UniformPart<T>::bind(const std::vector<Instruction>& instructions) -> std::vector<Bound> {
  std::vector<Bound> list;
  list.reserve(instructions.size());
  for (const Instruction& one : instructions) list.push_back(bind(one));
  return list;
}

template <class T> auto UniformPart<T>::bind(const Instruction& one) -> Bound {
  Bound made;
  made.form = one.form;
  made.op = one.op;
  made.count = one.count;
  made.out = values_.data() + one.out;
  if (one.form == Instruction::Form::steps) {
    made.steps = std::span(program_.steps).subspan(one.begin, one.count);
    return made;
  }
  const auto bind = [&](const Operand& operand, std::size_t count) -> In<T> {
    if (!operand.exists()) return {nullptr, 0};
    const T* const base = values_.data() + at_.of(operand.domain, 0);
    if (operand.table == none) return {base + operand.place, operand.stride};
    made.gathered.emplace_back(count);
    made.gathers.push_back({base, program_.tables.data() + operand.table, count, made.gathered.back().data()});
    return {made.gathered.back().data(), 1};
  };
  made.start = bind(one.start, one.count);
  for (std::size_t k = 0; k < made.in.size(); ++k) made.in[k] = bind(one.in[k], one.count);
  if (one.form == Instruction::Form::function) made.value = kernels_.value(one.op);
  if (one.form == Instruction::Form::local) made.local = kernels_.local(one.op, one.by);
  const bool is_dot = one.form == Instruction::Form::dot;
  for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
    const Factors& factors = program_.factors[t];
    const std::size_t count = is_dot ? factors.count : one.count;
    made.terms.push_back({bind(factors.factor, count), bind(factors.a, count), bind(factors.b, count)});
    if (is_dot) made.counts.push_back(factors.count);
  }
  return made;
}

// Gradients that follow one another are one copy.
template <class T> void UniformPart<T>::list_copies() {
  for (const Instructions::Gradient& gradient : program_.gradients) {
    const std::size_t from = at_.of(gradient.at.domain, gradient.at.place), to = gradient.parameter;
    if (!copies_.empty() && copies_.back().from + copies_.back().count == from &&
        copies_.back().to + copies_.back().count == to)
      ++copies_.back().count;
    else
      copies_.push_back({from, to, 1});
  }
}

template <class T> void UniformPart<T>::zero_gradients(std::span<const Range> ranges) {
  for (const Range& range : ranges) std::memset(gradients() + range.begin, 0, range.count * sizeof(T));
}

template <class T> void UniformPart<T>::set_seed(std::size_t output, T seed) {
  if (program_.seeds[output] != none) values_.data()[program_.seeds[output]] = seed;
}

// What rows have added to the numbers of a pack belongs to the numbers that were packed.
template <class T> void UniformPart<T>::unpack(const Instructions::Pack& pack) {
  for (std::uint32_t i = 0; i < pack.count; ++i) {
    const T factor = pack.factor.exists() ? constants()[program_.place(pack.factor, i)] : T(1);
    gradients()[program_.place(pack.a, i)] += factor * gradients()[pack.out + i];
  }
}

template <class T> void UniformPart<T>::forward() { run<false>(forward_); }

template <class T> void UniformPart<T>::backward(bool skip_zeros) {
  for (const Instructions::Pack& pack : program_.packs) unpack(pack);
  if (skip_zeros)
    run<true>(backward_);
  else
    run<false>(backward_);
  for (const Copy& copy : copies_) std::copy_n(values_.data() + copy.from, copy.count, gradients() + copy.to);
}

template <class T> template <bool skip_zeros> void UniformPart<T>::run(const std::vector<Bound>& list) {
  for (const Bound& one : list) run<skip_zeros>(one);
}

namespace {

// The chain max(max(a, b), c): its rule is the table's, applied from the outermost in.
template <class T> void pass_through_extreme(Op op, const T* in, std::size_t count, T gradient, T* shares) {
  const auto value = [&](T x, T y) {
    return op == Op::max ? rules::Rule<Op::max>::value(x, y) : rules::Rule<Op::min>::value(x, y);
  };
  shares[0] = in[0];
  for (std::size_t i = 1; i < count; ++i) shares[i] = value(shares[i - 1], in[i]);
  for (std::size_t i = count - 1; i > 0; --i) {
    const T x = shares[i - 1], y = in[i], r = shares[i];
    const T dx = op == Op::max ? rules::Rule<Op::max>::dx(x, y, r) : rules::Rule<Op::min>::dx(x, y, r);
    const T dy = op == Op::max ? rules::Rule<Op::max>::dy(x, y, r) : rules::Rule<Op::min>::dy(x, y, r);
    shares[i] = gradient == 0 ? T(0) : gradient * dy;
    gradient = gradient == 0 ? T(0) : gradient * dx;
  }
  shares[0] = gradient;
}

}  // namespace

template <class T> template <bool skip_zeros> void UniformPart<T>::run(const Bound& one) {
  for (const auto& gather : one.gathers) kernels_.gather(gather.count, gather.from, gather.table, gather.to);
  switch (one.form) {
    case Instruction::Form::function: one.value(one.count, one.in.data(), one.out); break;
    case Instruction::Form::local: one.local(one.count, one.in.data(), one.in[3], one.in[4], one.out, false); break;
    case Instruction::Form::sums:
      (skip_zeros ? kernels_.sums_without_zeros : kernels_.sums)(one.count, one.start, one.terms, one.out);
      break;
    case Instruction::Form::dot: {
      T sum = one.start.at == nullptr ? T(0) : *one.start.at;
      for (std::size_t t = 0; t < one.terms.size(); ++t) {
        const detail::Term<T>& term = one.terms[t];
        sum += skip_zeros ? kernels_.pass_sum(one.counts[t], term.a, term.factor, term.b)
                          : kernels_.dot(one.counts[t], term.factor, term.a, term.b);
      }
      *one.out = sum;
      break;
    }
    case Instruction::Form::extreme:
      *one.out =
          one.op == Op::max ? kernels_.largest(one.count, one.in[0].at) : kernels_.smallest(one.count, one.in[0].at);
      break;
    case Instruction::Form::shares:
      pass_through_extreme<T>(one.op, one.in[0].at, one.count, *one.in[1].at, one.out);
      break;
    case Instruction::Form::steps: run_steps(one.steps, values_.data(), skip_zeros); break;
    case Instruction::Form::layer:
    case Instruction::Form::row_sums:
    case Instruction::Form::outer: break;  // of rows
  }
}

template class UniformPart<float>;
template class UniformPart<double>;

}  // namespace gradwalk::compiler
