// SPDX-License-Identifier: MIT
// Function: plain code with if, while, std::max, std::sort and early returns, run compiled. Part of gradwalk::compile.
//
//   Function f([&](const std::vector<Value>& x) { return x[0] < a ? a * x[0] : exp(-x[0]); },
//              {.inputs = 1, .parameters = {a}});
//   double sum = f.run(rows);                                  // the sum over the rows, whichever way each one goes
//
// The path of a row is the list of comparisons of Values that became bools. A path that enough rows have taken is
// compiled; its program also reports which rows did not stay on it, and these go on along another path. Rows of other
// paths are recorded one by one, as without this class. So every row has the result that the function has, up to the
// rounding that compile() describes.
//
// The function must record the same graph whenever it is called with numbers that compare alike. It must not depend on
// numbers that leave the graph (static_cast<double>(x), detach), random numbers that it draws, or hidden state. A
// Function records some rows twice and compares rows of one path, and throws an Error that names a difference.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/compile.hpp"

namespace gradwalk {

// Options of a Function.
struct FunctionOptions {
  std::size_t inputs = 1;                    // the number of numbers per row
  std::vector<Value> parameters = {};        // the leaves that are read at each call and that get gradients
  Precision precision = Precision::float64;  // the number type of the programs
  std::size_t threads = 1;                   // the largest number of threads of a program, 0 for all cores
  std::string instruction_set = {};          // one of instruction_sets(), or empty for the best of this machine
  std::size_t compile_after = 24;            // the rows after which a path is compiled: a sixth of what compiling costs
  std::size_t max_programs = 256;            // the largest number of programs, with those of loops
  std::size_t max_bytes = 256 << 20;         // the size of all programs from which on no path is compiled
  bool checkpoints = false;  // store few states of a loop() and compute the others again: the square root of the rounds
};

// A function of the inputs of one row that may branch. Calls and rows are those of a Program. An Error leaves all
// gradients unchanged. One thread uses a Function at a time, the thread of its parameters.
class GRADWALK_EXPORT Function {
 public:
  // Makes a Function. The function is first called when rows are run.
  Function(RowFunction function, FunctionOptions options);
  // Makes a Function with several outputs. Each call must return the same number of them.
  Function(RowOutputs function, FunctionOptions options);
  // Moves a Function.
  Function(Function&&) noexcept;
  // Moves a Function.
  Function& operator=(Function&&) noexcept;
  // Destroys a Function.
  ~Function();

  // Runs the rows forward and backward. Returns the sum or mean of the first output and adds its gradient to the
  // gradients of the parameters.
  double run(std::span<const double> rows, const RunOptions& options = {});
  // Runs the rows as run() does, but writes the gradients to a buffer with one number per parameter.
  double gradients(std::span<const double> rows, std::span<double> gradients, const RunOptions& options = {});
  // Runs the rows forward only and writes all outputs of each row, row by row.
  void evaluate(std::span<const double> rows, std::span<double> outputs);

  // A path that rows have taken.
  struct Path {
    std::size_t rows = 0;         // the number of rows that took it
    std::size_t comparisons = 0;  // the number of comparisons that became bools
    bool is_compiled = false;     // whether it has a program
    // Where it leaves the path with the most rows, as "comparison 2: x < 0.5 is false"; empty for that path.
    std::string parts_at;
    std::string why_not;  // the reason why it cannot be compiled, if there is one
  };
  // A loop() that rows have run, and the paths through its body.
  struct Loop {
    std::size_t state = 0;     // the number of Values in its state
    std::size_t rounds = 0;    // the rounds of all rows, also those that were run again
    std::size_t paths = 0;     // the number of paths through the body, 1 once it is compiled as one graph
    std::size_t programs = 0;  // the number of programs
    std::size_t bytes = 0;     // the size of the programs
  };
  // A summary of the calls so far. In a function with loops, paths are those outside the loops.
  struct Description {
    std::size_t paths = 0;          // the number of paths found before max_programs was reached
    std::size_t programs = 0;       // the number of paths that are compiled
    std::size_t bytes = 0;          // the size of the programs
    std::size_t compiled_rows = 0;  // the rows that a program finished
    std::size_t eager_rows = 0;     // the rows that were recorded
    std::size_t moved_rows = 0;     // how often a row left a program for another path
    std::vector<Path> most_used;    // the paths with the most rows, most first
    std::vector<Loop> loops;        // the loops, in the order in which the function reaches them
  };
  // Returns a summary with at most max_paths paths. Calls the function once for each of them.
  Description describe(std::size_t max_paths = 10) const;

  // Returns the number of numbers per row.
  std::size_t inputs() const;
  // Returns the number of parameters.
  std::size_t parameters() const;

 private:
  friend class Trainer;
  class State;
  State& state() const;  // throws an Error if the Function was moved from
  std::shared_ptr<State> state_;
};

// Writes the summary as text: one line of counts, then one line per loop and path.
GRADWALK_EXPORT std::ostream& operator<<(std::ostream& out, const Function::Description& description);

namespace detail {

// The parts of a loop: whether it goes on, as a bool and as a Value, and its body.
struct LoopParts {
  std::function<bool(const std::vector<Value>&)> goes_on;
  std::function<Value(const std::vector<Value>&)> goes_on_value;
  std::function<std::vector<Value>(const std::vector<Value>&)> body;
};
GRADWALK_EXPORT std::vector<Value> run_loop(std::vector<Value> state, const LoopParts& parts);

}  // namespace detail

// Runs a loop and returns its last state: while (goes_on(state)) state = body(state). goes_on returns a comparison or a
// bool, body as many Values as the state has. It records like that while statement. In a Function, the body is compiled
// by itself, and rows that are still in the loop run it together, so the number of rounds makes no new path. Body and
// goes_on may use other Values, such as parameters and inputs; what they compute from these alone is computed again in
// each round.
//
//   auto last = loop({x, Value(0.0)}, [&](auto& s) { return s[0] > 1; },
//                    [&](auto& s) { return std::vector{s[0] * rate, s[1] + 1}; });
template <class GoesOn, class Body>
  requires std::convertible_to<std::invoke_result_t<const GoesOn&, const std::vector<Value>&>, bool> &&
           std::convertible_to<std::invoke_result_t<const Body&, const std::vector<Value>&>, std::vector<Value>>
std::vector<Value> loop(std::vector<Value> state, const GoesOn& goes_on, const Body& body) {
  using State = std::vector<Value>;
  return detail::run_loop(std::move(state), {[&](const State& at) -> bool { return goes_on(at); },
                                             [&](const State& at) -> Value {
                                               if constexpr (std::same_as<decltype(goes_on(at)), Condition>)
                                                 return Value(goes_on(at));
                                               else
                                                 return goes_on(at) ? 1.0 : 0.0;
                                             },
                                             [&](const State& at) -> State { return body(at); }});
}

}  // namespace gradwalk
