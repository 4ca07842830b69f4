// SPDX-License-Identifier: MIT
#include "uniform.hpp"

#include <algorithm>
#include <cstring>

#include "machine_code.hpp"

namespace gradwalk::compiler {

using detail::In;
using detail::Kernels;

// An instruction with its addresses, worked out once: nothing of it changes between runs.
template <class T> struct UniformPart<T>::Bound {
  Instruction::Form form = Instruction::Form::function;
  Op op = Op::leaf;
  std::uint32_t count = 0;
  std::uint32_t in = 0, term = 0, terms = 0, gather = 0, gathers = 0;  // where its own begin, and how many there are
  T* out = nullptr;
  const Code* code = nullptr;  // that it is of
  union {
    typename Kernels<T>::Value value = nullptr;
    typename Kernels<T>::Local local;
    const std::uint32_t* steps;
    typename Kernels<T>::Extremes extremes;
    typename Kernels<T>::Shares shares;
  };
};

template <class T> struct UniformPart<T>::Gather {
  const T* from;
  const std::uint32_t* table;
  T* to;
  std::size_t count;
};

template <class T> UniformPart<T>::UniformPart(const Instructions& program, const Kernels<T>& kernels, std::size_t more,
                                               bool may_write_code)
    : program_(program),
      kernels_(kernels),
      at_(program),
      may_write_code_(may_write_code && MachineCode<T>::is_possible(kernels)),
      values_(at_.varying() + more) {
  for (std::size_t i = 0; i < program.constants.size(); ++i)
    values_.data()[at_.constants() + i] = static_cast<T>(program.constants[i]);
  values_.data()[at_.one()] = 1;
  std::size_t most = 0;
  for (const std::vector<Instruction>* list : {&program.uniform, &program.uniform_backward})
    for (const Instruction& one : *list) most = std::max(most, gathered_by(one));
  gathered_.resize(most);
  forward_ = bind(program.uniform);
  backward_ = bind(program.uniform_backward);
  for (Code* code : {&forward_, &backward_})
    for (Bound& one : code->list) one.code = code;
  list_copies();
}

template <class T> UniformPart<T>::~UniformPart() = default;

template <class T> std::size_t UniformPart<T>::bytes() const {
  std::size_t all = values_.bytes() + gathered_.bytes() + copies_.capacity() * sizeof(Copy);
  for (const Code* code : {&forward_, &backward_})
    all += code->machine_code.bytes() + code->list.size() * sizeof(Bound) + code->in.size() * sizeof(In<T>) +
           code->terms.size() * (sizeof(detail::Term<T>) + sizeof(std::uint32_t)) +
           code->gathers.size() * sizeof(Gather);
  return all;
}

template <class T> auto UniformPart<T>::bind(const std::vector<Instruction>& instructions) -> Code {
  Code code;
  code.instructions = &instructions;
  code.list.reserve(instructions.size());
  for (const Instruction& one : instructions) code.list.push_back(bind(one, code));
  code.in.shrink_to_fit();
  code.terms.shrink_to_fit();
  code.counts.shrink_to_fit();
  code.gathers.shrink_to_fit();
  return code;
}

namespace {

constexpr std::size_t operands_of(Instruction::Form form) {
  return form == Instruction::Form::function ? 3 : form == Instruction::Form::local ? local_operands : 2;
}
bool has_terms(const Instruction& one) {
  return one.form == Instruction::Form::sums || one.form == Instruction::Form::dot || one.terms > 0;
}

// Calls meet(operand, count) for all operands of an instruction on uniform numbers; it is given those that are not
// there, too.
template <class Meet> void each_operand(const Instructions& program, const Instruction& one, Meet meet) {
  if (one.form == Instruction::Form::steps) return;
  if (!has_terms(one)) {
    for (std::size_t k = 0; k < operands_of(one.form); ++k) meet(one.in[k], one.count);
    return;
  }
  meet(one.form == Instruction::Form::shares ? one.in[1] : one.start, one.count);
  for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
    const Factors& factors = program.factors[t];
    const std::uint32_t count = one.form == Instruction::Form::dot ? factors.count : one.count;
    for (const Operand* operand : {&factors.factor, &factors.a, &factors.b}) meet(*operand, count);
  }
}

constexpr std::size_t numbers_a_line = 16;  // gathered operands begin with a line of the cache

}  // namespace

template <class T> std::size_t UniformPart<T>::gathered_by(const Instruction& one) const {
  std::size_t all = 0;
  each_operand(program_, one, [&](const Operand& operand, std::uint32_t count) {
    if (operand.table != none) all += round_up(count, numbers_a_line);
  });
  return all;
}

template <class T> auto UniformPart<T>::bind(const Instruction& one, Code& code) -> Bound {
  Bound made;
  made.form = one.form;
  made.op = one.op;
  made.count = one.count;
  made.out = values_.data() + one.out;
  made.in = static_cast<std::uint32_t>(code.in.size());
  made.term = static_cast<std::uint32_t>(code.terms.size());
  made.terms = one.form == Instruction::Form::steps ? 0 : one.terms;
  made.gather = static_cast<std::uint32_t>(code.gathers.size());
  if (one.form == Instruction::Form::steps) made.steps = program_.steps.data() + one.begin;
  if (one.form == Instruction::Form::function) made.value = kernels_.value(one.op);
  if (one.form == Instruction::Form::local) made.local = kernels_.local(one.op, one.by);
  if (one.form == Instruction::Form::extreme && one.terms > 0) made.extremes = kernels_.extremes(one.op);
  if (one.form == Instruction::Form::shares && one.terms > 0) made.shares = kernels_.shares(one.op);
  T* to = gathered_.data();
  std::array<In<T>, 3> term;
  std::size_t met = 0;
  each_operand(program_, one, [&](const Operand& operand, std::uint32_t count) {
    In<T> in{nullptr, 0};
    const T* const base = operand.exists() ? values_.data() + at_.of(operand.domain, 0) : nullptr;
    if (operand.exists()) in = {base + operand.place, operand.stride};
    if (operand.table != none) {
      code.gathers.push_back({base, program_.tables.data() + operand.table, to, count});
      in = {to, 1};
      to += round_up(count, numbers_a_line);
    }
    if (!has_terms(one) || met++ == 0) {
      code.in.push_back(in);
      return;
    }
    const std::size_t k = (met - 2) % 3;
    term[k] = in;
    if (k < 2) return;
    code.terms.push_back({term[0], term[1], term[2]});
    code.counts.push_back(count);
  });
  made.gathers = static_cast<std::uint32_t>(code.gathers.size()) - made.gather;
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

template <class T> void UniformPart<T>::forward() { run(forward_); }

template <class T> void UniformPart<T>::run(Code& code) {
  constexpr std::size_t runs_before = 32;  // about as many as writing the code takes
  if (may_write_code_ && !code.list.empty() && ++code.runs == runs_before) {
    MachineCode<T> writer(program_, kernels_);
    const std::vector<Instruction>& all = *code.instructions;
    writer.expect(all);
    for (std::size_t i = 0, end = 0; i < all.size(); i = end) {
      end = i + 1;
      if (writer.writes(all[i])) {
        writer.add(all[i]);
        continue;
      }
      while (end < all.size() && !writer.writes(all[end])) ++end;
      writer.add_call(reinterpret_cast<const void*>(&run_range), this, &code.list[i], code.list.data() + end);
    }
    code.machine_code = writer.finish();
  }
  if (code.machine_code.is_there())
    run_code(code.machine_code, values_.data());
  else
    run<false>(code);
}

template <class T> void UniformPart<T>::run_range(UniformPart* part, const Bound* begin, const Bound* end) {
  for (const Bound* one = begin; one != end; ++one) part->run<false>(*one, *one->code);
}

template <class T> void UniformPart<T>::backward(bool skip_zeros) {
  for (const Instructions::Pack& pack : program_.packs) unpack(pack);
  if (skip_zeros)
    run<true>(backward_);
  else
    run(backward_);
  for (const Copy& copy : copies_) std::copy_n(values_.data() + copy.from, copy.count, gradients() + copy.to);
}

template <class T> template <bool skip_zeros> void UniformPart<T>::run(const Code& code) {
  for (const Bound& one : code.list) run<skip_zeros>(one, code);
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

template <class T> template <bool skip_zeros> void UniformPart<T>::run(const Bound& one, const Code& code) {
  for (std::uint32_t i = one.gather; i < one.gather + one.gathers; ++i) {
    const Gather& gather = code.gathers[i];
    kernels_.gather(gather.count, gather.from, gather.table, gather.to);
  }
  const In<T>* const in = code.in.data() + one.in;
  const auto terms = std::span(code.terms).subspan(one.term, one.terms);
  switch (one.form) {
    case Instruction::Form::function: one.value(one.count, in, one.out); break;
    case Instruction::Form::local: one.local(one.count, in, in[3], in[4], one.out, false); break;
    case Instruction::Form::sums:
      (skip_zeros ? kernels_.sums_without_zeros : kernels_.sums)(one.count, in[0], terms, one.out);
      break;
    case Instruction::Form::dot: {
      T sum = in[0].at == nullptr ? T(0) : *in[0].at;
      for (std::uint32_t t = one.term; t < one.term + one.terms; ++t) {
        const detail::Term<T>& term = code.terms[t];
        sum += skip_zeros ? kernels_.pass_sum(code.counts[t], term.a, term.factor, term.b)
                          : kernels_.dot(code.counts[t], term.factor, term.a, term.b);
      }
      *one.out = sum;
      break;
    }
    case Instruction::Form::extreme:
      if (one.terms > 0) return one.extremes(one.count, terms, one.out);
      *one.out = one.op == Op::max ? kernels_.largest(one.count, in[0].at) : kernels_.smallest(one.count, in[0].at);
      break;
    case Instruction::Form::shares:
      if (one.terms > 0) return one.shares(one.count, in[0], terms, one.out);
      pass_through_extreme<T>(one.op, in[0].at, one.count, *in[1].at, one.out);
      break;
    case Instruction::Form::steps:
      (skip_zeros ? kernels_.steps_without_zeros : kernels_.steps)(std::span(one.steps, one.count), values_.data());
      break;
    case Instruction::Form::layer:
    case Instruction::Form::row_sums:
    case Instruction::Form::outer:
    case Instruction::Form::pick:
    case Instruction::Form::scatter: break;  // of rows
  }
}

template class UniformPart<float>;
template class UniformPart<double>;

}  // namespace gradwalk::compiler
