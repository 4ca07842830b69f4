// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "gradwalk/error.hpp"

namespace gradwalk::compiler {

using detail::In;
using detail::Kernels;

namespace {
constexpr std::size_t line = 64;  // bytes
constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }
}  // namespace

template <class T> void Buffer<T>::Free::operator()(T* at) const { std::free(at); }

template <class T> void Buffer<T>::resize(std::size_t size) {
  const std::size_t bytes = round_up((size + 1) * sizeof(T), line);
  at_.reset(static_cast<T*>(std::aligned_alloc(line, bytes)));
  if (at_ == nullptr) throw std::bad_alloc();
  std::memset(static_cast<void*>(at_.get()), 0, bytes);
  size_ = size;
}

// What a uniform instruction needs, worked out once: nothing of it changes between runs.
template <class T> struct Machine<T>::Uniform {
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

template <class T> Machine<T>::Machine(Instructions program, const Kernels<T>& kernels, std::size_t threads)
    : program_(std::move(program)),
      kernels_(kernels),
      values_(program_.uniform_places),
      adjoints_(program_.uniform_places),
      constants_(program_.constants.size()),
      threads_(std::max<std::size_t>(threads, 1)) {
  for (std::size_t i = 0; i < program_.constants.size(); ++i)
    constants_.data()[i] = static_cast<T>(program_.constants[i]);
  bind_uniform();
  list_reductions();
  plan_varying();
  plan_uniform();
  find_overlaps();
}

template <class T> Machine<T>::~Machine() = default;

template <class T> std::size_t Machine<T>::bytes() const {
  std::size_t all = (values_.size() + adjoints_.size() + constants_.size()) * sizeof(T);
  all += program_.constants.size() * sizeof(double);
  all += (program_.uniform.size() + program_.varying.size()) * sizeof(Instruction) + uniform_.size() * sizeof(Uniform);
  all += program_.factors.size() * sizeof(Factors) + program_.tables.size() * sizeof(std::uint32_t);
  for (const Uniform& one : uniform_) {
    all += one.terms.size() * (sizeof(detail::Term<T>) + sizeof(one.term_targets[0])) +
           one.counts.size() * sizeof(std::uint32_t);
    for (const Buffer<T>& buffer : one.gathered) all += buffer.size() * sizeof(T);
  }
  return all;
}

// ---- what is uniform ----

template <class T> void Machine<T>::bind_uniform() {
  uniform_.reserve(program_.uniform.size());
  for (const Instruction& one : program_.uniform) {
    Uniform& made = uniform_.emplace_back();
    made.form = one.form;
    made.op = one.op;
    made.count = one.count;
    made.out = values_.data() + one.out;
    made.gradient = adjoints_.data() + one.out;
    const auto bind = [&](const Operand& operand, std::size_t count, typename Uniform::Target& target) -> In<T> {
      if (!operand.exists()) return {nullptr, 0};
      const bool is_constant = operand.domain == Domain::constant;
      const T* base = is_constant ? constants_.data() : values_.data();
      if (operand.table == none) {
        if (!is_constant) target = {adjoints_.data() + operand.place, operand.stride, nullptr, true};
        return {base + operand.place, operand.stride};
      }
      const std::uint32_t* table = program_.tables.data() + operand.table;
      if (!is_constant) target = {adjoints_.data(), 0, table, true};
      made.gathered.emplace_back(count);
      made.gathers.push_back({base, table, count, made.gathered.back().data()});
      return {made.gathered.back().data(), 1};
    };
    typename Uniform::Target no_target;
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
        const Factors& factors = program_.factors[t];
        const std::size_t count = is_dot ? factors.count : one.count;
        auto& targets = made.term_targets.emplace_back();
        made.terms.push_back({bind(factors.factor, count, no_target), bind(factors.a, count, targets[0]),
                              bind(factors.b, count, targets[1])});
        if (is_dot) made.counts.push_back(factors.count);
      }
    }
  }
}

// Which gradients are written by somebody before anything is added to them: the others have to be 0 at the beginning.
// What blocks of rows add comes first.
template <class T> void Machine<T>::plan_uniform() {
  std::vector<bool> written(program_.uniform_places), zeroed(program_.uniform_places, true);
  // Layers come first, from the last to the first, as reduce_layers() has them; then the sums of the blocks.
  const auto store = [&](std::uint32_t rows, std::uint32_t row, std::uint32_t columns, std::uint32_t column,
                         std::uint32_t first) {
    bool is_first = true;
    for (std::uint32_t i = 0; i < rows; ++i)
      for (std::uint32_t t = 0; t < columns; ++t) is_first = is_first && !written[first + i * row + t * column];
    for (std::uint32_t i = 0; i < rows; ++i)
      for (std::uint32_t t = 0; t < columns; ++t) {
        written[first + i * row + t * column] = true;
        if (is_first) zeroed[first + i * row + t * column] = false;
      }
    return is_first;
  };
  for (std::size_t n = program_.varying.size(); n-- > 0;) {
    const Instruction& one = program_.varying[n];
    if (one.form != Instruction::Form::layer || !plans_[n].is_needed) continue;
    // Weights that lie on each other (one.row is 0, or rows overlap) are added to more than once by one call.
    const bool apart =
        one.count == 1 || (one.column == 1 && one.row >= one.depth) || (one.row == 1 && one.column >= one.count);
    if (one.in[0].domain == Domain::uniform)
      plans_[n].stores_weights = store(one.count, one.row, one.depth, one.column, one.in[0].place) && apart;
    if (one.in[0].domain == Domain::uniform && !plans_[n].stores_weights)
      for (std::uint32_t i = 0; i < one.count; ++i)
        for (std::uint32_t t = 0; t < one.depth; ++t) zeroed[one.in[0].place + i * one.row + t * one.column] = true;
    if (one.in[2].exists() && one.in[2].domain == Domain::uniform) {
      plans_[n].stores_bias =
          (one.count == 1 || one.in[2].stride > 0) && store(one.count, one.in[2].stride, 1, 0, one.in[2].place);
      if (!plans_[n].stores_bias)
        for (std::uint32_t i = 0; i < one.count; ++i) written[place(one.in[2], i)] = true;
    }
  }
  for (const std::uint32_t place : reduced_) written[place] = true;
  if (program_.outputs.front().domain == Domain::uniform) written[program_.outputs.front().place] = true;
  const auto plan = [&](typename Uniform::Target& target, std::size_t count) {
    if (target.at == nullptr) return;
    const auto first = static_cast<std::size_t>(target.at - adjoints_.data());
    if (target.table == nullptr && target.stride == 1) {
      const auto begin = written.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + static_cast<std::ptrdiff_t>(count);
      target.add = std::find(begin, end, true) != end;
      if (!target.add) std::fill_n(zeroed.begin() + static_cast<std::ptrdiff_t>(first), count, false);
      std::fill(begin, end, true);
    } else if (target.table == nullptr) {
      written[first] = true;
    } else {
      for (std::size_t i = 0; i < count; ++i) written[target.table[i]] = true;
    }
  };
  const auto plan_added = [&](const typename Uniform::Target& target, std::size_t count) {
    for (std::size_t i = 0; target.at != nullptr && i < count; ++i)
      written[target.table != nullptr ? target.table[i]
                                      : static_cast<std::size_t>(target.at - adjoints_.data()) + i * target.stride] =
          true;
  };
  for (auto one = uniform_.rbegin(); one != uniform_.rend(); ++one) {
    if (one->form == Instruction::Form::function)
      for (std::size_t k = 0; k < 3; ++k) {
        if (one->local[k] != nullptr) plan(one->targets[k], one->count);
      }
    else if (one->form == Instruction::Form::extreme)
      plan_added(one->targets[0], one->count);
    else
      for (std::size_t t = 0; t < one->terms.size(); ++t)
        for (auto& target : one->term_targets[t])
          plan(target, one->form == Instruction::Form::dot ? one->counts[t] : one->count);
  }
  for (std::size_t i = 0; i < zeroed.size();) {
    const std::size_t begin = i;
    while (i < zeroed.size() && zeroed[i]) ++i;
    if (i > begin) to_zero_.push_back({begin, i - begin});
    while (i < zeroed.size() && !zeroed[i]) ++i;
  }
}

template <class T> void Machine<T>::forward_uniform() {
  for (Uniform& one : uniform_) {
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

template <class T> void Machine<T>::backward_uniform() {
  std::vector<T> scratch;
  const auto room = [&](std::size_t count) {
    if (scratch.size() < count) scratch.resize(count);
    return scratch.data();
  };
  for (auto place = uniform_.rbegin(); place != uniform_.rend(); ++place) {
    const Uniform& one = *place;
    // g * factor * other, added to where the operand's gradient lies.
    const auto pass = [&](const typename Uniform::Target& target, std::size_t n, In<T> g, In<T> factor, In<T> other) {
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
}

// ---- rows ----

template <class T> std::uint32_t Machine<T>::place(const Operand& operand, std::uint32_t i) const {
  return operand.table != none ? program_.tables[operand.table + i] : operand.place + operand.stride * i;
}

// The i-th number of an operand, for these columns.
template <class T> In<T> Machine<T>::in(const Operand& operand, std::uint32_t i, Columns columns) const {
  if (!operand.exists()) return {nullptr, 0};
  const std::size_t at = place(operand, i);
  if (operand.domain == Domain::varying) return {row_values_.data() + at * columns_ + columns.begin, 1};
  return {(operand.domain == Domain::constant ? constants_ : values_).data() + at, 0};
}

// Where its gradients for these columns are added to.
template <class T> T* Machine<T>::gradient_of(const Operand& operand, std::uint32_t i, Columns columns) {
  return row_adjoints_.data() + std::size_t{place(operand, i)} * columns_ + columns.begin;
}

template <class T> template <class Add> void Machine<T>::each_cell(Columns columns, Add add) {
  for (std::size_t first = columns.begin; first < columns.end; first += cell_)
    add(first, std::min(cell_, columns.end - first), partial_.data() + first / cell_ * reduced_.size());
}

// The uniform operands of what is no layer: each cell has a sum for each.
template <class T> void Machine<T>::list_reductions() {
  reduction_slot_.assign(program_.uniform_places, none);
  const auto meet = [&](const Operand& operand, std::uint32_t count) {
    if (!operand.exists() || operand.domain != Domain::uniform) return;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t& slot = reduction_slot_[place(operand, i)];
      if (slot != none) continue;
      slot = static_cast<std::uint32_t>(reduced_.size());
      reduced_.push_back(place(operand, i));
    }
  };
  for (const Instruction& one : program_.varying) {
    if (one.form == Instruction::Form::layer) continue;
    for (const Operand& operand : one.in) meet(operand, one.count);
    for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
      meet(program_.factors[t].a, one.count);
      meet(program_.factors[t].b, one.count);
    }
  }
}

// Layers with the same weights add to the same gradients, output by output. Where weights lie on each other otherwise,
// the outputs cannot be shared between threads.
template <class T> void Machine<T>::find_overlaps() {
  std::vector<std::uint32_t> layer_of(program_.uniform_places, none);
  for (std::uint32_t n = 0; n < program_.varying.size(); ++n) {
    const Instruction& one = program_.varying[n];
    if (one.form != Instruction::Form::layer) continue;
    const auto meet = [&](std::size_t at) {
      if (layer_of[at] == none) {
        layer_of[at] = n;
        return;
      }
      const Instruction& other = program_.varying[layer_of[at]];
      weights_overlap_ = weights_overlap_ || other.in[0].place != one.in[0].place || other.count != one.count ||
                         other.row != one.row || other.column != one.column || other.depth != one.depth ||
                         other.in[2].place != one.in[2].place || other.in[2].stride != one.in[2].stride;
    };
    if (one.in[0].domain == Domain::uniform)
      for (std::uint32_t i = 0; i < one.count; ++i)
        for (std::uint32_t t = 0; t < one.depth; ++t) meet(one.in[0].place + i * one.row + t * one.column);
    if (one.in[2].exists() && one.in[2].domain == Domain::uniform)
      for (std::uint32_t i = 0; i < one.count; ++i) meet(place(one.in[2], i));
  }
}

// As for what is uniform: who is the first to write a gradient, in the order in which backward_of() asks, and which
// instructions have a gradient at all.
template <class T> void Machine<T>::plan_varying() {
  std::vector<bool> written(program_.varying_places), zeroed(program_.varying_places, true);
  if (program_.outputs.front().domain == Domain::varying) {
    written[program_.outputs.front().place] = true;
    zeroed[program_.outputs.front().place] = false;
  }
  plans_.resize(program_.varying.size());
  const auto meet = [&](Plan& plan, std::uint32_t first, std::uint32_t count, bool can_store) {
    bool store = can_store;
    for (std::uint32_t i = first; i < first + count; ++i) store = store && !written[i];
    for (std::uint32_t i = first; i < first + count; ++i) {
      if (store) zeroed[i] = false;
      written[i] = true;
    }
    plan.stores.push_back(store);
  };
  for (std::size_t n = program_.varying.size(); n-- > 0;) {
    const Instruction& one = program_.varying[n];
    Plan& plan = plans_[n];
    plan.one_call = is_one_call(one);
    for (std::uint32_t i = 0; i < one.count; ++i) plan.is_needed = plan.is_needed || written[one.out + i];
    if (!plan.is_needed) continue;
    if (one.form == Instruction::Form::function) {
      plan.value = kernels_.value(one.op);
      for (std::uint32_t i = 0; i < (plan.one_call ? 1 : one.count); ++i)
        for (std::size_t k = 0; k < 3; ++k) {
          plan.local[k] = one.in[k].exists() ? kernels_.local(one.op, k) : nullptr;
          if (plan.local[k] == nullptr || one.in[k].domain != Domain::varying)
            plan.stores.push_back(false);
          else
            meet(plan, place(one.in[k], i), plan.one_call ? one.count : 1, true);
        }
    } else if (one.form == Instruction::Form::sums) {
      for (std::uint32_t i = 0; i < one.count; ++i)
        for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t)
          for (const Operand* operand : {&program_.factors[t].a, &program_.factors[t].b}) {
            if (!operand->exists() || operand->domain != Domain::varying)
              plan.stores.push_back(false);
            else
              meet(plan, place(*operand, i), 1, true);
          }
    } else if (one.in[1].table == none) {
      meet(plan, one.in[1].place, one.depth, true);
    } else {
      for (std::uint32_t t = 0; t < one.depth; ++t) meet(plan, place(one.in[1], t), 1, false);
    }
  }
  for (std::size_t n = 0; n < plans_.size(); ++n)
    if (program_.varying[n].form == Instruction::Form::function)
      plans_[n].value = kernels_.value(program_.varying[n].op);
  for (std::size_t i = 0; i < zeroed.size(); ++i) {
    if (!zeroed[i]) continue;
    if (!rows_to_zero_.empty() && rows_to_zero_.back().begin + rows_to_zero_.back().count == i)
      ++rows_to_zero_.back().count;
    else
      rows_to_zero_.push_back({i, 1});
  }
}

// One call does for all numbers of the instruction and all rows.
template <class T> bool Machine<T>::is_one_call(const Instruction& one) const {
  if (one.count == 1) return true;
  for (const Operand& operand : one.in) {
    if (!operand.exists()) continue;
    if (operand.table != none || operand.stride != (operand.domain == Domain::varying ? 1 : 0)) return false;
  }
  return true;
}

// About how many floating-point operations a row takes, forwards and backwards.
template <class T> std::size_t Machine<T>::work_a_row() const {
  std::size_t work = 0;
  for (const Instruction& one : program_.varying) {
    if (one.form == Instruction::Form::layer)
      work += std::size_t{6} * one.count * one.depth;
    else
      work +=
          one.form == Instruction::Form::sums ? std::size_t{16} * one.count * one.terms : std::size_t{60} * one.count;
  }
  return work;
}

// A block has as many columns as keep its numbers in the cache, whole vectors, and no more than there are rows; its
// cells are all of it where the work is little, and else such that several threads have some.
template <class T> void Machine<T>::set_block(std::size_t rows) {
  constexpr std::size_t cached = std::size_t{1} << 20;  // bytes
  constexpr std::size_t little = 2'000'000;             // operations
  const std::size_t unit = line / sizeof(T);
  const std::size_t most = cached / (2 * sizeof(T) * std::max<std::size_t>(program_.varying_places, 1));
  const std::size_t fit = std::clamp<std::size_t>(most / unit * unit, 4 * unit, 1024);
  const std::size_t wanted = round_up(std::min(rows, fit), unit);
  if (wanted == columns_) return;
  columns_ = 0;  // until all is there
  const bool is_little = work_a_row() * wanted < little;
  cell_ = is_little ? wanted : round_up((wanted + 7) / 8, unit);
  const std::size_t cells = (wanted + cell_ - 1) / cell_;
  row_values_.resize(program_.varying_places * wanted);
  row_adjoints_.resize(program_.varying_places * wanted);
  seeds_.resize(wanted);
  partial_.resize(cells * reduced_.size());
  cell_results_.resize(cells);
  std::size_t most_rows = 1;  // of scratch
  for (const Instruction& one : program_.varying) most_rows = std::max<std::size_t>({most_rows, one.depth, one.count});
  const std::size_t count = std::min(threads_, cells);
  workers_.clear();
  for (std::size_t w = 0; w < count; ++w) {
    Worker& worker = workers_.emplace_back();
    worker.columns = {cells * w / count * cell_, std::min(cells * (w + 1) / count * cell_, wanted)};
    worker.scratch.resize(most_rows * (worker.columns.end - worker.columns.begin));
  }
  if (pool_ == nullptr || pool_->size() != count) pool_ = std::make_unique<Pool>(count);
  columns_ = wanted;
}

// Inputs side by side for all rows. The last row is repeated where there are no more: what it computes is as good as
// any.
template <class T> template <class N>
void Machine<T>::load_inputs(const N* rows, std::size_t begin, std::size_t count, Columns columns) {
  const std::size_t inputs = program_.inputs;
  T* const values = row_values_.data() + columns.begin;
  const std::size_t width = columns.end - columns.begin;
  const std::size_t first = std::min(columns.begin, count - 1), own = std::min(width, count - first);
  const N* const from = rows + (begin + first) * inputs;
  if constexpr (std::is_same_v<N, T>) {
    kernels_.transpose(own, inputs, from, inputs, values, columns_);
  } else {
    constexpr std::size_t piece = 16;  // rows, so that what is written stays in the cache until it is whole
    for (std::size_t top = 0; top < own; top += piece)
      for (std::size_t i = 0; i < inputs; ++i)
        for (std::size_t r = top; r < std::min(top + piece, own); ++r)
          values[i * columns_ + r] = static_cast<T>(from[r * inputs + i]);
  }
  for (std::size_t i = 0; own < width && i < inputs; ++i)
    std::fill(values + i * columns_ + own, values + i * columns_ + width, values[i * columns_ + own - 1]);
}

template <class T> void Machine<T>::load(const Rows& rows, std::size_t begin, Columns columns) {
  if (rows.floats != nullptr)
    load_inputs(rows.floats, begin, rows_, columns);
  else
    load_inputs(rows.numbers, begin, rows_, columns);
  for (std::size_t r = columns.begin; r < columns.end; ++r)
    seeds_.data()[r] = r >= rows_ ? T(0) : rows.seeds == nullptr ? T(1) : static_cast<T>(rows.seeds[begin + r]);
}

template <class T> void Machine<T>::forward(Worker& worker) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  for (std::size_t n = 0; n < program_.varying.size(); ++n) {
    const Instruction& one = program_.varying[n];
    T* const out = row_values_.data() + one.out * columns_ + columns.begin;
    switch (one.form) {
      case Instruction::Form::function: {
        const bool at_once = plans_[n].one_call && width == columns_;
        std::array<In<T>, 3> operands;
        for (std::uint32_t i = 0; i < (at_once ? 1 : one.count); ++i) {
          for (std::size_t k = 0; k < 3; ++k) operands[k] = in(one.in[k], i, columns);
          plans_[n].value(at_once ? one.count * width : width, operands.data(), out + i * columns_);
        }
        break;
      }
      case Instruction::Form::sums:
        for (std::uint32_t i = 0; i < one.count; ++i) {
          worker.terms.clear();
          for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
            const Factors& factors = program_.factors[t];
            worker.terms.push_back(
                {in(factors.factor, i, columns), in(factors.a, i, columns), in(factors.b, i, columns)});
          }
          kernels_.sums(width, in(one.start, i, columns), worker.terms, out + i * columns_);
        }
        break;
      case Instruction::Form::layer: {
        detail::MatrixProduct<T> product;
        product.rows = one.count;
        product.depth = one.depth;
        product.columns = width;
        product.a = in(one.in[0], 0, columns).at;
        product.a_row = one.row;
        product.a_column = one.column;
        product.x = row_values_.data() + (one.in[1].table == none ? one.in[1].place * columns_ : 0) + columns.begin;
        product.x_row = columns_;
        product.x_rows = one.in[1].table == none ? nullptr : program_.tables.data() + one.in[1].table;
        product.bias = one.in[2].exists() ? in(one.in[2], 0, columns).at : nullptr;
        product.bias_step = one.in[2].stride;
        product.y = out;
        product.y_row = columns_;
        product.relu = one.relu;
        kernels_.product(product);
        break;
      }
      case Instruction::Form::dot:
      case Instruction::Form::extreme: break;  // never varying
    }
  }
}

template <class T> void Machine<T>::backward(Worker& worker, bool to_inputs) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  for (const Range& rows : rows_to_zero_)
    for (std::size_t i = rows.begin; i < rows.begin + rows.count; ++i)
      std::memset(row_adjoints_.data() + i * columns_ + columns.begin, 0, width * sizeof(T));
  each_cell(columns, [&](std::size_t, std::size_t, T* sums) { std::fill_n(sums, reduced_.size(), T(0)); });
  const auto& output = program_.outputs.front();
  if (output.domain == Domain::varying)
    std::memcpy(row_adjoints_.data() + output.place * columns_ + columns.begin, seeds_.data() + columns.begin,
                width * sizeof(T));
  for (std::size_t n = program_.varying.size(); n-- > 0;)
    if (plans_[n].is_needed) backward_of(worker, program_.varying[n], plans_[n], to_inputs);
}

template <class T>
void Machine<T>::backward_of(Worker& worker, const Instruction& one, const Plan& plan, bool to_inputs) {
  switch (one.form) {
    case Instruction::Form::function: return backward_of_function(worker, one, plan, to_inputs);
    case Instruction::Form::sums: return backward_of_sums(worker, one, plan, to_inputs);
    case Instruction::Form::layer: return backward_of_layer(worker, one, plan, to_inputs);
    case Instruction::Form::dot:
    case Instruction::Form::extreme: return;  // never varying
  }
}

template <class T>
void Machine<T>::backward_of_function(Worker& worker, const Instruction& one, const Plan& plan, bool to_inputs) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  const T* const gradient = row_adjoints_.data() + one.out * columns_ + columns.begin;
  const T* const out = row_values_.data() + one.out * columns_ + columns.begin;
  const bool at_once = plan.one_call && width == columns_;
  std::array<In<T>, 3> operands;
  for (std::uint32_t i = 0; i < (at_once ? 1 : one.count); ++i) {
    for (std::size_t k = 0; k < 3; ++k) operands[k] = in(one.in[k], i, columns);
    const std::size_t n = at_once ? one.count * width : width;
    const T *const r = out + i * columns_, *const g = gradient + i * columns_;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto local = plan.local[k];
      if (local == nullptr || one.in[k].domain == Domain::constant || is_unwanted(one.in[k], i, to_inputs)) continue;
      if (one.in[k].domain == Domain::varying) {
        local(n, operands.data(), r, g, gradient_of(one.in[k], i, columns),
              !plan.stores[(plan.one_call ? 0 : 3 * i) + k]);
        continue;
      }
      T* const made = worker.scratch.data();
      local(n, operands.data(), r, g, made, false);
      for (std::uint32_t e = 0; e < (at_once ? one.count : 1); ++e)
        each_cell(columns, [&](std::size_t first, std::size_t count, T* sums) {
          sums[reduction_slot_[place(one.in[k], i + e)]] +=
              kernels_.dot(count, {}, {made + e * width + first - columns.begin, 1}, {});
        });
    }
  }
}

template <class T>
void Machine<T>::backward_of_sums(Worker& worker, const Instruction& one, const Plan& plan, bool to_inputs) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  auto stores = plan.stores.begin();
  for (std::uint32_t i = 0; i < one.count; ++i) {
    const In<T> g{row_adjoints_.data() + (one.out + i) * columns_ + columns.begin, 1};
    for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
      const Factors& factors = program_.factors[t];
      const In<T> factor = in(factors.factor, i, columns);
      const auto pass = [&](const Operand& operand, const Operand& other_operand) {
        const bool store = *stores++;
        if (!operand.exists() || operand.domain == Domain::constant || is_unwanted(operand, i, to_inputs)) return;
        const In<T> other = in(other_operand, i, columns);
        if (operand.domain == Domain::varying) {
          kernels_.pass_on(width, g, factor, other, gradient_of(operand, i, columns), !store);
          return;
        }
        each_cell(columns, [&](std::size_t first, std::size_t count, T* sums) {
          const std::size_t skip = first - columns.begin;
          const In<T> others{other.at == nullptr ? nullptr : other.at + skip * other.stride, other.stride};
          sums[reduction_slot_[place(operand, i)]] += kernels_.pass_sum(count, {g.at + skip, 1}, factor, others);
        });
      };
      pass(factors.a, factors.b);
      pass(factors.b, factors.a);
    }
  }
}

template <class T>
void Machine<T>::backward_of_layer(Worker& worker, const Instruction& one, const Plan& plan, bool to_inputs) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  T* const gradient = row_adjoints_.data() + one.out * columns_ + columns.begin;
  if (one.relu) {
    const T* const out = row_values_.data() + one.out * columns_ + columns.begin;
    const auto local = kernels_.local(Op::relu, 0);
    const bool at_once = width == columns_;
    for (std::uint32_t i = 0; i < (at_once ? 1 : one.count); ++i) {
      const std::array<In<T>, 3> result{In<T>{out + i * columns_, 1}, {}, {}};
      local(at_once ? one.count * width : width, result.data(), out + i * columns_, gradient + i * columns_,
            gradient + i * columns_, false);
    }
  }
  bool wanted = to_inputs;
  for (std::uint32_t t = 0; !wanted && t < one.depth; ++t) wanted = !is_unwanted(one.in[1], t, to_inputs);
  if (!wanted) return;
  detail::MatrixProduct<T> product;
  product.rows = one.depth;
  product.depth = one.count;
  product.columns = width;
  product.a = in(one.in[0], 0, columns).at;
  product.a_row = one.column;
  product.a_column = one.row;
  product.x = gradient;
  product.x_row = columns_;
  product.skip_zeros = skip_zeros_;
  const bool in_place = one.in[1].table == none;
  product.y = in_place ? gradient_of(one.in[1], 0, columns) : worker.scratch.data();
  product.y_row = in_place ? columns_ : width;
  product.add = in_place && !plan.stores[0];
  kernels_.product(product);
  if (in_place) return;
  for (std::uint32_t t = 0; t < one.depth; ++t)
    kernels_.add(width, worker.scratch.data() + t * width, gradient_of(one.in[1], t, columns));
}

// What the block adds to the gradients of weights and biases: of each layer a worker has its share of the outputs.
template <class T> void Machine<T>::reduce_layers(std::size_t worker, bool is_first) {
  const std::size_t workers = weights_overlap_ ? 1 : workers_.size();
  if (worker >= workers) return;
  for (std::size_t n = program_.varying.size(); n-- > 0;) {
    const Instruction& one = program_.varying[n];
    const Plan& plan = plans_[n];
    if (one.form != Instruction::Form::layer || !plan.is_needed) continue;
    const std::size_t begin = one.count * worker / workers, end = one.count * (worker + 1) / workers;
    if (begin == end) continue;
    const T* const gradient = row_adjoints_.data() + (one.out + begin) * columns_;
    if (one.in[0].domain == Domain::uniform) {
      detail::OuterProduct<T> outer;
      outer.rows = end - begin;
      outer.depth = one.depth;
      outer.columns = columns_;
      outer.d = gradient;
      outer.d_row = columns_;
      outer.x = row_values_.data() + (one.in[1].table == none ? one.in[1].place * columns_ : 0);
      outer.x_row = columns_;
      outer.x_rows = one.in[1].table == none ? nullptr : program_.tables.data() + one.in[1].table;
      outer.g = adjoints_.data() + one.in[0].place + begin * one.row;
      outer.g_row = one.row;
      outer.g_column = one.column;
      outer.add = !(is_first && plan.stores_weights);
      outer.skip_zeros = skip_zeros_;
      kernels_.outer(outer);
    }
    if (!one.in[2].exists() || one.in[2].domain != Domain::uniform) continue;
    for (std::size_t i = begin; i < end; ++i) {
      T& sum = adjoints_.data()[one.in[2].place + i * one.in[2].stride];
      const T more = kernels_.dot(columns_, {}, {gradient + (i - begin) * columns_, 1}, {});
      sum = is_first && plan.stores_bias ? more : sum + more;
    }
  }
}

// The first output of the rows, a sum a cell.
template <class T> void Machine<T>::add_results(Columns columns) {
  const auto& output = program_.outputs.front();
  each_cell(columns, [&](std::size_t first, std::size_t count, T*) {
    double sum = 0;
    for (std::size_t r = first; r < std::min(first + count, rows_); ++r)
      sum +=
          static_cast<double>(seeds_.data()[r]) * static_cast<double>(row_values_.data()[output.place * columns_ + r]);
    cell_results_[first / cell_] = sum;
  });
}

template <class T> T Machine<T>::number_of(const Instructions::Output& output, std::size_t column) const {
  if (output.domain == Domain::varying) return row_values_.data()[output.place * columns_ + column];
  return (output.domain == Domain::uniform ? values_ : constants_).data()[output.place];
}

template <class T> void Machine<T>::check_guards(std::size_t begin, Columns columns) const {
  const std::size_t first = program_.outputs.size() - program_.guards.size();
  for (std::size_t r = columns.begin; r < std::min(columns.end, rows_); ++r)
    for (std::size_t i = 0; i < program_.guards.size(); ++i)
      if ((number_of(program_.outputs[first + i], r) != 0) != program_.guards[i])
        throw Error("Program", "rows on which every comparison comes out as it was recorded",
                    "row " + std::to_string(begin + r) + ", where comparison " + std::to_string(i + 1) + " does not",
                    "write select(condition, a, b) in place of a branch, or compile such rows by themselves");
}

template <class T> void Machine<T>::write_outputs(std::size_t begin, Columns columns, double* outputs) const {
  const std::size_t width = program_.outputs.size() - program_.guards.size();
  for (std::size_t r = columns.begin; r < std::min(columns.end, rows_); ++r)
    for (std::size_t o = 0; o < width; ++o)
      outputs[(begin + r) * width + o] = static_cast<double>(number_of(program_.outputs[o], r));
}

template <class T> void Machine<T>::run_block(const Rows& rows, std::size_t begin, const Wanted& wanted) {
  rows_ = std::min(columns_, rows.count - begin);
  const bool to_inputs = wanted.input_gradients != nullptr;
  pool_->run([&](std::size_t w) {
    Worker& worker = workers_[w];
    load(rows, begin, worker.columns);
    forward(worker);
    check_guards(begin, worker.columns);
    if (program_.outputs.front().domain == Domain::varying) add_results(worker.columns);
    if (wanted.outputs != nullptr) write_outputs(begin, worker.columns, wanted.outputs);
    if (!wanted.gradients) return;
    backward(worker, to_inputs);
    for (std::size_t r = worker.columns.begin; to_inputs && r < std::min(worker.columns.end, rows_); ++r)
      for (std::size_t i = 0; i < program_.inputs; ++i)
        wanted.input_gradients[(begin + r) * program_.inputs + i] =
            static_cast<double>(row_adjoints_.data()[i * columns_ + r]);
  });
  if (!wanted.gradients) return;
  pool_->run([&](std::size_t w) { reduce_layers(w, begin == 0); });
  each_cell({0, columns_}, [&](std::size_t, std::size_t, const T* sums) {
    for (std::size_t i = 0; i < reduced_.size(); ++i) adjoints_.data()[reduced_[i]] += sums[i];
  });
}

template <class T> double Machine<T>::run_once(const Rows& rows, const Wanted& wanted) {
  forward_uniform();
  if (wanted.gradients)
    for (const auto& [begin, count] : to_zero_) std::memset(adjoints_.data() + begin, 0, count * sizeof(T));
  const auto& output = program_.outputs.front();
  double sum = 0;
  if (output.domain != Domain::varying) {
    double all_seeds = rows.seeds == nullptr ? static_cast<double>(rows.count) : 0;
    for (std::size_t r = 0; rows.seeds != nullptr && r < rows.count; ++r) all_seeds += rows.seeds[r];
    sum = all_seeds * static_cast<double>(number_of(output, 0));
    if (wanted.gradients && output.domain == Domain::uniform)
      adjoints_.data()[output.place] += static_cast<T>(all_seeds);
  }
  const bool has_rows = std::any_of(program_.outputs.begin(), program_.outputs.end(),
                                    [](const auto& one) { return one.domain == Domain::varying; });
  if (has_rows) {
    set_block(rows.count);
    for (std::size_t begin = 0; begin < rows.count; begin += columns_) {
      run_block(rows, begin, wanted);
      for (const double result : cell_results_) sum += output.domain == Domain::varying ? result : 0;
    }
  } else {
    rows_ = rows.count;
    check_guards(0, {0, 1});
    if (wanted.outputs != nullptr) write_outputs(0, {0, rows.count}, wanted.outputs);
    if (wanted.input_gradients != nullptr) std::fill_n(wanted.input_gradients, rows.count * program_.inputs, 0.0);
  }
  if (wanted.gradients) backward_uniform();
  return sum;
}

template <class T> double Machine<T>::run(const Rows& rows, bool gradients, double* input_gradients, double* outputs) {
  if (rows.count == 0) {
    if (gradients) std::memset(adjoints_.data(), 0, program_.parameters * sizeof(T));
    return 0;
  }
  const Wanted wanted{gradients, input_gradients, outputs};
  const double sum = run_once(rows, wanted);
  if (!gradients) return sum;
  // Products of whole layers know nothing of gradients that are 0 and pass nothing on: where that could matter, again.
  bool again = kernels_.has_nan(program_.parameters, adjoints_.data());
  for (std::size_t i = 0; !again && input_gradients != nullptr && i < rows.count * program_.inputs; ++i)
    again = input_gradients[i] != input_gradients[i];
  if (!again) return sum;
  skip_zeros_ = true;
  run_once(rows, wanted);
  skip_zeros_ = false;
  return sum;
}

template <class T> void Machine<T>::evaluate(const Rows& rows, double* outputs) {
  if (rows.count > 0) run_once(rows, {false, nullptr, outputs});
}

template class Buffer<float>;
template class Buffer<double>;
template class Machine<float>;
template class Machine<double>;

}  // namespace gradwalk::compiler
