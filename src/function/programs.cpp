// SPDX-License-Identifier: MIT
// The programs of a Function's paths: compiling them, and running rows by them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "gradwalk/error.hpp"
#include "gradwalk/reading.hpp"
#include "state.hpp"

namespace gradwalk {

using paths::RowSpan;

namespace {

constexpr std::size_t sample = 32;  // rows that show how many will leave a program

// Comparisons that fail are the bits of a number, the first one the highest. This is a number of bits for which sums of
// them are exact.
std::size_t bits_per_mask(Precision precision) { return precision == Precision::float64 ? 48 : 20; }

// The number of comparisons before the first that failed, or nothing if none did.
std::optional<std::size_t> first_failed(std::span<const double> masks, std::size_t bits) {
  for (std::size_t i = 0; i < masks.size(); ++i)
    if (masks[i] != 0) return i * bits + bits - 1 - static_cast<std::size_t>(std::ilogb(masks[i]));
  return std::nullopt;
}

// The first numbers of a buffer, which only grows: growing sets numbers to 0, which costs time.
std::span<double> room(std::vector<double>& buffer, std::size_t size) {
  if (buffer.size() < size) buffer.resize(size);
  return std::span(buffer).first(size);
}

// Copies `count` numbers of each row. A count that is known is copied without a call. Rows far apart are fetched early.
template <std::size_t known = 0>
void copy_first(const double* from, std::size_t width, RowSpan rows, std::size_t count, double* to) {
  constexpr std::size_t ahead = 8, line = 8;  // rows, numbers
  for (std::size_t i = 0; i < rows.size(); ++i, to += count) {
    const double* const next = from + rows[std::min(i + ahead, rows.size() - 1)] * width;
    for (std::size_t k = 0; k < count; k += line) __builtin_prefetch(next + k);
    const double* const numbers = from + rows[i] * width;
    if constexpr (known > 0)
      for (std::size_t k = 0; k < known; ++k) to[k] = numbers[k];
    else
      std::copy_n(numbers, count, to);
  }
}

// Copies these inputs of each row.
void copy_inputs(const double* from, std::size_t width, RowSpan rows, std::span<const std::uint32_t> inputs,
                 double* to) {
  for (const std::uint32_t row : rows)
    for (const std::uint32_t input : inputs) *to++ = from[row * width + input];
}

// The outputs of a program: those of the function and, if it branches, numbers whose bits are the comparisons that came
// out otherwise than on this path. The first output counts only if none did.
std::vector<Value> guarded_outputs(const paths::Recording& recorded, std::size_t bits) {
  std::vector<Value> outputs = recorded.outputs;
  const std::vector<bool> outcomes = recorded.outcomes();
  if (outcomes.empty()) return outputs;
  Value all = 0.0;
  for (std::size_t begin = 0; begin < outcomes.size(); begin += bits) {
    Value mask = 0.0;
    for (std::size_t i = begin; i < std::min(begin + bits, outcomes.size()); ++i) {
      const double bit = std::ldexp(1.0, static_cast<int>(bits - 1 - (i - begin)));
      const Value& outcome = recorded.compared[i];
      mask = outcomes[i] ? mask + bit - bit * outcome : mask + bit * outcome;
    }
    all = begin == 0 ? mask : all + mask;
    outputs.push_back(mask);
  }
  outputs[0] = select(all < 0.5, outputs[0], 0.0);
  return outputs;
}

// The inputs that some output depends on; the last one if none does, because a program of rows has an input.
std::vector<std::uint32_t> used_inputs(const std::vector<Value>& outputs, const std::vector<Value>& inputs) {
  const Reading reading(outputs, "Function");
  std::vector<std::uint32_t> used;
  for (std::uint32_t i = 0; i < inputs.size(); ++i)
    if (reading.find(inputs[i]) || (used.empty() && i + 1 == inputs.size())) used.push_back(i);
  return used;
}

}  // namespace

// ---- compiled rows ----

// The numbers of rows that the program reads: where they are, if they lie there side by side, or a copy.
std::span<const double> Function::State::gather(const Call& call, const paths::Path& path, RowSpan rows) {
  const std::size_t n = options_.inputs, used = path.inputs.size();
  const bool is_whole =
      used == n && rows.back() - rows.front() + 1 == rows.size() && std::is_sorted(rows.begin(), rows.end());
  if (is_whole) return call.rows.subspan(rows.front() * n, rows.size() * n);
  const std::span<double> to = room(numbers_, rows.size() * used);
  if (path.inputs.back() + 1 != used) {
    copy_inputs(call.rows.data(), n, rows, path.inputs, to.data());
    return to;
  }
  switch (used) {
    case 1: copy_first<1>(call.rows.data(), n, rows, used, to.data()); break;
    case 2: copy_first<2>(call.rows.data(), n, rows, used, to.data()); break;
    case 3: copy_first<3>(call.rows.data(), n, rows, used, to.data()); break;
    case 4: copy_first<4>(call.rows.data(), n, rows, used, to.data()); break;
    default: copy_first(call.rows.data(), n, rows, used, to.data());
  }
  return to;
}

// So few rows that their copied numbers stay in the cache until the program has read them. Threads share a block of
// rows, so several get all rows.
std::size_t Function::State::rows_together(const paths::Path& path) const {
  constexpr std::size_t cached = 1 << 15, least = 512, most = 4096;  // numbers; rows
  if (options_.threads != 1) return std::numeric_limits<std::size_t>::max();
  return std::clamp(cached / std::max<std::size_t>(path.inputs.size(), 1), least, most);
}

void Function::State::run_program(Call& call, std::int32_t index, std::int32_t node, RowSpan all) {
  paths::Path& path = paths_.path(index);
  const std::uint32_t depth = paths_.node(node).depth;
  const std::size_t width = path.program->outputs(), bits = bits_per_mask(options_.precision);
  const bool has_guards = !path.outcomes.empty();
  const auto failed = [&](std::size_t i) {
    return first_failed(std::span(outputs_and_held_).subspan(i * width + outputs_, width - outputs_), bits);
  };
  // If many of the first rows leave, all run forward only until it is known which stay.
  bool forward_first = !call.is_backward;
  if (!forward_first && has_guards && all.size() >= 2 * sample) {
    evaluate_on(call, path, all.first(sample));
    std::size_t stay = 0;
    for (std::size_t i = 0; i < sample; ++i) stay += failed(i) ? 0 : 1;
    forward_first = 3 * stay < 2 * sample;
  }
  Rows left, stayed;
  std::vector<std::size_t> held;
  const std::size_t together = rows_together(path);
  for (std::size_t begin = 0; begin < all.size(); begin += together) {
    const RowSpan rows = all.subspan(begin, std::min(together, all.size() - begin));
    if (forward_first)
      evaluate_on(call, path, rows);
    else
      run_on(call, path, rows);
    stayed.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::optional<std::size_t> comparison = has_guards ? failed(i) : std::nullopt;
      if (comparison) {
        left.push_back(rows[i]);
        held.push_back(*comparison);
        continue;
      }
      remember(rows[i], index);
      if (!call.outputs.empty())
        std::copy_n(outputs_and_held_.data() + i * width, outputs_, call.outputs.data() + rows[i] * outputs_);
      if (forward_first && call.is_backward) stayed.push_back(rows[i]);
    }
    if (!stayed.empty()) run_on(call, path, stayed);
  }
  if (const std::size_t most = std::min(together, all.size()); most > path.most_rows) {
    path.most_rows = most;
    count_bytes(path);
  }
  path.rows += all.size() - left.size();
  compiled_rows_ += all.size() - left.size();
  moved_rows_ += left.size();
  hand_on(call, path, depth, left, held);
}

void Function::State::evaluate_on(const Call& call, paths::Path& path, RowSpan rows) {
  path.program->evaluate(gather(call, path, rows), room(outputs_and_held_, rows.size() * path.program->outputs()));
}

// Runs rows forward and backward. The program gives those that leave no gradient, and 0.
void Function::State::run_on(Call& call, paths::Path& path, RowSpan rows) {
  RunOptions options;
  const std::span<const double> numbers = gather(call, path, rows);
  const std::size_t n = options_.inputs, used = path.inputs.size();
  const bool is_whole = numbers.data() != numbers_.data();
  if (!call.outputs.empty() || !path.outcomes.empty())
    options.outputs = room(outputs_and_held_, rows.size() * path.program->outputs());
  if (!call.weights.empty()) {
    weights_.clear();
    for (const std::uint32_t row : rows) weights_.push_back(call.weights[row]);
    options.weights = weights_;
  }
  if (!call.input_gradients.empty())
    options.input_gradients = is_whole ? call.input_gradients.subspan(rows.front() * n, rows.size() * n)
                                       : room(input_part_, rows.size() * used);
  part_.resize(options_.parameters.size());
  call.sum += path.program->gradients(numbers, part_, options);
  for (std::size_t i = 0; i < part_.size(); ++i) call.gradient[i] += part_[i];
  if (call.input_gradients.empty() || is_whole) return;
  const double* from = input_part_.data();
  for (const std::uint32_t row : rows) {
    double* const to = call.input_gradients.data() + row * n;
    if (used < n) std::fill_n(to, n, 0.0);
    for (const std::uint32_t input : path.inputs) to[input] = *from++;
  }
}

// Rows that left a path go on where they left it. Rounding may decide a comparison otherwise in another program, so a
// row could come back; a row that does not get further than it was is recorded.
void Function::State::hand_on(Call& call, const paths::Path& path, std::uint32_t depth, const Rows& rows,
                              std::span<const std::size_t> held) {
  std::map<std::size_t, Rows> by_comparison;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t at = held[i];
    if (at < depth)
      run_eagerly(call, rows[i]);
    else
      by_comparison[at].push_back(rows[i]);
  }
  for (auto& [at, group] : by_comparison)
    work_.push_back({paths_.follow(path.nodes[at], !path.outcomes[at]), std::move(group)});
}

// ---- compiling ----

void Function::State::compile_path(std::int32_t index, std::span<const double> numbers) {
  const paths::Recording recorded = paths::record(function_, numbers, options_.parameters);
  const std::vector<bool> outcomes = paths_.outcomes(index);
  if (recorded.outcomes() != outcomes) return;  // the data of a parameter was changed by the function
  const paths::Recording first = paths::record(function_, paths_.path(index).example, options_.parameters);
  if (first.outcomes() == outcomes)
    if (const auto differs = paths::difference(first, recorded, options_.parameters))
      throw Error("Function", "a function that records the same graph for rows whose comparisons come out alike",
                  *differs, "leave data() and numbers of your own out of the function, or make them inputs");
  try {
    const std::vector<Value> outputs = guarded_outputs(recorded, bits_per_mask(options_.precision));
    const std::vector<std::uint32_t> used = used_inputs(outputs, recorded.inputs);
    std::vector<Value> inputs;
    for (const std::uint32_t i : used) inputs.push_back(recorded.inputs[i]);
    Program program = compile(outputs, {.inputs = inputs,
                                        .parameters = options_.parameters,
                                        .precision = options_.precision,
                                        .threads = options_.threads,
                                        .instruction_set = options_.instruction_set,
                                        .output_seeds = false});
    paths_.path(index).inputs = used;
    paths_.set_program(index, std::move(program));
    are_groups_current_ = false;
    ++programs_;
    ++budget_->programs;
    count_bytes(paths_.path(index));
  } catch (const Error& error) {
    paths_.path(index).why_not = error.what();
  }
}

// All paths as one graph, if nothing but these can follow from their comparisons, and if it does not take much longer
// than a path.
std::optional<paths::Merged> Function::State::merged_paths() const {
  constexpr std::size_t most_paths = 64;
  constexpr double most_work = 2, sorting = 100;  // times that of a path; what sorting rows by path takes
  if (paths_.size() > most_paths) return std::nullopt;
  std::vector<paths::Trace> traces;
  double work = 0, rows = 0;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const paths::Path& path = paths_.path(index);
    paths::Recording recorded = paths::record(function_, path.example, options_.parameters);
    if (recorded.outcomes() != paths_.outcomes(index)) return std::nullopt;
    std::optional<paths::Trace> trace = paths::Trace::of(std::move(recorded), options_.parameters);
    if (!trace) return std::nullopt;
    const auto weight = static_cast<double>(path.rows);
    for (const paths::Trace::Node& node : trace->nodes) work += weight * static_cast<double>(paths::work_of(node.op));
    rows += weight;
    traces.push_back(std::move(*trace));
  }
  std::optional<paths::Merged> made = paths::Merged::of(traces);
  if (made && static_cast<double>(made->work()) * rows > most_work * work + sorting * rows) made.reset();
  return made;
}

bool Function::State::has_pick() const {
  return !paths::Trace::of(paths::record(function_, paths_.path(0).example, options_.parameters), options_.parameters);
}

}  // namespace gradwalk
