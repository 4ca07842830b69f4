// SPDX-License-Identifier: MIT
// Box: the bounds of the parameters. Steps are clipped to it, and a parameter at a bound that wants to leave stays.
#pragma once

#include "function.hpp"
#include "gradwalk/error.hpp"
#include "text/numbers.hpp"

namespace gradwalk::solver {

class Box {
 public:
  // Empty bounds are infinite. Throws an Error if there are not as many bounds as parameters, or if the start is
  // outside.
  Box(const char* call, const Vector& start, const Numbers& lower, const Numbers& upper)
      : is_bounded_(!lower.empty() || !upper.empty()),
        lower_(bounds(call, start, lower, -std::numeric_limits<double>::infinity())),
        upper_(bounds(call, start, upper, std::numeric_limits<double>::infinity())) {
    for (Eigen::Index i = 0; i < start.size(); ++i)
      if (!(lower_[i] <= start[i] && start[i] <= upper_[i]))
        throw Error(call,
                    "parameter " + std::to_string(i) + " to start within its bounds, " +
                        detail::format_number(lower_[i]) + " to " + detail::format_number(upper_[i]),
                    detail::format_number(start[i]), "start inside the bounds, or widen them");
  }

  bool is_bounded() const { return is_bounded_; }
  // Returns the nearest point within the bounds.
  Vector nearest(const Vector& x) const { return is_bounded_ ? x.cwiseMax(lower_).cwiseMin(upper_) : x; }
  // Returns 0 for each parameter at a bound that a step against the gradient would leave, and 1 for the others.
  Vector free(const Vector& x, const Vector& gradient) const {
    Vector free = Vector::Ones(x.size());
    if (is_bounded_)
      for (Eigen::Index i = 0; i < x.size(); ++i)
        if ((x[i] <= lower_[i] && gradient[i] > 0) || (x[i] >= upper_[i] && gradient[i] < 0)) free[i] = 0;
    return free;
  }

 private:
  static Vector bounds(const char* call, const Vector& start, const Numbers& given, double none) {
    if (given.empty()) return Vector::Constant(start.size(), none);
    if (static_cast<Eigen::Index>(given.size()) != start.size())
      throw Error(call, "one bound per parameter: " + std::to_string(start.size()), std::to_string(given.size()),
                  "give an infinite bound where there is none");
    return vector(given);
  }

  bool is_bounded_;
  Vector lower_, upper_;
};

}  // namespace gradwalk::solver
