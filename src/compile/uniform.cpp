// SPDX-License-Identifier: MIT
#include "uniform.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <new>

#include "machine_code.hpp"
#include "strips.hpp"

namespace gradwalk::compiler {

using detail::In;
using detail::Kernels;

namespace {

constexpr std::size_t numbers_a_line = 16;  // gathered operands begin with a line of the cache

// Calls meet(i, piece) for each instruction: of its vectors, `piece` numbers are computed at a time.
template <class Meet> void each_piece(const std::vector<Strip>& strips, Meet meet) {
  std::size_t end = 0;  // of the last strip
  std::uint32_t piece = none;
  for (std::size_t i = 0; i < strips.size(); ++i) {
    if (strips[i].instructions > 0) {
      end = i + strips[i].instructions;
      piece = strips[i].piece;
    }
    meet(i, i < end ? piece : none);
  }
}

}  // namespace

// An instruction with its addresses, worked out once: nothing of it changes between runs.
template <class T> struct UniformPart<T>::Bound {
  Instruction::Form form = Instruction::Form::function;
  Op op = Op::leaf;
  std::uint32_t count = 0;
  std::uint32_t in = 0, term = 0, terms = 0, gather = 0, gathers = 0;  // where its own begin, and how many there are
  T* out = nullptr;
  Strip strip;                 // that begins here
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
                                               bool may_write_code, const StripLimits& limits)
    : program_(program),
      kernels_(kernels),
      at_(program),
      may_write_code_(may_write_code && MachineCode<T>::is_possible(kernels)),
      values_(at_.varying() + more) {
  for (std::size_t i = 0; i < program.constants.size(); ++i)
    values_.data()[at_.constants() + i] = static_cast<T>(program.constants[i]);
  values_.data()[at_.one()] = 1;
  const std::vector<Strip> strips = find_strips(program, program.uniform, limits),
                           backward_strips = find_strips(program, program.uniform_backward, limits);
  const auto most = [&](bool in_strips) {
    return std::max(most_gathered(program.uniform, strips, in_strips),
                    most_gathered(program.uniform_backward, backward_strips, in_strips));
  };
  gathered_in_strips_ = most(true);
  scratch_.resize(1);
  scratch_[0].gathered.resize(most(false));
  scratch_[0].terms.resize(
      std::max(most_terms(program.uniform, strips), most_terms(program.uniform_backward, backward_strips)));
  forward_ = bind(program.uniform, strips);
  backward_ = bind(program.uniform_backward, backward_strips);
  for (Code* code : {&forward_, &backward_})
    for (Bound& one : code->list) one.code = code;
  list_copies();
}

template <class T> UniformPart<T>::~UniformPart() = default;

template <class T> std::size_t UniformPart<T>::bytes() const {
  std::size_t all = values_.bytes() + copies_.capacity() * sizeof(Copy);
  for (const Scratch& scratch : scratch_)
    all += scratch.gathered.bytes() + scratch.terms.capacity() * sizeof(detail::Term<T>);
  for (const Code* code : {&forward_, &backward_})
    all += code->list.size() * sizeof(Bound) + code->in.size() * sizeof(In<T>) +
           code->terms.size() * (sizeof(detail::Term<T>) + sizeof(std::uint32_t)) +
           code->gathers.size() * sizeof(Gather);
  return all;
}

template <class T>
auto UniformPart<T>::bind(const std::vector<Instruction>& instructions, const std::vector<Strip>& strips) -> Code {
  Code code;
  code.instructions = &instructions;
  code.list.reserve(instructions.size());
  each_piece(strips, [&](std::size_t i, std::uint32_t piece) {
    code.list.push_back(bind(instructions[i], piece, code));
    code.list.back().strip = strips[i];
  });
  code.in.shrink_to_fit();
  code.terms.shrink_to_fit();
  code.counts.shrink_to_fit();
  code.gathers.shrink_to_fit();
  return code;
}

// How many numbers the instruction that gathers most, in strips or anywhere, has to gather at a time.
template <class T> std::size_t UniformPart<T>::most_gathered(const std::vector<Instruction>& list,
                                                             const std::vector<Strip>& strips, bool in_strips) const {
  std::size_t most = 0;
  each_piece(strips, [&](std::size_t i, std::uint32_t piece) {
    if (in_strips && piece == none) return;
    std::size_t all = 0;
    each_operand(program_, list[i], [&](const Operand& operand, std::uint32_t count) {
      if (operand.table != none) all += round_up(std::min(count, piece), numbers_a_line);
    });
    most = std::max(most, all);
  });
  return most;
}

// How many terms the longest sum in a strip has.
template <class T>
std::size_t UniformPart<T>::most_terms(const std::vector<Instruction>& list, const std::vector<Strip>& strips) {
  std::size_t most = 0;
  each_piece(strips, [&](std::size_t i, std::uint32_t piece) {
    if (piece != none) most = std::max<std::size_t>(most, list[i].terms);
  });
  return most;
}

template <class T> auto UniformPart<T>::bind(const Instruction& one, std::uint32_t piece, Code& code) -> Bound {
  Bound bound;
  bound.form = one.form;
  bound.op = one.op;
  bound.count = one.count;
  bound.out = values_.data() + one.out;
  bound.in = static_cast<std::uint32_t>(code.in.size());
  bound.term = static_cast<std::uint32_t>(code.terms.size());
  bound.terms = one.form == Instruction::Form::steps ? 0 : one.terms;
  bound.gather = static_cast<std::uint32_t>(code.gathers.size());
  if (one.form == Instruction::Form::steps) bound.steps = program_.steps.data() + one.begin;
  if (one.form == Instruction::Form::function) bound.value = kernels_.value(one.op);
  if (one.form == Instruction::Form::local) bound.local = kernels_.local(one.op, one.by);
  if (one.form == Instruction::Form::extreme && one.terms > 0) bound.extremes = kernels_.extremes(one.op);
  if (one.form == Instruction::Form::shares && one.terms > 0) bound.shares = kernels_.shares(one.op);
  T* to = scratch_[0].gathered.data();
  std::array<In<T>, 3> term;
  std::size_t met = 0;
  each_operand(program_, one, [&](const Operand& operand, std::uint32_t count) {
    In<T> in{nullptr, 0};
    const T* const base = operand.exists() ? values_.data() + at_.of(operand.rate, 0) : nullptr;
    if (operand.exists()) in = {base + operand.place, operand.stride};
    if (operand.table != none) {
      code.gathers.push_back({base, program_.tables.data() + operand.table, to, count});
      in = {to, 1};
      to += round_up(std::min(count, piece), numbers_a_line);
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
  bound.gathers = static_cast<std::uint32_t>(code.gathers.size()) - bound.gather;
  return bound;
}

// Gradients that follow one another are one copy.
template <class T> void UniformPart<T>::list_copies() {
  for (const Instructions::Gradient& gradient : program_.gradients) {
    const std::size_t from = at_.of(gradient.at.rate, gradient.at.place), to = gradient.parameter;
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

template <class T> void UniformPart<T>::write_code(Code& code) {
  MachineCode<T> writer(program_, kernels_);
  writer.add(*code.instructions, program_.steps,
             {reinterpret_cast<const void*>(&run_range), this, code.list.data(), sizeof(Bound)});
  code.machine_code = writer.finish();
}

template <class T> void UniformPart<T>::run(Code& code) {
  constexpr std::size_t runs_before = 32;  // about as many as writing the code takes
  if (may_write_code_ && !code.list.empty() && ++code.runs == runs_before) {
    try {
      write_code(code);
    } catch (const std::bad_alloc&) {  // Without memory for code, the interpreter goes on.
    }
  }
  if (code.machine_code.is_there())
    run_code(code.machine_code, values_.data());
  else
    run<false>(code.list.data(), code.list.data() + code.list.size());
}

template <class T> void UniformPart<T>::run_range(UniformPart* part, const Bound* begin, const Bound* end) {
  part->run<false>(begin, end);
}

template <class T> void UniformPart<T>::backward(bool skip_zeros) {
  for (const Instructions::Pack& pack : program_.packs) unpack(pack);
  if (skip_zeros)
    run<true>(backward_.list.data(), backward_.list.data() + backward_.list.size());
  else
    run(backward_);
  for (const Copy& copy : copies_) std::copy_n(values_.data() + copy.from, copy.count, gradients() + copy.to);
}

template <class T> template <bool skip_zeros> void UniformPart<T>::run(const Bound* begin, const Bound* end) {
  for (const Bound* one = begin; one != end;) {
    if (one->strip.instructions == 0) {
      run<skip_zeros>(*one++);
      continue;
    }
    const std::span strip(one, one->strip.instructions);
    run_strip<skip_zeros>(strip);
    one += strip.size();
  }
}

namespace {

// The chain max(max(a, b), c): its rule is the table's, applied from the outermost in. If one operand alone is the
// extreme, it receives the whole gradient.
template <class T> void pass_through_extreme(Op op, const T* in, std::size_t count, T extreme, T gradient, T* shares) {
  const auto equal = static_cast<std::size_t>(std::count(in, in + count, extreme));
  if (gradient == 0 || (equal == 1 && std::isfinite(gradient))) {
    std::fill_n(shares, count, T(0));
    if (gradient != 0) shares[std::find(in, in + count, extreme) - in] = gradient;
    return;
  }
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
  const Code& code = *one.code;
  for (std::uint32_t i = one.gather; i < one.gather + one.gathers; ++i) {
    const Gather& gather = code.gathers[i];
    kernels_.gather(gather.count, gather.from, gather.table, gather.to);
  }
  const In<T>* const in = code.in.data() + one.in;
  const auto terms = std::span(code.terms).subspan(one.term, one.terms);
  const auto extreme = [&] {
    return one.op == Op::max ? kernels_.largest(one.count, in[0].at) : kernels_.smallest(one.count, in[0].at);
  };
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
      *one.out = extreme();
      break;
    case Instruction::Form::shares:
      if (one.terms > 0) return one.shares(one.count, in[0], terms, one.out);
      pass_through_extreme<T>(one.op, in[0].at, one.count, extreme(), *in[1].at, one.out);
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

// Pieces do not depend on each other, so threads can share them. Machine code calls this, so it must not throw.
template <class T> template <bool skip_zeros> void UniformPart<T>::run_strip(std::span<const Bound> strip) {
  const std::uint32_t count = strip[0].count, piece = strip[0].strip.piece;
  const std::size_t pieces = (count + piece - 1) / piece;
  const std::size_t parts = is_worth_threads(strip[0]) && pool_ != nullptr ? std::min(pool_->size(), pieces) : 1;
  const auto run_part = [&](std::size_t part) {
    if (part >= parts) return;
    for (std::size_t p = pieces * part / parts; p < pieces * (part + 1) / parts; ++p) {
      const auto first = static_cast<std::uint32_t>(p * piece);
      for (const Bound& one : strip) run_piece<skip_zeros>(one, first, std::min(piece, count - first), scratch_[part]);
    }
  };
  if (parts == 1) return run_part(0);
  try {
    pool_->run(std::ref(run_part));
  } catch (const std::exception&) {  // In a child of fork(), the threads could not be started.
    for (std::size_t part = 0; part < parts; ++part) run_part(part);
  }
}

template <class T> bool UniformPart<T>::is_worth_threads(const Bound& first) {
  constexpr std::size_t worth_it = 100'000;  // about as many numbers as take 100 microseconds
  return std::size_t{first.count} * first.strip.instructions >= worth_it;
}
template <class T> bool UniformPart<T>::is_worth_threads() const {
  const auto is_worth = [](const Bound& one) { return is_worth_threads(one); };
  return std::any_of(forward_.list.begin(), forward_.list.end(), is_worth) ||
         std::any_of(backward_.list.begin(), backward_.list.end(), is_worth);
}

template <class T> void UniformPart<T>::use_threads(Pool* pool) {
  scratch_.resize(std::max<std::size_t>(scratch_.size(), pool->size()));
  for (Scratch& scratch : std::span(scratch_).subspan(1)) {
    scratch.gathered.resize(gathered_in_strips_);
    scratch.terms.resize(scratch_[0].terms.size());
  }
  pool_ = pool;
}

// Computes `count` numbers of an instruction in a strip, from the first-th on.
template <class T> template <bool skip_zeros>
void UniformPart<T>::run_piece(const Bound& one, std::uint32_t first, std::uint32_t count, Scratch& scratch) {
  const Code& code = *one.code;
  const Buffer<T>& all = scratch_[0].gathered;
  const T *const gathered = all.data(), *const end_of_gathered = gathered + all.size();
  for (std::uint32_t i = one.gather; i < one.gather + one.gathers; ++i) {
    const Gather& gather = code.gathers[i];
    kernels_.gather(count, gather.from, gather.table + first, scratch.gathered.data() + (gather.to - gathered));
  }
  const auto piece = [&](In<T> in) {
    if (in.at >= gathered && in.at < end_of_gathered)
      in.at = scratch.gathered.data() + (in.at - gathered);
    else if (in.at != nullptr)
      in.at += in.stride * first;
    return in;
  };
  T* const out = one.out + first;
  if (one.terms == 0 && one.form != Instruction::Form::sums) {
    std::array<In<T>, local_operands> in;
    const auto from = std::span(code.in).subspan(one.in, operands_of(one.form));
    std::transform(from.begin(), from.end(), in.begin(), piece);
    if (one.form == Instruction::Form::function) return one.value(count, in.data(), out);
    return one.local(count, in.data(), in[3], in[4], out, false);
  }
  const std::span terms(scratch.terms.data(), one.terms);
  for (std::uint32_t t = 0; t < one.terms; ++t) {
    const detail::Term<T>& term = code.terms[one.term + t];
    terms[t] = {piece(term.factor), piece(term.a), piece(term.b)};
  }
  if (one.form == Instruction::Form::extreme) return one.extremes(count, terms, out);
  (skip_zeros ? kernels_.sums_without_zeros : kernels_.sums)(count, piece(code.in[one.in]), terms, out);
}

template class UniformPart<float>;
template class UniformPart<double>;

}  // namespace gradwalk::compiler
