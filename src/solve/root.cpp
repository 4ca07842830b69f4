// SPDX-License-Identifier: MIT
// root(): Newton's method. Each step goes towards the root of the linear model, as far as the values get smaller.
#include <Eigen/QR>
#include <cmath>

#include "start.hpp"
#include "whole_function.hpp"

namespace gradwalk {
namespace solver {
namespace {

class NewtonRoot {
 public:
  NewtonRoot(Function& function, const RootOptions& options, const Vector& start)
      : function_(function), options_(options), x_(start), values_(function.values(start)) {
    if (values_.size() != x_.size())
      throw Error("root", "as many values as parameters: " + std::to_string(x_.size()), std::to_string(values_.size()),
                  "return one Value per parameter; fit() makes any number of values small");
  }

  Stop run(std::size_t& iterations) {
    if (!values_.allFinite()) return Stop::not_finite;
    for (; values_.lpNorm<Eigen::Infinity>() > options_.value_tolerance; ++iterations) {
      if (iterations >= options_.iterations) return Stop::iterations;
      if (options_.progress) options_.progress(iterations + 1, values_.squaredNorm());
      const Matrix jacobian = function_.jacobian(x_);
      if (!jacobian.allFinite()) return iterations == 0 ? Stop::not_finite : Stop::no_descent;
      // If the Jacobian is singular, this is the shortest least-squares step.
      const Vector step = jacobian.completeOrthogonalDecomposition().solve(-values_);
      const bool leads_to_root = (jacobian * step + values_).norm() <= 1e-8 * values_.norm();
      const double share = share_changed(x_, x_ + step);
      if (leads_to_root && share <= options_.step_tolerance) return Stop::step;
      if (!advance(step)) return leads_to_root && share <= short_share ? Stop::step : Stop::no_descent;
    }
    return Stop::value;
  }

  const Vector& x() const { return x_; }
  const Vector& values() const { return values_; }

 private:
  // Moves along the step, or along a part of it, to smaller values. Returns false if there are none.
  bool advance(const Vector& step) {
    const double before = values_.squaredNorm();
    for (double share = 1; share > 1e-18; share *= 0.5) {
      const Vector next = x_ + share * step;
      if (next == x_) return false;
      if (!next.allFinite()) continue;
      Vector there = function_.values(next);
      if (!there.allFinite() || !(there.squaredNorm() < (1 - 1e-4 * share) * before)) continue;
      x_ = next;
      values_ = std::move(there);
      return true;
    }
    return false;
  }

  Function& function_;
  const RootOptions& options_;
  Vector x_, values_;
};

}  // namespace
}  // namespace solver

Root detail::root(const VectorFunction& function, const AnyNumbers& start, const RootOptions& options) {
  using namespace solver;
  const Vector begin = start_of("root", start);
  WholeFunction wrapped("root", function, options.compile);
  Root result;
  const NewtonRoot problem = solved<NewtonRoot>(wrapped, options, begin, result);
  result.x = numbers(problem.x());
  result.values = numbers(problem.values());
  result.value_norm = problem.values().norm();
  return result;
}

}  // namespace gradwalk
