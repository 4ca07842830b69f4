// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "gradwalk/error.hpp"

namespace gradwalk::compiler {

using detail::In;

namespace {

// What is done to a row, step by step; nothing where that is so much that a block of one row is done sooner.
template <class T> Steps<T> steps_of_row(const Instructions& program) {
  constexpr std::size_t much = 4096;  // terms and functions
  std::size_t work = 0;
  for (const Instruction& one : program.varying)
    work += std::size_t{one.outputs()} * (1 + (one.form == Instruction::Form::layer ? one.depth : one.terms));
  Steps<T> steps;
  if (work > much) return steps;
  const Places places(program);
  for (const Instruction& one : program.varying) steps.append(program, places, one);
  return steps;
}

// An instruction on a block of few rows takes as long as about so many terms of a row's sums, or functions.
template <class T> std::size_t rows_by_steps(const Instructions& program, const Steps<T>& steps) {
  constexpr std::size_t as_terms = 20, as_functions = 4;
  const std::size_t work = steps.terms() * as_functions + steps.size() * as_terms;
  return work == 0 ? 0 : std::max<std::size_t>(program.varying.size() * as_terms * as_functions / work, 1);
}

}  // namespace

template <class T> Machine<T>::Machine(Instructions program, const detail::Kernels<T>& kernels, std::size_t threads)
    : program_(std::move(program)),
      kernels_(kernels),
      row_steps_(steps_of_row<T>(program_)),
      uniform_(program_, kernels, row_steps_.size() == 0 ? 0 : program_.varying_places + row_steps_.places()),
      plan_(plan_rows(program_, kernels)),
      rows_by_steps_(rows_by_steps(program_, row_steps_)),
      threads_(std::max<std::size_t>(threads, 1)) {}

template <class T> std::size_t Machine<T>::bytes() const {
  return uniform_.bytes() + row_steps_.bytes() + program_.constants.size() * sizeof(double) +
         (program_.uniform.size() + program_.varying.size() + program_.backward.size()) * sizeof(Instruction) +
         program_.factors.size() * sizeof(Factors) + program_.tables.size() * sizeof(std::uint32_t) +
         program_.gradients.size() * sizeof(program_.gradients[0]) + program_.packs.size() * sizeof(program_.packs[0]) +
         plan_.plans.size() * sizeof(Plan<T>) + (plan_.slot.size() + plan_.reduced.size()) * sizeof(std::uint32_t);
}

// The i-th number of an operand, for these columns.
template <class T> In<T> Machine<T>::in(const Operand& operand, std::uint32_t i, Columns columns) const {
  if (!operand.exists()) return {nullptr, 0};
  const std::size_t at = program_.place(operand, i);
  if (operand.domain == Domain::varying) return {row_values_.data() + at * columns_ + columns.begin, 1};
  return {(operand.domain == Domain::constant ? uniform_.constants() : std::as_const(uniform_).values()) + at, 0};
}

// The operand of a run, for these columns.
template <class T> detail::InSteps<T> Machine<T>::in(const RunOperand& operand, Columns columns) const {
  if (operand.place == none) return {{nullptr, 0}, 0};
  if (operand.domain == Domain::varying) {
    const auto width = static_cast<std::ptrdiff_t>(columns_);
    return {{row_values_.data() + operand.place * columns_ + columns.begin, 1}, operand.step * width};
  }
  const T* const from = operand.domain == Domain::constant ? uniform_.constants() : std::as_const(uniform_).values();
  return {{from + operand.place, 0}, operand.step};
}

// Where its gradients for these columns are added to.
template <class T> T* Machine<T>::gradient_of(const Operand& operand, std::uint32_t i, Columns columns) {
  return row_adjoints_.data() + std::size_t{program_.place(operand, i)} * columns_ + columns.begin;
}

template <class T> template <class Add> void Machine<T>::each_cell(Columns columns, Add add) {
  for (std::size_t first = columns.begin; first < columns.end; first += cell_)
    add(first, std::min(cell_, columns.end - first), partial_.data() + first / cell_ * plan_.reduced.size());
}

// About how many floating-point operations a row takes, forwards and backwards.
template <class T> std::size_t Machine<T>::work_a_row() const {
  std::size_t work = 0;
  for (const Instruction& one : program_.varying) {
    if (one.form == Instruction::Form::layer)
      work += std::size_t{6} * one.outputs() * one.depth;
    else
      work +=
          one.form == Instruction::Form::sums ? std::size_t{16} * one.count * one.terms : std::size_t{60} * one.count;
  }
  return work;
}

// A block has as many columns as keep its numbers in the cache, whole vectors, and no more than there are rows; several
// have as many each. Its cells are all of it where the work is little, and else such that several threads have some.
template <class T> void Machine<T>::set_block(std::size_t rows) {
  constexpr std::size_t cached = std::size_t{1} << 20;  // bytes
  constexpr std::size_t little = 2'000'000;             // operations
  const std::size_t unit = cache_line / sizeof(T);
  const std::size_t most = cached / (2 * sizeof(T) * std::max<std::size_t>(program_.varying_places, 1));
  const std::size_t fit = std::clamp<std::size_t>(most / unit * unit, 4 * unit, 1024);
  const std::size_t blocks = (rows + fit - 1) / fit;
  const std::size_t wanted = round_up((rows + blocks - 1) / blocks, unit);
  if (wanted == columns_) return;
  columns_ = 0;  // until all is there
  const bool is_little = work_a_row() * wanted < little;
  cell_ = is_little ? wanted : round_up((wanted + 7) / 8, unit);
  const std::size_t cells = (wanted + cell_ - 1) / cell_;
  row_values_.resize(program_.varying_places * wanted);
  seeds_.resize(wanted);
  partial_.resize(cells * plan_.reduced.size());
  cell_results_.resize(cells);
  std::size_t most_rows = 1;  // of scratch
  for (const Instruction& one : program_.varying) most_rows = std::max<std::size_t>({most_rows, one.depth, one.count});
  const std::size_t count = std::min(threads_, cells);
  workers_.resize(count);
  for (std::size_t w = 0; w < count; ++w) {
    Worker& worker = workers_[w];
    worker.columns = {cells * w / count * cell_, std::min(cells * (w + 1) / count * cell_, wanted)};
    worker.scratch.resize(most_rows * (worker.columns.end - worker.columns.begin));
  }
  if (count > 1 && (pool_ == nullptr || pool_->size() < count)) pool_ = std::make_unique<Pool>(count);
  columns_ = wanted;
}

template <class T> template <class Work> void Machine<T>::share(Work work) {
  if (workers_.size() == 1) return work(0);
  pool_->run([&](std::size_t w) {
    if (w < workers_.size()) work(w);
  });
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
  for (std::size_t n = 0; n < program_.varying.size(); ++n) {
    const Instruction& one = program_.varying[n];
    switch (one.form) {
      case Instruction::Form::function: forward_of_function(worker, one, plan_.plans[n]); break;
      case Instruction::Form::sums: forward_of_sums(worker, one, plan_.plans[n]); break;
      case Instruction::Form::layer: forward_of_layer(worker, one, plan_.plans[n]); break;
      default: break;  // never varying
    }
  }
}

template <class T> void Machine<T>::forward_of_function(Worker& worker, const Instruction& one, const Plan<T>& plan) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  const bool joined = width == columns_;
  std::array<In<T>, 3> operands;
  for (const Run& run : plan.runs)
    for (std::uint32_t i = run.first; i < run.first + (joined ? 1 : run.count); ++i) {
      for (std::size_t k = 0; k < 3; ++k) operands[k] = in(one.in[k], i, columns);
      plan.value(joined ? run.count * width : width, operands.data(), values_at(one.out + i, columns));
    }
}

template <class T> void Machine<T>::forward_of_sums(Worker& worker, const Instruction& one, const Plan<T>& plan) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  worker.terms.resize(std::max<std::size_t>(worker.terms.size(), one.terms));
  const RunTerm* from = plan.terms.data();
  for (std::size_t n = 0; n < plan.runs.size(); ++n) {
    const Run& run = plan.runs[n];
    for (std::uint32_t t = 0; t < one.terms; ++t, ++from)
      worker.terms[t] = {in(from->factor, columns), in(from->a, columns), in(from->b, columns)};
    const bool joined = run.joined && width == columns_;
    kernels_.sums_in_steps(joined ? 1 : run.count, joined ? run.count * width : width, in(plan.starts[n], columns),
                           std::span(worker.terms).first(one.terms), values_at(one.out + run.first, columns), columns_);
  }
}

// The copies of a stretch at once, where they have no biases of their own; otherwise one by one.
template <class T> void Machine<T>::forward_of_layer(Worker& worker, const Instruction& one, const Plan<T>& plan) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  const bool joined = width == columns_ && one.bias_copy == 0;
  detail::MatrixProduct<T> product;
  product.rows = one.count;
  product.depth = one.depth;
  product.a = in(one.in[0], 0, columns).at;
  product.a_row = one.row;
  product.a_column = one.column;
  product.bias_step = one.in[2].stride;
  product.y_row = one.copies * columns_;
  product.relu = one.relu;
  for (const Stretch& stretch : plan.stretches) {
    product.columns = joined ? stretch.count * width : width;
    for (std::uint32_t c = stretch.first; c < stretch.first + (joined ? 1 : stretch.count); ++c) {
      if (stretch.stride != 0) {
        product.x = values_at(program_.input(one, 0, c), columns);
        product.x_row = stretch.stride * columns_;
      } else {
        product.x = values_at(c - stretch.first, columns);
        product.x_row = columns_;
        product.x_rows = program_.tables.data() + one.in[1].table + stretch.first * one.depth;
      }
      if (one.in[2].exists()) product.bias = in(one.in[2], 0, columns).at + c * one.bias_copy;
      product.y = values_at(one.out + c, columns);
      kernels_.product(product);
    }
    product.x_rows = nullptr;
  }
}

template <class T> void Machine<T>::backward(Worker& worker, bool to_inputs) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  const bool joined = width == columns_;
  for (const Range& rows : plan_.to_zero)
    for (std::size_t i = rows.begin; i < rows.begin + (joined ? 1 : rows.count); ++i)
      std::memset(gradients_at(i, columns), 0, (joined ? rows.count * width : width) * sizeof(T));
  each_cell(columns, [&](std::size_t, std::size_t, T* sums) { std::fill_n(sums, plan_.reduced.size(), T(0)); });
  const auto& output = program_.outputs.front();
  if (output.domain == Domain::varying)
    std::memcpy(row_adjoints_.data() + output.place * columns_ + columns.begin, seeds_.data() + columns.begin,
                width * sizeof(T));
  for (std::size_t n = program_.varying.size(); n-- > 0;)
    if (plan_.plans[n].is_needed) backward_of(worker, program_.varying[n], plan_.plans[n], to_inputs);
}

template <class T>
void Machine<T>::backward_of(Worker& worker, const Instruction& one, const Plan<T>& plan, bool to_inputs) {
  switch (one.form) {
    case Instruction::Form::function: return backward_of_function(worker, one, plan, to_inputs);
    case Instruction::Form::sums: return backward_of_sums(worker, one, plan, to_inputs);
    case Instruction::Form::layer: return backward_of_layer(worker, one, plan, to_inputs);
    default: return;  // never varying
  }
}

template <class T>
void Machine<T>::backward_of_function(Worker& worker, const Instruction& one, const Plan<T>& plan, bool to_inputs) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  const bool joined = width == columns_;
  std::array<In<T>, 3> operands;
  auto stores = plan.stores.begin();
  for (const Run& run : plan.runs)
    for (std::size_t k = 0; k < 3; ++k) {
      const bool store = *stores++;
      const auto local = plan.local[k];
      if (local == nullptr || one.in[k].domain == Domain::constant || is_unwanted(one.in[k], run.first, to_inputs))
        continue;
      for (std::uint32_t i = run.first; i < run.first + (joined ? 1 : run.count); ++i) {
        for (std::size_t x = 0; x < 3; ++x) operands[x] = in(one.in[x], i, columns);
        const std::size_t n = joined ? run.count * width : width;
        const T *const r = values_at(one.out + i, columns), *const g = gradients_at(one.out + i, columns);
        if (one.in[k].domain == Domain::varying) {
          local(n, operands.data(), {r, 1}, {g, 1}, gradient_of(one.in[k], i, columns), !store);
          continue;
        }
        T* const made = worker.scratch.data();
        local(n, operands.data(), {r, 1}, {g, 1}, made, false);
        for (std::uint32_t e = 0; e < (joined ? run.count : 1); ++e)
          each_cell(columns, [&](std::size_t first, std::size_t count, T* sums) {
            sums[plan_.slot[program_.place(one.in[k], i + e)]] +=
                kernels_.dot(count, {}, {made + e * width + first - columns.begin, 1}, {});
          });
      }
    }
}

template <class T>
void Machine<T>::backward_of_sums(Worker& worker, const Instruction& one, const Plan<T>& plan, bool to_inputs) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  const auto target = [&](const RunOperand& operand, bool stores) -> detail::Target<T> {
    if (operand.place == none || operand.domain != Domain::varying) return {};
    if (!to_inputs && operand.place < program_.inputs) return {};
    return {gradients_at(operand.place, columns), operand.step * static_cast<std::ptrdiff_t>(columns_), !stores};
  };
  const auto is_uniform = [](const RunOperand& operand) {
    return operand.place != none && operand.domain == Domain::uniform;
  };
  worker.backs.resize(std::max<std::size_t>(worker.backs.size(), one.terms));
  const RunTerm* from = plan.terms.data();
  for (const Run& run : plan.runs) {
    std::size_t count = 0;
    bool has_uniform = false;
    for (std::uint32_t t = 0; t < one.terms; ++t, ++from) {
      has_uniform = has_uniform || is_uniform(from->a) || is_uniform(from->b);
      const detail::Target<T> to_a = target(from->a, from->stores_a), to_b = target(from->b, from->stores_b);
      if (to_a.at == nullptr && to_b.at == nullptr) continue;
      worker.backs[count++] = {{in(from->factor, columns), in(from->a, columns), in(from->b, columns)}, to_a, to_b};
    }
    const bool joined = run.joined_back && width == columns_;
    const detail::InSteps<T> g{{gradients_at(one.out + run.first, columns), 1}, static_cast<std::ptrdiff_t>(columns_)};
    kernels_.sums_back(joined ? 1 : run.count, joined ? run.count * width : width, g,
                       std::span(worker.backs).first(count));
    if (has_uniform) reduce_sums(one, run, columns);
  }
}

// What the run adds to the gradients of its uniform operands.
template <class T> void Machine<T>::reduce_sums(const Instruction& one, const Run& run, Columns columns) {
  for (std::uint32_t i = run.first; i < run.first + run.count; ++i)
    for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
      const Factors& factors = program_.factors[t];
      const auto reduce = [&](const Operand& operand, const Operand& other_operand) {
        if (!operand.exists() || operand.domain != Domain::uniform) return;
        const In<T> factor = in(factors.factor, i, columns), other = in(other_operand, i, columns);
        const T* const g = gradients_at(one.out + i, columns);
        each_cell(columns, [&](std::size_t first, std::size_t count, T* sums) {
          const std::size_t skip = first - columns.begin;
          const In<T> others{other.at == nullptr ? nullptr : other.at + skip * other.stride, other.stride};
          sums[plan_.slot[program_.place(operand, i)]] += kernels_.pass_sum(count, {g + skip, 1}, factor, others);
        });
      };
      reduce(factors.a, factors.b);
      reduce(factors.b, factors.a);
    }
}

template <class T>
void Machine<T>::backward_of_layer(Worker& worker, const Instruction& one, const Plan<T>& plan, bool to_inputs) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  const bool joined = width == columns_;
  if (one.relu) {
    const auto local = kernels_.local(Op::relu, 0);
    for (std::uint32_t i = 0; i < (joined ? 1 : one.outputs()); ++i) {
      const std::array<In<T>, 3> result{In<T>{values_at(one.out + i, columns), 1}, {}, {}};
      T* const gradient = gradients_at(one.out + i, columns);
      local(joined ? one.outputs() * width : width, result.data(), result[0], {gradient, 1}, gradient, false);
    }
  }
  detail::MatrixProduct<T> product;
  product.rows = one.depth;
  product.depth = one.count;
  product.a = in(one.in[0], 0, columns).at;
  product.a_row = one.column;
  product.a_column = one.row;
  product.x_row = one.copies * columns_;
  product.skip_zeros = skip_zeros_;
  for (const Stretch& stretch : plan.stretches) {
    if (stretch.only_inputs && !to_inputs) continue;
    const bool at_once = joined && stretch.direct;
    product.columns = at_once ? stretch.count * width : width;
    product.add = stretch.direct && !stretch.stores;
    for (std::uint32_t c = stretch.first; c < stretch.first + (at_once ? 1 : stretch.count); ++c) {
      product.x = gradients_at(one.out + c, columns);
      product.y = stretch.direct ? gradients_at(program_.input(one, 0, c), columns) : worker.scratch.data();
      product.y_row = stretch.direct ? stretch.stride * columns_ : width;
      kernels_.product(product);
      for (std::uint32_t t = 0; !stretch.direct && t < one.depth; ++t)
        kernels_.add(width, worker.scratch.data() + t * width, gradients_at(program_.input(one, t, c), columns));
    }
  }
}

// What the block adds to the gradients of weights and biases: of each layer a worker has its share of the outputs.
template <class T> void Machine<T>::reduce_layers(std::size_t worker, bool is_first) {
  const std::size_t workers = plan_.weights_overlap ? 1 : workers_.size();
  if (worker >= workers) return;
  for (std::size_t n = program_.varying.size(); n-- > 0;) {
    const Instruction& one = program_.varying[n];
    const Plan<T>& plan = plan_.plans[n];
    if (one.form != Instruction::Form::layer || !plan.is_needed) continue;
    const std::size_t begin = one.count * worker / workers, end = one.count * (worker + 1) / workers;
    if (begin == end) continue;
    if (one.in[0].domain == Domain::uniform) reduce_weights(one, plan, begin, end, is_first);
    if (one.in[2].exists() && one.in[2].domain == Domain::uniform) reduce_bias(one, plan, begin, end, is_first);
  }
}

// Copies that lie side by side are one long row, others parts.
template <class T> void Machine<T>::reduce_weights(const Instruction& one, const Plan<T>& plan, std::size_t begin,
                                                   std::size_t end, bool is_first) {
  const bool is_one = plan.stretches.size() == 1;
  detail::OuterProduct<T> outer;
  outer.rows = end - begin;
  outer.depth = one.depth;
  outer.columns = is_one ? one.copies * columns_ : columns_;
  outer.d_row = one.copies * columns_;
  outer.d = row_adjoints_.data() + one.out * columns_ + begin * outer.d_row;
  if (one.in[1].table == none) {
    outer.x = row_values_.data() + one.in[1].place * columns_;
    outer.x_row = one.in[1].stride * columns_;
  } else {
    outer.x = row_values_.data();
    outer.x_row = columns_;
    outer.x_rows = program_.tables.data() + one.in[1].table;
    outer.parts = is_one ? 1 : one.copies;
    outer.d_part = columns_;
  }
  outer.g = uniform_.gradients() + one.in[0].place + begin * one.row;
  outer.g_row = one.row;
  outer.g_column = one.column;
  outer.add = !(is_first && plan.stores_weights);
  outer.skip_zeros = skip_zeros_;
  kernels_.outer(outer);
}

template <class T> void Machine<T>::reduce_bias(const Instruction& one, const Plan<T>& plan, std::size_t begin,
                                                std::size_t end, bool is_first) {
  const std::uint32_t shared_by = one.bias_copy == 0 ? one.copies : 1;
  for (std::size_t i = begin; i < end; ++i)
    for (std::uint32_t c = 0; c < one.copies; c += shared_by) {
      T& sum = uniform_.gradients()[Instructions::bias(one, static_cast<std::uint32_t>(i), c)];
      const T* const gradient = row_adjoints_.data() + (one.out + i * one.copies + c) * columns_;
      const T more = kernels_.dot(shared_by * columns_, {}, {gradient, 1}, {});
      sum = is_first && plan.stores_bias ? more : sum + more;
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
  if (output.domain == Domain::varying) return row_numbers_[output.place * row_width_ + column];
  return (output.domain == Domain::uniform ? uniform_.values() : uniform_.constants())[output.place];
}

template <class T> void Machine<T>::check_guards(std::size_t begin, Columns columns) const {
  if (program_.guards.empty()) return;
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
  if (wanted.gradients) row_adjoints_.resize(program_.varying_places * columns_);
  const bool to_inputs = wanted.input_gradients != nullptr;
  share([&](std::size_t w) {
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
  share([&](std::size_t w) { reduce_layers(w, begin == 0); });
  each_cell({0, columns_}, [&](std::size_t, std::size_t, const T* sums) {
    for (std::size_t i = 0; i < plan_.reduced.size(); ++i) uniform_.gradients()[plan_.reduced[i]] += sums[i];
  });
}

// The sum over the rows of the first output, if it is varying.
template <class T> double Machine<T>::run_by_steps(const Rows& rows, const Wanted& wanted) {
  const Places places(program_);
  T *const values = uniform_.values() + places.varying(), *const gradients = uniform_.gradients() + places.varying();
  const auto& output = program_.outputs.front();
  row_numbers_ = values;
  row_width_ = rows_ = 1;
  double sum = 0;
  for (std::size_t r = 0; r < rows.count; ++r) {
    for (std::size_t i = 0; i < program_.inputs; ++i) {
      const std::size_t from = r * program_.inputs + i;
      values[i] = rows.floats != nullptr ? static_cast<T>(rows.floats[from]) : static_cast<T>(rows.numbers[from]);
    }
    row_steps_.forward(0, row_steps_.size(), uniform_.values());
    check_guards(r, {0, 1});
    if (wanted.outputs != nullptr) write_outputs(r, {0, 1}, wanted.outputs);
    const T seed = rows.seeds == nullptr ? T(1) : static_cast<T>(rows.seeds[r]);
    if (output.domain == Domain::varying) sum += static_cast<double>(seed) * static_cast<double>(values[output.place]);
    if (!wanted.gradients) continue;
    if (r > 0) std::memset(gradients, 0, (program_.varying_places + row_steps_.places()) * sizeof(T));
    if (output.domain == Domain::varying) gradients[output.place] = seed;
    row_steps_.backward(0, row_steps_.size(), uniform_.values(), uniform_.gradients());
    for (std::size_t i = 0; wanted.input_gradients != nullptr && i < program_.inputs; ++i)
      wanted.input_gradients[r * program_.inputs + i] = static_cast<double>(gradients[i]);
  }
  return sum;
}

template <class T> double Machine<T>::run_once(const Rows& rows, const Wanted& wanted) {
  const bool by_steps = goes_by_steps(rows);
  uniform_.forward();
  if (wanted.gradients && by_steps) uniform_.zero_all_gradients();
  if (wanted.gradients && !by_steps) uniform_.zero_gradients(plan_.uniform_to_zero);
  const auto& output = program_.outputs.front();
  double sum = 0;
  if (output.domain != Domain::varying) {
    double all_seeds = rows.seeds == nullptr ? static_cast<double>(rows.count) : 0;
    for (std::size_t r = 0; rows.seeds != nullptr && r < rows.count; ++r) all_seeds += rows.seeds[r];
    sum = all_seeds * static_cast<double>(number_of(output, 0));
    if (wanted.gradients) uniform_.set_seed(0, static_cast<T>(all_seeds));
  }
  const bool has_rows = std::any_of(program_.outputs.begin(), program_.outputs.end(),
                                    [](const auto& one) { return one.domain == Domain::varying; });
  if (has_rows && by_steps) {
    sum += run_by_steps(rows, wanted);
  } else if (has_rows) {
    set_block(rows.count);
    row_numbers_ = row_values_.data();
    row_width_ = columns_;
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
  if (wanted.gradients) uniform_.backward(skip_zeros_);
  return sum;
}

template <class T> double Machine<T>::run(const Rows& rows, bool gradients, double* input_gradients, double* outputs) {
  if (rows.count == 0) {
    if (gradients) std::memset(uniform_.gradients(), 0, program_.parameters * sizeof(T));
    return 0;
  }
  const Wanted wanted{gradients, input_gradients, outputs};
  const double sum = run_once(rows, wanted);
  if (!gradients) return sum;
  // Sums of products do not look for gradients that are 0 and pass nothing on: where that could matter, run again.
  bool again = kernels_.has_nan(program_.parameters, uniform_.gradients());
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

template <class T> void Machine<T>::jacobian(double* to) {
  Rows one;
  one.count = 1;
  run_once(one, {});
  for (std::size_t o = 0; o < program_.outputs.size(); ++o) uniform_.set_seed(o, 0);
  for (std::size_t o = 0; o < program_.outputs.size() - program_.guards.size(); ++o) {
    uniform_.set_seed(o, 1);
    uniform_.backward(false);
    if (kernels_.has_nan(program_.parameters, uniform_.gradients())) uniform_.backward(true);
    uniform_.set_seed(o, 0);
    for (const T derivative : gradients()) *to++ = static_cast<double>(derivative);
  }
}

template class Machine<float>;
template class Machine<double>;

}  // namespace gradwalk::compiler
