// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "gradwalk/error.hpp"
#include "machine_code.hpp"
#include "text/numbers.hpp"

namespace gradwalk::compiler {

using detail::In;

namespace {

// Which batches are done sooner by steps than as a block. A layer is done sooner as a matrix product.
RowsBySteps rows_by_steps(const Instructions& program) {
  constexpr std::size_t much = 12288;
  if (!program.index_sizes.empty()) return RowsBySteps::no_row;  // Scalar code has no picks.
  std::size_t work = 0, in_layers = 0;                           // terms of sums, and functions, of one row
  for (const auto* list : {&program.varying, &program.varying_backward, &program.outers})
    for (const Instruction& one : *list) {
      const bool has_depth = one.form == Instruction::Form::layer || one.form == Instruction::Form::outer;
      const std::size_t own = std::size_t{one.count} * one.copies * (1 + (has_depth ? one.depth : one.terms));
      work += own;
      in_layers += has_depth ? own : 0;
    }
  if (work <= much) return RowsBySteps::few_rows;
  return 2 * in_layers <= work ? RowsBySteps::two_rows : RowsBySteps::no_row;
}

std::size_t places_of_rows(const Instructions& program) {
  return std::size_t{program.varying_places} + program.input_places;
}

// Estimated times, in units of 0.05 ns. A step of a row is mostly limited by the result that it waits for. An
// instruction on a block of few rows takes about as long for one row as for a whole vector of them.
struct FewRowsTimes {
  std::size_t step, term, call;                                         // of one row; a call is a function such as exp
  std::size_t block_instruction, block_term, block_weight, block_call;  // of a block; weights are those of layers
};

// So many rows are done sooner by steps than as a block: the time of a block of few rows by that of the steps of a row.
// Machine code is meant where it is possible, although the first rows are interpreted, and all if the user turned it
// off. So neither the number of earlier calls nor this option decides how a row is rounded.
template <class T> std::size_t count_few_rows(const Instructions& program, std::span<const std::uint32_t> words,
                                              std::size_t terms, bool is_code_possible) {
  constexpr FewRowsTimes interpreted{30, 14, 160, 280, 70, 60, 500}, written{10, 7, 170, 200, 70, 20, 160};
  const FewRowsTimes& times = is_code_possible ? written : interpreted;
  std::size_t steps = 0, calls = 0;
  each_step(words, [&](StepHead head, const std::uint32_t*) {
    ++steps;
    calls += MachineCode<T>::writes(head) ? 0 : 1;
  });
  const std::size_t row = steps * times.step + terms * times.term + calls * times.call;
  std::size_t block = calls * times.block_call;
  for (const auto* list : {&program.varying, &program.varying_backward, &program.outers})
    for (const Instruction& one : *list) {
      const bool is_layer = one.form == Instruction::Form::layer || one.form == Instruction::Form::outer;
      const std::size_t members = std::size_t{one.count} * one.copies;
      block += times.block_instruction +
               members * (is_layer ? one.depth * times.block_weight : one.terms * times.block_term);
    }
  return row == 0 ? 0 : std::max<std::size_t>(block / row, 1);
}

}  // namespace

template <class T>
Machine<T>::Machine(Instructions program, const detail::Kernels<T>& kernels, std::size_t threads, bool may_write_code)
    : program_(std::move(program)),
      kernels_(kernels),
      by_steps_(rows_by_steps(program_)),
      row_steps_(by_steps_ == RowsBySteps::few_rows ? RowCode(row_steps(program_, false)) : RowCode()),
      uniform_(program_, kernels, by_steps_ == RowsBySteps::no_row ? 0 : places_of_rows(program_), may_write_code),
      may_write_code_(may_write_code && MachineCode<T>::is_possible(kernels)),
      plan_(plan_rows(program_, kernels)),
      rows_by_steps_(
          by_steps_ == RowsBySteps::two_rows
              ? 2
              : count_few_rows<T>(program_, row_steps_.words, row_steps_.terms, MachineCode<T>::is_possible(kernels))),
      threads_(std::max<std::size_t>(threads, 1)),
      is_uniform_shared_(threads_ > 1 && uniform_.is_worth_threads()) {
  list_lookups();
  if (may_write_code_ && Tiles<T>::fits(program_, kernels_))
    tiles_ = std::make_unique<Tiles<T>>(program_, kernels_, uniform_.values());
}

template <class T> void Machine<T>::write_code(RowCode& steps) const {
  const auto written = [&](std::span<const std::uint32_t> words) {
    MachineCode<T> writer(program_, kernels_);
    writer.add({}, words, {});
    return writer.finish();
  };
  try {
    steps.forward_code = written(steps.forward_pass());
    steps.backward_code = written(steps.backward_pass());
  } catch (const std::bad_alloc&) {  // Without memory for code, the interpreter goes on.
  }
}

// ---- picks ----

template <class T> void Machine<T>::list_lookups() {
  std::vector<bool> is_looked_up(program_.parameters);
  for (const Range& range : program_.looked_up)
    std::fill_n(is_looked_up.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count, true);
  std::vector<bool> is_other = is_looked_up;
  is_other.flip();
  others_ = ranges_of(is_other);
  if (program_.looked_up.empty()) return;
  parameter_stamps_.assign(program_.parameters, always_used);
  for (const Range& range : program_.looked_up)
    std::fill_n(parameter_stamps_.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count, 0);
  std::map<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>, std::size_t> known;  // first to depth
  for (const Instruction& one : program_.varying) {
    if (one.form != Instruction::Form::pick || one.in[1].rate != Rate::uniform) continue;
    for (std::uint32_t i = 0, end = 0; i < one.count; i = end) {
      const std::uint32_t input = program_.place(one.in[0], i);
      end = i + 1;
      while (one.row != none && end < one.count && program_.place(one.in[0], end) == input &&
             program_.entry(one, end, 0) == program_.entry(one, end - 1, 0) + 1)
        ++end;
      bool is_any = false;
      for (std::uint32_t member = i; member < end && !is_any; ++member)
        for (std::uint32_t k = 0; k < one.depth && !is_any; ++k) {
          const std::uint32_t entry = program_.entry(one, member, k);
          is_any = entry < program_.parameters && is_looked_up[entry];
        }
      if (!is_any) continue;
      Lookup made{input, one.depth, one.row == none ? one.in[1].table : program_.entry(one, i, 0), one.row, end - i, 0};
      const auto [at, is_new] = known.try_emplace({made.first, made.row, made.count, made.depth}, stamps_.size());
      made.stamps = at->second;
      if (is_new) {
        stamps_.emplace_back(one.depth);
        for (std::uint32_t k = 0; k < one.depth; ++k)
          for (std::uint32_t member = i; member < end; ++member) {
            const std::uint32_t entry = program_.entry(one, member, k);
            are_apart_ = are_apart_ && entry < program_.parameters && parameter_stamps_[entry] == 0;
            if (entry < program_.parameters && parameter_stamps_[entry] == 0) parameter_stamps_[entry] = 1;
          }
      }
      const bool is_known = std::any_of(lookups_.begin(), lookups_.end(), [&](const Lookup& other) {
        return other.input == input && other.stamps == made.stamps;
      });
      if (!is_known) lookups_.push_back(made);
    }
  }
  stamp_ = 1;
  if (are_apart_) parameter_stamps_ = {};
}

template <class T> const std::vector<Range>& Machine<T>::used_parameters(const Rows& rows) {
  is_prepared_ = false;  // if an allocation fails here
  used_ = others_;
  if (++stamp_ == always_used) {
    for (std::vector<std::uint32_t>& stamps : stamps_) std::fill(stamps.begin(), stamps.end(), 0);
    for (std::uint32_t& stamp : parameter_stamps_) stamp = stamp == always_used ? always_used : 0;
    stamp_ = 1;
  }
  for (const Lookup& lookup : lookups_) {
    std::vector<std::uint32_t>& stamps = stamps_[lookup.stamps];
    for (std::size_t r = 0; r < rows.count; ++r) {
      const std::size_t at = r * program_.inputs + lookup.input;
      const T index = rows.floats != nullptr ? static_cast<T>(rows.floats[at]) : static_cast<T>(rows.numbers[at]);
      if (!(index >= 0 && index < static_cast<T>(lookup.depth))) continue;  // The run will refuse it.
      const auto k = static_cast<std::size_t>(index);
      if (stamps[k] == stamp_) continue;
      stamps[k] = stamp_;
      const std::size_t first = lookup.row == none ? program_.tables[lookup.first + k] : lookup.first + k * lookup.row;
      if (are_apart_) {
        used_.push_back({first, lookup.count});
        continue;
      }
      for (std::size_t p = first; p < std::min(first + lookup.count, program_.parameters); ++p) {
        if (parameter_stamps_[p] == always_used || parameter_stamps_[p] == stamp_) continue;
        parameter_stamps_[p] = stamp_;
        if (used_.size() > others_.size() && used_.back().begin + used_.back().count == p)
          ++used_.back().count;
        else
          used_.push_back({p, 1});
      }
    }
  }
  is_prepared_ = true;
  return used_;
}

// Of parameters that are looked up, only those that the last run with gradients has touched can differ from 0.
template <class T> void Machine<T>::zero_gradients(bool all) {
  if (are_all_touched_) {
    uniform_.zero_gradients(program_.looked_up);
    are_all_touched_ = false;
  }
  uniform_.zero_gradients(touched_);
  touched_.assign(used_.begin() + static_cast<std::ptrdiff_t>(others_.size()), used_.end());
  uniform_.zero_gradients(all ? plan_.row_gradients : plan_.added_to);
}

// The places of the entries, from that of the first one on. A wrong index reads the first entry; check_indices() then
// throws an Error.
template <class T> void Machine<T>::read_indices(const Instruction& one, std::uint32_t i, Columns columns,
                                                 std::vector<std::uint32_t>& to) const {
  const T* const from = row_values_.data() + program_.place(one.in[0], i) * columns_;
  const auto size = static_cast<T>(one.depth);
  to.resize(columns_);
  for (std::size_t r = columns.begin; r < columns.end; ++r) {
    const std::uint32_t k = from[r] >= 0 && from[r] < size ? static_cast<std::uint32_t>(from[r]) : 0;
    to[r] = one.row == none ? program_.tables[one.in[1].table + k] : k * one.row;
  }
}

template <class T> void Machine<T>::run_pick(Worker& worker, const Instruction& one) {
  const Columns columns = worker.columns;
  const T* const values = one.in[1].rate == Rate::constant ? uniform_.constants() : std::as_const(uniform_).values();
  for (std::uint32_t i = 0; i < one.count; ++i) {
    if (i == 0 || program_.place(one.in[0], i) != program_.place(one.in[0], i - 1))
      read_indices(one, i, columns, worker.indices);
    const T* const from = one.row == none ? values : values + program_.place(one.in[1], i);
    kernels_.gather(columns.end - columns.begin, from, worker.indices.data() + columns.begin,
                    values_at(one.out + i, columns));
  }
}

// Row by row in order, so the result does not depend on threads.
template <class T> void Machine<T>::run_scatter(const Instruction& one) {
  for (std::uint32_t i = 0; i < one.count; ++i) {
    if (i == 0 || program_.place(one.in[0], i) != program_.place(one.in[0], i - 1))
      read_indices(one, i, {0, columns_}, scatter_indices_);
    T* const to = uniform_.gradients() + (one.row == none ? 0 : program_.place(one.in[1], i));
    const T* const gradient = row_values_.data() + program_.place(one.in[3], i) * columns_;
    for (std::size_t r = 0; r < rows_; ++r) to[scatter_indices_[r]] += gradient[r];
  }
}

template <class T> void Machine<T>::check_indices(std::size_t begin, const Varying& varying, std::size_t row) const {
  const std::size_t first = program_.outputs.size() - program_.index_sizes.size();
  for (std::size_t i = 0; i < program_.index_sizes.size(); ++i) {
    const T index = number_of(program_.outputs[first + i], varying, row);
    const std::size_t size = program_.index_sizes[i];
    if (index >= 0 && index < static_cast<T>(size) && index == std::floor(index)) continue;
    throw Error("Program", "a whole number from 0 to " + std::to_string(size - 1) + " as the index of each pick",
                detail::format_number(static_cast<double>(index)) + " in row " + std::to_string(begin + row),
                "check the index, and count from 0");
  }
}

template <class T> std::size_t Machine<T>::bytes() const {
  const auto of = [](const auto&... lists) { return ((lists.capacity() * sizeof(lists[0])) + ...); };
  std::size_t all =
      of(program_.steps, row_steps_.words, row_steps_for_inputs_.words, program_.uniform, program_.varying,
         program_.varying_backward, program_.outers, program_.scatters, program_.uniform_backward, program_.factors,
         program_.tables, program_.constants, program_.outputs, program_.seeds, program_.input_gradients,
         program_.gradients, program_.packs, program_.index_sizes, program_.looked_up);
  for (const auto* list : {&plan_.varying, &plan_.backward, &plan_.outers}) {
    all += of(*list);
    for (const Plan<T>& one : *list) all += of(one.runs, one.stretches, one.starts, one.terms);
  }
  all += code_bytes();
  all += of(plan_.reduced, plan_.slot, plan_.row_gradients, plan_.added_to);
  all += of(lookups_, stamps_, parameter_stamps_, others_, used_, touched_, scatter_indices_, workers_, cell_results_);
  for (const std::vector<std::uint32_t>& stamps : stamps_) all += of(stamps);
  for (const Worker& worker : workers_) all += of(worker.terms, worker.row_terms, worker.indices);
  if (tiles_ != nullptr) all += sizeof(Tiles<T>) + tiles_->bytes();
  all += part_results_.capacity() * sizeof(double) + tile_values_.bytes() + tile_sums_.bytes();
  return all + uniform_.bytes() + row_values_.bytes() + seeds_.bytes() + partial_.bytes();
}

template <class T> std::size_t Machine<T>::code_bytes() const {
  std::size_t all = uniform_.code_bytes() + (tiles_ == nullptr ? 0 : tiles_->code_bytes());
  for (const RowCode* steps : {&row_steps_, &row_steps_for_inputs_})
    all += steps->forward_code.bytes() + steps->backward_code.bytes();
  return all;
}

// The i-th number of an operand, for these columns.
template <class T> In<T> Machine<T>::in(const Operand& operand, std::uint32_t i, Columns columns) const {
  if (!operand.exists()) return {nullptr, 0};
  const std::size_t at = program_.place(operand, i);
  if (operand.rate == Rate::varying) return {row_values_.data() + at * columns_ + columns.begin, 1};
  return {(operand.rate == Rate::constant ? uniform_.constants() : std::as_const(uniform_).values()) + at, 0};
}

// The operand of a run, for these columns.
template <class T> detail::InSteps<T> Machine<T>::in(const RunOperand& operand, Columns columns) const {
  if (operand.place == none) return {{nullptr, 0}, 0};
  if (operand.rate == Rate::varying) {
    const auto width = static_cast<std::ptrdiff_t>(columns_);
    return {{row_values_.data() + operand.place * columns_ + columns.begin, 1}, operand.step * width};
  }
  const T* const from = operand.rate == Rate::constant ? uniform_.constants() : std::as_const(uniform_).values();
  return {{from + operand.place, 0}, operand.step};
}

template <class T> template <class Add> void Machine<T>::each_cell(Columns columns, Add add) {
  for (std::size_t first = columns.begin; first < columns.end; first += cell_)
    add(first, std::min(cell_, columns.end - first),
        partial_.data() + first / cell_ * plan_.reduced.size() * kernels_.lanes);
}

// About how many floating-point operations a row takes, forwards and backwards.
template <class T> std::size_t Machine<T>::work_a_row() const {
  std::size_t work = 0;
  for (const auto* list : {&program_.varying, &program_.varying_backward, &program_.outers})
    for (const Instruction& one : *list) {
      if (one.form == Instruction::Form::layer || one.form == Instruction::Form::outer)
        work += std::size_t{2} * one.count * one.copies * one.depth;
      else
        work += std::size_t{one.count} * (one.terms > 0 ? 5 * one.terms : 20);
    }
  return work;
}

// A block has as many columns as keep its numbers in the cache, whole vectors, and no more than there are rows; several
// have as many each. Its cells are all of it where the work is little, and else such that several threads have some.
template <class T> void Machine<T>::set_block(std::size_t rows) {
  constexpr std::size_t cached = std::size_t{1} << 20;  // bytes
  constexpr std::size_t little = 2'000'000;             // operations
  const std::size_t unit = cache_line / sizeof(T);
  const std::size_t most = cached / (sizeof(T) * std::max<std::size_t>(program_.varying_places, 1));
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
  partial_.resize(cells * plan_.reduced.size() * kernels_.lanes);
  cell_results_.resize(cells);
  const std::size_t count = std::min(threads_, cells);
  workers_.resize(count);
  for (std::size_t w = 0; w < count; ++w) {
    Worker& worker = workers_[w];
    worker.columns = {cells * w / count * cell_, std::min(cells * (w + 1) / count * cell_, wanted)};
  }
  make_pool(count);
  columns_ = wanted;
}

template <class T> void Machine<T>::make_pool(std::size_t threads) {
  if (threads <= 1 || (pool_ != nullptr && pool_->size() >= threads)) return;
  std::unique_ptr<Pool> made = std::make_unique<Pool>(threads);
  uniform_.use_threads(made.get());
  pool_ = std::move(made);
}

template <class T> template <class Work> void Machine<T>::share(Work work) {
  if (workers_.size() == 1) return work(0);
  pool_->run([&](std::size_t w) {
    if (w < workers_.size()) work(w);
  });
}

// Inputs side by side for all rows. The last row is repeated where there are no more: what it computes is as good as
// any.
template <class T> template <class N> void Machine<T>::load_inputs(const N* rows, std::size_t begin, std::size_t count,
                                                                   Columns columns, T* to, std::size_t to_width) const {
  const std::size_t inputs = program_.inputs;
  T* const values = to + columns.begin;
  const std::size_t width = columns.end - columns.begin;
  const std::size_t first = std::min(columns.begin, count - 1), own = std::min(width, count - first);
  const N* const from = rows + (begin + first) * inputs;
  if constexpr (std::is_same_v<N, T>) {
    kernels_.transpose(own, inputs, from, inputs, values, to_width);
  } else {
    constexpr std::size_t piece = 16;  // rows, so that what is written stays in the cache until it is whole
    for (std::size_t top = 0; top < own; top += piece)
      for (std::size_t i = 0; i < inputs; ++i)
        for (std::size_t r = top; r < std::min(top + piece, own); ++r)
          values[i * to_width + r] = static_cast<T>(from[r * inputs + i]);
  }
  for (std::size_t i = 0; own < width && i < inputs; ++i)
    std::fill(values + i * to_width + own, values + i * to_width + width, values[i * to_width + own - 1]);
}

template <class T> void Machine<T>::load(const Rows& rows, std::size_t begin, Columns columns) {
  if (rows.floats != nullptr)
    load_inputs(rows.floats, begin, rows_, columns, row_values_.data(), columns_);
  else
    load_inputs(rows.numbers, begin, rows_, columns, row_values_.data(), columns_);
  for (std::size_t r = columns.begin; r < columns.end; ++r)
    seeds_.data()[r] = r >= rows_ ? T(0) : rows.seeds == nullptr ? T(1) : static_cast<T>(rows.seeds[begin + r]);
}

template <class T> void Machine<T>::run_instructions(Worker& worker, const std::vector<Instruction>& list,
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
      default: break;  // never of rows
    }
  }
}

// A function of the table, or a local derivative of one.
template <class T> void Machine<T>::run_function(Worker& worker, const Instruction& one, const Plan<T>& plan) {
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
void Machine<T>::run_sums(Worker& worker, const Instruction& one, const Plan<T>& plan, bool skip_zeros) {
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

// The copies of a stretch at once, where they have no biases of their own; otherwise one by one.
template <class T>
void Machine<T>::run_layer(Worker& worker, const Instruction& one, const Plan<T>& plan, bool skip_zeros) {
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
template <class T> void Machine<T>::run_row_sums(Worker& worker, const Instruction& one, bool skip_zeros) {
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

// What the block adds to the gradients of weights and biases: of each layer a worker has its share of the outputs.
template <class T> void Machine<T>::run_outers(std::size_t worker, bool is_first) {
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

// Copies that lie side by side are one long row, others parts.
template <class T> void Machine<T>::add_to_weights(const Instruction& one, const Plan<T>& plan, std::size_t begin,
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

template <class T> void Machine<T>::add_to_bias(const Instruction& one, const Plan<T>& plan, std::size_t begin,
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

// Cell by cell, and lane by lane.
template <class T> void Machine<T>::add_row_sums() {
  each_cell({0, columns_}, [&](std::size_t, std::size_t, const T* sums) {
    for (std::size_t i = 0; i < plan_.reduced.size(); ++i, sums += kernels_.lanes)
      uniform_.gradients()[plan_.reduced[i]] += std::accumulate(sums, sums + kernels_.lanes, T(0));
  });
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

template <class T>
T Machine<T>::number_of(const Instructions::Output& output, const Varying& varying, std::size_t row) const {
  if (output.rate == Rate::varying) return varying.numbers[output.place * varying.width + row];
  return (output.rate == Rate::uniform ? uniform_.values() : uniform_.constants())[output.place];
}

template <class T> void Machine<T>::check_guards(std::size_t begin, const Varying& varying, Columns columns) const {
  if (program_.guards.empty() && program_.index_sizes.empty()) return;
  const std::size_t first = program_.wanted_outputs();
  for (std::size_t r = columns.begin; r < std::min(columns.end, varying.rows); ++r) {
    check_indices(begin, varying, r);
    for (std::size_t i = 0; i < program_.guards.size(); ++i)
      if ((number_of(program_.outputs[first + i], varying, r) != 0) != program_.guards[i])
        throw Error(
            "Program", "rows on which every comparison comes out as it was recorded",
            "row " + std::to_string(begin + r) + ", where comparison " + std::to_string(i + 1) + " does not",
            "write select(condition, a, b), or use a Function (in Python @compile), which follows every branch");
  }
}

template <class T>
void Machine<T>::write_outputs(std::size_t begin, const Varying& varying, Columns columns, double* outputs) const {
  const std::size_t width = program_.wanted_outputs();
  for (std::size_t r = columns.begin; r < std::min(columns.end, varying.rows); ++r)
    for (std::size_t o = 0; o < width; ++o)
      outputs[(begin + r) * width + o] = static_cast<double>(number_of(program_.outputs[o], varying, r));
}

template <class T>
void Machine<T>::write_input_gradients(std::size_t begin, const Varying& varying, Columns columns, double* to) const {
  for (std::size_t i = 0; i < program_.inputs; ++i) {
    const std::uint32_t place = program_.input_gradients[i];
    for (std::size_t r = columns.begin; r < std::min(columns.end, varying.rows); ++r)
      to[(begin + r) * program_.inputs + i] =
          place == none ? 0.0 : static_cast<double>(varying.numbers[place * varying.width + r]);
  }
}

template <class T> void Machine<T>::run_block(const Rows& rows, std::size_t begin, const Wanted& wanted) {
  rows_ = std::min(columns_, rows.count - begin);
  const bool to_inputs = wanted.input_gradients != nullptr;
  const Varying varying{row_values_.data(), columns_, rows_};
  share([&](std::size_t w) {
    Worker& worker = workers_[w];
    const Columns columns = worker.columns;
    load(rows, begin, columns);
    run_instructions(worker, program_.varying, plan_.varying, {});
    check_guards(begin, varying, columns);
    if (program_.outputs.front().rate == Rate::varying) add_results(columns);
    if (wanted.outputs != nullptr) write_outputs(begin, varying, columns, wanted.outputs);
    if (!wanted.gradients) return;
    const std::size_t width = columns.end - columns.begin;
    if (program_.row_seed != none)
      std::memcpy(values_at(program_.row_seed, columns), seeds_.data() + columns.begin, width * sizeof(T));
    if (program_.zero != none) std::memset(values_at(program_.zero, columns), 0, width * sizeof(T));
    each_cell(columns, [&](std::size_t, std::size_t, T* sums) {
      std::fill_n(sums, plan_.reduced.size() * kernels_.lanes, T(0));
    });
    run_instructions(worker, program_.varying_backward, plan_.backward, {to_inputs, skip_zeros_});
    if (to_inputs) write_input_gradients(begin, varying, columns, wanted.input_gradients);
  });
  if (!wanted.gradients) return;
  if (!program_.outers.empty()) share([&](std::size_t w) { run_outers(w, begin == 0); });
  for (const Instruction& one : program_.scatters) run_scatter(one);
  add_row_sums();
}

// The sum over the rows of the first output, if it is varying.
template <class T> double Machine<T>::run_by_steps(const Rows& rows, const Wanted& wanted) {
  const bool to_inputs = wanted.input_gradients != nullptr;
  RowCode& code = to_inputs ? row_steps_for_inputs_ : row_steps_;
  if (code.words.empty()) code = RowCode(row_steps(program_, to_inputs));
  T* const values = uniform_.values() + Addresses(program_).varying();
  const auto& output = program_.outputs.front();
  const Varying varying{values, 1, 1};
  double sum = 0;
  for (std::size_t r = 0; r < rows.count; ++r) {
    for (std::size_t i = 0; i < program_.inputs; ++i) {
      const std::size_t from = r * program_.inputs + i;
      values[i] = rows.floats != nullptr ? static_cast<T>(rows.floats[from]) : static_cast<T>(rows.numbers[from]);
    }
    constexpr std::size_t rows_before = 64;  // about as many as writing the code takes
    if (may_write_code_ && ++code.rows == rows_before) write_code(code);
    if (code.forward_code.is_there())
      run_code(code.forward_code, uniform_.values());
    else
      kernels_.steps(code.forward_pass(), uniform_.values());
    check_guards(r, varying, {0, 1});
    if (wanted.outputs != nullptr) write_outputs(r, varying, {0, 1}, wanted.outputs);
    const T seed = rows.seeds == nullptr ? T(1) : static_cast<T>(rows.seeds[r]);
    if (output.rate == Rate::varying) sum += static_cast<double>(seed) * static_cast<double>(values[output.place]);
    if (!wanted.gradients) continue;
    if (program_.row_seed != none) values[program_.row_seed] = seed;
    if (program_.zero != none) values[program_.zero] = 0;
    if (!skip_zeros_ && code.backward_code.is_there())
      run_code(code.backward_code, uniform_.values());
    else
      (skip_zeros_ ? kernels_.steps_without_zeros : kernels_.steps)(code.backward_pass(), uniform_.values());
    if (to_inputs) write_input_gradients(r, varying, {0, 1}, wanted.input_gradients);
  }
  return sum;
}

// The first batch that is large enough makes the program write its code. So how sums over rows are rounded depends on
// the number of rows, but not on earlier calls. With skip_zeros_, rows run in blocks.
template <class T> bool Machine<T>::goes_by_tiles(const Rows& rows, const Wanted& wanted) {
  constexpr std::size_t worth_it = 64;  // about as many as writing the code takes
  return tiles_ != nullptr && rows.count >= worth_it && !skip_zeros_ &&
         tiles_->prepare(wanted.gradients, wanted.input_gradients != nullptr);
}

// Rows are divided into parts, whatever the number of threads. Each part has its own sums, one per lane of a tile,
// which are added up in the order of the parts.
template <class T> double Machine<T>::run_by_tiles(const Rows& rows, const Wanted& wanted) {
  constexpr std::size_t most_parts = 64, fewest_tiles = 4, most_sums = std::size_t{1} << 20, little = 2'000'000;
  const bool to_inputs = wanted.input_gradients != nullptr;
  const std::vector<std::uint32_t>& reduced = tiles_->reduced(to_inputs);
  const std::size_t width = Tiles<T>::width, tiles = (rows.count + width - 1) / width, sums = reduced.size();
  const std::size_t limit = std::clamp<std::size_t>(most_sums / std::max<std::size_t>(sums, 1), 1, most_parts);
  const std::size_t tiles_of_part = std::max(fewest_tiles, (tiles + limit - 1) / limit);
  const std::size_t parts = (tiles + tiles_of_part - 1) / tiles_of_part;
  const bool is_little = threads_ == 1 || work_a_row() * rows.count < little;
  const std::size_t threads = is_little ? 1 : std::min(threads_, parts);
  const std::size_t size = tiles_->size();
  tile_values_.resize(threads * size);
  tile_sums_.resize(parts * sums);
  part_results_.assign(parts, 0);
  const auto run_part = [&](std::size_t part, T* tile) {
    for (const std::uint32_t place : reduced) std::fill_n(tile + place * width, width, T(0));
    const std::size_t end = std::min((part + 1) * tiles_of_part * width, rows.count);
    for (std::size_t begin = part * tiles_of_part * width; begin < end; begin += width)
      part_results_[part] += run_tile(rows, begin, wanted, tile);
    for (std::size_t i = 0; i < sums; ++i)
      tile_sums_.data()[part * sums + i] =
          std::accumulate(tile + reduced[i] * width, tile + (reduced[i] + 1) * width, T(0));
  };
  const auto run_parts = [&](std::size_t w) {
    for (std::size_t part = parts * w / threads; w < threads && part < parts * (w + 1) / threads; ++part)
      run_part(part, tile_values_.data() + w * size);
  };
  make_pool(threads);
  if (threads == 1)
    run_parts(0);
  else
    pool_->run(run_parts);
  for (std::size_t i = 0; wanted.gradients && i < sums; ++i)
    for (std::size_t part = 0; part < parts; ++part)
      uniform_.gradients()[reduced[i]] += tile_sums_.data()[part * sums + i];
  const bool is_varying = program_.outputs.front().rate == Rate::varying;
  return is_varying ? std::accumulate(part_results_.begin(), part_results_.end(), 0.0) : 0;
}

// Returns the sum of the first output over the rows of a tile, if it is varying.
template <class T> double Machine<T>::run_tile(const Rows& rows, std::size_t begin, const Wanted& wanted, T* tile) {
  constexpr std::size_t width = Tiles<T>::width;
  T* const numbers = tiles_->varying(tile);
  const Varying varying{numbers, width, std::min(width, rows.count - begin)};
  const Columns columns{0, width};
  if (rows.floats != nullptr)
    load_inputs(rows.floats, begin, varying.rows, columns, numbers, width);
  else
    load_inputs(rows.numbers, begin, varying.rows, columns, numbers, width);
  tiles_->forward(tile);
  check_guards(begin, varying, columns);
  if (wanted.outputs != nullptr) write_outputs(begin, varying, columns, wanted.outputs);
  const auto& output = program_.outputs.front();
  std::array<T, width> seeds{};
  double sum = 0;
  for (std::size_t r = 0; r < varying.rows; ++r) {
    seeds[r] = rows.seeds == nullptr ? T(1) : static_cast<T>(rows.seeds[begin + r]);
    if (output.rate == Rate::varying)
      sum += static_cast<double>(seeds[r]) * static_cast<double>(numbers[output.place * width + r]);
  }
  if (!wanted.gradients) return sum;
  if (program_.row_seed != none) std::copy(seeds.begin(), seeds.end(), numbers + program_.row_seed * width);
  if (program_.zero != none) std::fill_n(numbers + program_.zero * width, width, T(0));
  tiles_->backward(wanted.input_gradients != nullptr, tile);
  if (wanted.input_gradients != nullptr) write_input_gradients(begin, varying, columns, wanted.input_gradients);
  return sum;
}

template <class T> double Machine<T>::run_once(const Rows& rows, const Wanted& wanted) {
  const bool by_steps = goes_by_steps(rows), by_tiles = !by_steps && goes_by_tiles(rows, wanted);
  if (is_uniform_shared_) make_pool(threads_);
  uniform_.forward();
  if (wanted.gradients) zero_gradients(by_steps || by_tiles);
  const auto& output = program_.outputs.front();
  double sum = 0;
  if (output.rate != Rate::varying) {
    const auto value = static_cast<double>(number_of(output, {}, 0));
    double all_seeds = rows.seeds == nullptr ? static_cast<double>(rows.count) : 0;
    if (rows.seeds == nullptr) sum = all_seeds * value;
    for (std::size_t r = 0; rows.seeds != nullptr && r < rows.count; ++r) {
      all_seeds += rows.seeds[r];
      sum += rows.seeds[r] * value;  // one by one: infinities of both signs give NaN
    }
    if (wanted.gradients) uniform_.set_seed(0, static_cast<T>(all_seeds));
  }
  const bool has_rows = std::any_of(program_.outputs.begin(), program_.outputs.end(),
                                    [](const auto& one) { return one.rate == Rate::varying; });
  if (has_rows && by_steps) {
    sum += run_by_steps(rows, wanted);
  } else if (has_rows && by_tiles) {
    sum += run_by_tiles(rows, wanted);
  } else if (has_rows) {
    set_block(rows.count);
    if (wanted.input_gradients != nullptr) row_values_.resize(places_of_rows(program_) * columns_);
    for (std::size_t begin = 0; begin < rows.count; begin += columns_) {
      run_block(rows, begin, wanted);
      for (const double result : cell_results_) sum += output.rate == Rate::varying ? result : 0;
    }
  } else {
    const Varying no_numbers{nullptr, 0, rows.count};
    check_guards(0, no_numbers, {0, 1});
    if (wanted.outputs != nullptr) write_outputs(0, no_numbers, {0, rows.count}, wanted.outputs);
    if (wanted.input_gradients != nullptr) std::fill_n(wanted.input_gradients, rows.count * program_.inputs, 0.0);
  }
  if (wanted.gradients) uniform_.backward(skip_zeros_);
  return sum;
}

template <class T> double Machine<T>::run(const Rows& rows, bool gradients, double* input_gradients, double* outputs) {
  if (rows.count == 0) {
    if (gradients) std::memset(uniform_.gradients(), 0, program_.parameters * sizeof(T));
    touched_.clear();
    return 0;
  }
  if (!std::exchange(is_prepared_, false)) used_parameters(rows);
  is_prepared_ = false;
  const Wanted wanted{gradients, input_gradients, outputs};
  const double sum = run_once(rows, wanted);
  if (!gradients) return sum;
  // Sums of products do not look for gradients that are 0 and pass nothing on: where that could matter, run again.
  bool again = std::any_of(used_.begin(), used_.end(), [&](const Range& range) {
    return kernels_.has_nan(range.count, uniform_.gradients() + range.begin);
  });
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

template <class T> double Machine<T>::run_with_seeds(const double* seeds, double* outputs) {
  Rows one;
  one.count = 1;
  run_once(one, {false, nullptr, outputs});
  double sum = 0;
  const std::size_t count = program_.wanted_outputs();
  for (std::size_t o = 0; o < program_.outputs.size(); ++o) {
    uniform_.set_seed(o, o < count ? static_cast<T>(seeds[o]) : T(0));
    if (o < count) sum += seeds[o] * static_cast<double>(number_of(program_.outputs[o], {}, 0));
  }
  uniform_.backward(false);
  if (kernels_.has_nan(program_.parameters, uniform_.gradients())) uniform_.backward(true);
  for (std::size_t o = 0; o < program_.outputs.size(); ++o) uniform_.set_seed(o, 0);
  return sum;
}

template <class T> void Machine<T>::jacobian(double* to) {
  Rows one;
  one.count = 1;
  run_once(one, {});
  for (std::size_t o = 0; o < program_.outputs.size(); ++o) uniform_.set_seed(o, 0);
  for (std::size_t o = 0; o < program_.wanted_outputs(); ++o) {
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
