// SPDX-License-Identifier: MIT
// compile(): a recorded graph as a program that runs whole batches of rows. The component gradwalk::compile.
//
//   Value x{0.0}, y{0.0};                                      // stand for a row's numbers
//   Value loss = pow(model.scalar({x}) - y, 2);                // the loss of one row, in plain scalar code
//   Program program = compile(loss, {.inputs = {x, y}, .parameters = model.parameters()});
//   double sum = program.run(rows);                            // of the losses; gradients are added to the parameters
//
// What the program computes is what the graph would give row by row, to rounding: sums may be added up in another
// order. Terms that depend on no input are computed once. The parameters are read at each run; any other leaf is a
// constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/optim.hpp"
#include "gradwalk/value.hpp"

namespace gradwalk {

enum class Precision : std::uint8_t { float64, float32 };

struct CompileOptions {
  std::vector<Value> inputs = {};      // leaves whose numbers come from the rows, in this order
  std::vector<Value> parameters = {};  // leaves whose numbers are read at each run, and that get gradients
  Precision precision = Precision::float64;
  std::size_t threads = 1;           // at most; 0: as many as the machine has. The numbers are the same for all
  std::string instruction_set = {};  // the best this machine has, or one that instruction_sets() names
};

struct RunOptions {
  enum class Result : std::uint8_t { sum, mean } result = Result::sum;  // of the first output over the rows
  std::span<const double> weights = {};    // one a row: sum of weight * output, or that over the sum of the weights
  std::span<double> input_gradients = {};  // if given, a number a row and input is written
  std::span<double> outputs = {};          // if given, a number a row and output is written, as by evaluate()
};

using RowFunction = std::function<Value(const std::vector<Value>& inputs)>;

class GRADWALK_EXPORT Program {
 public:
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  // Rows follow one another, each with a number an input. No rows give 0 and no gradient.
  double run(std::span<const double> rows, const RunOptions& options = {});
  double run();  // of a program without inputs: as one row
  // The same, with the gradients written to a buffer, a number a parameter; the Values' own are left as they are.
  double gradients(std::span<const double> rows, std::span<double> gradients, const RunOptions& options = {});
  double gradients(std::span<double> gradients);
  // A program without inputs as a function of its parameters: its value at these numbers, and its gradient there. The
  // Values are neither read nor written.
  double gradient_at(std::span<const double> parameters, std::span<double> gradient);
  double value_at(std::span<const double> parameters);
  // The derivatives of every output by every parameter there, a row an output. Of what compile_derivatives() makes,
  // that is the Hessian.
  void jacobian_at(std::span<const double> parameters, std::span<double> jacobian);
  // All outputs of each row, row by row.
  void evaluate(std::span<const double> rows, std::span<double> outputs);
  void evaluate(std::span<double> outputs);

  // Calls work(begin, end) for ranges that together cover 0 ... size, and waits for all of them. A large size is
  // divided among the program's threads; a small one is a single call on this thread.
  void parallel_for(std::size_t size, const std::function<void(std::size_t begin, std::size_t end)>& work);

  std::size_t inputs() const;
  std::size_t parameters() const;
  std::size_t outputs() const;

  struct Description {
    std::size_t recorded = 0;            // nodes of the graph
    std::size_t computed = 0;            // of these, after equal ones were shared and sums made one
    std::size_t instructions = 0;        // of the program
    std::vector<std::string> layers;     // "16 x 2": outputs and inputs of each matrix product; "16 x 2, 8 times": its
                                         // weights are shared, as by the places of a text
    std::vector<std::string> constants;  // leaves that are neither input nor parameter
    std::size_t bytes = 0;               // of the program
    std::string instruction_set;
  };
  Description describe() const;

 private:
  friend GRADWALK_EXPORT Program compile(std::span<const Value> outputs, const CompileOptions& options);
  friend GRADWALK_EXPORT Program compile(const RowFunction& function, const std::vector<std::vector<double>>& rows,
                                         const CompileOptions& options);
  friend class Trainer;
  struct State;
  explicit Program(std::unique_ptr<State> state);
  State& state() const;  // an Error where it was moved from
  std::unique_ptr<State> state_;
};

GRADWALK_EXPORT Program compile(const Value& output, const CompileOptions& options);
GRADWALK_EXPORT Program compile(std::span<const Value> outputs, const CompileOptions& options);

// The function of a row's inputs is called on the rows given, two at least, and must record the same graph on all: a
// branch on data(), or a number computed outside the graph, makes them differ, which is an Error that says where.
// Comparisons of Values that were used as a bool are checked at each run: a row that would have gone the other way is
// an Error.
GRADWALK_EXPORT Program compile(const RowFunction& function, const std::vector<std::vector<double>>& rows,
                                const CompileOptions& options);

// The derivatives of the output by each parameter, in order, as the outputs of a program: to be evaluated row by row,
// or differentiated once more.
GRADWALK_EXPORT Program compile_derivatives(const Value& output, const CompileOptions& options);

// Steps of a learning rule on a program. The parameters and what the rule remembers stay in the program's own layout
// and precision from step to step; the Values get the numbers when asked, and when the Trainer ends.
class GRADWALK_EXPORT Trainer {
 public:
  Trainer(const Program& program, const OptimizerConfig& config, Schedule schedule = {});
  // Of several programs with the same parameters and precision, as for texts of several lengths.
  Trainer(std::span<const Program> programs, const OptimizerConfig& config, Schedule schedule = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) = delete;
  ~Trainer();

  // Moves the parameters by the gradient of what run() would give, which is returned. The rate is the schedule's for
  // this step, or the config's.
  double step(std::span<const double> rows, const RunOptions& options = {});
  double step(std::span<const float> rows, const RunOptions& options = {});
  double step();  // of a program without inputs
  // One step for rows of all programs: of each program in turn, none or more. Sum, mean and what the options name are
  // of all these rows, one program's after the other's.
  double step(std::span<const std::vector<double>> rows, const RunOptions& options = {});
  double step(std::span<const std::vector<float>> rows, const RunOptions& options = {});

  void clip_norm(double most);  // from now on; infinity: not
  // Called before each update with the gradient, which it may change: add up what several computed, or look at it.
  void before_update(std::function<void(std::span<double> gradient)> hook);

  void write_back();  // the parameters to their Values
  void read_again();  // the parameters from their Values
  std::uint64_t steps() const;

 private:
  struct State;
  State& state() const;  // an Error where it was moved from
  std::unique_ptr<State> state_;
};

// Those this machine has, best first; the last is plain scalar code.
GRADWALK_EXPORT std::vector<std::string> instruction_sets();

// Each pass's result for people to read, in order.
struct PassText {
  std::string pass, text;
};
GRADWALK_EXPORT std::vector<PassText> compile_passes(std::span<const Value> outputs, const CompileOptions& options);

}  // namespace gradwalk
