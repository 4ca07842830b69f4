// SPDX-License-Identifier: MIT
#include "uniform.hpp"

#include <cstring>

namespace gradwalk::compiler {

using detail::In;
using detail::Kernels;

// An instruction with its addresses, worked out once: nothing of it changes between runs.
template <class T> struct UniformPart<T>::Bound {
  using Form = Instruction::Form;
  struct Target {  // what an operand's gradient is added to
    T* at = nullptr;
    std::size_t stride = 1;
    const std::uint32_t* table = nullptr;
    bool add = true;  // to what was written before; else this is the first
  };
  struct Gather {
    const T* from;
    const std::uint32_t* table;
    std::size_t count;
    T* to;
  };
  Form form = Form::function;
  Op op = Op::leaf;
  std::size_t count = 0;
  T *out = nullptr, *gradient = nullptr;
  typename Kernels<T>::Value value = nullptr;
  std::array<typename Kernels<T>::Local, 3> local{};
  std::array<In<T>, 3> in{};
  std::array<Target, 3> targets{};
  In<T> start{};
  std::vector<detail::Term<T>> terms;
  std::vector<std::array<Target, 2>> term_targets;
  std::vector<std::uint32_t> counts;  // of a dot's terms
  std::vector<Gather> gathers;
  std::vector<Buffer<T>> gathered;
};

template <class T> UniformPart<T>::UniformPart(const Instructions& program, const Kernels<T>& kernels, std::size_t more)
    : kernels_(kernels), places_(program), values_(places_.size() + more), adjoints_(places_.size() + more) {
  for (std::size_t i = 0; i < program.constants.size(); ++i)
    values_.data()[places_.constants() + i] = static_cast<T>(program.constants[i]);
  values_.data()[places_.one()] = 1;
  bool in_steps = true;
  for (const Instruction& one : program.uniform) {
    const bool takes = Steps<T>::takes(program, one);
    if (in_steps && !takes) stretches_.emplace_back();
    if (takes && stretches_.empty()) stretches_.emplace_back();
    in_steps = takes;
    if (takes)
      steps_.append(program, one);
    else
      bind(program, one);
    stretches_.back() = {bound_.size(), steps_.size()};
  }
}

template <class T> UniformPart<T>::~UniformPart() = default;

template <class T> std::size_t UniformPart<T>::bytes() const {
  std::size_t all = (values_.size() + adjoints_.size()) * sizeof(T) + bound_.size() * sizeof(Bound) + steps_.bytes() +
                    stretches_.size() * sizeof(Stretch);
  for (const Bound& one : bound_) {
    all += one.terms.size() * (sizeof(detail::Term<T>) + sizeof(one.term_targets[0])) +
           one.counts.size() * sizeof(std::uint32_t);
    for (const Buffer<T>& buffer : one.gathered) all += buffer.size() * sizeof(T);
  }
  return all;
}

template <class T> void UniformPart<T>::bind(const Instructions& program, const Instruction& one) {
  Bound& made = bound_.emplace_back();
  made.form = one.form;
  made.op = one.op;
  made.count = one.count;
  made.out = values_.data() + one.out;
  made.gradient = adjoints_.data() + one.out;
  const auto bind = [&](const Operand& operand, std::size_t count, typename Bound::Target& target) -> In<T> {
    if (!operand.exists()) return {nullptr, 0};
    const bool is_constant = operand.domain == Domain::constant;
    const T* base = is_constant ? constants() : values_.data();
    if (operand.table == none) {
      if (!is_constant) target = {adjoints_.data() + operand.place, operand.stride};
      return {base + operand.place, operand.stride};
    }
    const std::uint32_t* table = program.tables.data() + operand.table;
    if (!is_constant) target = {adjoints_.data(), 0, table};
    made.gathered.emplace_back(count);
    made.gathers.push_back({base, table, count, made.gathered.back().data()});
    return {made.gathered.back().data(), 1};
  };
  typename Bound::Target no_target;
  made.start = bind(one.start, one.count, no_target);
  if (one.form == Instruction::Form::function) {
    made.value = kernels_.value(one.op);
    for (std::size_t k = 0; k < 3 && one.in[k].exists(); ++k) {
      made.in[k] = bind(one.in[k], one.count, made.targets[k]);
      made.local[k] = kernels_.local(one.op, k);
    }
  } else if (one.form == Instruction::Form::extreme) {
    made.in[0] = bind(one.in[0], one.count, made.targets[0]);
  } else {
    const bool is_dot = one.form == Instruction::Form::dot;
    for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
      const Factors& factors = program.factors[t];
      const std::size_t count = is_dot ? factors.count : one.count;
      auto& targets = made.term_targets.emplace_back();
      made.terms.push_back({bind(factors.factor, count, no_target), bind(factors.a, count, targets[0]),
                            bind(factors.b, count, targets[1])});
      if (is_dot) made.counts.push_back(factors.count);
    }
  }
}

template <class T> template <class OfBound, class OfSteps>
void UniformPart<T>::each_reversed(const OfBound& of_bound, const OfSteps& of_steps) {
  for (std::size_t s = stretches_.size(); s-- > 0;) {
    const Stretch begin = s > 0 ? stretches_[s - 1] : Stretch{};
    of_steps(begin.steps_end, stretches_[s].steps_end);
    for (std::size_t i = stretches_[s].bound_end; i-- > begin.bound_end;) of_bound(bound_[i]);
  }
}

// What rows add comes first; then the instructions from the last to the first.
template <class T> void UniformPart<T>::plan(FirstWriters writers) {
  const auto place = [&](const typename Bound::Target& target, std::size_t i) {
    return target.table != nullptr ? target.table[i]
                                   : static_cast<std::size_t>(target.at - adjoints_.data()) + i * target.stride;
  };
  const auto add = [&](const typename Bound::Target& target, std::size_t count) {
    for (std::size_t i = 0; target.at != nullptr && i < count; ++i) writers.add(place(target, i));
  };
  const auto meet = [&](typename Bound::Target& target, std::size_t count) {
    if (target.at != nullptr && target.table == nullptr && target.stride == 1)
      target.add = !writers.store(count, [&](std::size_t i) { return place(target, i); });
    else
      add(target, count);
  };
  const auto plan_bound = [&](Bound& one) {
    for (std::size_t k = 0; k < 3; ++k)
      if (one.local[k] != nullptr) meet(one.targets[k], one.count);
    if (one.form == Instruction::Form::extreme) add(one.targets[0], one.count);
    for (std::size_t t = 0; t < one.terms.size(); ++t)
      for (auto& target : one.term_targets[t])
        meet(target, one.form == Instruction::Form::dot ? one.counts[t] : one.count);
  };
  each_reversed(plan_bound, [&](std::size_t begin, std::size_t end) { steps_.plan(begin, end, writers); });
  to_zero_ = writers.to_zero();
}

template <class T> void UniformPart<T>::zero_gradients() {
  for (const Range& range : to_zero_) std::memset(adjoints_.data() + range.begin, 0, range.count * sizeof(T));
}

template <class T> void UniformPart<T>::zero_all_gradients() {
  std::memset(adjoints_.data(), 0, adjoints_.size() * sizeof(T));
}

template <class T> void UniformPart<T>::forward() {
  Stretch begin;
  for (const Stretch& stretch : stretches_) {
    for (std::size_t i = begin.bound_end; i < stretch.bound_end; ++i) forward(bound_[i]);
    steps_.forward(begin.steps_end, stretch.steps_end, values_.data());
    begin = stretch;
  }
}

template <class T> void UniformPart<T>::forward(const Bound& one) {
  for (const auto& gather : one.gathers) kernels_.gather(gather.count, gather.from, gather.table, gather.to);
  switch (one.form) {
    case Instruction::Form::function: one.value(one.count, one.in.data(), one.out); break;
    case Instruction::Form::sums: kernels_.sums(one.count, one.start, one.terms, one.out); break;
    case Instruction::Form::dot: {
      T sum = one.start.at == nullptr ? T(0) : *one.start.at;
      for (std::size_t t = 0; t < one.terms.size(); ++t)
        sum += kernels_.dot(one.counts[t], one.terms[t].factor, one.terms[t].a, one.terms[t].b);
      *one.out = sum;
      break;
    }
    case Instruction::Form::extreme:
      *one.out =
          one.op == Op::max ? kernels_.largest(one.count, one.in[0].at) : kernels_.smallest(one.count, one.in[0].at);
      break;
    case Instruction::Form::layer: break;  // never uniform
  }
}

namespace {

// The chain max(max(a, b), c): its rule is the table's, applied from the outermost in.
template <class T> void pass_through_extreme(Op op, std::span<const T> in, T gradient, std::span<T> shares) {
  std::vector<T> results(in.begin(), in.end());
  const auto value = [&](T x, T y) {
    return op == Op::max ? rules::Rule<Op::max>::value(x, y) : rules::Rule<Op::min>::value(x, y);
  };
  for (std::size_t i = 1; i < in.size(); ++i) results[i] = value(results[i - 1], in[i]);
  for (std::size_t i = in.size() - 1; i > 0; --i) {
    const T x = results[i - 1], y = in[i], r = results[i];
    const T dx = op == Op::max ? rules::Rule<Op::max>::dx(x, y, r) : rules::Rule<Op::min>::dx(x, y, r);
    const T dy = op == Op::max ? rules::Rule<Op::max>::dy(x, y, r) : rules::Rule<Op::min>::dy(x, y, r);
    shares[i] = gradient == 0 ? T(0) : gradient * dy;
    gradient = gradient == 0 ? T(0) : gradient * dx;
  }
  shares[0] = gradient;
}

}  // namespace

template <class T> void UniformPart<T>::backward() {
  std::vector<T> scratch;
  each_reversed(
      [&](const Bound& one) { backward(one, scratch); },
      [&](std::size_t begin, std::size_t end) { steps_.backward(begin, end, values_.data(), adjoints_.data()); });
}

template <class T> void UniformPart<T>::backward(const Bound& one, std::vector<T>& scratch) {
  const auto room = [&](std::size_t count) {
    if (scratch.size() < count) scratch.resize(count);
    return scratch.data();
  };
  // g * factor * other, added to where the operand's gradient lies.
  const auto pass = [&](const typename Bound::Target& target, std::size_t n, In<T> g, In<T> factor, In<T> other) {
    if (target.at == nullptr) return;
    if (target.table != nullptr) {
      T* const made = room(n);
      kernels_.pass_on(n, g, factor, other, made, false);
      kernels_.scatter_add(n, made, target.table, target.at);
    } else if (target.stride == 1) {
      kernels_.pass_on(n, g, factor, other, target.at, target.add);
    } else {
      *target.at += kernels_.pass_sum(n, g, factor, other);
    }
  };
  switch (one.form) {
    case Instruction::Form::function:
      for (std::size_t k = 0; k < 3; ++k) {
        const auto& target = one.targets[k];
        if (target.at == nullptr || one.local[k] == nullptr) continue;
        if (target.table == nullptr && target.stride == 1) {
          one.local[k](one.count, one.in.data(), one.out, one.gradient, target.at, target.add);
          continue;
        }
        T* const made = room(one.count);
        one.local[k](one.count, one.in.data(), one.out, one.gradient, made, false);
        if (target.table != nullptr)
          kernels_.scatter_add(one.count, made, target.table, target.at);
        else
          *target.at += kernels_.dot(one.count, {}, {made, 1}, {});
      }
      break;
    case Instruction::Form::sums:
    case Instruction::Form::dot: {
      const bool is_dot = one.form == Instruction::Form::dot;
      for (std::size_t t = 0; t < one.terms.size(); ++t) {
        const detail::Term<T>& term = one.terms[t];
        const In<T> g{one.gradient, is_dot ? 0u : 1u};
        const std::size_t n = is_dot ? one.counts[t] : one.count;
        pass(one.term_targets[t][0], n, g, term.factor, term.b);
        pass(one.term_targets[t][1], n, g, term.factor, term.a);
      }
      break;
    }
    case Instruction::Form::extreme: {
      const T gradient = *one.gradient;
      if (gradient == 0) break;
      T* const shares = room(one.count);
      pass_through_extreme<T>(one.op, {one.in[0].at, one.count}, gradient, {shares, one.count});
      if (one.targets[0].table != nullptr)
        kernels_.scatter_add(one.count, shares, one.targets[0].table, one.targets[0].at);
      else if (one.targets[0].stride == 1)
        kernels_.add(one.count, shares, one.targets[0].at);
      else
        for (std::size_t i = 0; i < one.count; ++i) *one.targets[0].at += shares[i];
      break;
    }
    case Instruction::Form::layer: break;
  }
}

template class UniformPart<float>;
template class UniformPart<double>;

}  // namespace gradwalk::compiler
