// SPDX-License-Identifier: MIT
// Sparse Jacobians and Hessians of compiled programs as matrices of Eigen.
//
//   Program slope = compile_derivatives(energy, {.parameters = x});
//   Eigen::SparseMatrix<double> hessian = sparse_jacobian(slope, slope.jacobian_pattern(), point);
//
// A header of its own, because it needs Eigen and gradwalk::compile.
#pragma once

#include <Eigen/SparseCore>
#include <span>
#include <vector>

#include "gradwalk/compile.hpp"

namespace gradwalk {

// Returns a matrix with these entries, given in the order of the pattern. Throws an Error if their number is wrong.
inline Eigen::SparseMatrix<double> sparse_matrix(const SparsePattern& pattern, std::span<const double> entries) {
  if (entries.size() != pattern.column_indices.size())
    throw Error("sparse_matrix", std::to_string(pattern.column_indices.size()) + " entries",
                std::to_string(entries.size()), "give one number per entry of the pattern");
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(entries.size());
  for (std::size_t row = 0; row < pattern.rows; ++row)
    for (std::size_t k = pattern.row_starts[row]; k < pattern.row_starts[row + 1]; ++k)
      triplets.emplace_back(static_cast<int>(row), static_cast<int>(pattern.column_indices[k]), entries[k]);
  Eigen::SparseMatrix<double> matrix(static_cast<Eigen::Index>(pattern.rows),
                                     static_cast<Eigen::Index>(pattern.columns));
  matrix.setFromTriplets(triplets.begin(), triplets.end());
  return matrix;
}

// Returns the Jacobian of a program without inputs at these parameters: one row per output, one column per parameter.
// Computing the pattern takes a pass over the program, so do it once for many points.
inline Eigen::SparseMatrix<double> sparse_jacobian(Program& program, const SparsePattern& pattern,
                                                   std::span<const double> parameters) {
  std::vector<double> entries(pattern.column_indices.size());
  program.sparse_jacobian_at(parameters, entries);
  return sparse_matrix(pattern, entries);
}

}  // namespace gradwalk
