// SPDX-License-Identifier: MIT
// Tiles: a few rows that run the whole program as machine code before the next rows begin.
//
// In a block of rows, each instruction is run on all rows before the next one begins. If a row has thousands of
// numbers, only few rows of a block fit the cache, and choosing the next instruction takes longer than its arithmetic.
// A tile has as many rows as fill a line of the cache, and its program is machine code (machine_code.hpp), so results
// stay in registers until they are used. Functions such as exp are calls of the kernels. Each number of a row has the
// same bits as in a block.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "executable.hpp"
#include "ir.hpp"
#include "kernels.hpp"
#include "machine_code.hpp"
#include "steps.hpp"

namespace gradwalk::compiler {

template <class T> class Tiles {
 public:
  static constexpr std::size_t width = rows_of_tile<T>;

  // Whether many rows of this program are done sooner in tiles than in blocks.
  static bool fits(const Instructions& program, const detail::Kernels<T>& kernels);

  // All arguments stay where they are. `uniform` are the numbers of a UniformPart.
  Tiles(const Instructions& program, const detail::Kernels<T>& kernels, const T* uniform);

  // Writes the code that a run needs and that is not there yet. Returns false if the code became too long or the system
  // refuses it.
  bool prepare(bool gradients, bool for_inputs);

  // The numbers of a tile: `width` sums for the row gradient of each uniform place, and then each varying place.
  std::size_t size() const { return (at_.varying() - at_.gradients() + places_) * width; }
  T* varying(T* tile) const { return tile + (at_.varying() - at_.gradients()) * width; }
  // The uniform places whose row gradients the rows add to.
  const std::vector<std::uint32_t>& reduced(bool for_inputs) const { return backward_[for_inputs ? 1 : 0].reduced; }

  void forward(T* tile) const { run_code(forward_.code, tile); }
  void backward(bool for_inputs, T* tile) const { run_code(backward_[for_inputs ? 1 : 0].code, tile); }
  std::size_t bytes() const;  // without machine code
  std::size_t code_bytes() const;

 private:
  struct Call {  // of a kernel: one step of all rows, or several alike one after another
    const Tiles* tiles;
    StepHead head;
    std::uint32_t words[5];
  };
  struct Code {
    Executable code;
    std::deque<Call> calls;  // which stay where they are
    std::vector<std::uint32_t> reduced;
    bool is_written = false;
  };

  void write(Code& code, std::span<const std::uint32_t> words);
  bool goes_on(const Call& call, StepHead head, const std::uint32_t* words, std::size_t steps) const;
  void list_reduced(Code& code, std::span<const std::uint32_t> words) const;
  static void call(const Call* call, std::size_t count, T* tile);

  const Instructions& program_;
  const detail::Kernels<T>& kernels_;
  const T* uniform_;
  Addresses at_;
  std::size_t places_;          // varying ones
  Code forward_, backward_[2];  // the second for gradients of inputs, too
};

}  // namespace gradwalk::compiler
