// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "machine_code.hpp"

namespace gradwalk::compiler {

namespace {

// Which batches are faster by steps than as a block. A layer is faster as a matrix product.
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

// Estimated times, in units of 0.05 ns. A step of a row is mostly limited by the result that it waits for. An
// instruction on a block of few rows takes about as long for one row as for a whole vector of them.
struct FewRowsTimes {
  std::size_t step, term, call;                                         // of one row; a call is a function such as exp
  std::size_t block_instruction, block_term, block_weight, block_call;  // of a block; weights are those of layers
};

// Returns up to how many rows are faster by steps than as a block: the time of a block of few rows, divided by that of
// the steps of a row. If machine code is possible, its time counts, although the first rows are interpreted, and all
// rows if the user turned it off. So neither the number of earlier calls nor this option decides how a row is rounded.
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
      numbers_(program_, kernels, uniform_),
      block_(program_, kernels, uniform_, numbers_, plan_),
      lookups_(program_),
      threads_(std::max<std::size_t>(threads, 1)),
      is_uniform_shared_(threads_ > 1 && uniform_.is_worth_threads()) {
  if (may_write_code_ && Tiles<T>::fits(program_, kernels_))
    tiles_ = std::make_unique<Tiles<T>>(program_, kernels_, uniform_.values());
}

template <class T> std::size_t Machine<T>::bytes() const {
  std::size_t all = heap_bytes(program_.steps, row_steps_.words, row_steps_for_inputs_.words, program_.uniform,
                               program_.varying, program_.varying_backward, program_.outers, program_.scatters,
                               program_.uniform_backward, program_.factors, program_.tables, program_.constants,
                               program_.outputs, program_.seeds, program_.input_gradients, program_.gradients,
                               program_.packs, program_.index_sizes, program_.looked_up);
  for (const auto* list : {&plan_.varying, &plan_.backward, &plan_.outers}) {
    all += heap_bytes(*list);
    for (const Plan<T>& plan : *list) all += heap_bytes(plan.runs, plan.stretches, plan.starts, plan.terms);
  }
  all += heap_bytes(plan_.reduced, plan_.slot, plan_.row_gradients, plan_.added_to, touched_, part_results_);
  if (tiles_ != nullptr) all += sizeof(Tiles<T>) + tiles_->bytes();
  return all + code_bytes() + lookups_.bytes() + block_.bytes() + uniform_.bytes() + tile_values_.bytes() +
         tile_sums_.bytes();
}

template <class T> std::size_t Machine<T>::code_bytes() const {
  std::size_t all = uniform_.code_bytes() + (tiles_ == nullptr ? 0 : tiles_->code_bytes());
  for (const RowCode* steps : {&row_steps_, &row_steps_for_inputs_})
    all += steps->forward_code.bytes() + steps->backward_code.bytes();
  return all;
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

// ---- parameters ----

template <class T> const std::vector<Range>& Machine<T>::used_parameters(const Rows& rows) {
  is_prepared_ = false;  // if an allocation fails here
  lookups_.list(rows);
  is_prepared_ = true;
  return lookups_.used();
}

// Of parameters that are looked up, only those that the last run with gradients has touched can differ from 0.
template <class T> void Machine<T>::zero_gradients(bool all) {
  if (are_all_touched_) {
    uniform_.zero_gradients(program_.looked_up);
    are_all_touched_ = false;
  }
  uniform_.zero_gradients(touched_);
  touched_.assign(lookups_.looked_up().begin(), lookups_.looked_up().end());
  uniform_.zero_gradients(all ? plan_.row_gradients : plan_.added_to);
}

// ---- rows ----

template <class T> void Machine<T>::make_pool(std::size_t threads) {
  if (threads <= 1 || (pool_ != nullptr && pool_->size() >= threads)) return;
  std::unique_ptr<Pool> pool = std::make_unique<Pool>(threads);
  uniform_.use_threads(pool.get());
  pool_ = std::move(pool);
}

// Returns the sum of the first output over the rows, if it is varying.
template <class T> double Machine<T>::run_by_steps(const Rows& rows, const Wanted& wanted) {
  const bool to_inputs = wanted.input_gradients != nullptr;
  RowCode& code = to_inputs ? row_steps_for_inputs_ : row_steps_;
  if (code.words.empty()) code = RowCode(row_steps(program_, to_inputs));
  T* const values = uniform_.values() + Addresses(program_).varying();
  const auto& output = program_.outputs.front();
  const Varying<T> varying{values, 1, 1};
  double sum = 0;
  for (std::size_t r = 0; r < rows.count; ++r) {
    for (std::size_t i = 0; i < program_.inputs; ++i) values[i] = rows.number<T>(r * program_.inputs + i);
    constexpr std::size_t rows_before = 64;  // about as many as writing the code takes
    if (may_write_code_ && ++code.rows == rows_before) write_code(code);
    if (code.forward_code.is_there())
      run_code(code.forward_code, uniform_.values());
    else
      kernels_.steps(code.forward_pass(), uniform_.values());
    numbers_.check(r, varying, {0, 1});
    if (wanted.outputs != nullptr) numbers_.write_outputs(r, varying, {0, 1}, wanted.outputs);
    const T seed = rows.seed<T>(r);
    if (output.rate == Rate::varying) sum += static_cast<double>(seed) * static_cast<double>(values[output.place]);
    if (!wanted.gradients) continue;
    if (program_.row_seed != none) values[program_.row_seed] = seed;
    if (program_.zero != none) values[program_.zero] = 0;
    if (!skip_zeros_ && code.backward_code.is_there())
      run_code(code.backward_code, uniform_.values());
    else
      (skip_zeros_ ? kernels_.steps_without_zeros : kernels_.steps)(code.backward_pass(), uniform_.values());
    if (to_inputs) numbers_.write_input_gradients(r, varying, {0, 1}, wanted.input_gradients);
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
  const bool is_little = threads_ == 1 || plan_.work * rows.count < little;
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
  const Varying<T> varying{numbers, width, std::min(width, rows.count - begin)};
  const Columns columns{0, width};
  numbers_.load(rows, begin, varying.rows, columns, numbers, width);
  tiles_->forward(tile);
  numbers_.check(begin, varying, columns);
  if (wanted.outputs != nullptr) numbers_.write_outputs(begin, varying, columns, wanted.outputs);
  const auto& output = program_.outputs.front();
  std::array<T, width> seeds{};
  double sum = 0;
  for (std::size_t r = 0; r < varying.rows; ++r) {
    seeds[r] = rows.seed<T>(begin + r);
    if (output.rate == Rate::varying)
      sum += static_cast<double>(seeds[r]) * static_cast<double>(numbers[output.place * width + r]);
  }
  if (!wanted.gradients) return sum;
  if (program_.row_seed != none) std::copy(seeds.begin(), seeds.end(), numbers + program_.row_seed * width);
  if (program_.zero != none) std::fill_n(numbers + program_.zero * width, width, T(0));
  tiles_->backward(wanted.input_gradients != nullptr, tile);
  if (wanted.input_gradients != nullptr)
    numbers_.write_input_gradients(begin, varying, columns, wanted.input_gradients);
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
    const auto value = static_cast<double>(numbers_.output(output, {}, 0));
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
    make_pool(block_.fit(rows.count, threads_, wanted.input_gradients != nullptr));
    for (std::size_t begin = 0; begin < rows.count; begin += block_.columns())
      for (const double result : block_.run(rows, begin, wanted, skip_zeros_, pool_.get())) sum += result;
  } else {
    const Varying<T> no_numbers{nullptr, 0, rows.count};
    numbers_.check(0, no_numbers, {0, 1});
    if (wanted.outputs != nullptr) numbers_.write_outputs(0, no_numbers, {0, rows.count}, wanted.outputs);
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
  // Sums of products do not check whether a gradient is 0 and passes nothing on. A NaN may come from that: run again
  // with the check.
  bool again = std::any_of(lookups_.used().begin(), lookups_.used().end(), [&](const Range& range) {
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
    if (o < count) sum += seeds[o] * static_cast<double>(numbers_.output(program_.outputs[o], {}, 0));
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
