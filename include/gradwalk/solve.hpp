// SPDX-License-Identifier: MIT
// Minima, least squares and roots of functions of Values. The component gradwalk::solve.
//
//   Minimum best = minimize(rosenbrock, {-1.2, 1.0});         // best.x, best.value, best.stop
//   Fit curve = fit(residuals, {2.5, 1.0});                   // curve.x, curve.standard_errors
//   Root zero = root([](const Value& x) { return cos(x) - x; }, 1.0);
//
// Derivatives are exact, from the op table. A function that records the same graph at every point is compiled after a
// few of them; one that does not is recorded at each, and the result says so. Whatever the function does, a solver ends
// and says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/derivatives.hpp"

namespace gradwalk {

enum class Stop : std::uint8_t {
  gradient,    // the gradient is 0, to its tolerance
  step,        // steps have become smaller than their tolerance, or than doubles can tell
  value,       // the value has come to its tolerance, or no longer falls by what doubles can tell
  iterations,  // there were as many as allowed
  not_finite,  // the function or a derivative of it is not finite at the start
  no_descent,  // the gradient promises less, and no step gives it: a kink, noise, or derivatives that are wrong
  unbounded,   // it falls, or its parameters run away, without end
};
GRADWALK_EXPORT std::string_view name(Stop stop);  // "converged on gradient", "no descent", ...

// Told at the beginning of each iteration: its number, from 1, and how low the value is, or the sum of squares. What it
// throws ends the search.
using Progress = std::function<void(std::size_t iteration, double value)>;

// What every solver tells.
struct GRADWALK_EXPORT Ending {
  Stop stop = Stop::iterations;
  std::size_t iterations = 0;
  std::size_t evaluations = 0;    // points at which the function was evaluated, with its gradient or without
  std::size_t recordings = 0;     // calls of the function; other evaluations were a compiled program's
  bool compiled = false;          // that there was a program up to the end
  std::string not_compiled = {};  // why there was none
  bool converged() const { return stop == Stop::gradient || stop == Stop::step || stop == Stop::value; }
  std::string summary() const;  // "converged on gradient after 35 iterations, 42 evaluations (compiled)"
};

// ---- the lowest value of a function ----

enum class Method : std::uint8_t {
  gradient_descent,  // along the gradient, as far as a line search says
  bfgs,              // learns the inverse of the Hessian, a square matrix, from gradients
  lbfgs,             // the same from the last few steps, for many parameters
  newton,            // with the exact Hessian
};

struct MinimizeOptions {
  Method method = Method::lbfgs;
  std::size_t iterations = 1000;
  double gradient_tolerance = 1e-10;  // of the largest |derivative| times its |parameter| where that is above 1
  double step_tolerance = 0;          // of a parameter's change over its size, or over 1
  double value_tolerance = 0;         // of the value's fall over its size, or over 1
  double lowest = -1e100;             // a value below is taken for the way down to minus infinity
  std::size_t memory = 10;            // steps that lbfgs learns from
  bool compile = true;                // false: record the function at every point
  Progress progress = {};
};

struct Minimum : Ending {
  Numbers x;
  double value = 0;
  Numbers gradient;
  double gradient_norm = 0;
};

// ---- parameters with the least sum of squares of residuals ----

struct FitOptions {
  std::size_t iterations = 1000;
  double gradient_tolerance = 1e-13;  // of the largest cosine between the residuals and a column of the Jacobian
  double step_tolerance = 1e-15;      // of the step's length over the parameters', each by its weight in the Jacobian
  double value_tolerance = 1e-24;     // of the fall of the sum of squares that a step promises, over the sum
  bool known_errors = false;          // the residuals are in units of their standard deviation, so that is 1
  bool compile = true;
  Progress progress = {};
};

struct Fit : Ending {
  Numbers x;
  Numbers residuals;
  double sum_of_squares = 0;  // of the residuals
  double deviation = 0;       // of a residual: sqrt(sum_of_squares / (residuals - parameters)), or 1 if known
  // To first order: the inverse of J'J times the square of the deviation. What the residuals do not determine has an
  // infinite standard error, and NaN where there are no residuals to spare.
  std::vector<Numbers> covariance;
  Numbers standard_errors;
  std::size_t rank = 0;  // of the Jacobian; less than the parameters: some are not determined
  double gradient_norm = 0;
};

// ---- where a function is 0 ----

struct RootOptions {
  std::size_t iterations = 200;
  double value_tolerance = 1e-13;  // of the largest |value|
  double step_tolerance = 1e-15;   // of Newton's step over the parameter's size, or over 1
  bool compile = true;
  Progress progress = {};
};

struct Root : Ending {
  Numbers x;
  Numbers values;  // there, of the function
  double value_norm = 0;
};

// ---- the solvers ----

namespace detail {
GRADWALK_EXPORT Minimum minimize(const ScalarFunction& f, const AnyNumbers& start, const MinimizeOptions& options);
GRADWALK_EXPORT Fit fit(const VectorFunction& residuals, const AnyNumbers& start, const FitOptions& options);
GRADWALK_EXPORT Root root(const VectorFunction& f, const AnyNumbers& start, const RootOptions& options);
}  // namespace detail

// Of a function of many Values, as for gradient() and jacobian(), from any start.
template <class F> Minimum minimize(const F& f, const AnyNumbers& start, const MinimizeOptions& options = {}) {
  return detail::minimize(f, start, options);
}
// By Levenberg and Marquardt's method, with the exact Jacobian.
template <class F> Fit fit(const F& residuals, const AnyNumbers& start, const FitOptions& options = {}) {
  return detail::fit(residuals, start, options);
}
// By Newton's method with the exact Jacobian, each step shortened until the values are smaller. Where it ends with
// no_descent there may be no root near, only the least sum of squares.
template <class F> Root root(const F& f, const AnyNumbers& start, const RootOptions& options = {}) {
  return detail::root(f, start, options);
}

// Of a function of one Value, from a number.
template <class F> Minimum minimize(const F& f, Number auto start, const MinimizeOptions& options = {}) {
  return detail::minimize(detail::of_one(f), {static_cast<double>(start)}, options);
}
template <class F> Root root(const F& f, Number auto start, const RootOptions& options = {}) {
  return detail::root([&f](const std::vector<Value>& x) { return std::vector<Value>{f(x[0])}; },
                      {static_cast<double>(start)}, options);
}

}  // namespace gradwalk
