// SPDX-License-Identifier: MIT
// Jacobians of programs without inputs: their sparsity pattern, the directions to differentiate along, and a program
// that computes the derivatives along all of them at once.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "gradwalk/compile.hpp"
#include "ir.hpp"
#include "machine.hpp"

namespace gradwalk::compiler {

// Forward: one seed per parameter, one result per output. Reverse: one seed per output, one result per parameter.
enum class Sweep : std::uint8_t { forward, reverse };

struct Linearized {
  Terms terms;                         // the seeds are the inputs
  std::vector<std::uint32_t> results;  // for each output of the terms: which output or parameter it belongs to
  // Whether products with the factor 0 were left out. If a result is not finite, they may have changed it.
  bool has_dropped_zeros = false;
};
Linearized linearize(const Terms& terms, Sweep sweep);

// The entries of the Jacobian that can differ from 0, by rows.
SparsePattern pattern_of(const Terms& terms);

// Which seeds share a direction: seeds of one color have no result in common. Returns the color of each seed.
std::vector<std::uint32_t> colors_of(const SparsePattern& pattern, Sweep sweep, std::uint32_t& count);

// The compiled derivatives of a program, for any of its machines' precisions.
class Jacobian {
 public:
  // With a pattern, only its entries are computed, and seeds of one color share a direction.
  Jacobian(const Terms& terms, const SparsePattern* pattern, const CompileOptions& options);

  std::size_t directions() const { return directions_; }
  std::size_t bytes() const;
  // Writes the whole matrix, or the entries of the pattern; false if a derivative may be wrong because one is not a
  // number, or infinite.
  bool compute(std::span<const double> parameters, std::span<double> to);

 private:
  void write_dense(std::span<double> to) const;
  void write_sparse(std::span<double> to) const;

  std::size_t rows_, columns_, directions_ = 0;
  Sweep sweep_ = Sweep::forward;
  bool has_dropped_zeros_ = false;
  const SparsePattern* pattern_;
  std::vector<std::uint32_t> colors_;   // of each seed
  std::vector<std::uint32_t> results_;  // for each result that is computed: its number
  std::vector<std::uint32_t> slot_of_;  // for each number: which result it is, or none
  std::vector<double> seeds_, derivatives_;
  std::variant<std::monostate, std::unique_ptr<Machine<double>>, std::unique_ptr<Machine<float>>> machine_;
};

}  // namespace gradwalk::compiler
