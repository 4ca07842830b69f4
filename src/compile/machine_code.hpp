// SPDX-License-Identifier: MIT
// Machine code for numbers that are computed one by one or in small groups.
//
// An interpreter spends most of its time on choosing what to do next and on finding the operands. For the numbers of a
// block of rows that does not matter, but for a recursion it does: each of its vectors has a few numbers. So after some
// runs, a program writes the instructions of its uniform part, and the steps of a row, as instructions of the
// processor: operands at known addresses, and results kept in registers until they are used. The steps of a recursion
// become a loop (repeats.hpp). Every result is also stored, so code and interpreter can take turns, and both give the
// same bits. Rules come from ops.def, by a number type that writes code where others compute. What is not arithmetic,
// and what is long, is a call of a kernel.
//
// Code is written for x86-64 with AVX2 and FMA, except on Windows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "buffer.hpp"
#include "executable.hpp"
#include "ir.hpp"
#include "kernels.hpp"
#include "repeats.hpp"
#include "steps.hpp"

namespace gradwalk::compiler {

template <class T> class Translator;

template <class T> inline constexpr std::uint32_t rows_of_tile = cache_line / sizeof(T);

template <class T> class MachineCode {
 public:
  // Whether code can be written that computes as these kernels do.
  static bool is_possible(const detail::Kernels<T>& kernels);

  // Both stay where they are while the code exists.
  MachineCode(const Instructions& program, const detail::Kernels<T>& kernels);
  // Code for the rows of a tile (tiles.hpp), which is given to run_code(). All other numbers begin at `uniform`.
  MachineCode(const Instructions& program, const detail::Kernels<T>& kernels, const T* uniform);
  ~MachineCode();

  // A function for the instructions that are not written. It is called with the object, and with the addresses of the
  // first of them and after the last of them in an array that has an element for each instruction.
  struct Calls {
    const void* function = nullptr;
    const void* object = nullptr;
    const void* array = nullptr;
    std::size_t element = 0;  // bytes
  };
  // Adds a list of uniform instructions, or without a list all the steps. Repeats become loops.
  void add(std::span<const Instruction> list, std::span<const std::uint32_t> steps, const Calls& calls);
  static bool writes(StepHead head);  // else the step is left to a call
  // In code for tiles: a step that writes(head), for all rows.
  static bool writes_rows(const Instruction& one);  // of functions and sums, whether it writes the steps of this one
  void add_to_tile(StepHead head, const std::uint32_t* words);
  // A call of function(first, count, the address of the tile).
  void add_call_with_numbers(const void* function, const void* first, std::size_t count);
  // There are no pages if the code became too long or the system refuses them.
  Executable finish();

 private:
  std::unique_ptr<Translator<T>> translator_;
};

// Sanitizers look for the type of a function in front of it, where there is no memory here.
#ifdef __clang__
#define GRADWALK_NO_FUNCTION_TYPE __attribute__((no_sanitize("function", "cfi-icall")))
#else
#define GRADWALK_NO_FUNCTION_TYPE
#endif
template <class T> GRADWALK_NO_FUNCTION_TYPE void run_code(const Executable& code, T* values) {
  reinterpret_cast<void (*)(T*)>(reinterpret_cast<std::uintptr_t>(code.begin()))(values);
}
#undef GRADWALK_NO_FUNCTION_TYPE

}  // namespace gradwalk::compiler
