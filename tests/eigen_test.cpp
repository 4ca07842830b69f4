// SPDX-License-Identifier: MIT
// Values in Eigen: decompositions compared with finite differences, the uses of numeric_limits, products with doubles,
// and which entries are separate nodes.
#include "gradwalk/eigen.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <functional>
#include <sstream>

#include "support.hpp"

namespace gradwalk::eigen_test {
namespace {

using Eigen::MatrixXd, Eigen::VectorXd, Eigen::Matrix2d, Eigen::Vector2d, Eigen::Index;
using Matrix = Eigen::Matrix<Value, Eigen::Dynamic, Eigen::Dynamic>;
using Vector = Eigen::Matrix<Value, Eigen::Dynamic, 1>;
using tests::error_of;

constexpr Index size = 4;

// Returns a matrix of numbers without a pattern, which are the same in every run.
MatrixXd some_matrix(Index rows, Index columns, double shift = 0) {
  return MatrixXd::NullaryExpr(rows, columns, [&](Index i, Index j) {
    return std::sin(static_cast<double>(3 * i + 7 * j) + shift) + (i == j ? 1.5 : 0);
  });
}

const MatrixXd weights = some_matrix(size, size, 0.7);
const VectorXd right = some_matrix(size, 1, 0.3);

Matrix positive(const Matrix& a) { return a * a.transpose() + MatrixXd::Identity(a.rows(), a.rows()); }
Value weighted(const Matrix& m) { return m.cwiseProduct(weights.topLeftCorner(m.rows(), m.cols())).sum(); }
Vector solved(const auto& decomposition) { return decomposition.solve(right.cast<Value>().eval()); }

struct Case {
  const char* name;
  std::function<Value(const Matrix&)> f;
  friend void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
};

const std::vector<Case> decompositions{
    {"PartialPivLU_solve", [](const Matrix& a) { return weighted(solved(a.partialPivLu())); }},
    {"PartialPivLU_determinant", [](const Matrix& a) { return a.determinant(); }},
    {"PartialPivLU_inverse", [](const Matrix& a) { return weighted(a.inverse()); }},
    {"FullPivLU_solve", [](const Matrix& a) { return weighted(solved(a.fullPivLu())); }},
    {"HouseholderQR_solve", [](const Matrix& a) { return weighted(solved(a.householderQr())); }},
    {"HouseholderQR_factors",
     [](const Matrix& a) {
       const Eigen::HouseholderQR<Matrix> qr(a);
       const Matrix q = qr.householderQ(), r = qr.matrixQR().triangularView<Eigen::Upper>();
       return weighted(q) + weighted(r);
     }},
    {"ColPivHouseholderQR_solve", [](const Matrix& a) { return weighted(solved(a.colPivHouseholderQr())); }},
    {"LLT_solve", [](const Matrix& a) { return weighted(solved(positive(a).llt())); }},
    {"LLT_log_determinant",
     [](const Matrix& a) {
       const Matrix l = positive(a).llt().matrixL();
       return Value(2 * l.diagonal().array().log().sum());
     }},
    {"LDLT_solve", [](const Matrix& a) { return weighted(solved(positive(a).ldlt())); }},
    {"LDLT_log_determinant", [](const Matrix& a) { return Value(positive(a).ldlt().vectorD().array().log().sum()); }},
    {"JacobiSVD_values", [](const Matrix& a) { return weighted(Eigen::JacobiSVD<Matrix>(a).singularValues()); }},
    {"JacobiSVD_vectors",
     [](const Matrix& a) {
       const Eigen::JacobiSVD<Matrix> svd(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
       return weighted(svd.matrixU().col(0) * svd.matrixV().col(0).transpose());
     }},
    {"JacobiSVD_solve",
     [](const Matrix& a) {
       return weighted(solved(Eigen::JacobiSVD<Matrix>(a, Eigen::ComputeThinU | Eigen::ComputeThinV)));
     }},
    {"SelfAdjointEigenSolver_values",
     [](const Matrix& a) { return weighted(Eigen::SelfAdjointEigenSolver<Matrix>(positive(a)).eigenvalues()); }},
    {"SelfAdjointEigenSolver_vectors",
     [](const Matrix& a) {
       const Eigen::SelfAdjointEigenSolver<Matrix> solver(positive(a));
       return weighted(solver.eigenvectors().col(1) * solver.eigenvectors().col(1).transpose());
     }},
};

class Decomposition : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Eigen, Decomposition, testing::ValuesIn(decompositions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Decomposition, HasTheGradientOfItsValue) {
  for (const double shift : {0.0, 1.0, 2.0}) {
    const GradientCheck check = check_gradient(GetParam().f, some_matrix(size, size, shift), 1e-7);
    EXPECT_TRUE(check) << check.message;
  }
}

// Sizes below and above those at which Eigen's solvers work block by block, with groups of rows and columns left over.
TEST(Solvers, OfManySizesAgreeWithThoseOfNumbers) {
  for (const Index n : {1, 3, 5, 9, 18, 37}) {
    for (const Index columns : {1, 2, 7}) {
      const MatrixXd a = some_matrix(n, n), b = some_matrix(n, columns, 0.2);
      const MatrixXd symmetric = a * a.transpose() + MatrixXd::Identity(n, n);
      const MatrixXd inverse = symmetric.inverse(), expected = inverse * b;
      for (const bool by_llt : {true, false}) {
        const Matrix right_sides = leaves(b), left = leaves(symmetric);
        const Matrix x = by_llt ? Matrix(left.llt().solve(right_sides)) : Matrix(left.lu().solve(right_sides));
        EXPECT_TRUE(values(x).isApprox(expected, 1e-9)) << n << " x " << columns;
        const VectorXd slopes = inverse.transpose() * VectorXd::Ones(n);
        Value(x.sum()).backward();
        EXPECT_TRUE(gradients(right_sides).isApprox(slopes.replicate(1, columns), 1e-8)) << n << " x " << columns;
      }
    }
  }
}

TEST(LeastSquares, OfATallMatrixHasTheGradientOfItsValue) {
  const VectorXd b = some_matrix(6, 1, 0.3);
  const auto by_qr = [&](const Matrix& a) {
    return Value(a.colPivHouseholderQr().solve(b.cast<Value>().eval()).sum());
  };
  EXPECT_TRUE(check_gradient(by_qr, some_matrix(6, 3), 1e-7));
}

// ---- uses of std::numeric_limits ----

TEST(StableNorm, IsTheNormEvenIfSquaresOverflow) {
  for (const double scale : {1.0, 1e200, 1e-200}) {
    const VectorXd numbers = scale * right;
    const Vector x = leaves(numbers);
    const Value norm = x.stableNorm();
    norm.backward();
    EXPECT_DOUBLE_EQ(norm.data(), numbers.stableNorm());
    for (Index i = 0; i < x.size(); ++i)
      EXPECT_NEAR(std::as_const(x)(i).grad(), numbers(i) / numbers.stableNorm(), 1e-14);
  }
}

TEST(StableNorm, OfZeroInfinityAndNaNEqualsThatOfNumbers) {
  const double infinity = std::numeric_limits<double>::infinity(), tiny = std::numeric_limits<double>::denorm_min();
  for (const Vector2d& numbers :
       {Vector2d(0, 0), Vector2d(infinity, 1), Vector2d(1, -infinity), Vector2d(tiny, tiny)}) {
    const Eigen::Matrix<Value, 2, 1> x = leaves(numbers);
    const Value norm = x.stableNorm();
    norm.backward();
    EXPECT_EQ(norm.data(), numbers.stableNorm());
    if (numbers(0) == 0) {
      EXPECT_EQ(gradients(x), numbers);
    }
  }
  EXPECT_TRUE(isnan(leaves(Vector2d(1, std::nan(""))).stableNorm()));
}

TEST(Rank, EqualsThatOfNumbers) {
  MatrixXd numbers(3, 3);
  numbers << 1, 2, 3, 4, 5, 6, 7, 8, 9;
  EXPECT_EQ(numbers.fullPivLu().rank(), 2);
  const Matrix a = leaves(numbers);
  EXPECT_EQ(a.fullPivLu().rank(), 2);
  EXPECT_EQ(a.colPivHouseholderQr().rank(), 2);
  EXPECT_EQ(Eigen::JacobiSVD<Matrix>(a).rank(), 2);
}

TEST(IsApprox, EqualsThatOfNumbers) {
  const Matrix a = leaves(weights);
  EXPECT_TRUE(a.isApprox(a));
  EXPECT_TRUE(a.isApprox(leaves((weights * (1 + 1e-14)).eval())));
  EXPECT_FALSE(a.isApprox(leaves((weights * (1 + 1e-9)).eval())));
  EXPECT_TRUE(a.isApprox(leaves((weights * (1 + 1e-9)).eval()), 1e-8));
  EXPECT_TRUE((a - a).isZero());
  EXPECT_TRUE(a.allFinite() && !a.hasNaN());
}

// ---- which entries are separate nodes ----

Value cost(const Eigen::Matrix<Value, 2, 2>& w) { return (w * Vector2d(1, 2)).sum(); }

// Zero() does the same in Eigen 3. In Eigen 5 it makes a number for each entry.
TEST(Constant, HasOneNodeInAllEntriesWhoseGradientIsTheirSum) {
  const Eigen::Matrix<Value, 2, 2> w = Eigen::Matrix<Value, 2, 2>::Constant(0);
  EXPECT_TRUE(same_node(w(0, 0), w(1, 1)));
  cost(w).backward();
  EXPECT_EQ(w(0, 0).grad(), 6);
  EXPECT_EQ(error_of([&] { gradients(w); }),
            "gradients: needs a node of its own in each entry, got (1, 0), whose node is in another too; make the "
            "matrix by leaves()");
}

TEST(Leaves, AreDifferentNodes) {
  const Matrix2d wanted{{1, 2}, {1, 2}};
  const auto expect_own = [&](const Eigen::Matrix<Value, 2, 2>& w) {
    cost(w).backward();
    EXPECT_EQ(gradients(w), wanted) << gradients(w);
    EXPECT_FALSE(same_node(w(0, 0), w(1, 1)));
  };
  expect_own(leaves(Matrix2d::Zero()));
  expect_own(leaves(Eigen::Matrix<Value, 2, 2>::Zero()));
  expect_own(leaves(Matrix2d::Constant(0.1)));
  expect_own(Matrix2d::Zero());  // each number becomes its own leaf
  expect_own(Eigen::Matrix<Value, 2, 2>());
}

TEST(LeavesValuesAndGradients, HaveTheShapeOfTheirMatrix) {
  const Eigen::Matrix<Value, 2, 1> pair = leaves(Vector2d(3, 5));
  EXPECT_EQ(values(pair), Vector2d(3, 5));
  const Eigen::Array<Value, 2, Eigen::Dynamic, Eigen::RowMajor> array =
      leaves(Eigen::Array<double, 2, Eigen::Dynamic, Eigen::RowMajor>(weights.topRows(2)));
  (array * weights.topRows(2).array()).sum().backward();
  EXPECT_TRUE((values(array) == weights.topRows(2).array()).all());
  EXPECT_TRUE((gradients(array) == weights.topRows(2).array()).all());
  EXPECT_EQ(gradients(array.matrix().row(1)), weights.row(1));
  EXPECT_EQ(gradients(array.matrix().transpose()), weights.topRows(2).transpose());
  EXPECT_EQ(values(2 * pair), Vector2d(6, 10));
  EXPECT_EQ(pair.cast<double>(), Vector2d(3, 5));
  EXPECT_EQ(leaves(Eigen::MatrixXf::Ones(0, 3)).cols(), 3);
}

template <class M>
concept HasGradients = requires(const M& m) { gradients(m); };
static_assert(HasGradients<Matrix> && HasGradients<Eigen::Block<const Matrix>>);
static_assert(!HasGradients<decltype(Matrix() * Matrix())> && !HasGradients<MatrixXd>);

// ---- Values and doubles ----

TEST(MixedProducts, EqualThoseOfNumbers) {
  const Matrix a = leaves(weights);
  const Vector x = leaves(right);
  const MatrixXd b = some_matrix(size, 7, 2);
  EXPECT_TRUE(values(b.transpose() * a).isApprox(b.transpose() * weights));
  EXPECT_TRUE(values(a * b).isApprox(weights * b));
  EXPECT_TRUE(values(b.transpose() * x).isApprox(b.transpose() * right));
  EXPECT_TRUE(values(a * right).isApprox(weights * right));
  EXPECT_TRUE(values(right.transpose() * a).isApprox(right.transpose() * weights));
  EXPECT_TRUE(values(a * a).isApprox(weights * weights));
  EXPECT_TRUE(values(a.topRows(2) * (a + a.transpose()) * 2)
                  .isApprox(weights.topRows(2) * (weights + weights.transpose()) * 2));
  EXPECT_TRUE(values(a + weights - 3 * a).isApprox(-weights));
  EXPECT_DOUBLE_EQ(x.dot(right.cast<Value>()).data(), right.dot(right));
  EXPECT_TRUE(values(x * right.transpose()).isApprox(right * right.transpose()));
  EXPECT_TRUE(values(a.array() * weights.array() + 1.0).isApprox(weights.array().square() + 1));
  Matrix sum = a;
  sum += weights * a;
  sum.noalias() -= a * weights;
  sum.noalias() += 2 * a * a;
  EXPECT_TRUE(values(sum).isApprox(weights + 2 * weights * weights));
  EXPECT_EQ(values(leaves(MatrixXd(3, 0)) * MatrixXd(0, 2)), MatrixXd::Zero(3, 2));
}

TEST(MixedProducts, HaveTheGradientOfTheirValue) {
  const auto f = [](const Matrix& a) { return (weights * a * weights.transpose() * a).sum(); };
  EXPECT_TRUE(check_gradient(f, some_matrix(size, size), 1e-8));
}

TEST(AProduct, MakesOneRecordPerEntryAndNoLeavesForNumbers) {
  const Vector x = leaves(right);
  const Vector y = weights * x;
  const Reading graph(std::span(y.data(), static_cast<std::size_t>(y.size())));
  EXPECT_EQ(graph.leaves(), static_cast<std::size_t>(size));
  EXPECT_EQ(graph.size(), static_cast<std::size_t>(2 * size));
}

TEST(Functions, OfArraysAreThoseOfTheOpTable) {
  const auto f = [](const auto& x) {
    return (x.exp() + x.abs().log() + x.tanh() + x.pow(2) + x.sin() * 3 + x.abs().sqrt() + x.floor() + x.round() +
            x.ceil() + x.asinh() + x.max(0.0) + x.min(x * x) + x.inverse() + x.cube() + x.log1p().abs() + x.abs2())
        .sum();
  };
  const Eigen::ArrayXd numbers = right.array();
  const Eigen::Array<Value, Eigen::Dynamic, 1> x = leaves(numbers);
  EXPECT_DOUBLE_EQ(Value(f(x)).data(), f(numbers));
  EXPECT_EQ(x.maxCoeff().data(), numbers.maxCoeff());
  EXPECT_FALSE(x.isNaN().any());
}

TEST(Printing, ShowsTheData) {
  const Matrix a = leaves(Matrix2d{{1, 2.5}, {-3, 4}});
  std::ostringstream values, numbers, sum;
  values << a;
  numbers << Matrix2d{{1, 2.5}, {-3, 4}};
  sum << a + a;
  EXPECT_EQ(values.str(), numbers.str());
  EXPECT_EQ(sum.str(), " 2  5\n-6  8");
}

// ---- functions of Eigen vectors ----

TEST(DerivativesOfAnEigenVector, AreEigenVectorsAndMatrices) {
  using V2 = Eigen::Matrix<Value, 2, 1>;
  const auto f = [](const V2& x) { return x(0) * x(0) * x(1); };
  const auto swap = [](const V2& x) { return V2(x(1) * x(0), x(0)); };
  const Vector2d at(3, 5), along(1, 2);
  const Vector2d slope = gradient(f, at);
  const Matrix2d bend = hessian(f, at), rows = jacobian(swap, at);
  EXPECT_EQ(slope, Vector2d(30, 9));
  EXPECT_EQ(bend, (Matrix2d{{10, 6}, {6, 0}}));
  EXPECT_EQ(rows, (Matrix2d{{5, 3}, {1, 0}}));
  EXPECT_EQ(value_and_gradient(f, at).first, 45);
  EXPECT_EQ(value_and_gradient(f, at).second, slope);
  EXPECT_EQ(hessian_vector_product(f, at, along), bend * along);
  EXPECT_EQ(jacobian_vector_product(swap, at, along), rows * along);
  EXPECT_TRUE(check_gradient(f, at));
}

TEST(DerivativesOfAnEigenVector, TakeExpressionsAndMatricesOfDynamicSize) {
  const VectorXd numbers = right;
  const VectorXd slope = gradient([](const Vector& x) { return x.squaredNorm(); }, 2 * numbers);
  EXPECT_TRUE(slope.isApprox(4 * numbers));
  const MatrixXd by_matrix =
      gradient([](const Matrix& m) { return (weights * m).trace(); }, MatrixXd::Zero(size, size));
  EXPECT_TRUE(by_matrix.isApprox(weights.transpose()));
  const MatrixXd rows = jacobian([](const auto& x) { return (weights * x).eval(); }, numbers);
  EXPECT_TRUE(rows.isApprox(weights));
  EXPECT_EQ(hessian([](const auto& x) { return x.squaredNorm(); }, Eigen::RowVector3d(1, 2, 3)),
            2 * Eigen::Matrix3d::Identity());
}

}  // namespace
}  // namespace gradwalk::eigen_test
