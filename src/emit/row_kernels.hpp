// SPDX-License-Identifier: MIT
// Kernels with a thread per row. The graph is cut at its loops (parts.hpp); each part is lowered by the rules of
// ops.def, and this class connects the parts: values, and tangents or gradients.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernel_text.hpp"
#include "parts.hpp"
#include "random_words.hpp"

namespace gradwalk::emit {

// Throws the Error for tangents that cannot be used.
[[noreturn]] void refuse_tangents();

class RowKernels : KernelText {
 public:
  RowKernels(compiler::Scalars scalars, const CudaOptions& options, std::string name);
  // Whether rows read few enough uniform numbers.
  bool fits() const { return cut_.fronts.size() <= CudaSource::most_fronts(options_.precision); }
  // Whether the gradients of all uniform numbers are sums of a row, rather than some of them outer products.
  bool has_many_sums() const { return is_shared_ && outers_.empty(); }
  // Chooses how derivatives are computed. Throws an Error where the options ask for what cannot be.
  void plan();
  CudaSource run();

 private:
  using Id = compiler::Id;
  using Loop = compiler::Loop;
  using Product = compiler::Product;
  using Terms = compiler::Terms;
  static constexpr std::uint32_t unrolled = 4;  // rounds; loops have a multiple of it
  static constexpr std::size_t shared_bytes = 48 * 1024, warps = CudaSource::block / 32;
  static constexpr std::size_t most_blocks = 1024;        // that loop over their rows
  using Tangents = std::map<std::uint32_t, std::string>;  // by front: the text of the derivative

  // ---- text (row_kernels.cpp) ----

  std::string zero() const { return dialect_.literal(0); }
  std::string about() const;
  std::string tables() const;

  // ---- leaves ----

  // The names that are known where text is printed.
  struct Scope {
    std::map<Leaf, std::string> known = {};  // inputs that were read, and carried values
    std::string round = {};                  // the number of the round
  };

  std::string index(std::uint32_t first, std::int32_t step, const std::string& round) const;
  std::string leaf(const Leaf& one, Scope& scope);
  // The place of an input in its tile of 32 rows.
  std::string place_of(const Leaf& input, const Scope& scope) const;

  // ---- random inputs (row_random.cpp) ----

  // They come after the inputs of the rows: the normal ones, then the uniform ones.
  bool is_random(const Leaf& input) const { return input.index >= options_.inputs.size(); }
  Distribution distribution_of(std::size_t input) const;
  // The place of an input among those of its distribution.
  std::uint32_t random_index(const Leaf& input) const;
  // Whether the inputs of a loop are of several kinds in different rounds.
  bool mixes_inputs() const;
  std::size_t block_size() const { return numbers_per_block(dialect_.is_float()); }
  // Makes blocks of numbers, into an array that it declares. `first` is the number of the first block.
  std::string make_blocks(Distribution distribution, const std::string& first, std::size_t blocks);
  std::string random_input(const Leaf& input, Scope& scope);
  // Makes the random inputs of the rounds s ... s + rounds - 1, if blocks begin at the same place in each of them.
  // Otherwise each is made where it is read. Blocks are shared by all leaves with the same step.
  void random_ahead(const Part& part, std::uint32_t rounds, Scope& inside);

  // ---- parts ----

  // The stores of a part: nodes of its terms. Returns the name of each; a store of another number is that number.
  std::vector<std::string> print(const Terms& terms, const std::vector<Leaf>& leaves, const std::vector<Id>& nodes,
                                 const std::vector<std::string>& seeds, Scope& scope);
  Code lowered(const Terms& terms, const std::vector<Id>& nodes, bool has_seeds) const;
  static std::size_t size_of(const Code& code) { return code.items.size(); }

  // The backward pass of a part, with all its outputs or one.
  struct Backward {
    Terms terms;
    std::vector<Id> gradients;  // for each leaf, or none
  };
  static Backward backward(const Part& part, const std::vector<Id>& outputs);

  // The derivative of each output by each leaf, as terms that share the forward pass.
  struct Jacobian {
    Terms terms;
    std::vector<std::vector<Id>> entries;  // entries[output][leaf], or none
  };
  static Jacobian jacobian(const Part& part);
  // Whether a tangent of this leaf exists.
  static bool has_tangent(const Leaf& one);

  // ---- which derivatives (row_tangents.cpp) ----

  bool chooses_tangents() const;
  static std::vector<Id> gradients_of(const Backward& back);

  // ---- outer products (row_outers.cpp) ----

  // Gradients that are products of two numbers of a row, for all pairs of some numbers: as those of the weights of a
  // layer, which are a gradient of an output times an input. A warp adds them up over its rows as a product of
  // matrices.
  struct Outer {
    std::vector<std::pair<double, Id>> a;  // with a factor
    std::vector<Id> b;
    std::uint32_t at = 0, width = 0;      // slots: that of a[i] * b[j] is at + i * width + j
    std::uint32_t bias = compiler::none;  // the slot of the sum of a[0], or none
  };

  // A gradient as factor * a * b, or a alone.
  static Product factors_of(const Terms& terms, Id gradient);
  // Finds pairs of numbers that are all multiplied with each other, and gives every sum a slot.
  void find_outers();
  std::size_t staged_numbers() const;
  bool is_of_outer(const Leaf& one) const;
  // The gradients of a part, without those that outer products compute.
  std::vector<Id> others_of(const Part& part, std::vector<Id> gradients) const;
  void add_outers(std::span<const std::string> names);
  // The kernel with outer products: blocks loop over rows, weights are in shared memory in the order of the slots.
  std::string rows_kernel_of_outers();

  // ---- kernels ----

  void begin_text();
  void begin_rows();
  void begin_row(const std::string& first);
  void write_outputs(const std::vector<std::string>& names);

  std::string rows_kernel();
  std::string rows_text() const;
  std::string random_arguments() const;

  std::string values_kernel();

  // One block adds up one sum over all blocks of rows.
  std::string sum_kernel();

  // Single threads: the fronts from the parameters, and the gradients of the parameters from those of the fronts.
  std::string uniform_kernels();

  // ---- values and loops (row_loops.cpp) ----

  // The carried values of a loop that reverse mode keeps, and where.
  struct Kept {
    std::vector<std::uint32_t> carried;  // that the backward pass or later rounds need
    std::uint32_t rounds = 0;            // from one kept state to the next
    std::string name;
  };

  void forward(const Section& section, Scope& scope, const Kept* kept);
  void unroll(std::uint32_t rounds) { text_ += "#pragma unroll " + std::to_string(rounds) + "\n"; }
  // Two loops around a round, the inner one unrolled. The inputs of its rounds are read before it: a division or root
  // can take a slow path, and compilers move no reads across that.
  void open_rounds(const Section& section, Scope& inside);
  // Reads the inputs of the rounds s ... s + rounds - 1 into arrays that are indexed by j.
  void read_ahead(const Part& part, std::uint32_t rounds, Scope& inside);
  std::uint32_t unroll_of(const Part& part) const;
  std::vector<std::string> declare_carried(const Loop& loop);
  // Inputs that are the same in all rounds are read before the loop.
  Scope round_scope(const Section& section, const std::vector<std::string>& carried, Scope& outside);
  // A value of two rounds before becomes one of three rounds before, and so on; those come last in the list.
  void move_carried(const Section& section, const std::vector<std::string>& carried,
                    const std::vector<std::string>& next);
  // Assigns names[i] to carried[to[i]]. A name can be a carried value itself, so all are read before the first changes.
  void assign_together(const std::vector<std::uint32_t>& to, const std::vector<std::string>& carried,
                       std::vector<std::string> names);
  void name_results(const Loop& loop, const std::vector<std::string>& carried);

  // ---- tangents (row_tangents.cpp) ----

  void with_tangents();

  // The tangents of an output: derivatives by leaves times their tangents.
  Tangents combined(const std::vector<std::pair<Leaf, std::string>>& derivatives,
                    const std::map<Leaf, Tangents>& of_leaves);

  struct Derivatives {
    std::vector<std::string> outputs;
    std::vector<std::vector<std::pair<Leaf, std::string>>> rows;  // for each output
  };
  Derivatives print_jacobian(const Part& part, Scope& scope);
  static std::map<Leaf, Tangents> tangents_of(const Part& part, const std::map<Id, Tangents>& tangents);

  void steps_with_tangents(const Section& section, Scope& scope, std::map<Id, Tangents>& tangents);

  void loop_with_tangents(const Section& section, Scope& scope, std::map<Id, Tangents>& tangents);

  // The fronts on which each carried value can depend after any number of rounds.
  std::vector<std::set<std::uint32_t>> seeds_of_carried(const Section& section,
                                                        const std::map<Leaf, Tangents>& of_leaves,
                                                        const std::map<Id, Tangents>& tangents) const;

  // ---- reverse (row_reverse.cpp) ----

  void in_reverse();
  bool is_wanted(const Leaf& one, Id gradient) const;

  void add_to(const std::string& sum, const std::string& number);
  // Adds what a part passes on to its leaves; names has one entry for each gradient that is wanted.
  void add_gradients(const std::vector<Leaf>& leaves, const std::vector<Id>& gradients,
                     std::span<const std::string> names, const Scope& scope);

  void steps_in_reverse(const Section& section, Scope& scope);
  std::vector<Id> wanted(const Part& part, const Backward& back) const;

  // The carried values that the backward pass of a round reads, and those that are needed to compute them again.
  Kept kept_of(const Section& section);
  void loop_in_reverse(const Section& section, const Kept& kept, Scope& scope);
  // Computes the states of the rounds between two kept ones again.
  template <class State> void again(const Section& section, const Kept& kept, const Scope& scope, const State& state);

  bool has_random_;
  Cut cut_;
  std::size_t sums_ = 0;
  bool is_shared_ = false, uses_tangents_ = false;
  std::vector<Outer> outers_;
  std::vector<std::uint32_t> slots_;  // with outer products: where each sum is in shared memory, and the front of it
  std::size_t slot_count_ = 0;
  bool reads_slots_ = false;             // whether the kernel at hand reads fronts from there
  std::map<Id, std::string> values_;     // of steps that sections have computed
  std::map<Id, std::string> gradients_;  // of the same
};

}  // namespace gradwalk::emit
