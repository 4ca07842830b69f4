// SPDX-License-Identifier: MIT
// Function: what a solver needs of a function of Values. It takes numbers and returns values, gradients, Jacobians and
// Hessians. A WholeFunction records the function as one graph; a RowsFunction runs a program for one row over all rows.
#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <optional>

#include "gradwalk/solve.hpp"

namespace gradwalk::solver {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
using SparseMatrix = Eigen::SparseMatrix<double>;

inline Numbers numbers(const Vector& x) { return {x.begin(), x.end()}; }
inline Vector vector(std::span<const double> x) { return Vector::Map(x.data(), static_cast<Eigen::Index>(x.size())); }
inline std::vector<Value> leaves_of(const Vector& x) { return {x.begin(), x.end()}; }

// The relative difference of values below which two points count as equal.
inline constexpr double noise = 1e-12;
// The relative change of the parameters below which a step that finds nothing better means convergence.
inline constexpr double short_share = 1e-9;

// Returns the largest |change of a parameter| / max(1, |parameter|).
inline double share_changed(const Vector& from, const Vector& to) {
  return (to - from).cwiseQuotient(to.cwiseAbs().cwiseMax(1)).lpNorm<Eigen::Infinity>();
}

// Returns true if the numbers of a program are those of a recording, up to rounding.
inline bool nearly_equal(const Vector& programs, const Vector& recorded) {
  return ((programs - recorded).array().abs() <= 1e-6 * (1 + recorded.array().abs())).all();
}

// The linear model r + J p of the residuals near a point, reduced by J = Q R to as many rows as J has columns. If J has
// no more rows than that, Q is 1.
struct Reduced {
  Matrix r;
  Vector right;  // Q'r
};
// Computes the model by blocks of rows that fit into the cache.
Reduced reduced(const Matrix& jacobian, const Vector& residuals);

class Function {
 public:
  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  virtual ~Function() = default;

  // Returns the value of the first output and computes its gradient.
  virtual double gradient(const Vector& x, Vector& gradient) = 0;
  // Returns the values of all outputs.
  virtual Vector values(const Vector& x) = 0;
  // Returns the Jacobian, one row per output.
  virtual Matrix jacobian(const Vector& x) = 0;
  // Returns the Hessian of the first output.
  virtual Matrix hessian(const Vector& x) = 0;
  // Returns the Hessian as a sparse matrix if there are many parameters and few entries differ from 0.
  virtual std::optional<SparseMatrix> sparse_hessian(const Vector&) { return std::nullopt; }
  // Returns the linear model of the values at x.
  virtual Reduced linear(const Vector& x, const Vector& values) { return reduced(jacobian(x), values); }

  // Records the function at x. Returns true if the graph is the same as that of the programs and the value was equal up
  // to rounding. If not, as after a branch on data(), no program is used from now on, and the value and gradient are
  // replaced by those of the recording.
  virtual bool confirms(const Vector& x, double& value, Vector& gradient) = 0;
  // The same for the values of all outputs.
  virtual bool confirms(const Vector& x, Vector& values) = 0;

  // Sets the counts of evaluations and recordings, and whether a program was in use.
  virtual void report(Ending& ending) const = 0;
};

}  // namespace gradwalk::solver
