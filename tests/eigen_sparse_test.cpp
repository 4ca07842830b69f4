// SPDX-License-Identifier: MIT
// Sparse Jacobians as matrices of Eigen.
#include "gradwalk/eigen_sparse.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace gradwalk::eigen_sparse_test {

TEST(ASparseMatrixOfEigen, HasTheDerivativesOfAProgram) {
  const std::vector<Value> x{1.0, 2.0, 3.0};
  Program program = compile(std::vector{x[0] * x[2], exp(x[1])}, {.parameters = x});
  const SparsePattern pattern = program.jacobian_pattern();
  const Eigen::SparseMatrix<double> jacobian = sparse_jacobian(program, pattern, std::vector{4.0, 0.0, 5.0});
  EXPECT_EQ(jacobian.nonZeros(), 3);
  EXPECT_EQ(Eigen::MatrixXd(jacobian), (Eigen::MatrixXd(2, 3) << 5, 0, 4, 0, 1, 0).finished());
  EXPECT_EQ(tests::error_of([&] { sparse_matrix(pattern, std::vector{1.0}); }),
            "sparse_matrix: needs 3 entries, got 1; give one number per entry of the pattern");
}

}  // namespace gradwalk::eigen_sparse_test
