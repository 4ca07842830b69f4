// SPDX-License-Identifier: MIT
// Kernels in which the 128 threads of a block compute 32 rows together: a tile. The numbers of its rows lie place by
// place, layers are products that all threads compute together, and everything else is a loop over the places with one
// thread per row.
//
// The numbers of a small graph stay in shared memory, and one kernel computes everything. Those of a large graph lie in
// the memory of the device: wide layers are kernels of their own, and the gradients of weights are computed at the end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernel_text.hpp"
#include "layer_plan.hpp"

namespace gradwalk::emit {

// Evenly spaced places, or an index into the table of places.
struct Spaced {
  std::uint32_t first = 0, step = 0, table = compiler::none;
};

class LayerKernels : LayerPlan, KernelText {
 public:
  LayerKernels(compiler::Scalars scalars, const CudaOptions& options, std::string name)
      : LayerPlan(std::move(scalars), options), KernelText(options, std::move(name)) {}

  CudaSource run();

 private:
  static constexpr std::size_t threads = CudaSource::block, warps = threads / 32;
  static constexpr std::size_t most_blocks = 512;  // that go from tile to tile
  // Without this bound, compilers chose fewer registers, and spilled some.
  std::size_t blocks_at_once() const { return dialect_.is_float() ? 5 : 0; }

  // ---- text (layer_kernels.cpp) ----

  static std::string text(std::size_t number) { return std::to_string(number) + "u"; }
  static std::string tensors(bool are_used) { return are_used ? "gw_tensors" : "false"; }
  std::string about() const;
  // The rule of relu, which layers apply to their outputs.
  std::string relu_function();
  std::string tables() const;

  Spaced spaced(const std::vector<std::uint32_t>& places, std::uint32_t shift);
  // The place of iteration i.
  static std::string index(const Spaced& places);
  // A number of a row at a place that `index` says.
  std::string at(const char* base, const std::string& index, std::size_t pitch, const char* row) const;
  std::string leaf(const Column& column);

  // Prints what computes these nodes, and returns their names.
  template <class LeafText> std::vector<std::string> print(const compiler::Terms& terms,
                                                           const std::vector<compiler::Id>& nodes, bool is_backward,
                                                           LeafText leaf_text) {
    std::vector<Store> stores;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) stores.push_back({{Array::output, i, 0}, nodes[i]});
    const Code code =
        lower(terms, stores, dialect_, {terms.parameters, true, false, is_backward && options_.guard_zeros});
    return print_code(
        code, nodes.size(), [&](const Operand& operand) { return leaf_text(operand.index); },
        [&](const std::string& value) { return assign(value); });
  }
  void print_body(const Stretch& one, bool is_backward);

  // ---- rows (layer_rows.cpp) ----

  // Outputs first ... end of a layer.
  void print_layer(const compiler::Instruction& one, bool is_backward, const std::string& first,
                   const std::string& end);
  // A layer whose outputs, and inputs if they are many, are divided among blocks. Returns the number of blocks per
  // tile.
  std::size_t print_wide(const Layer& layer, bool is_backward);
  void add_splits(const Layer& layer);
  // Whether products run on tensor cores.
  bool has_tensors() const { return dialect_.is_float() && !options_.exact && !options_.guard_zeros; }
  std::string careful(bool is_backward) const { return is_backward && options_.guard_zeros ? "true" : "false"; }
  std::string places_text(const std::vector<std::uint32_t>& places);
  void print_piece(const Piece& piece, bool is_backward);
  // A loop over some places, for all rows of the tile.
  void open_places(std::size_t count);

  std::string rows_arguments() const;
  // The rows of a tile, whose number is known.
  void begin_tile();
  void begin_kernel();

  // The numbers of random inputs come after those of the rows.
  void copy_inputs();
  void make_random(Distribution distribution, std::size_t first, std::size_t count);

  // Between the passes: outputs are written, and gradients begin with 1 for each row. The place of the first output can
  // be used again, so its number is kept.
  void turn(const char* leave);
  void write_input_gradients();

  std::string rows_kernels(CudaLayers& layers);
  void add_rows_kernel(std::string& made, CudaLayers& layers, std::size_t parts);

  // ---- rows in shared memory (layer_resident.cpp) ----

  // One kernel for a small graph: a block goes from tile to tile.
  std::string resident_kernel(CudaLayers& layers);
  std::string shape(const Share& share, std::uint32_t count, std::uint32_t depth) const;
  void add_own_sums(const std::vector<std::string>& sums);
  void write_own_sums(const std::vector<std::string>& sums);

  // ---- sums over rows (layer_sums.cpp) ----

  // The first dimension of the grid divides the sums, the second one the rows.
  std::string weights_kernel();

  std::string sum_kernel();

  // ---- uniform numbers (layer_uniform.cpp) ----

  // A kernel for each stretch, with a thread per number.
  std::string uniform_kernels(const std::string& what, const std::vector<Piece>& pieces,
                              std::vector<CudaLayers::Step>& steps, bool is_backward);
  // The gradients of packed numbers are added to those of the numbers that they are copies of.
  std::string unpack_kernels(std::vector<CudaLayers::Step>& steps);
  // A sum over many numbers, by one block.
  void print_dot(const compiler::Instruction& one, bool is_backward);
  // The gradients of the parameters: what rows have added up, or a uniform number.
  std::string finish_kernel();

  std::size_t weights_blocks_ = 0;
  std::vector<std::uint32_t> tables_;
  std::map<std::pair<std::vector<std::uint32_t>, std::uint32_t>, std::uint32_t> table_of_;
  bool reads_constants_ = false;
};

}  // namespace gradwalk::emit
