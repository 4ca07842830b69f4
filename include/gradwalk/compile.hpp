// SPDX-License-Identifier: MIT
// compile() turns a recorded graph into a program that runs whole batches of rows. Part of gradwalk::compile.
//
//   Value x{0.0}, y{0.0};                                      // stand for the numbers of one row
//   Value loss = pow(model.scalar({x}) - y, 2);                // the loss of one row, in plain scalar code
//   Program program = compile(loss, {.inputs = {x, y}, .parameters = model.parameters()});
//   double sum = program.run(rows);                            // the sum of the losses
//
// run() also adds the gradient of this sum to the gradients of the parameters.
//
// A program computes the same numbers as the graph, row by row, up to rounding: it adds sums in another order.
// Terms that depend on no input are computed once per run. Parameters are read at each run. Every other leaf is a
// constant. An Error leaves all gradients unchanged and the program usable. One thread uses a program at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/optim.hpp"
#include "gradwalk/value.hpp"

namespace gradwalk {

// The number type that a program computes with.
enum class Precision : std::uint8_t {
  float64,  // double
  float32,  // float, with twice as many numbers per vector instruction
};

// Options of compile().
struct CompileOptions {
  std::vector<Value> inputs = {};            // the leaves whose numbers come from the rows, in this order
  std::vector<Value> parameters = {};        // the leaves that are read at each run and that get gradients
  Precision precision = Precision::float64;  // the number type
  std::size_t threads = 1;           // the largest number of threads, 0 for all cores; the result does not depend on it
  std::string instruction_set = {};  // one of instruction_sets(), or empty for the best of this machine
  // Compiles a graph even if comparisons of Values became bools while it was recorded (see Reading::decisions).
  // Otherwise this is an Error, because a branch that went by one is not part of the graph. Set it if they decide
  // nothing about the graph, as the search for the largest number before a sum of exponentials.
  bool ignore_comparisons = false;
  // Whether runs of a program with several outputs may have seeds (RunOptions::seeds). The program keeps what they
  // need.
  bool output_seeds = true;
  // Whether a program may write machine code (x86-64 with AVX2): for numbers that it computes one by one, after it has
  // run a few times, and for batches of 64 rows or more, if it is mostly arithmetic. The numbers of each row do not
  // depend on it; sums over such batches are added up in another order. A system that forbids it gets an interpreter.
  bool machine_code = true;
};

// Options of a run.
struct RunOptions {
  // How the first output of the rows becomes one number.
  enum class Result : std::uint8_t {
    sum,                   // the sum over the rows
    mean,                  // the mean over the rows
  } result = Result::sum;  // what the run returns and differentiates
  // One weight per row; or empty: all are 1. The sum is that of weight * output, and the mean is this sum divided by
  // the sum of the weights.
  std::span<const double> weights = {};
  std::span<double> input_gradients = {};  // if given, receives one number per row and input
  std::span<double> outputs = {};          // if given, receives one number per row and output, as from evaluate()
  // If given, one number per row and output: the run returns and differentiates the sum of seed * output over all rows
  // and outputs. Then there are no weights and no mean.
  std::span<const double> seeds = {};
  // If given, the numbers of the rows to run, in this order; none is an empty batch. Weights, seeds, outputs and
  // gradients of inputs are those of these rows.
  std::optional<std::span<const std::size_t>> subset = {};
};

// The entries of a matrix that can differ from 0, row by row (compressed sparse rows). Row i has the entries
// row_starts[i] ... row_starts[i + 1] - 1, and column_indices has the column of each entry, in ascending order.
struct SparsePattern {
  std::size_t rows = 0;                       // the number of rows
  std::size_t columns = 0;                    // the number of columns
  std::vector<std::size_t> row_starts;        // one number per row, and the number of entries
  std::vector<std::uint32_t> column_indices;  // one number per entry
};

// A function of the inputs of one row.
using RowFunction = std::function<Value(const std::vector<Value>& inputs)>;
// A function of the inputs of one row with several outputs.
using RowOutputs = std::function<std::vector<Value>(const std::vector<Value>& inputs)>;

// A compiled graph. In every call, rows are stored one after another, and each row has one number per input. A call
// with the wrong number of numbers throws an Error. So does a call on a program that was moved from.
class GRADWALK_EXPORT Program {
 public:
  // Moves a program.
  Program(Program&&) noexcept;
  // Moves a program.
  Program& operator=(Program&&) noexcept;
  // Destroys a program.
  ~Program();

  // Runs the rows forward and backward. Returns the sum or mean of the first output and adds its gradient to the
  // gradients of the parameters. An empty batch returns 0 and leaves the gradients unchanged. A program without inputs
  // takes no rows and is one row.
  double run(std::span<const double> rows, const RunOptions& options = {});
  // Runs a program without inputs, as one row.
  double run();
  // Runs the rows as run() does, but writes the gradients to a buffer with one number per parameter. The Values keep
  // their gradients.
  double gradients(std::span<const double> rows, std::span<double> gradients, const RunOptions& options = {});
  // The same for a program without inputs.
  double gradients(std::span<double> gradients);
  // Runs the rows as gradients() does, with these numbers in place of the parameters' values. Neither reads nor changes
  // the Values, so it can be called on any thread.
  double gradients_at(std::span<const double> parameters, std::span<const double> rows, std::span<double> gradients,
                      const RunOptions& options = {});
  // Writes the gradient of the first output of each row: one row of `gradients` per row, with one number per parameter.
  // If `outputs` is given, it receives one number per row and output. Each row is a run of its own. The Values keep
  // their gradients.
  void row_gradients(std::span<const double> rows, std::span<double> gradients, std::span<double> outputs = {});
  // Evaluates a program without inputs as a function of its parameters: returns its value at these parameters and
  // writes its gradient at them to `gradient`. Neither reads nor changes the Values.
  double gradient_at(std::span<const double> parameters, std::span<double> gradient);
  // Returns the value of a program without inputs at these parameters.
  double value_at(std::span<const double> parameters);
  // Returns a program of its own that computes the same, so that two threads can run at the same time. It does not
  // compile again.
  Program clone() const;
  // Writes the derivative of every output with respect to every parameter at these parameters, one row per output. For
  // a program of compile_derivatives(), this is the Hessian.
  void jacobian_at(std::span<const double> parameters, std::span<double> jacobian);
  // Returns the entries of the Jacobian that can differ from 0, as the graph shows them. For a program of
  // compile_derivatives(), this is the pattern of the Hessian.
  SparsePattern jacobian_pattern() const;
  // Writes these entries at these parameters, in the order of the pattern. Parameters that no output has in common, or
  // outputs that have no parameter in common, are differentiated together, so the cost depends on the largest number of
  // entries in a row or column, not on the size of the matrix.
  void sparse_jacobian_at(std::span<const double> parameters, std::span<double> values);
  // Runs the rows forward only and writes all outputs of each row, row by row.
  void evaluate(std::span<const double> rows, std::span<double> outputs);
  // The same for a program without inputs.
  void evaluate(std::span<double> outputs);

  // Calls work(begin, end) for ranges that together cover 0 ... size, and waits for all of them. A large size is
  // divided among the program's threads; a small one is a single call on this thread.
  void parallel_for(std::size_t size, const std::function<void(std::size_t begin, std::size_t end)>& work);

  // Returns the number of inputs.
  std::size_t inputs() const;
  // Returns the number of parameters.
  std::size_t parameters() const;
  // Returns the number of outputs.
  std::size_t outputs() const;

  // A summary of a compiled program: its size, its layers and its constants.
  struct Description {
    std::size_t recorded = 0;      // the number of nodes of the graph
    std::size_t computed = 0;      // the number of nodes after common-subexpression elimination and merging of sums
    std::size_t instructions = 0;  // the number of instructions
    // The matrix products, as outputs x inputs: "16 x 2"; with weights that are used several times, as for each
    // position of a text: "16 x 2, 8 times".
    std::vector<std::string> layers;
    // The leaves that are neither input nor parameter: "x = 2". If there are more than 20, those with a label come
    // first, and the last entry counts the rest.
    std::vector<std::string> constants;
    // The comparisons that CompileOptions::ignore_comparisons made the program ignore: "2 < 3".
    std::vector<std::string> ignored_comparisons;
    std::size_t bytes = 0;         // the memory of the program, including that of the calls so far
    std::size_t machine_code = 0;  // the bytes of machine code among them
    std::string instruction_set;   // the instruction set that it runs on
  };
  // Returns the summary of this program.
  Description describe() const;

 private:
  friend GRADWALK_EXPORT Program compile(std::span<const Value> outputs, const CompileOptions& options);
  friend GRADWALK_EXPORT Program compile(const RowOutputs& function, const std::vector<std::vector<double>>& rows,
                                         const CompileOptions& options);
  friend class Trainer;
  struct State;
  explicit Program(std::unique_ptr<State> state);
  State& state() const;  // throws an Error if the program was moved from
  std::unique_ptr<State> state_;
};

// Writes the summary as text: one line of counts, then the layers and the constants, one per line.
GRADWALK_EXPORT std::ostream& operator<<(std::ostream& out, const Program::Description& description);

// Compiles the graph below one output. Throws an Error for a custom node, and for an input or parameter that is not a
// leaf or is named twice.
GRADWALK_EXPORT Program compile(const Value& output, const CompileOptions& options);
// Compiles the graph below several outputs.
GRADWALK_EXPORT Program compile(std::span<const Value> outputs, const CompileOptions& options);

// Compiles a function of the inputs of one row. The function is called on the given rows, at least two, and must record
// the same graph on all of them. A branch on data(), or a number computed outside the graph, makes the graphs differ:
// then compile() throws an Error that says where. A comparison of Values that was used as a bool is checked at each
// run: a row that would take the other branch is an Error.
GRADWALK_EXPORT Program compile(const RowFunction& function, const std::vector<std::vector<double>>& rows,
                                const CompileOptions& options);
// The same for a function with several outputs.
GRADWALK_EXPORT Program compile(const RowOutputs& function, const std::vector<std::vector<double>>& rows,
                                const CompileOptions& options);
// The same with rows as Program::run() takes them: one after another, each with one number per input. Throws an Error
// if the numbers do not fill whole rows.
GRADWALK_EXPORT Program compile(const RowFunction& function, std::span<const double> rows, std::size_t inputs,
                                const CompileOptions& options);
// The same for a function with several outputs.
GRADWALK_EXPORT Program compile(const RowOutputs& function, std::span<const double> rows, std::size_t inputs,
                                const CompileOptions& options);

// Compiles a program whose outputs are the derivatives of the output with respect to each parameter, in order. It can
// be evaluated row by row, or differentiated once more by jacobian_at(). Throws an Error if there are no parameters.
GRADWALK_EXPORT Program compile_derivatives(const Value& output, const CompileOptions& options);

class Function;  // function.hpp

// Runs steps of an optimizer on its own copy of a program. The parameters and the state of the optimizer stay there, in
// the layout and precision of the program, from step to step. write_back() and the destructor copy the parameters to
// their Values.
class GRADWALK_EXPORT Trainer {
 public:
  // Makes a Trainer for one program. A schedule replaces the learning rate of the config.
  Trainer(const Program& program, const OptimizerConfig& config, Schedule schedule = {});
  // Makes a Trainer for several programs, such as one per length of a text. Throws an Error if they differ in their
  // parameters or their precision.
  Trainer(std::span<const Program> programs, const OptimizerConfig& config, Schedule schedule = {});
  // Makes a Trainer for a Function (function.hpp), which it shares. A Function may record rows with the Values of its
  // parameters, so each step moves these Values, and write_back() has nothing left to do.
  Trainer(const Function& function, const OptimizerConfig& config, Schedule schedule = {});
  // Moves a Trainer.
  Trainer(Trainer&&) noexcept;
  // Deleted: a Trainer cannot be assigned to.
  Trainer& operator=(Trainer&&) = delete;
  // Copies the parameters to their Values.
  ~Trainer();

  // Updates the parameters by the gradient of the sum or mean over the rows, and returns that sum or mean. An
  // empty batch returns 0 and updates nothing.
  double step(std::span<const double> rows, const RunOptions& options = {});
  // The same with rows of floats.
  double step(std::span<const float> rows, const RunOptions& options = {});
  // Makes a step with a program without inputs.
  double step();
  // Makes one step with rows for several programs: one vector per program, in order, which may be empty. The sum or
  // mean, the weights and the outputs cover all rows, one program after another.
  double step(std::span<const std::vector<double>> rows, const RunOptions& options = {});
  // The same with rows of floats.
  double step(std::span<const std::vector<float>> rows, const RunOptions& options = {});

  // From now on, scales each gradient down to this norm if its norm is larger. Infinity turns this off.
  void clip_norm(double most);
  // Sets a function that is called before each update with the gradient. It may change the gradient, for instance to
  // add up the gradients of several processes.
  void before_update(std::function<void(std::span<double> gradient)> hook);

  // Copies the parameters to their Values.
  void write_back();
  // Copies the parameters from their Values, after you changed those.
  void read_again();
  // Returns the number of steps made.
  std::uint64_t steps() const;
  // Returns the state of the optimizer. With the parameters, training can continue from it later.
  OptimizerState optimizer_state() const;
  // Continues from a state. Throws an Error if it does not fit the optimizer and the number of parameters.
  void set_optimizer_state(const OptimizerState& state);

 private:
  using GradientsOfRows =
      std::function<double(std::span<const double> rows, std::span<double> gradients, const RunOptions& options)>;
  Trainer(const std::vector<Value>& parameters, GradientsOfRows gradients, const OptimizerConfig& config,
          Schedule schedule);
  struct State;
  State& state() const;  // throws an Error if the Trainer was moved from
  std::unique_ptr<State> state_;
};

// Returns the instruction sets of this machine, best first. The last one is plain scalar code.
GRADWALK_EXPORT std::vector<std::string> instruction_sets();

// The result of one pass of the compiler.
struct PassText {
  std::string pass;  // the name of the pass
  std::string text;  // the program after the pass, to be read by people
};
// Compiles the outputs and returns the result of each pass, in order.
GRADWALK_EXPORT std::vector<PassText> compile_passes(std::span<const Value> outputs, const CompileOptions& options);

}  // namespace gradwalk
