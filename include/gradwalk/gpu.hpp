// SPDX-License-Identifier: MIT
// Programs on NVIDIA GPUs: the sum of an output over many rows, and its gradient. The component is gradwalk::gpu.
//
//   Value x = 0.0, y = 0.0, w = 0.5, b = 0.0;                  // stand for the numbers of one row, and parameters
//   gpu::Program program = gpu::compile(pow(w * x + b - y, 2), {.inputs = {x, y}, .parameters = {w, b}});
//   gpu::DeviceRows rows(numbers, 2);          // copies the rows to the device, where they stay
//   double sum = program.run(rows);            // also adds the gradient of the sum to w and b
//
// The driver and NVRTC, NVIDIA's run-time compiler, are found when they are first needed. Neither is needed to build or
// to link, and devices() is empty where they are missing. docs/gpu.md is the guide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/compile.hpp"
#include "gradwalk/emit_cuda.hpp"

namespace gradwalk::gpu {

// A GPU of this machine.
struct Device {
  int index = 0;             // its number, as the options take it
  std::string name;          // as the driver names it: "NVIDIA H200"
  std::string architecture;  // the code that it runs: "sm_90"
  std::size_t bytes = 0;     // of memory
};

// Returns the GPUs of this machine. Without a driver or a GPU, there are none; compile() then says what was tried.
GRADWALK_EXPORT std::vector<Device> devices();

// Options of gpu::compile().
struct Options {
  std::vector<Value> inputs = {};            // the leaves whose numbers come from the rows, in this order
  std::vector<Value> parameters = {};        // the leaves that are read at each run and that get gradients
  Precision precision = Precision::float32;  // the number type
  // Exact mode rounds every operation as IEEE says, and gives the same bits on every device. Fast mode may fuse
  // operations, and in float32 it divides with an error of 2 units in the last place and takes roots with 1.
  bool exact = true;
  bool input_gradients = false;     // whether gradients with respect to the inputs of each row can be asked for
  bool ignore_comparisons = false;  // accept a graph that was recorded while comparisons of Values became bools
  CudaOptions::Derivatives derivatives = CudaOptions::Derivatives::automatic;  // how those of loops are computed
  CudaOptions::Rows rows = CudaOptions::Rows::automatic;                       // how they are divided among threads
  int device = 0;                                                              // one of devices()
  std::string cache = {};  // the folder for machine code; empty: cache_folder()
  // Inputs that the rows do not have: the device makes their numbers, which depend on the seed of a run and on the
  // number of the row. random_numbers() returns them.
  std::vector<Value> normals = {};   // those with normally distributed numbers
  std::vector<Value> uniforms = {};  // those with numbers between 0 and 1
};

// Options of a run.
struct RunOptions {
  bool mean = false;                       // the mean over the rows rather than the sum
  std::span<double> input_gradients = {};  // if given, receives one number per row and input; needs the option
  std::span<double> outputs = {};          // if given, receives one number per row and output
  std::uint64_t seed = 0;                  // of random inputs
};

// Numbers in the memory of a device: an array of another library, such as PyTorch, CuPy or JAX, or the outputs of a
// run.
struct DeviceArray {
  std::uint64_t address = 0;                 // of the first number of the first row
  std::size_t rows = 0;                      // its rows
  std::size_t columns = 0;                   // numbers per row
  std::int64_t row_step = 0;                 // from one row to the next, in numbers
  std::int64_t column_step = 0;              // from one column to the next, in numbers
  Precision precision = Precision::float32;  // the type of its numbers
  int device = 0;                            // one of devices()
  std::shared_ptr<const void> owner = {};    // keeps the memory; empty if somebody else does
};

// Copies an array to the host, row by row. Throws an Error if the buffer has another size.
GRADWALK_EXPORT void read(const DeviceArray& array, std::span<double> numbers);

// Rows in the memory of a device. They are copied once and can be used by many runs.
class GRADWALK_EXPORT DeviceRows {
 public:
  // Copies rows to a device: one after another, each with one number per input. Throws an Error if the numbers do not
  // fill whole rows, and if the device has too little memory.
  DeviceRows(std::span<const double> rows, std::size_t inputs, Precision precision = Precision::float32,
             int device = 0);
  // The same with rows of floats.
  DeviceRows(std::span<const float> rows, std::size_t inputs, Precision precision = Precision::float32, int device = 0);
  // Takes rows that are on a device already; its work so far is waited for. Rows of one number of this precision that
  // follow each other are used where they are, so the array must not change before a run has ended. Other rows are
  // copied on the device.
  explicit DeviceRows(const DeviceArray& rows, Precision precision = Precision::float32);
  // Makes rows without numbers, for programs whose inputs are all random.
  static DeviceRows without_numbers(std::size_t count, Precision precision = Precision::float32, int device = 0);
  // Moves rows.
  DeviceRows(DeviceRows&&) noexcept;
  // Moves rows.
  DeviceRows& operator=(DeviceRows&&) noexcept;
  // Frees the memory of the device.
  ~DeviceRows();

  // Returns the number of rows.
  std::size_t size() const;
  // Returns the number of inputs of each row.
  std::size_t inputs() const;
  // Returns whether the rows were copied, and not used where they are.
  bool is_copy() const;

 private:
  friend class Program;
  friend class Trainer;
  friend struct Inside;
  struct State;
  explicit DeviceRows(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Inside;
struct Machine;

// A program for one device. One thread uses it at a time. A run on rows of another device, precision or number of
// inputs throws an Error, and so does every run after the device has failed.
class GRADWALK_EXPORT Program {
 public:
  // Moves a program.
  Program(Program&&) noexcept;
  // Moves a program.
  Program& operator=(Program&&) noexcept;
  // Frees its memory on the device.
  ~Program();

  // Runs the rows forward and backward. Returns the sum or mean of the first output and adds its gradient to the
  // gradients of the parameters. An empty batch returns 0 and leaves the gradients unchanged.
  double run(const DeviceRows& rows, const RunOptions& options = {});
  // Runs the rows as run() does, but writes the gradients to a buffer with one number per parameter. The Values keep
  // their gradients.
  double gradients(const DeviceRows& rows, std::span<double> gradients, const RunOptions& options = {});
  // Runs the rows as gradients() does, with these numbers in place of the parameters' values.
  double gradients_at(std::span<const double> parameters, const DeviceRows& rows, std::span<double> gradients,
                      const RunOptions& options = {});
  // Runs the rows forward only and writes all outputs of each row, row by row. The seed is that of random inputs.
  void evaluate(const DeviceRows& rows, std::span<double> outputs, std::uint64_t seed = 0);
  // Runs the rows as evaluate() does and leaves the outputs on the device, output by output: row_step is 1. The work is
  // complete when it returns.
  DeviceArray evaluate_on_device(const DeviceRows& rows, std::uint64_t seed = 0);

  // Returns the kernels as text.
  const CudaSource& source() const;
  // Returns how long the device computed in the last run, in seconds.
  double device_seconds() const;

 private:
  friend GRADWALK_EXPORT Program compile(std::span<const Value> outputs, const Options& options);
  friend class Trainer;
  friend struct Inside;
  struct State;
  explicit Program(std::unique_ptr<State> state);
  State& state(const char* call) const;
  const Machine& machine(const char* call) const;
  std::unique_ptr<State> state_;
};

// Compiles the graph below one output for a device. Throws an Error if there is no such device, driver or NVRTC, with a
// list of what was tried, and for every graph that emit_cuda() refuses.
GRADWALK_EXPORT Program compile(const Value& output, const Options& options);
// Compiles the graph below several outputs. Sums and gradients are those of the first.
GRADWALK_EXPORT Program compile(std::span<const Value> outputs, const Options& options);

// Options of the steps of a Trainer.
struct StepOptions {
  bool mean = false;          // the mean over the rows of a step rather than the sum
  std::size_t first_row = 0;  // the first row of the first step, a multiple of 32
  // The number of rows per step; 0: all from first_row on. Each further step takes the next ones, which may be fewer at
  // the end of the rows; then the steps begin again with row 0.
  std::size_t batch = 0;
  std::uint64_t seed = 0;  // of random inputs: step k of the Trainer, counted from 0, has the seed `seed` + k
};

// Runs steps of an optimizer on the device. The parameters and the state of the optimizer stay there, in the precision
// of the program; only the loss comes back. write_back() and the destructor copy the parameters to their Values. The
// formulas and the learning rates are those of gradwalk::Trainer, and two runs give the same bits.
class GRADWALK_EXPORT Trainer {
 public:
  // Makes a Trainer with the kernels of a program. It has parameters of its own, which begin with those of the Values.
  // A schedule replaces the learning rate of the config. Throws an Error for a program without parameters, and for one
  // with input gradients.
  Trainer(const Program& program, const OptimizerConfig& config, Schedule schedule = {});
  // Moves a Trainer.
  Trainer(Trainer&&) noexcept;
  // Deleted: a Trainer cannot be assigned to.
  Trainer& operator=(Trainer&&) = delete;
  // Copies the parameters to their Values.
  ~Trainer();

  // Updates the parameters by the gradient of the sum or mean over the rows, and returns that sum or mean. No rows
  // return 0 and update nothing.
  double step(const DeviceRows& rows, const StepOptions& options = {});
  // Makes this many steps, and returns what the last one would return. The host waits for the device once per 256
  // steps, and once per step that has to be made again by the zero-gradient rule. With a batch, which has to be a
  // multiple of 32, each step takes the next rows. The schedule is called for some steps ahead.
  double make_steps(const DeviceRows& rows, std::uint64_t count, const StepOptions& options = {});

  // From now on, scales each gradient down to this norm if its norm is larger. Infinity turns this off.
  void clip_norm(double most);

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
  struct State;
  State& state(const char* call) const;
  std::unique_ptr<State> state_;
};

// Returns machine code ("sm_90") or PTX ("compute_90") for kernels, by NVRTC. It needs no GPU. Throws an Error without
// NVRTC, and with its messages if it refuses the text.
GRADWALK_EXPORT std::string machine_code(const CudaSource& source, const std::string& architecture, bool exact = true);

// Returns the folder that keeps machine code from run to run: $GRADWALK_CACHE, or gradwalk in $XDG_CACHE_HOME or in
// ~/.cache. It is empty if there is none of these; then each program is compiled anew. The folder keeps at most 64 MB;
// the oldest files are deleted. Several processes can use it at the same time.
GRADWALK_EXPORT std::string cache_folder();

}  // namespace gradwalk::gpu
