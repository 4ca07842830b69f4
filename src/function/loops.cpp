// SPDX-License-Identifier: MIT
#include "loops.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace gradwalk {
namespace {

constexpr std::size_t chunk = 2048;        // rows that go through the loops together: their states stay in the cache
constexpr std::size_t slow_rounds = 4096;  // recorded rounds from which on they are compared with the compiled ones
constexpr std::size_t least_rows_to_unroll = 8192;   // compiled rounds after which a body is unrolled
constexpr std::size_t rows_to_merge = 64;            // the same for merging its paths, times compile_after
constexpr std::size_t max_remembered_rounds = 1024;  // rounds whose paths are kept for the next call

struct LeaveFunction {};

Value weighted_sum(std::span<const Value> values, std::span<const Value> weights) {
  Value sum = weights[0] * values[0];
  for (std::size_t i = 1; i < values.size(); ++i) sum += weights[i] * values[i];
  return sum;
}

// One call of the user's function. It gets the results of earlier loops as given, and may be left at a loop.
class OneCall final : public paths::LoopHandler {
 public:
  enum class Part : std::uint8_t { main, start, body };
  OneCall(Part part, std::size_t site, std::size_t unrolled, std::span<const std::size_t> sizes,
          std::vector<Value> results, std::vector<Value> state, std::vector<Value> seeds)
      : part_(part),
        site_(site),
        unrolled_(unrolled),
        sizes_(sizes),
        results_(std::move(results)),
        state_(std::move(state)),
        seeds_(std::move(seeds)) {}

  std::vector<Value> loop(std::vector<Value> state, const detail::LoopParts& parts) override {
    const std::size_t index = next_++;
    if (index >= sizes_.size() || sizes_[index] != state.size()) {
      unknown_ = paths::UnknownLoop{index, state.size()};
      throw LeaveFunction();
    }
    if (part_ != Part::main && index == site_) {
      const std::vector<Value> made = part_ == Part::start ? std::move(state) : after_rounds(parts);
      outputs_.push_back(weighted_sum(made, seeds_));
      outputs_.push_back(parts.goes_on_value(made));
      outputs_.insert(outputs_.end(), made.begin(), made.end());
      throw LeaveFunction();
    }
    const auto result = results_.begin() + static_cast<std::ptrdiff_t>(first_result_);
    first_result_ += state.size();
    return {result, result + std::ssize(state)};
  }

  // An exception of this class may have become another one on its way, as in Python. So what it stored counts.
  std::vector<Value> outputs(const RowOutputs& function, const std::vector<Value>& inputs) {
    std::vector<Value> returned;
    try {
      const paths::HandleLoops handle(this);
      returned = function(inputs);
    } catch (...) {
      if (cannot_unroll_) throw paths::CannotUnroll{site_};
      if (!unknown_ && outputs_.empty()) throw;
    }
    if (unknown_) throw *unknown_;
    if (part_ == Part::main) return returned;
    if (outputs_.empty()) outputs_.assign(2 + sizes_[site_], Value(0.0));  // the row does not reach the loop
    return std::move(outputs_);
  }

 private:
  // A row that leaves the loop before the last of these rounds keeps its state.
  std::vector<Value> after_rounds(const detail::LoopParts& parts) {
    std::vector<Value> made = paths::next_state(state_, parts);
    for (std::size_t round = 1; round < unrolled_; ++round) {
      const Value goes_on = parts.goes_on_value(made);
      cannot_unroll_ = true;  // if the body throws
      const std::vector<Value> next = paths::next_state(made, parts);
      cannot_unroll_ = false;
      for (std::size_t i = 0; i < made.size(); ++i)
        if (!same_node(next[i], made[i])) made[i] = select(goes_on, next[i], made[i]);
    }
    return made;
  }

  Part part_;
  std::size_t site_, unrolled_, next_ = 0, first_result_ = 0;
  std::span<const std::size_t> sizes_;
  std::vector<Value> results_, state_, seeds_, outputs_;
  std::optional<paths::UnknownLoop> unknown_;
  bool cannot_unroll_ = false;
};

void add(std::vector<double>& to, const std::vector<double>& from) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

// The function that all parts call, and the sizes of the states of its loops.
struct Function::State::Loops::Whole {
  RowOutputs function;
  std::vector<std::size_t> sizes;
};

Function::State::Loops::Loops(RowOutputs function, const FunctionOptions& options, std::vector<std::size_t> sizes,
                              std::shared_ptr<Budget> budget)
    : options_(options),
      budget_(std::move(budget)),
      whole_(std::make_shared<const Whole>(Whole{std::move(function), std::move(sizes)})) {
  using Part = OneCall::Part;
  std::size_t environment = options.inputs;
  for (std::size_t i = 0; i < whole_->sizes.size(); ++i) {
    Site& site = sites_.emplace_back();
    site.size = whole_->sizes[i];
    site.environment = environment;
    site.start = part(static_cast<int>(Part::start), i, 0, environment, site.size, 1);
    site.body = part(static_cast<int>(Part::body), i, site.size, environment, site.size, 1);
    environment += site.size;
  }
  width_ = environment;
  main_ = part(static_cast<int>(Part::main), 0, 0, width_, 0, 1);
}

std::unique_ptr<Function::State> Function::State::Loops::part(int which, std::size_t site, std::size_t before,
                                                              std::size_t environment, std::size_t seeds,
                                                              std::size_t unrolled) const {
  FunctionOptions own = options_;
  own.inputs = before + environment + seeds;
  return std::make_unique<State>(
      RowOutputs([=, whole = whole_, inputs = options_.inputs](const std::vector<Value>& given) {
        const auto at = [&](std::size_t i) { return given.begin() + static_cast<std::ptrdiff_t>(i); };
        const std::size_t x = before, results = x + inputs, seeds_at = x + environment;
        OneCall call(static_cast<OneCall::Part>(which), site, unrolled, whole->sizes, {at(results), at(seeds_at)},
                     {at(0), at(x)}, {at(seeds_at), given.end()});
        return call.outputs(whole->function, {at(x), at(results)});
      }),
      std::move(own), budget_);
}

// One or several rounds of a body without branches. A row that leaves the loop before the last one keeps its state.
std::unique_ptr<Function::State> Function::State::Loops::merged_body(const Site& site, std::size_t unrolled) const {
  FunctionOptions own = options_;
  own.inputs = site.width();
  return std::make_unique<State>(
      RowOutputs([=, merged = site.merged, parameters = options_.parameters, size = site.size,
                  seeds = site.size + site.environment](const std::vector<Value>& given) {
        std::vector<Value> inputs = given, made = merged->record(inputs, parameters);
        for (std::size_t round = 1; round < unrolled; ++round) {
          std::copy_n(made.begin() + 2, size, inputs.begin());
          const std::vector<Value> next = merged->record(inputs, parameters);
          for (std::size_t i = 2; i < made.size(); ++i)
            if (!same_node(next[i], made[i])) made[i] = select(made[1], next[i], made[i]);
          made[1] = select(made[1], next[1], 0.0);
        }
        if (unrolled > 1) made[0] = weighted_sum(std::span(made).subspan(2), std::span(inputs).subspan(seeds));
        return made;
      }),
      std::move(own), budget_);
}

// A body whose paths are all compiled, and few, is compiled as one graph, in which rows need not be sorted by their
// paths. For each path, two rows have been compared by then.
void Function::State::Loops::merge(std::size_t index) {
  Site& site = sites_[index];
  const State& body = *site.body;
  if (site.merged != nullptr || body.paths_.size() < 2 || body.programs_ != body.paths_.size() ||
      body.compiled_rows_ < std::max(site.rows_to_merge, rows_to_merge * options_.compile_after))
    return;
  site.rows_to_merge = 4 * body.compiled_rows_;
  try {
    std::optional<paths::Merged> merged = body.merged_paths();
    if (!merged) return;
    site.merged = std::make_shared<const paths::Merged>(std::move(*merged));
  } catch (...) {  // The function may throw on a row of an earlier call, because its parameters have changed.
    return;
  }
  set_body(index, 1);
}

// A body that does not branch is compiled once more as several rounds, so that states are packed less often. A body
// with a look-up is not: after the end of the loop, its index may be wrong.
void Function::State::Loops::unroll(std::size_t index) {
  constexpr std::size_t max_nodes = 2000;
  Site& site = sites_[index];
  const State& body = *site.body;
  const std::size_t rounds = site.forward_rounds, rows = site.forward_rows;
  if (site.unrolled > 1 || !site.may_unroll || rows == 0 || body.compiled_rows_ < least_rows_to_unroll ||
      body.paths_.size() != 1 || body.paths_.nodes() != 1 || body.programs_ != 1)
    return;
  std::size_t unrolled = 1;
  while (unrolled < 16 && unrolled * 2 * rows <= rounds / 2) unrolled *= 2;
  while (unrolled * body.paths_.path(0).program->describe().computed > max_nodes) unrolled /= 2;
  if (unrolled <= 1) return;
  try {
    site.may_unroll = !body.has_pick();
  } catch (...) {  // The function may throw on a row of an earlier call, because its parameters have changed.
    site.may_unroll = false;
  }
  if (site.may_unroll) set_body(index, unrolled);
}

void Function::State::Loops::keep_rolled(std::size_t index) {
  sites_[index].may_unroll = false;
  set_body(index, 1);
}

void Function::State::Loops::set_body(std::size_t index, std::size_t unrolled) {
  Site& site = sites_[index];
  site.unrolled = unrolled;
  site.body = site.merged != nullptr ? merged_body(site, unrolled)
                                     : part(static_cast<int>(OneCall::Part::body), index, site.size, site.environment,
                                            site.size, unrolled);
  for (Remembered& chunk_paths : remembered_)
    if (index < chunk_paths.body.size()) chunk_paths.body[index].clear();
}

Function::State::Loops::~Loops() = default;

void Function::State::Loops::run(Call& call) {
  const std::size_t rows = call.rows.size() / options_.inputs, chunks = (rows + chunk - 1) / chunk;
  if (rows != remembered_rows_) remembered_.assign(chunks, {});
  remembered_rows_ = rows;
  for (std::size_t i = 0; i < chunks; ++i) {
    run_chunk(call, i * chunk, std::min(chunk, rows - i * chunk), remembered_[i]);
    if (!paths::is_recording()) continue;
    for (std::size_t site = 0; site < sites_.size(); ++site) merge(site), unroll(site);
  }
}

void Function::State::Loops::run_chunk(Call& call, std::size_t first, std::size_t rows, Remembered& remembered) {
  const std::size_t inputs = options_.inputs;
  environment_.assign(rows * width_, 0.0);
  for (std::size_t r = 0; r < rows; ++r)
    std::copy_n(call.rows.data() + (first + r) * inputs, inputs, environment_.data() + r * width_);
  std::vector<Passed> passed(sites_.size());
  remembered.start.resize(sites_.size());
  remembered.body.resize(sites_.size());
  for (std::size_t i = 0; i < sites_.size(); ++i) forward(sites_[i], i, passed[i], remembered, call.is_backward);

  const auto part = [&](auto whole, std::size_t width) {
    return whole.empty() ? whole : whole.subspan(first * width, rows * width);
  };
  environment_gradients_.resize(rows * width_);
  Call main{.is_backward = call.is_backward,
            .rows = environment_,
            .weights = part(call.weights, 1),
            .input_gradients = call.is_backward ? std::span<double>(environment_gradients_) : std::span<double>(),
            .outputs = {},
            .remembered = &remembered.main};
  main_->check("Function", main.rows, {});
  main.outputs = part(call.outputs, main_->outputs());
  main_->run(main);
  if (!call.is_backward) return;
  call.sum += main.sum;
  add(call.gradient, main.gradient);
  for (std::size_t i = sites_.size(); i-- > 0;) backward(call, sites_[i], passed[i], remembered, i);
  if (!call.input_gradients.empty())
    for (std::size_t r = 0; r < rows; ++r)
      std::copy_n(environment_gradients_.data() + r * width_, inputs,
                  call.input_gradients.data() + (first + r) * inputs);
}

// ---- forward ----

Function::State::Loops::Wave Function::State::Loops::first_wave(Site& site, const std::vector<double>& made,
                                                                Passed& passed) {
  Wave wave;
  const std::size_t rows = made.size() / (2 + site.size);
  for (std::uint32_t r = 0; r < rows; ++r) {
    const double* const outputs = made.data() + r * (2 + site.size);
    double* const environment = environment_.data() + r * width_;
    if (outputs[1] == 0) {
      std::copy_n(outputs + 2, site.size, environment + site.environment);
      continue;
    }
    wave.rows.push_back(r);
    wave.numbers.insert(wave.numbers.end(), outputs + 2, outputs + 2 + site.size);
    wave.numbers.insert(wave.numbers.end(), environment, environment + site.environment);
    wave.numbers.insert(wave.numbers.end(), site.size, 0.0);
  }
  passed.rounds.assign(rows, 0);
  return wave;
}

template <class GoesOn>
Function::State::Loops::Wave Function::State::Loops::next_wave(Site& site, Wave& wave, GoesOn goes_on) {
  const std::size_t width = site.width(), made_width = 2 + site.size;
  made_.resize(wave.rows.size() * made_width);
  Call call{.rows = wave.numbers, .outputs = made_, .remembered = &wave.paths};
  site.body->check("Function", call.rows, {});
  site.body->run(call);
  site.rounds += wave.rows.size() * site.unrolled;
  Wave next;
  next.rows.resize(wave.rows.size());
  next.numbers.resize(wave.numbers.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < wave.rows.size(); ++i) {
    const double* const made = made_.data() + i * made_width;
    if (!goes_on(wave.rows[i], made[1] != 0)) {
      std::copy_n(made + 2, site.size, environment_.data() + wave.rows[i] * width_ + site.environment);
      continue;
    }
    double* const to = next.numbers.data() + count * width;
    std::copy_n(made + 2, site.size, to);
    std::copy_n(wave.numbers.data() + i * width + site.size, site.environment, to + site.size);
    next.rows[count++] = wave.rows[i];
  }
  next.rows.resize(count);
  next.numbers.resize(count * width);
  return next;
}

// Stores the states of each round or, with checkpoints, of every k-th round. When more than 2k are stored, every other
// one is dropped and k is doubled. So the memory grows as the square root of the rounds.
void Function::State::Loops::forward(Site& site, std::size_t index, Passed& passed, Remembered& remembered,
                                     bool keeps_states) {
  const std::size_t rows = environment_.size() / width_, width = site.environment + site.size;
  passed.start_numbers.assign(rows * width, 0.0);
  for (std::size_t r = 0; r < rows; ++r)
    std::copy_n(environment_.data() + r * width_, site.environment, passed.start_numbers.data() + r * width);
  std::vector<double> made(rows * (2 + site.size));
  Call call{.rows = passed.start_numbers, .outputs = made, .remembered = &remembered.start[index]};
  site.start->check("Function", call.rows, {});
  site.start->run(call);
  std::vector<std::vector<std::int32_t>>& paths = remembered.body[index];
  for (Wave wave = first_wave(site, made, passed); !wave.rows.empty();) {
    const std::size_t round = passed.total++;
    for (const std::uint32_t row : wave.rows) ++passed.rounds[row];
    site.forward_rounds += wave.rows.size();
    if (round == 0) site.forward_rows += wave.rows.size();
    if (round < paths.size()) wave.paths = paths[round];
    Wave next = next_wave(site, wave, [](std::uint32_t, bool goes_on) { return goes_on; });
    if (round < max_remembered_rounds) {
      if (round == paths.size()) paths.emplace_back();
      paths[round] = wave.paths;
    }
    if (keeps_states && round % passed.every == 0) passed.kept.push_back(std::move(wave));
    if (options_.checkpoints && passed.kept.size() > 2 * passed.every) {
      passed.every *= 2;
      for (std::size_t i = 0; 2 * i < passed.kept.size(); ++i) std::swap(passed.kept[i], passed.kept[2 * i]);
      passed.kept.resize((passed.kept.size() + 1) / 2);
    }
    wave = std::move(next);
  }
}

// ---- backward ----

void Function::State::Loops::add_environment_gradients(const Site& site, std::size_t row, const double* from) {
  double* const to = environment_gradients_.data() + row * width_;
  for (std::size_t i = 0; i < site.environment; ++i) to[i] += from[i];
}

void Function::State::Loops::backward_of(Call& call, Site& site, Wave& wave) {
  const std::size_t width = site.width();
  for (std::size_t i = 0; i < wave.rows.size(); ++i)
    std::copy_n(state_gradients_.data() + wave.rows[i] * site.size, site.size,
                wave.numbers.data() + i * width + site.size + site.environment);
  back_.resize(wave.numbers.size());
  Call body{.is_backward = true, .rows = wave.numbers, .input_gradients = back_, .remembered = &wave.paths};
  site.body->run(body);
  add(call.gradient, body.gradient);
  for (std::size_t i = 0; i < wave.rows.size(); ++i) {
    const double* const from = back_.data() + i * width;
    std::copy_n(from, site.size, state_gradients_.data() + wave.rows[i] * site.size);
    add_environment_gradients(site, wave.rows[i], from + site.size);
  }
}

void Function::State::Loops::backward(Call& call, Site& site, Passed& passed, Remembered& remembered,
                                      std::size_t index) {
  const std::size_t rows = passed.rounds.size();
  state_gradients_.resize(rows * site.size);
  for (std::size_t r = 0; r < rows; ++r)
    std::copy_n(environment_gradients_.data() + r * width_ + site.environment, site.size,
                state_gradients_.data() + r * site.size);
  while (!passed.kept.empty()) {
    std::vector<Wave> waves;
    waves.push_back(std::move(passed.kept.back()));
    passed.kept.pop_back();
    // The rounds after a kept state are run again. The rows that stay are known, so rounding cannot change them.
    for (std::size_t round = passed.kept.size() * passed.every + 1; waves.size() < passed.every && round < passed.total;
         ++round)
      waves.push_back(
          next_wave(site, waves.back(), [&](std::uint32_t row, bool) { return passed.rounds[row] > round; }));
    for (; !waves.empty(); waves.pop_back()) backward_of(call, site, waves.back());
  }
  const std::size_t width = site.environment + site.size;
  for (std::size_t r = 0; r < rows; ++r)
    std::copy_n(state_gradients_.data() + r * site.size, site.size,
                passed.start_numbers.data() + r * width + site.environment);
  back_.resize(passed.start_numbers.size());
  Call start{.is_backward = true,
             .rows = passed.start_numbers,
             .input_gradients = back_,
             .remembered = &remembered.start[index]};
  site.start->run(start);
  add(call.gradient, start.gradient);
  for (std::size_t r = 0; r < rows; ++r) add_environment_gradients(site, r, back_.data() + r * width);
}

// ---- description ----

bool Function::State::Loops::is_slow() const {
  return std::any_of(sites_.begin(), sites_.end(), [](const Site& site) {
    return site.body->eager_rows_ > slow_rounds && site.body->eager_rows_ > site.body->compiled_rows_;
  });
}

std::vector<Function::Loop> Function::State::Loops::describe() const {
  std::vector<Function::Loop> made;
  for (const Site& site : sites_)
    made.push_back({.state = site.size,
                    .rounds = site.rounds,
                    .paths = site.merged != nullptr || site.unrolled > 1 ? 1 : site.body->paths_.size(),
                    .programs = site.body->programs_ + site.start->programs_,
                    .bytes = site.body->bytes_ + site.start->bytes_});
  return made;
}

}  // namespace gradwalk
