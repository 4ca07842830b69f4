// SPDX-License-Identifier: MIT
#include "state.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "gradwalk/error.hpp"
#include "loops.hpp"
#include "text/numbers.hpp"

namespace gradwalk {

using paths::none;

namespace {

constexpr std::size_t window = 256;           // rows that are watched before it is decided whether to go on
constexpr std::size_t most_nodes = 1 << 21;   // of the trie
constexpr std::size_t rows_per_check = 1000;  // recorded rows after which one is recorded twice, at first
constexpr std::size_t first_checks = 4;       // after which it is every eighth of these rows
constexpr std::size_t first_programs = 8;     // that are compiled before any has paid for itself
constexpr std::size_t least_fresh = 512;      // rows without a remembered path that go through the programs together
constexpr std::size_t max_loops = 8;          // of a function, one after another

// Whether the recorded row of this number is recorded twice.
bool is_checked(std::size_t number) {
  const std::size_t checks = (number + 1) / rows_per_check;
  return (number + 1) % rows_per_check == 0 && (checks <= first_checks || checks % 8 == 0);
}

}  // namespace

// Gradients that backward passes of single rows add up in the Values of the parameters. The gradients that these had
// are put back at the end.
class Function::State::EagerGradients {
 public:
  EagerGradients(std::vector<Value>& parameters, std::vector<double>& sums) : parameters_(parameters), sums_(sums) {}
  EagerGradients(const EagerGradients&) = delete;
  EagerGradients& operator=(const EagerGradients&) = delete;
  ~EagerGradients() {
    if (!before_.empty())
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        sums_[i] += parameters_[i].grad();
        parameters_[i].grad() = before_[i];
      }
  }
  // To be called before a backward pass.
  void begin() {
    if (!before_.empty()) return;
    for (Value& parameter : parameters_) before_.push_back(std::exchange(parameter.grad(), 0.0));
  }

 private:
  std::vector<Value>& parameters_;
  std::vector<double>& sums_;
  std::vector<double> before_;
};

// Notes the loops that a row reaches, and runs them as plain loops.
class Function::State::FindLoops final : public paths::LoopHandler {
 public:
  explicit FindLoops(State& state) : state_(state) {}
  std::vector<Value> loop(std::vector<Value> state, const detail::LoopParts& parts) override {
    const std::size_t index = next_++;
    if (index == state_.loop_sizes_.size())
      state_.loop_sizes_.push_back(state.size());
    else if (state_.loop_sizes_[index] != state.size())
      state_.loops_are_plain_ = true;
    return paths::plain_loop(std::move(state), parts);
  }

 private:
  State& state_;
  std::size_t next_ = 0;
};

Function::State::State(RowOutputs function, FunctionOptions options, std::shared_ptr<Budget> budget)
    : function_(std::move(function)), options_(std::move(options)), budget_(std::move(budget)) {}

Function::State::~State() { drop_programs(); }

Function::State::State(RowOutputs function, FunctionOptions options)
    : options_(std::move(options)),
      budget_(std::make_shared<Budget>()),
      with_loops_(std::make_shared<const RowOutputs>(std::move(function))) {
  function_ = [this](const std::vector<Value>& inputs) {
    FindLoops find(*this);
    const paths::HandleLoops handle(&find);
    return (*with_loops_)(inputs);
  };
  if (!*with_loops_) throw Error("Function", "a function", "an empty one", "give a function of the inputs of one row");
  if (options_.inputs == 0) throw Error("Function", "inputs", "none", "set .inputs to the number of numbers per row");
}

Function::State::Use::Use(State& state, const char* call) : state_(state) {
  if (state.is_used_.exchange(true, std::memory_order_acquire))
    throw Error(call, "one call at a time", "a call while another one is running",
                "make one Function per thread, or take turns");
}

std::size_t Function::State::check(const char* call, std::span<const double> rows, const RunOptions& options) {
  if (!options.seeds.empty() || options.subset.has_value())
    throw Error(call, "rows without seeds or a subset", options.seeds.empty() ? "a subset" : "seeds",
                "use a Program of compile(), or give the rows themselves");
  if (rows.size() % options_.inputs != 0)
    throw Error(call, "rows of " + std::to_string(options_.inputs) + " numbers",
                detail::counted(rows.size(), "number", "numbers"), "give a number for each input of each row");
  const std::size_t count = rows.size() / options_.inputs;
  if (!options.weights.empty() && options.weights.size() != count)
    throw Error(
        call, "one weight per row",
        detail::counted(options.weights.size(), "weight", "weights") + " for " + detail::counted(count, "row", "rows"),
        "give as many weights as rows, or none");
  if (options.result == RunOptions::Result::mean && !options.weights.empty() &&
      std::accumulate(options.weights.begin(), options.weights.end(), 0.0) == 0)
    throw Error(call, "weights whose sum is not 0, for a mean", "weights whose sum is 0",
                "give others, or ask for the sum");
  if (!options.input_gradients.empty() && options.input_gradients.size() != rows.size())
    throw Error(call, "input_gradients of one number per row and input",
                detail::counted(options.input_gradients.size(), "number", "numbers"),
                "give " + std::to_string(rows.size()));
  if (outputs_ == 0 && count > 0) check_repeats(rows.first(options_.inputs));
  if (!options.outputs.empty() && options.outputs.size() != count * outputs_)
    throw Error(call, "outputs of one number per row and output",
                detail::counted(options.outputs.size(), "number", "numbers"),
                "give " + std::to_string(count * outputs_));
  return count;
}

void Function::State::check_outputs(const std::vector<Value>& outputs) {
  if (outputs.empty())
    throw Error("Function", "a function with outputs", "one that returns none", "return a Value or several");
  if (outputs_ == 0) outputs_ = outputs.size();
  if (outputs.size() != outputs_)
    throw Error("Function",
                "a function that returns " + detail::counted(outputs_, "output", "outputs") + " for every row",
                std::to_string(outputs.size()), "return as many for each");
}

// Records a row twice: random numbers and hidden state make the graphs differ.
void Function::State::check_repeats(std::span<const double> row) {
  const paths::Recording first = paths::record(function_, row, options_.parameters),
                         second = paths::record(function_, row, options_.parameters);
  check_outputs(first.outputs);
  check_outputs(second.outputs);
  if (const auto differs = paths::difference(first, second, options_.parameters))
    throw Error("Function", "a function that records the same graph when it is called again with the same numbers",
                *differs, "pass random numbers as inputs, and keep no state between calls");
}

// ---- paths ----

// Runs the rows round by round if the function has loops. Returns false if it has none, or if they are plain ones.
bool Function::State::run_loops(Call& call) {
  while (!loop_sizes_.empty() && loop_sizes_.size() <= max_loops && !loops_are_plain_) {
    if (loops_ == nullptr) {
      drop_programs();
      loops_ = std::make_unique<Loops>(*with_loops_, options_, loop_sizes_, budget_);
    }
    call.sum = 0;
    if (call.is_backward) call.gradient.assign(options_.parameters.size(), 0.0);
    try {
      loops_->run(call);
      loops_are_plain_ = loops_->is_slow();
      if (loops_are_plain_) loops_.reset();
      return true;
    } catch (const paths::CannotUnroll& loop) {
      loops_->keep_rolled(loop.index);
    } catch (const paths::UnknownLoop& loop) {
      loops_.reset();
      if (loop.index == loop_sizes_.size())
        loop_sizes_.push_back(loop.size);
      else
        loops_are_plain_ = true;
    }
  }
  return false;
}

void Function::State::run(Call& call) {
  if (with_loops_ != nullptr && run_loops(call)) return;
  if (call.is_backward) call.gradient.assign(options_.parameters.size(), 0.0);
  call.sum = 0;
  struct Lend {
    std::vector<std::int32_t>&own, *other;
    Lend(std::vector<std::int32_t>& mine, std::vector<std::int32_t>* lent) : own(mine), other(lent) { exchange(); }
    ~Lend() { exchange(); }
    Lend(const Lend&) = delete;
    Lend& operator=(const Lend&) = delete;
    void exchange() {
      if (other != nullptr) own.swap(*other);
    }
  } const lend(remembered_, call.remembered);
  work_.clear();
  is_recording_ = paths::is_recording();
  EagerGradients eager(options_.parameters, call.gradient);
  eager_gradients_ = &eager;
  start(call, call.rows.size() / options_.inputs);
}

// The buffers of a program grow with the rows that it runs together.
void Function::State::count_bytes(paths::Path& path) {
  const std::size_t bytes = path.program->describe().bytes;
  bytes_ += bytes - path.bytes;
  budget_->bytes += bytes - path.bytes;
  path.bytes = bytes;
}

// Forgets all paths.
void Function::State::drop_programs() {
  budget_->programs -= std::exchange(programs_, 0);
  budget_->bytes -= std::exchange(bytes_, 0);
  paths_ = {};
  remembered_.clear();
  are_groups_current_ = false;
}

// Whether one more program may be made. Compiling costs as much as recording 100 to 200 rows, six times the usual
// compile_after. A twentieth of the time of recorded rows, and half of that saved by compiled rows, may be spent on it.
bool Function::State::may_compile() const {
  const std::size_t cost = 6 * options_.compile_after, spent = cost * programs_, first = cost * first_programs;
  return !is_full() && spent <= first + eager_rows_ / 20 + compiled_rows_ / 2;
}

void Function::State::start(Call& call, std::size_t rows) {
  if (remembered_.size() != rows) {
    remembered_.assign(rows, unknown);
    are_groups_current_ = false;
  }
  if (!are_groups_current_ || call.remembered != nullptr) groups_ = grouped();
  are_groups_current_ = call.remembered == nullptr;  // until a row takes another path
  // The tape would note comparisons that nobody watches, which takes longer.
  walk_ = none;
  const WatchRecording watch(
      [&](const Condition& condition) {
        if (walk_ != none) walk_ = paths_.follow(walk_, condition.holds());
      },
      {});
  for (const auto& [path, taken] : groups_.by_path) run_program(call, path, paths::Paths::root, taken);
  finish(call);
  for (const std::uint32_t i : groups_.seldom) run_eagerly(call, i);
  run_fresh(call, groups_.fresh);
}

// The rows by the program that they ran in the call before.
Function::State::Groups Function::State::grouped() const {
  Groups made;
  std::vector<std::size_t> counts(paths_.size()), places(paths_.size());  // places: in by_path, from 1 on
  for (const std::int32_t path : remembered_)
    if (path >= 0) ++counts[static_cast<std::size_t>(path)];
  for (std::size_t path = 0; path < counts.size(); ++path) {
    const auto index = static_cast<std::int32_t>(path);
    if (counts[path] == 0 || paths_.path(index).program == nullptr) continue;
    made.by_path.push_back({index, {}});
    made.by_path.back().second.reserve(counts[path]);
    places[path] = made.by_path.size();
  }
  for (std::uint32_t i = 0; i < remembered_.size(); ++i) {
    const std::int32_t path = remembered_[i];
    const std::size_t place = path < 0 ? 0 : places[static_cast<std::size_t>(path)];
    (place > 0 ? made.by_path[place - 1].second : path == unknown ? made.fresh : made.seldom).push_back(i);
  }
  return made;
}

void Function::State::remember(std::uint32_t row, std::int32_t path) {
  if (remembered_[row] == path) return;
  remembered_[row] = path;
  are_groups_current_ = false;
}

// Runs rows whose path is unknown. Where most of them end outside every program, as when there are more paths than
// programs, trying programs costs more than it saves: then rows are recorded at once, for longer and longer.
void Function::State::run_fresh(Call& call, const Rows& rows) {
  std::size_t together = least_fresh;
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::size_t end = std::min(rows.size(), begin + together);
    if (untried_left_ > 0) {
      for (; begin < end && untried_left_ > 0; ++begin, --untried_left_) run_eagerly(call, rows[begin]);
      continue;
    }
    const std::size_t eager_before = eager_rows_, programs_before = programs_;
    work_.push_back({paths::Paths::root, Rows(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                                              rows.begin() + static_cast<std::ptrdiff_t>(end))});
    finish(call);
    const std::size_t eager = eager_rows_ - eager_before;
    if (programs_before > 0 && 4 * eager > 3 * (end - begin))
      untried_left_ = std::exchange(next_untried_, 2 * next_untried_);
    together = 2 * eager > end - begin ? least_fresh : 2 * together;
    begin = end;
  }
}

void Function::State::finish(Call& call) {
  while (!work_.empty()) {
    Work work = std::move(work_.back());
    work_.pop_back();
    take(call, std::move(work));
  }
}

void Function::State::take(Call& call, Work work) {
  std::size_t done = 0;
  while (done < work.rows.size() && paths_.node(work.node).best == none) run_eagerly(call, work.rows[done++]);
  if (done == work.rows.size()) return;
  work.rows.erase(work.rows.begin(), work.rows.begin() + static_cast<std::ptrdiff_t>(done));
  run_program(call, paths_.node(work.node).best, work.node, work.rows);
}

// ---- recorded rows ----

// Looks at how many rows brought a new path. If nearly all did, looking is not worth its time for longer and longer. If
// few rows run compiled after many, there are too many paths, and one row in eight is looked at, later one in 32.
void Function::State::notice(bool is_new_path) {
  ++watched_;
  new_paths_ += is_new_path ? 1 : 0;
  if (watched_ < window) return;
  if (4 * new_paths_ > 3 * watched_) {
    unwatched_left_ = next_unwatched_;
    next_unwatched_ *= 2;
  } else if (eager_rows_ > 16 * window && compiled_rows_ < eager_rows_ / 4) {
    unwatched_left_ = (eager_rows_ > 128 * window ? 31 : 7) * window;
  }
  watched_ = new_paths_ = 0;
}

// Calls the function on a row and returns its path.
std::int32_t Function::State::record_watched(Call& call, std::uint32_t index, std::vector<Value>& outputs,
                                             std::vector<Value>& inputs) {
  walk_ = paths::Paths::root;
  outputs = function_(inputs);
  const std::int32_t path = paths_.end_at(std::exchange(walk_, none));
  notice(paths_.path(path).recorded_rows == 0);
  if (paths_.path(path).recorded_rows++ == 0) {
    const std::span<const double> numbers = row(call, index);
    paths_.path(path).example.assign(numbers.begin(), numbers.end());
  }
  ++paths_.path(path).rows;
  return path;
}

void Function::State::run_eagerly(Call& call, std::uint32_t index) {
  const std::span<const double> numbers = row(call, index);
  if (is_recording_ && is_checked(eager_rows_)) check_repeats(numbers);
  std::vector<Value>&inputs = row_inputs_, &outputs = row_outputs_;
  inputs.assign(numbers.begin(), numbers.end());
  const bool is_watched = is_recording_ && unwatched_left_ == 0 && paths_.nodes() < most_nodes && !is_full();
  if (is_watched) {
    remember(index, record_watched(call, index, outputs, inputs));
  } else {
    unwatched_left_ -= unwatched_left_ > 0 ? 1 : 0;
    remember(index, seldom);
    outputs = function_(inputs);
  }
  ++eager_rows_;
  check_outputs(outputs);
  if (!call.outputs.empty())
    for (std::size_t i = 0; i < outputs_; ++i) call.outputs[index * outputs_ + i] = std::as_const(outputs[i]).data();
  if (call.is_backward) {
    const double weight = call.weights.empty() ? 1 : call.weights[index];
    call.sum += weight * std::as_const(outputs[0]).data();
    eager_gradients_->begin();
    // A backward pass from a leaf would replace the leaf's gradient.
    (outputs[0].op() == Op::leaf ? outputs[0] * 1.0 : outputs[0]).backward(weight);
    if (!call.input_gradients.empty())
      for (std::size_t i = 0; i < inputs.size(); ++i)
        call.input_gradients[index * options_.inputs + i] = std::as_const(inputs[i]).grad();
  }
  outputs.clear();
  inputs.clear();
  if (!is_watched) return;
  const paths::Path& path = paths_.path(remembered_[index]);
  if (path.recorded_rows >= options_.compile_after && path.program == nullptr && path.why_not.empty() && may_compile())
    compile_path(remembered_[index], numbers);
}

}  // namespace gradwalk
