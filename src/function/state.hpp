// SPDX-License-Identifier: MIT
// The state of a Function, and how it runs rows.
//
// Rows start at the root of the trie of paths, or at the path that the row of the same number took in the call before.
// At a node with a program they run it; those that leave it go on at the node where they left. At other nodes they are
// recorded one by one, until enough of them have taken one path; then that path is compiled.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gradwalk/function.hpp"
#include "merged.hpp"
#include "paths.hpp"
#include "recording.hpp"

namespace gradwalk {

class Function::State {
 public:
  State(RowOutputs function, FunctionOptions options);
  // The programs of a Function and of all parts that its loops divide it into.
  struct Budget {
    std::size_t programs = 0, bytes = 0;
  };
  // Makes a part of a function with loops, which are not looked for again.
  State(RowOutputs function, FunctionOptions options, std::shared_ptr<Budget> budget);
  ~State();

  // The arguments of a call and its results. Sums and gradients are of weight * output.
  struct Call {
    bool is_backward = false;
    std::span<const double> rows = {}, weights = {};
    std::span<double> input_gradients = {}, outputs = {};
    double sum = 0;
    std::vector<double> gradient = {};
    std::vector<std::int32_t>* remembered = nullptr;  // the paths to begin with; none: those of the call before
  };
  void run(Call& call);
  // Runs rows forward and backward as Function::gradients() does; `name` is the call in error messages.
  double gradients(const char* name, std::span<const double> rows, std::span<double> gradients,
                   const RunOptions& options);

  // Returns the number of rows, after checking the sizes of all spans. This may call the function on the first row, to
  // count its outputs.
  std::size_t check(const char* call, std::span<const double> rows, const RunOptions& options);
  std::size_t outputs() const { return outputs_; }
  const FunctionOptions& options() const { return options_; }
  std::vector<Value>& parameters() { return options_.parameters; }
  Description describe(std::size_t max_paths) const;

  // While one lives, a call on another thread is an Error.
  class Use {
   public:
    Use(State& state, const char* call);
    ~Use() { state_.is_used_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    State& state_;
  };

 private:
  class Loops;
  class FindLoops;
  using Rows = std::vector<std::uint32_t>;
  using RowSpan = paths::RowSpan;
  // Rows whose first comparisons came out as those before a node.
  struct Work {
    std::int32_t node;
    Rows rows;
  };
  class EagerGradients;

  std::span<const double> row(const Call& call, std::uint32_t i) const {
    return call.rows.subspan(i * options_.inputs, options_.inputs);
  }
  bool run_loops(Call& call);
  struct Groups {
    std::vector<std::pair<std::int32_t, Rows>> by_path;  // of paths with a program
    Rows seldom, fresh;
  };
  void start(Call& call, std::size_t rows);
  Groups grouped() const;
  void remember(std::uint32_t row, std::int32_t path);
  void run_fresh(Call& call, const Rows& rows);
  void finish(Call& call);
  void take(Call& call, Work work);
  void run_program(Call& call, std::int32_t path, std::int32_t node, RowSpan rows);
  void evaluate_on(const Call& call, paths::Path& path, RowSpan rows);
  void run_on(Call& call, paths::Path& path, RowSpan rows);
  void hand_on(Call& call, const paths::Path& path, std::uint32_t depth, const Rows& rows,
               std::span<const std::size_t> held);
  void run_eagerly(Call& call, std::uint32_t row);
  std::int32_t record_watched(Call& call, std::uint32_t row, std::vector<Value>& outputs, std::vector<Value>& inputs);
  void notice(bool is_new_path);
  bool is_full() const { return budget_->programs >= options_.max_programs || budget_->bytes >= options_.max_bytes; }
  void count_bytes(paths::Path& path);
  void drop_programs();
  bool may_compile() const;
  void check_repeats(std::span<const double> row);
  void compile_path(std::int32_t path, std::span<const double> row);
  std::optional<paths::Merged> merged_paths() const;
  bool has_pick() const;  // on its first path, which is compiled
  void check_outputs(const std::vector<Value>& outputs);
  std::span<const double> gather(const Call& call, const paths::Path& path, RowSpan rows);
  std::size_t rows_together(const paths::Path& path) const;

  RowOutputs function_;
  FunctionOptions options_;
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<const RowOutputs> with_loops_;  // the function that was given, unless this is a part of one
  std::vector<std::size_t> loop_sizes_;           // the size of the state of each loop that a row has reached
  bool loops_are_plain_ = false;
  std::unique_ptr<Loops> loops_;
  std::size_t outputs_ = 0;  // of the function; 0 before its first call
  paths::Paths paths_;
  std::vector<std::int32_t> remembered_;  // the path that each row of the last call took, or one of the two below
  static constexpr std::int32_t unknown = -1, seldom = -2;
  Groups groups_;  // of the rows of the last call
  bool are_groups_current_ = false;

  // New paths among the last rows that were watched, and the rows that will not be.
  std::size_t watched_ = 0, new_paths_ = 0, unwatched_left_ = 0, next_unwatched_ = 1024;
  std::size_t untried_left_ = 0, next_untried_ = 1024;  // fresh rows that will not try a program
  std::size_t bytes_ = 0, programs_ = 0, compiled_rows_ = 0, eager_rows_ = 0, moved_rows_ = 0;

  bool is_recording_ = true;  // in the call that is running; under NoGrad, rows have no paths
  std::vector<Work> work_;
  EagerGradients* eager_gradients_ = nullptr;  // of the call that is running
  std::vector<double> numbers_, weights_, outputs_and_held_, part_, input_part_;
  std::vector<Value> row_inputs_, row_outputs_;  // of the row that is recorded
  std::int32_t walk_ = paths::none;              // the node that it has come to, if it is watched
  std::atomic<bool> is_used_ = false;
};

}  // namespace gradwalk
