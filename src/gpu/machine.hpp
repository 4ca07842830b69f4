// SPDX-License-Identifier: MIT
// The common part of a Program and a Trainer: the kernels of a graph, a stream, and memory for the sum over rows and
// its gradient.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "loaded_code.hpp"
#include "rows.hpp"

namespace gradwalk::gpu {

// The kernels of one text on a device.
class Kernels {
 public:
  Kernels(const char* call, CudaSource source, const Options& options);

  const CudaSource& source() const { return source_; }
  Handle rows() const { return rows_; }
  Handle values() const { return values_; }
  Handle sum() const { return sum_; }
  Handle uniform() const { return uniform_; }  // null unless source().has_uniform
  Handle finish() const { return finish_; }    // null unless source().has_uniform or layers.has_finish
  // Kernels of layers.
  struct Step {
    Handle kernel;
    std::size_t blocks, parts;  // as in CudaLayers::Step
  };
  const std::vector<Step>& layer_uniform() const { return layer_uniform_; }
  const std::vector<Step>& layer_rows() const { return layer_rows_; }
  const std::vector<Step>& layer_backward() const { return layer_backward_; }
  Handle weights() const { return weights_; }  // null unless source().layers.weights is not 0

 private:
  CudaSource source_;
  LoadedCode code_;
  Handle rows_ = nullptr, values_ = nullptr, sum_ = nullptr, uniform_ = nullptr, finish_ = nullptr, weights_ = nullptr;
  std::vector<Step> layer_uniform_, layer_rows_, layer_backward_;
};

// Numbers of the device in its precision, read by index.
struct Numbers {
  Precision precision;
  std::vector<char> bytes;
  double operator[](std::size_t i) const {
    return precision == Precision::float32 ? static_cast<double>(reinterpret_cast<const float*>(bytes.data())[i])
                                           : reinterpret_cast<const double*>(bytes.data())[i];
  }
};

// Some of the rows on a device, for one run.
struct RowRange {
  std::size_t count = 0;
  Address address = 0;           // of the tile of the first row
  unsigned long long first = 0;  // the number of the first row, on which random inputs depend
};

// Throws an Error unless a buffer has the size that it needs.
void check_size(const char* call, const char* what, std::size_t needs, std::size_t got);

struct Machine {
  Machine(const char* call, std::span<const Value> all, const Options& given);
  // Makes a machine with memory of its own and the kernels of another one.
  Machine(const char* call, const Machine& other);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();

  const CudaSource& source() const { return kernels->source(); }
  bool has_random_inputs() const { return source().normals + source().uniforms > 0; }
  std::size_t number_size() const { return size_of(options.precision); }
  // Returns the kernels with the zero-gradient rule. They are compiled when they are first needed.
  const Kernels& guarded(const char* call);
  std::vector<double> parameter_values() const;
  // Throws an Error unless the program can run these rows.
  void check_rows(const char* call, const StoredRows* rows) const;

  // The following functions put work on the stream. The device of this thread has to be the machine's.
  struct Grid {
    std::size_t blocks, parts = 1;  // its two dimensions
    std::size_t shared_bytes = 0;   // dynamic shared memory of a block
  };
  void launch(const char* call, Handle kernel, Grid grid, unsigned threads, std::vector<void*> arguments);
  // Copies at most one number per parameter to the device. Wait for the stream before the next upload.
  void upload(const char* call, const DeviceMemory& to, std::span<const double> numbers);
  // Computes the outputs of the rows.
  void evaluate(const char* call, RowRange rows, std::uint64_t seed, Address outputs);
  // Computes the sum over the rows and then its gradient, and returns their address. `outputs` can be 0.
  Address run(const char* call, const Kernels& of, RowRange rows, std::uint64_t seed, Address outputs,
              Address input_gradients);
  // Gives run() memory for this many rows, so that it allocates none.
  void reserve(const char* call, const Kernels& of, std::size_t rows);

  // Waits until the stream is empty.
  void wait(const char* call);
  // Copies numbers to the host when the stream is empty.
  Numbers download(const char* call, Address from, std::size_t numbers);
  // Puts a copy of run()'s results to pinned memory on the stream, and returns where they will be.
  const char* download_results(const char* call, Address from);

  Driver& driver;
  Options options;
  std::vector<Value> outputs;
  std::shared_ptr<const Kernels> kernels;
  PinnedMemory staging;  // parameters, then results
  Handle stream = nullptr;
  DeviceMemory parameters;  // with layers, other uniform numbers follow them
  DeviceMemory fronts, sums, result, partial;
  DeviceMemory values;  // of rows, which kernels of layers hand on

 private:
  CudaSource emitted(bool guard_zeros) const;
  // Returns how the kernels divide rows. The guarded ones do it in the same way.
  CudaOptions::Rows divided() const;
  void make_memory(const char* call);
  // Returns the address of the numbers that rows read, computed from the parameters.
  Address front_numbers(const char* call, const Kernels& of);
  // The following functions are those of kernels of layers (layers.cpp).
  struct Parts;
  Parts parts_of(const Kernels& of, std::size_t rows) const;
  void reserve_layers(const char* call, const Kernels& of, std::size_t rows);
  void run_layers(const char* call, const Kernels& of, RowRange rows, std::uint64_t seed, Address outputs,
                  Address input_gradients, bool has_gradients);
  void run_uniform(const char* call, const std::vector<Kernels::Step>& steps, Address sums);
  Address run_all_layers(const char* call, const Kernels& of, RowRange rows, std::uint64_t seed, Address outputs,
                         Address input_gradients);
  std::unique_ptr<const Kernels> guarded_;
};

// Gives other files of this library the private parts of a program and of rows.
struct Inside {
  static const Machine& of(const char* call, const Program& program) { return program.machine(call); }
  static const StoredRows& of(const DeviceRows& rows) { return *rows.state_; }
};

}  // namespace gradwalk::gpu
