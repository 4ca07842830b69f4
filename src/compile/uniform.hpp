// SPDX-License-Identifier: MIT
// run, of what is uniform: computed once a run, by vector instructions along the groups of the program and by steps.
// The backward pass is instructions, too: it is run in the same way.
#pragma once

#include <span>
#include <vector>

#include "buffer.hpp"
#include "executable.hpp"
#include "first_writers.hpp"
#include "ir.hpp"
#include "kernels.hpp"
#include "pool.hpp"
#include "steps.hpp"
#include "strips.hpp"

namespace gradwalk::compiler {

template <class T> class UniformPart {
 public:
  // The program stays where it is. There is room for more numbers after those of its places.
  // may_write_code: whether to write machine code after some runs (machine_code.hpp).
  UniformPart(const Instructions& program, const detail::Kernels<T>& kernels, std::size_t more, bool may_write_code,
              const StripLimits& limits = {});
  ~UniformPart();

  T* values() { return values_.data(); }
  const T* values() const { return values_.data(); }
  const T* constants() const { return values_.data() + at_.constants(); }
  // What rows have added to the gradients of uniform places, and after backward() the gradients of the parameters.
  T* gradients() { return values_.data() + at_.gradients(); }

  // Whether threads would run its long vectors sooner; and those to use from now on.
  bool is_worth_threads() const;
  void use_threads(Pool* pool);

  void forward();
  void set_seed(std::size_t output, T seed);  // the gradient of a uniform output
  // With skip_zeros, terms whose gradient is 0 are 0, even if what they are multiplied by is infinite.
  void backward(bool skip_zeros);
  void zero_gradients(std::span<const Range> ranges);
  std::size_t bytes() const;  // without machine code
  std::size_t code_bytes() const { return forward_.machine_code.bytes() + backward_.machine_code.bytes(); }

 private:
  struct Bound;  // an instruction with its addresses
  struct Gather;
  struct Code {
    std::vector<Bound> list;
    // Of the instructions, one after another:
    std::vector<detail::In<T>> in;       // operands, and starts of sums
    std::vector<detail::Term<T>> terms;  // of sums
    std::vector<std::uint32_t> counts;   // for each term: of a dot, how many numbers it has
    std::vector<Gather> gathers;         // to do before an instruction
    const std::vector<Instruction>* instructions = nullptr;
    std::size_t runs = 0;
    Executable machine_code;
  };
  struct Copy {  // of gradients to where those of the parameters are
    std::size_t from, to, count;
  };
  Code bind(const std::vector<Instruction>& instructions, const std::vector<Strip>& strips);
  Bound bind(const Instruction& one, std::uint32_t piece, Code& code);
  std::size_t most_gathered(const std::vector<Instruction>& list, const std::vector<Strip>& strips,
                            bool in_strips) const;
  static std::size_t most_terms(const std::vector<Instruction>& list, const std::vector<Strip>& strips);
  void list_copies();
  void unpack(const Instructions::Pack& pack);

  // As machine code where it is written, or else one instruction after another.
  void run(Code& code);
  void write_code(Code& code);
  static void run_range(UniformPart* part, const Bound* begin, const Bound* end);
  template <bool skip_zeros> void run(const Bound* begin, const Bound* end);
  template <bool skip_zeros> void run(const Bound& one);
  template <bool skip_zeros> void run_strip(std::span<const Bound> strip);
  static bool is_worth_threads(const Bound& first);  // of a strip
  struct Scratch {                                   // of one thread
    Buffer<T> gathered;                              // operands of the instruction at hand that do not lie side by side
    std::vector<detail::Term<T>> terms;              // of the piece at hand
  };
  template <bool skip_zeros>
  void run_piece(const Bound& one, std::uint32_t first, std::uint32_t count, Scratch& scratch);

  const Instructions& program_;
  const detail::Kernels<T>& kernels_;
  Addresses at_;
  bool may_write_code_;
  Buffer<T> values_;
  std::vector<Scratch> scratch_;        // at least one; the first one is also used outside strips
  std::size_t gathered_in_strips_ = 0;  // the most numbers that an instruction in a strip gathers at a time
  Pool* pool_ = nullptr;
  Code forward_, backward_;
  std::vector<Copy> copies_;
};

}  // namespace gradwalk::compiler
