// SPDX-License-Identifier: MIT
// fit(): the Levenberg-Marquardt method. Each step p minimizes |r + J p|^2 + damping |D p|^2, where D has the lengths
// of the columns of J. The damping shrinks if the sum of squares fell as predicted, and grows if not (Nielsen's rule).
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

#include "box.hpp"
#include "rows_function.hpp"
#include "start.hpp"

namespace gradwalk {
namespace solver {
namespace {

constexpr double hardly_damped = std::numeric_limits<double>::epsilon();
constexpr double infinity = std::numeric_limits<double>::infinity();

// A linear model of the residuals near a point: r + J p, where only the free parameters move.
struct Linear {
  Matrix r;      // R of J = Q R
  Vector right;  // Q'r
  Vector free;   // 1 for each free parameter, 0 for each other

  Linear(Reduced reduced, const Box& box, const Vector& x)
      : r(std::move(reduced.r)), right(std::move(reduced.right)), free(box.free(x, r.transpose() * right)) {}

  bool is_finite() const { return r.allFinite() && right.allFinite(); }
  Vector columns() const { return r.colwise().norm(); }  // the lengths of the columns of J
  Vector gradient() const { return free.cwiseProduct(r.transpose() * right); }

  Vector step(const Vector& weights, double damping) const {
    const Eigen::Index n = r.cols(), rows = r.rows();
    Matrix left(rows + n, n);
    Vector wanted = Vector::Zero(rows + n);
    left.topRows(rows) = r * free.asDiagonal();
    left.bottomRows(n) = (std::sqrt(damping) * weights).asDiagonal();
    wanted.head(rows) = -right;
    return left.householderQr().solve(wanted);
  }

  // Returns how much the model predicts that the sum of squares falls along a step that step() returned.
  double promised(const Vector& step, const Vector& weights, double damping) const {
    return step.dot(damping * weights.cwiseAbs2().cwiseProduct(step) - gradient());
  }
  // Returns the same for any step.
  double promised(const Vector& step) const { return -2 * step.dot(gradient()) - (r * step).squaredNorm(); }

  // Returns the largest cosine of an angle between the residuals and a column of J.
  double steepness(const Vector& residuals) const {
    const double length = residuals.norm();
    const Vector slopes = gradient(), lengths = columns();
    double largest = 0;
    for (Eigen::Index j = 0; j < r.cols(); ++j)
      if (const double both = lengths[j] * length; both > 0) largest = std::max(largest, std::abs(slopes[j]) / both);
    return largest;
  }
};

class LeastSquares {
 public:
  LeastSquares(Function& function, const FitOptions& options, const Vector& start)
      : function_(function),
        options_(options),
        box_("fit", start, options.lower, options.upper),
        x_(start),
        residuals_(function.values(start)),
        linear_(function.linear(start, residuals_), box_, start),
        longest_(Vector::Zero(start.size())) {}

  Stop run(std::size_t& iterations) {
    if (!residuals_.allFinite() || !linear_.is_finite()) return Stop::not_finite;
    for (;;) {
      if (linear_.steepness(residuals_) <= options_.gradient_tolerance) return Stop::gradient;
      if (const std::optional<Stop> stop = advance(iterations)) return *stop;
    }
  }

  const Vector& x() const { return x_; }
  const Vector& values() const { return residuals_; }
  const Linear& linear() const { return linear_; }

 private:
  // Makes one step that lowers the sum of squares, trying shorter and shorter ones. Returns a reason to stop, if any.
  std::optional<Stop> advance(std::size_t& iterations) {
    longest_ = longest_.cwiseMax(linear_.columns());
    const Vector weights = longest_.unaryExpr([](double length) { return length > 0 ? length : 1; });
    const double before = residuals_.squaredNorm();
    // If rounding would hide even the largest predicted fall, steps are accepted as long as the predictions get
    // smaller.
    const bool is_hidden = most_promised(weights) <= noise * before;
    for (double growth = 2; iterations < options_.iterations; growth *= 2) {
      ++iterations;
      if (options_.progress) options_.progress(iterations, before);
      Vector step = linear_.step(weights, damping_);
      double promised = linear_.promised(step, weights, damping_);
      if (const Vector next = box_.nearest(x_ + step); box_.is_bounded() && next != x_ + step) {
        step = next - x_;
        promised = linear_.promised(step);
      }
      const bool is_short = length_of(step, weights) <= options_.step_tolerance * length_of(x_, weights);
      const double fall = promised > 0 || !box_.is_bounded()
                              ? try_step(step, before, is_hidden ? -noise * before : 1e-4 * promised)
                              : -infinity;
      if (is_short || growth > 1e30) return reason_to_end(weights, before);
      if (fall == -infinity) {
        damping_ *= growth;
        continue;
      }
      if (promised <= options_.value_tolerance * before) return Stop::value;
      if (is_hidden && promised >= last_promise_) return Stop::value;
      last_promise_ = promised;
      const double gain = is_hidden ? 1 : 2 * fall / promised - 1;
      damping_ *= std::max(1.0 / 3, 1 - gain * gain * gain);
      return {};
    }
    return Stop::iterations;
  }

  // Makes the step if the sum of squares falls by more than `wanted`, and returns how much it falls. Otherwise returns
  // minus infinity.
  double try_step(const Vector& step, double before, double wanted) {
    const Vector next = box_.nearest(x_ + step);
    if (!next.allFinite()) return -infinity;
    Vector there = function_.values(next);
    const double fall = before - there.squaredNorm();
    if (!there.allFinite() || !(fall > wanted)) return -infinity;
    Linear linear(function_.linear(next, there), box_, next);
    if (!linear.is_finite()) return -infinity;
    x_ = next;
    residuals_ = std::move(there);
    linear_ = std::move(linear);
    return fall;
  }

  // Returns why the search ends when steps have become short. It has converged if the undamped step is short, too, or
  // if its predicted fall is below the precision of doubles. Otherwise the residuals are not smooth.
  Stop reason_to_end(const Vector& weights, double before) const {
    const Vector full = linear_.step(weights, hardly_damped);
    const double share = std::max(short_share, options_.step_tolerance);
    if (length_of(full, weights) <= share * length_of(x_, weights)) return Stop::step;
    return most_promised(weights) <= noise * before ? Stop::value : Stop::no_descent;
  }

  double most_promised(const Vector& weights) const {
    return linear_.promised(linear_.step(weights, hardly_damped), weights, hardly_damped);
  }

  static double length_of(const Vector& x, const Vector& weights) { return weights.cwiseProduct(x).norm(); }

  Function& function_;
  const FitOptions& options_;
  Box box_;
  Vector x_, residuals_;
  Linear linear_;
  Vector longest_;  // the largest length of each column of J so far
  double damping_ = 1e-3, last_promise_ = infinity;
};

// Computes the covariance of the parameters from the inverse of J'J. It uses the singular values of J with columns
// scaled to length 1.
void add_errors(const Linear& linear, const Vector& residuals, bool known_errors, Fit& fit) {
  const Eigen::Index n = linear.r.cols(), spare = residuals.size() - n;
  if (!residuals.allFinite() || !linear.is_finite()) {
    const auto size = static_cast<std::size_t>(n);
    fit.deviation = NAN;
    fit.standard_errors.assign(size, NAN);
    fit.covariance.assign(size, fit.standard_errors);
    return;
  }
  fit.deviation = known_errors ? 1 : spare > 0 ? std::sqrt(fit.sum_of_squares / static_cast<double>(spare)) : NAN;
  const Vector lengths = linear.columns().unaryExpr([](double length) { return length > 0 ? length : 1; });
  const Eigen::JacobiSVD<Matrix> singular(linear.r * lengths.cwiseInverse().asDiagonal(), Eigen::ComputeFullV);
  Vector sizes = Vector::Zero(n);
  sizes.head(singular.singularValues().size()) = singular.singularValues();
  const double least = 10 * static_cast<double>(n) * std::numeric_limits<double>::epsilon() * sizes.maxCoeff();

  Matrix inverse = Matrix::Zero(n, n);
  Vector undetermined = Vector::Zero(n);
  for (Eigen::Index k = 0; k < n; ++k) {
    const Vector axis = singular.matrixV().col(k);
    if (sizes[k] > least) {
      ++fit.rank;
      inverse += axis * axis.transpose() / (sizes[k] * sizes[k]);
    } else {
      undetermined += axis.cwiseAbs2();
    }
  }
  inverse = lengths.cwiseInverse().asDiagonal() * inverse * lengths.cwiseInverse().asDiagonal();
  inverse *= fit.deviation * fit.deviation;
  for (Eigen::Index i = 0; i < n; ++i) {
    if (undetermined[i] > 1e-8) inverse(i, i) = infinity;
    fit.covariance.push_back(numbers(inverse.row(i).transpose()));
    fit.standard_errors.push_back(std::sqrt(inverse(i, i)));
  }
}

Fit fitted(Function& function, const Vector& begin, const FitOptions& options) {
  Fit result;
  const LeastSquares problem = solved<LeastSquares>(function, options, begin, result);
  result.x = numbers(problem.x());
  result.residuals = numbers(problem.values());
  result.sum_of_squares = problem.values().squaredNorm();
  result.gradient_norm = (problem.linear().r.transpose() * problem.linear().right).norm();
  add_errors(problem.linear(), problem.values(), options.known_errors, result);
  return result;
}

}  // namespace
}  // namespace solver

Fit detail::fit(const VectorFunction& residuals, const AnyNumbers& start, const FitOptions& options) {
  using namespace solver;
  const Vector begin = start_of("fit", start);
  WholeFunction whole("fit", residuals, options.compile);
  return fitted(whole, begin, options);
}

Fit detail::fit(const RowResiduals& residuals, const Rows& rows, const AnyNumbers& start, const FitOptions& options) {
  using namespace solver;
  const Vector begin = start_of("fit", start);
  RowsFunction over_rows("fit", residuals, rows, Over::each, options.compile);
  return fitted(over_rows, begin, options);
}

}  // namespace gradwalk
