// SPDX-License-Identifier: MIT
// emit_cuda() writes a recorded graph as CUDA kernels that run many rows at once: the sum of an output over the rows
// and its gradient. Part of gradwalk::compile.
//
//   Value x = 1.0, y = 2.0, w = 0.5, b = 0.0;
//   CudaSource source = emit_cuda(pow(w * x + b - y, 2), {.inputs = {x, y}, .parameters = {w, b}});
//
// One thread computes one row; in graphs with large layers, a block computes 32 rows. The time steps of a simulation,
// which the graph has one after another, become loops again. docs/gpu.md describes the kernels and the layout of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/compile.hpp"
#include "gradwalk/value.hpp"

namespace gradwalk {

// The distribution of random inputs.
enum class Distribution : std::uint8_t {
  normal,   // mean 0 and standard deviation 1
  uniform,  // between 0 and 1, neither of which occurs
};

// Options of emit_cuda().
struct CudaOptions {
  std::string name = "model";                // the first part of the kernels' names; any text
  std::vector<Value> inputs = {};            // the leaves whose numbers come from the rows, in this order
  std::vector<Value> parameters = {};        // the leaves that get gradients; every other leaf is a constant
  Precision precision = Precision::float32;  // the number type
  // Whether the text fixes each rounding: sums of products are fused as written, and exp and log are the file's own.
  // Compiled with -fmad=false, it then gives the same bits on every device, as far as it calls no other function.
  bool exact = true;
  bool input_gradients = false;  // the gradient with respect to the inputs of each row, too
  bool guard_zeros = false;      // apply the zero-gradient rule: a gradient of 0 passes nothing on, not even 0 times
                                 // infinity
  // How the derivatives of loops are computed.
  enum class Derivatives {
    automatic,                             // as an estimate of the costs says
    tangents,                              // carried along with the values: nothing is stored, inputs are read once
    reverse,                               // backward, from values that are kept every few rounds
  } derivatives = Derivatives::automatic;  // tangents need few parameters and no input gradients
  // How rows are divided among threads.
  enum class Rows {
    automatic,   // by blocks if a thread cannot read as many uniform numbers
    by_threads,  // a thread computes a row; parameters are few
    by_blocks,   // a block computes 32 rows together
  } rows = Rows::automatic;
  bool loops = true;                // whether repeated time steps become loops, if a thread computes a row
  bool ignore_comparisons = false;  // accept a graph that was recorded while comparisons of Values became bools
  // Inputs that the rows do not have: the kernels make their numbers, which depend on a seed and on the row.
  std::vector<Value> normals = {};   // those with normally distributed numbers
  std::vector<Value> uniforms = {};  // those with uniformly distributed numbers
};

// The kernels of a graph with large layers. A block computes a tile of 32 rows, or a part of one.
struct CudaLayers {
  // A kernel of 128 threads per block.
  struct Step {
    std::string kernel;
    std::size_t blocks = 0;  // the first dimension of its grid, at most; 0: one block per tile
    std::size_t parts = 1;   // the second dimension
  };
  std::vector<Step> uniform;     // compute uniform numbers from the parameters, which come first in u
  std::vector<Step> rows;        // compute the rows
  std::vector<Step> backward;    // compute the gradients of uniform numbers
  std::size_t forward = 0;       // how many kernels of `rows` compute the outputs
  std::size_t weights = 0;       // blocks of NAME_weights for each part of the rows; 0: there is no such kernel
  std::size_t places = 0;        // numbers per row that kernels hand on, in tiles of 32 rows
  std::size_t shared_bytes = 0;  // dynamic shared memory of the kernels of `rows`
  bool fills_sums = false;       // whether `partial` must be 0 before
  bool has_finish = false;       // whether NAME_finish exists; otherwise, the sums are the result
};

// The text of the kernels, and what a caller needs to know to launch them.
struct CudaSource {
  std::string text;                          // CUDA C++, without includes
  std::string name;                          // the first part of the kernels' names
  Precision precision = Precision::float32;  // the number type of all arrays
  std::size_t inputs = 0;                    // numbers per row
  std::size_t parameters = 0;                // numbers of the parameters
  std::size_t outputs = 0;                   // numbers per row that NAME_values writes
  std::size_t fronts = 0;                    // numbers that NAME_uniform writes and NAME_rows reads
  bool has_uniform = false;                  // whether NAME_uniform and NAME_finish exist; otherwise, fronts are the
                                             // parameters and the sums are the result
  bool has_input_gradients = false;          // whether NAME_rows writes them
  std::size_t sums = 0;                      // results of NAME_rows for each block: the output, and one per front
  std::size_t most_blocks = 0;               // of NAME_rows, which then loops over its rows; 0: there is no limit
  std::string about;                         // how it is computed, in one line
  std::size_t normals = 0, uniforms = 0;  // random inputs. If there are any, NAME_rows and NAME_values take a seed and
                                          // the number of the first row, both unsigned long long, at the end
  CudaLayers layers;                      // without kernels unless the graph has large layers
  static constexpr unsigned block = 128;  // threads of NAME_rows and NAME_values, one per row
  static constexpr unsigned sum_block = 256;  // threads of NAME_sum, which has one block per sum

  // Returns the most uniform numbers that rows can read: parameters, or numbers computed from parameters alone.
  static constexpr std::size_t most_fronts(Precision precision) {
    constexpr std::size_t shared_bytes = 48 * 1024, warps = block / 32;
    return shared_bytes / warps / (precision == Precision::float32 ? sizeof(float) : sizeof(double)) - 1;
  }
  // Returns whether the kernels are those of `layers`.
  bool has_layers() const { return !layers.rows.empty(); }
  // Returns how many blocks NAME_rows needs for this many rows.
  std::size_t blocks(std::size_t rows) const {
    const std::size_t each = has_layers() ? 32 : block, all = (rows + each - 1) / each;
    return most_blocks != 0 && all > most_blocks ? most_blocks : all;
  }
};

// Writes the numbers that the first random inputs of a distribution have in a row. A device makes the same ones in
// exact mode. The numbers are those of Philox4x32-10, which the seed and the row determine; rows and inputs count from
// 0.
GRADWALK_EXPORT void random_numbers(Distribution distribution, Precision precision, std::uint64_t seed,
                                    std::uint64_t row, std::span<double> numbers);

// Returns kernels for the graph below one output. Throws an Error for a custom node, for an input or parameter that is
// not a leaf or is named twice, for a graph that a comparison of Values decided, for a graph without inputs, for more
// sums than fit into a block, for tangents where they cannot be used, and for input gradients with random inputs.
GRADWALK_EXPORT CudaSource emit_cuda(const Value& output, const CudaOptions& options);
// Returns kernels for the graph below several outputs. Sums and gradients are those of the first.
GRADWALK_EXPORT CudaSource emit_cuda(std::span<const Value> outputs, const CudaOptions& options);

}  // namespace gradwalk
