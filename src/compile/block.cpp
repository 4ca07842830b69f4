// SPDX-License-Identifier: MIT
#include "block.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace gradwalk::compiler {

using detail::In;

// A block has as many columns as keep its numbers in the cache, in whole vectors, and no more than there are rows. All
// blocks of a batch have equally many. If the work is little, a cell is the whole block; else there are several cells
// for each thread.
template <class T> std::size_t Block<T>::fit(std::size_t rows, std::size_t threads, bool for_inputs) {
  constexpr std::size_t cached = std::size_t{1} << 20;  // bytes
  constexpr std::size_t little = 2'000'000;             // operations
  const std::size_t unit = cache_line / sizeof(T);
  const std::size_t most = cached / (sizeof(T) * std::max<std::size_t>(program_.varying_places, 1));
  const std::size_t fitting = std::clamp<std::size_t>(most / unit * unit, 4 * unit, 1024);
  const std::size_t blocks = (rows + fitting - 1) / fitting;
  const std::size_t wanted = round_up((rows + blocks - 1) / blocks, unit);
  if (wanted != columns_) {
    columns_ = 0;  // until the rest is done
    cell_ = plan_.work * wanted < little ? wanted : round_up((wanted + 7) / 8, unit);
    const std::size_t cells = (wanted + cell_ - 1) / cell_;
    row_values_.resize(program_.varying_places * wanted);
    seeds_.resize(wanted);
    partial_.resize(cells * plan_.reduced.size() * kernels_.lanes);
    cell_results_.resize(cells);
    const std::size_t count = std::min(threads, cells);
    workers_.resize(count);
    for (std::size_t w = 0; w < count; ++w)
      workers_[w].columns = {cells * w / count * cell_, std::min(cells * (w + 1) / count * cell_, wanted)};
    columns_ = wanted;
  }
  if (for_inputs) row_values_.resize(places_of_rows(program_) * columns_);
  return workers_.size();
}

template <class T> std::span<const double> Block<T>::run(const Rows& rows, std::size_t begin, const Wanted& wanted,
                                                         bool skip_zeros, Pool* pool) {
  skip_zeros_ = skip_zeros;
  rows_ = std::min(columns_, rows.count - begin);
  const bool to_inputs = wanted.input_gradients != nullptr;
  const Varying<T> varying{row_values_.data(), columns_, rows_};
  share(pool, [&](std::size_t w) {
    Worker& worker = workers_[w];
    const Columns columns = worker.columns;
    load(rows, begin, columns);
    run_instructions(worker, program_.varying, plan_.varying, {});
    numbers_.check(begin, varying, columns);
    if (program_.outputs.front().rate == Rate::varying) add_results(columns);
    if (wanted.outputs != nullptr) numbers_.write_outputs(begin, varying, columns, wanted.outputs);
    if (!wanted.gradients) return;
    const std::size_t width = columns.end - columns.begin;
    if (program_.row_seed != none)
      std::memcpy(values_at(program_.row_seed, columns), seeds_.data() + columns.begin, width * sizeof(T));
    if (program_.zero != none) std::memset(values_at(program_.zero, columns), 0, width * sizeof(T));
    each_cell(columns, [&](std::size_t, std::size_t, T* sums) {
      std::fill_n(sums, plan_.reduced.size() * kernels_.lanes, T(0));
    });
    run_instructions(worker, program_.varying_backward, plan_.backward, {to_inputs, skip_zeros_});
    if (to_inputs) numbers_.write_input_gradients(begin, varying, columns, wanted.input_gradients);
  });
  if (!wanted.gradients) return cell_results_;
  if (!program_.outers.empty()) share(pool, [&](std::size_t w) { run_outers(w, begin == 0); });
  for (const Instruction& one : program_.scatters) run_scatter(one);
  add_row_sums();
  return cell_results_;
}

// The i-th number of an operand, for these columns.
template <class T> In<T> Block<T>::in(const Operand& operand, std::uint32_t i, Columns columns) const {
  if (!operand.exists()) return {nullptr, 0};
  const std::size_t at = program_.place(operand, i);
  if (operand.rate == Rate::varying) return {row_values_.data() + at * columns_ + columns.begin, 1};
  return {uniform_at(operand.rate, at), 0};
}

// The operand of a run, for these columns.
template <class T> detail::InSteps<T> Block<T>::in(const RunOperand& operand, Columns columns) const {
  if (operand.place == none) return {{nullptr, 0}, 0};
  if (operand.rate == Rate::varying) {
    const auto width = static_cast<std::ptrdiff_t>(columns_);
    return {{row_values_.data() + operand.place * columns_ + columns.begin, 1}, operand.step * width};
  }
  return {{uniform_at(operand.rate, operand.place), 0}, operand.step};
}

template <class T> template <class Add> void Block<T>::each_cell(Columns columns, Add add) {
  for (std::size_t first = columns.begin; first < columns.end; first += cell_)
    add(first, std::min(cell_, columns.end - first),
        partial_.data() + first / cell_ * plan_.reduced.size() * kernels_.lanes);
}

template <class T> template <class Work> void Block<T>::share(Pool* pool, Work work) {
  if (workers_.size() == 1) return work(0);
  pool->run([&](std::size_t w) {
    if (w < workers_.size()) work(w);
  });
}

template <class T> void Block<T>::load(const Rows& rows, std::size_t begin, Columns columns) {
  numbers_.load(rows, begin, rows_, columns, row_values_.data(), columns_);
  for (std::size_t r = columns.begin; r < columns.end; ++r)
    seeds_.data()[r] = r < rows_ ? rows.seed<T>(begin + r) : T(0);
}

template <class T> void Block<T>::run_instructions(Worker& worker, const std::vector<Instruction>& list,
                                                   const std::vector<Plan<T>>& plans, Pass pass) {
  for (std::size_t n = 0; n < list.size(); ++n) {
    const Instruction& one = list[n];
    if (one.for_inputs && !pass.for_inputs) continue;
    switch (one.form) {
      case Instruction::Form::function:
      case Instruction::Form::local: run_function(worker, one, plans[n]); break;
      case Instruction::Form::sums: run_sums(worker, one, plans[n], pass.skip_zeros); break;
      case Instruction::Form::layer: run_layer(worker, one, plans[n], pass.skip_zeros); break;
      case Instruction::Form::row_sums: run_row_sums(worker, one, pass.skip_zeros); break;
      case Instruction::Form::pick: run_pick(worker, one); break;
      case Instruction::Form::dot:
      case Instruction::Form::extreme:
      case Instruction::Form::shares:
      case Instruction::Form::steps: break;  // of uniform numbers
      case Instruction::Form::outer:
      case Instruction::Form::scatter: break;  // run after the columns
    }
  }
}

// A function of the table, or a local derivative of one.
template <class T> void Block<T>::run_function(Worker& worker, const Instruction& one, const Plan<T>& plan) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  const bool joined = width == columns_;
  std::array<In<T>, local_operands> operands;
  for (const Run& run : plan.runs)
    for (std::uint32_t i = run.first; i < run.first + (joined ? 1 : run.count); ++i) {
      const std::size_t n = joined ? run.count * width : width;
      for (std::size_t k = 0; k < operands.size(); ++k) operands[k] = in(one.in[k], i, columns);
      if (plan.value != nullptr)
        plan.value(n, operands.data(), values_at(one.out + i, columns));
      else
        plan.local(n, operands.data(), operands[3], operands[4], values_at(one.out + i, columns), false);
    }
}

template <class T>
void Block<T>::run_sums(Worker& worker, const Instruction& one, const Plan<T>& plan, bool skip_zeros) {
  const Columns columns = worker.columns;
  const std::size_t width = columns.end - columns.begin;
  worker.terms.resize(std::max<std::size_t>(worker.terms.size(), one.terms));
  const RunTerm* from = plan.terms.data();
  for (std::size_t n = 0; n < plan.runs.size(); ++n) {
    const Run& run = plan.runs[n];
    for (std::uint32_t t = 0; t < one.terms; ++t, ++from)
      worker.terms[t] = {in(from->factor, columns), in(from->a, columns), in(from->b, columns)};
    const bool joined = run.joined && width == columns_;
    const auto sums = skip_zeros ? kernels_.sums_in_steps_without_zeros : kernels_.sums_in_steps;
    sums(joined ? 1 : run.count, joined ? run.count * width : width, in(plan.starts[n], columns),
         std::span(worker.terms).first(one.terms), values_at(one.out + run.first, columns), columns_);
  }
}

// The copies of a stretch are one product, unless they have biases of their own.
template <class T>
void Block<T>::run_layer(Worker& worker, const Instruction& one, const Plan<T>& plan, bool skip_zeros) {
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
  product.skip_zeros = skip_zeros;
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

// Each cell of columns has its own sums, one for each lane of a vector.
template <class T> void Block<T>::run_row_sums(Worker& worker, const Instruction& one, bool skip_zeros) {
  worker.row_terms.resize(std::max<std::size_t>(worker.row_terms.size(), one.terms));
  for (std::uint32_t i = 0; i < one.count; ++i) {
    const std::size_t slot = plan_.slot[program_.place(one.targets, i)];
    each_cell(worker.columns, [&](std::size_t first, std::size_t count, T* sums) {
      const Columns cell{first, first + count};
      T* const to = sums + slot * kernels_.lanes;
      for (std::uint32_t t = 0; t < one.terms; ++t) {
        const Factors& factors = program_.factors[one.begin + t];
        worker.row_terms[t] = {in(factors.factor, i, cell), in(factors.a, i, cell), in(factors.b, i, cell)};
        if (skip_zeros)
          *to += kernels_.pass_sum(count, worker.row_terms[t].a, worker.row_terms[t].factor, worker.row_terms[t].b);
      }
      if (!skip_zeros) kernels_.row_sum(count, std::span(worker.row_terms).first(one.terms), to);
    });
  }
}

// ---- picks ----

// Writes which entries the rows chose, as places relative to the first entry. A wrong index reads the first entry, and
// RowNumbers::check() then throws an Error.
template <class T> void Block<T>::read_indices(const Instruction& one, std::uint32_t i, Columns columns,
                                               std::vector<std::uint32_t>& to) const {
  const T* const from = row_values_.data() + program_.place(one.in[0], i) * columns_;
  const auto size = static_cast<T>(one.depth);
  to.resize(columns_);
  for (std::size_t r = columns.begin; r < columns.end; ++r) {
    const std::uint32_t k = from[r] >= 0 && from[r] < size ? static_cast<std::uint32_t>(from[r]) : 0;
    to[r] = one.row == none ? program_.tables[one.in[1].table + k] : k * one.row;
  }
}

template <class T> void Block<T>::run_pick(Worker& worker, const Instruction& one) {
  const Columns columns = worker.columns;
  for (std::uint32_t i = 0; i < one.count; ++i) {
    if (i == 0 || program_.place(one.in[0], i) != program_.place(one.in[0], i - 1))
      read_indices(one, i, columns, worker.indices);
    const T* const from = uniform_at(one.in[1].rate, one.row == none ? 0 : program_.place(one.in[1], i));
    kernels_.gather(columns.end - columns.begin, from, worker.indices.data() + columns.begin,
                    values_at(one.out + i, columns));
  }
}

// Adds row by row, so the result does not depend on threads.
template <class T> void Block<T>::run_scatter(const Instruction& one) {
  for (std::uint32_t i = 0; i < one.count; ++i) {
    if (i == 0 || program_.place(one.in[0], i) != program_.place(one.in[0], i - 1))
      read_indices(one, i, {0, columns_}, scatter_indices_);
    T* const to = uniform_.gradients() + (one.row == none ? 0 : program_.place(one.in[1], i));
    const T* const gradient = row_values_.data() + program_.place(one.in[3], i) * columns_;
    for (std::size_t r = 0; r < rows_; ++r) to[scatter_indices_[r]] += gradient[r];
  }
}

// ---- sums over rows ----

// Adds to the gradients of weights and biases. Each worker has a share of the outputs of each layer.
template <class T> void Block<T>::run_outers(std::size_t worker, bool is_first) {
  const std::size_t workers = plan_.weights_overlap ? 1 : workers_.size();
  if (worker >= workers) return;
  for (std::size_t n = 0; n < program_.outers.size(); ++n) {
    const Instruction& one = program_.outers[n];
    const std::size_t begin = one.count * worker / workers, end = one.count * (worker + 1) / workers;
    if (begin == end) continue;
    if (one.in[0].rate == Rate::uniform) add_to_weights(one, plan_.outers[n], begin, end, is_first);
    if (one.in[2].exists() && one.in[2].rate == Rate::uniform) add_to_bias(one, plan_.outers[n], begin, end, is_first);
  }
}

// Copies that lie side by side are one long row; others are parts.
template <class T> void Block<T>::add_to_weights(const Instruction& one, const Plan<T>& plan, std::size_t begin,
                                                 std::size_t end, bool is_first) {
  const bool is_one = plan.stretches.size() == 1;
  detail::OuterProduct<T> outer;
  outer.rows = end - begin;
  outer.depth = one.depth;
  outer.columns = is_one ? one.copies * columns_ : columns_;
  outer.d_row = one.copies * columns_;
  outer.d = row_values_.data() + one.in[3].place * columns_ + begin * outer.d_row;
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

template <class T> void Block<T>::add_to_bias(const Instruction& one, const Plan<T>& plan, std::size_t begin,
                                              std::size_t end, bool is_first) {
  const std::uint32_t shared_by = one.bias_copy == 0 ? one.copies : 1;
  for (std::size_t i = begin; i < end; ++i)
    for (std::uint32_t c = 0; c < one.copies; c += shared_by) {
      T& sum = uniform_.gradients()[Instructions::bias(one, static_cast<std::uint32_t>(i), c)];
      const T* const gradient = row_values_.data() + (one.in[3].place + i * one.copies + c) * columns_;
      const T more = kernels_.dot(shared_by * columns_, {}, {gradient, 1}, {});
      sum = is_first && plan.stores_bias ? more : sum + more;
    }
}

// Adds up the sums of the cells in order.
template <class T> void Block<T>::add_row_sums() {
  each_cell({0, columns_}, [&](std::size_t, std::size_t, const T* sums) {
    for (std::size_t i = 0; i < plan_.reduced.size(); ++i, sums += kernels_.lanes)
      uniform_.gradients()[plan_.reduced[i]] += std::accumulate(sums, sums + kernels_.lanes, T(0));
  });
}

// Computes the sum of the first output over the rows of each cell.
template <class T> void Block<T>::add_results(Columns columns) {
  const auto& output = program_.outputs.front();
  each_cell(columns, [&](std::size_t first, std::size_t count, T*) {
    double sum = 0;
    for (std::size_t r = first; r < std::min(first + count, rows_); ++r)
      sum +=
          static_cast<double>(seeds_.data()[r]) * static_cast<double>(row_values_.data()[output.place * columns_ + r]);
    cell_results_[first / cell_] = sum;
  });
}

template <class T> std::size_t Block<T>::bytes() const {
  std::size_t all = row_values_.bytes() + seeds_.bytes() + partial_.bytes();
  for (const Worker& worker : workers_) all += heap_bytes(worker.terms, worker.row_terms, worker.indices);
  return all + heap_bytes(workers_, cell_results_, scatter_indices_);
}

template class Block<float>;
template class Block<double>;

}  // namespace gradwalk::compiler
