// SPDX-License-Identifier: MIT
// Solvers for functions of Values: minimize(), fit() for least squares, and root(). Part of gradwalk::solve.
//
//   Minimum best = minimize(rosenbrock, {-1.2, 1.0});         // best.x, best.value, best.stop
//   Fit curve = fit(residuals, {2.5, 1.0});                   // curve.x, curve.standard_errors
//   Root zero = root([](const Value& x) { return cos(x) - x; }, 1.0);
//   Fit line = fit([](const auto& p, const auto& row) { return p[0] + p[1] * row[0] - row[1]; }, rows, {0.0, 1.0});
//
// Derivatives are exact. A function that records the same graph at every point is compiled after a few points; any
// other function is recorded at each point, and the result reports why. A solver always ends and reports why it ended.
// A function of the parameters and one row is recorded on a few rows and compiled, and the program runs over all rows.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradwalk/derivatives.hpp"

namespace gradwalk {

// Why a solver ended.
enum class Stop : std::uint8_t {
  gradient,    // converged: the gradient is 0 within its tolerance
  step,        // converged: the steps are smaller than their tolerance, or than the precision of doubles
  value,       // converged: the value is within its tolerance, or changes by less than the precision of doubles
  iterations,  // the limit on iterations was reached
  not_finite,  // the function or one of its derivatives is not finite at the start
  no_descent,  // the gradient is not 0, but no step lowers the value: a kink, noise or wrong derivatives
  unbounded,   // the value falls without bound, or the parameters grow without bound
};
// Returns a reason as text: "converged on gradient", "no descent" and so on.
GRADWALK_EXPORT std::string_view name(Stop stop);

// A function that a solver calls at the beginning of each iteration with its number, counted from 1, and the current
// value or sum of squares. An exception that it throws ends the search.
using Progress = std::function<void(std::size_t iteration, double value)>;

// The part of a result that all solvers have in common.
struct GRADWALK_EXPORT Ending {
  Stop stop = Stop::iterations;   // why the solver ended
  std::size_t iterations = 0;     // the number of iterations
  std::size_t evaluations = 0;    // the number of points at which the function was evaluated, with or without gradient
  std::size_t recordings = 0;     // the number of calls of the function; a compiled program did the other evaluations
  bool compiled = false;          // true if a compiled program was in use at the end
  std::string not_compiled = {};  // otherwise the reason why not

  // Returns true if the solver ended because of a tolerance.
  bool converged() const { return stop == Stop::gradient || stop == Stop::step || stop == Stop::value; }
  // Returns one line: "converged on gradient after 35 iterations, 42 evaluations (compiled)".
  std::string summary() const;
};

// ---- minimize() ----

// The methods of minimize().
enum class Method : std::uint8_t {
  gradient_descent,  // steps along the gradient, with a line search
  bfgs,              // estimates the inverse Hessian, a square matrix, from gradients
  lbfgs,             // estimates it from the last few steps only, for many parameters
  newton,            // uses the exact Hessian
};

// Options of minimize().
struct MinimizeOptions {
  Method method = Method::lbfgs;      // the method
  std::size_t iterations = 1000;      // the largest number of iterations
  double gradient_tolerance = 1e-10;  // on the largest |derivative| * max(1, |parameter|)
  double step_tolerance = 0;          // on the largest |change of a parameter| / max(1, |parameter|)
  double value_tolerance = 0;         // on the decrease of the value / max(1, |value|)
  double lowest = -1e100;             // a value below this counts as minus infinity
  std::size_t memory = 10;            // the number of steps that lbfgs remembers
  bool compile = true;                // false records the function at every point
  Progress progress = {};             // called at each iteration
  Numbers lower = {};                 // the lower bound of each parameter, or empty: none has one
  Numbers upper = {};                 // the upper bound of each parameter, or empty: none has one
};

// The result of minimize().
struct Minimum : Ending {
  Numbers x;                 // the best point
  double value = 0;          // the value there
  Numbers gradient;          // the gradient there
  double gradient_norm = 0;  // the Euclidean norm of the gradient
};

// ---- fit() ----

// Options of fit().
struct FitOptions {
  std::size_t iterations = 1000;      // the largest number of iterations
  double gradient_tolerance = 1e-13;  // on the largest cosine between the residuals and a column of the Jacobian
  double step_tolerance = 1e-15;      // on |step| / |parameters|, each weighted by the norms of the Jacobian's columns
  double value_tolerance = 1e-24;     // on the predicted decrease of the sum of squares / the sum of squares
  bool known_errors = false;          // true if residuals are in units of their standard deviation, which then is 1
  bool compile = true;                // false records the function at every point
  Progress progress = {};             // called at each iteration
  Numbers lower = {};                 // the lower bound of each parameter, or empty: none has one
  Numbers upper = {};                 // the upper bound of each parameter, or empty: none has one
};

// The result of fit().
struct Fit : Ending {
  Numbers x;                  // the best parameters
  Numbers residuals;          // the residuals there
  double sum_of_squares = 0;  // the sum of the squared residuals
  // The standard deviation of a residual: sqrt(sum_of_squares / (residuals - parameters)), or 1 if errors are known.
  double deviation = 0;
  // The covariance of the parameters to first order: the inverse of J'J times the squared deviation. A parameter that
  // the residuals do not determine has an infinite variance. All entries are NaN if there are no residuals to spare.
  std::vector<Numbers> covariance;
  Numbers standard_errors;   // the square roots of the covariance's diagonal
  std::size_t rank = 0;      // the rank of the Jacobian; below the number of parameters, some are not determined
  double gradient_norm = 0;  // the Euclidean norm of J'r
};

// ---- root() ----

// Options of root().
struct RootOptions {
  std::size_t iterations = 200;    // the largest number of iterations
  double value_tolerance = 1e-13;  // on the largest |value|
  double step_tolerance = 1e-15;   // on the largest |change of a parameter| / max(1, |parameter|)
  bool compile = true;             // false records the function at every point
  Progress progress = {};          // called at each iteration
};

// The result of root().
struct Root : Ending {
  Numbers x;              // the best point
  Numbers values;         // the values of the function there
  double value_norm = 0;  // their Euclidean norm
};

// ---- functions of one row ----

// The numbers of many rows, for the solvers. Use it only as the type of a parameter: it may refer to numbers that it
// does not own.
class GRADWALK_EXPORT Rows {
 public:
  // Copies the rows. Throws an Error if they are not equally long.
  Rows(const std::vector<Numbers>& rows);  // NOLINT(google-explicit-constructor)
  // Refers to rows that are stored one after another, with this many numbers each.
  Rows(std::span<const double> numbers, std::size_t columns);
  // Deleted: rows are not copied.
  Rows(const Rows&) = delete;
  // Deleted: rows are not assigned.
  Rows& operator=(const Rows&) = delete;
  // Frees the copy, if there is one.
  ~Rows() = default;

  // Returns the number of rows.
  std::size_t size() const { return columns_ == 0 ? 0 : numbers_.size() / columns_; }
  // Returns the number of numbers in each row.
  std::size_t columns() const { return columns_; }
  // Returns all numbers, one row after another.
  std::span<const double> numbers() const { return numbers_; }
  // Returns the numbers of one row, whose index is not checked.
  std::span<const double> operator[](std::size_t row) const { return numbers_.subspan(row * columns_, columns_); }

 private:
  void check() const;
  Numbers own_;
  std::span<const double> numbers_;
  std::size_t columns_;
};

// A function of the parameters and of the numbers of one row.
using RowLoss = std::function<Value(const std::vector<Value>& parameters, const std::vector<Value>& row)>;
// The same with several results per row.
using RowResiduals =
    std::function<std::vector<Value>(const std::vector<Value>& parameters, const std::vector<Value>& row)>;

// ---- derivatives at many points ----

// A function of many Values as a function of numbers, for many calls. The function is recorded at the first points.
// Once two of them have given the same graph, it is compiled, as in a solver. From then on, every number that the
// function takes from elsewhere is a constant: call forget() after you change one. A branch on a comparison of Values
// is recorded anew at the points where it goes the other way; a branch on data() is not seen. Each call throws an Error
// if a vector does not have one number per coordinate of the first x.
class GRADWALK_EXPORT Differentiator {
 public:
  // Takes a function of a std::vector<Value> that returns several Values.
  explicit Differentiator(VectorFunction f);
  // Moves a Differentiator.
  Differentiator(Differentiator&&) noexcept;
  // Moves a Differentiator.
  Differentiator& operator=(Differentiator&&) noexcept;
  // Destroys a Differentiator.
  ~Differentiator();

  // Returns the first value of the function at x, and its gradient there.
  std::pair<double, Numbers> value_and_gradient(const AnyNumbers& x);
  // Returns all values of the function at x.
  Numbers values(const AnyNumbers& x);
  // Returns one row per value: its derivatives with respect to each coordinate.
  std::vector<Numbers> jacobian(const AnyNumbers& x);
  // Returns the second derivatives of the first value, one row per coordinate.
  std::vector<Numbers> hessian(const AnyNumbers& x);
  // Returns the Jacobian times v, one number per value.
  Numbers jacobian_vector_product(const AnyNumbers& x, const AnyNumbers& v);
  // Returns the Hessian of the first value times v.
  Numbers hessian_vector_product(const AnyNumbers& x, const AnyNumbers& v);

  // Forgets the recordings and programs, after a number that the function uses has changed.
  void forget();
  // Records the function at every point from now on. The reason is for not_compiled().
  void never_compile(std::string why);
  // Returns true if a program is in use.
  bool compiled() const;
  // Returns why no program is in use, or "".
  std::string not_compiled() const;

 private:
  struct State;
  State& state() const;  // throws an Error if the Differentiator was moved from
  std::unique_ptr<State> state_;
};

// ---- the solvers ----

namespace detail {
GRADWALK_EXPORT Minimum minimize(const RowLoss& loss, const Rows& rows, const AnyNumbers& start,
                                 const MinimizeOptions& options);
GRADWALK_EXPORT Fit fit(const RowResiduals& residuals, const Rows& rows, const AnyNumbers& start,
                        const FitOptions& options);
// Returns a function of one row as one with a list of results.
template <class F> RowResiduals as_list(const F& f) {
  return [&f](const std::vector<Value>& parameters, const std::vector<Value>& row) -> std::vector<Value> {
    if constexpr (std::convertible_to<decltype(f(parameters, row)), Value>)
      return {f(parameters, row)};
    else
      return f(parameters, row);
  };
}
GRADWALK_EXPORT Minimum minimize(const ScalarFunction& f, const AnyNumbers& start, const MinimizeOptions& options);
GRADWALK_EXPORT Fit fit(const VectorFunction& residuals, const AnyNumbers& start, const FitOptions& options);
GRADWALK_EXPORT Root root(const VectorFunction& f, const AnyNumbers& start, const RootOptions& options);
}  // namespace detail

// Finds a local minimum of a function of many Values. Throws an Error if the start is empty or not finite; any other
// failure is a Stop.
template <class F> Minimum minimize(const F& f, const AnyNumbers& start, const MinimizeOptions& options = {}) {
  return detail::minimize(f, start, options);
}
// Finds the parameters with the least sum of squared residuals, by the Levenberg-Marquardt method with the exact
// Jacobian. Throws as minimize() does.
template <class F> Fit fit(const F& residuals, const AnyNumbers& start, const FitOptions& options = {}) {
  return detail::fit(residuals, start, options);
}
// Finds a point where all values of a function are 0, by Newton's method with the exact Jacobian. It shortens each step
// until the values get smaller. With Stop::no_descent there may be no root nearby, only a smallest sum of squares.
// Throws as minimize() does, and if there are not as many values as parameters.
template <class F> Root root(const F& f, const AnyNumbers& start, const RootOptions& options = {}) {
  return detail::root(f, start, options);
}

// Finds a local minimum of the sum of a loss over rows. The loss is a function of the parameters and of one row. It is
// recorded on a few rows and compiled; a loss that branches on its numbers is recorded on every row. Throws an Error if
// there are no rows.
template <class F>
Minimum minimize(const F& loss, const Rows& rows, const AnyNumbers& start, const MinimizeOptions& options = {}) {
  return detail::minimize(loss, rows, start, options);
}
// Finds the parameters with the least sum of squared residuals of rows. The function of the parameters and one row
// returns the residual of the row, a Value, or several in a std::vector. Throws as minimize() does.
template <class F>
Fit fit(const F& residuals, const Rows& rows, const AnyNumbers& start, const FitOptions& options = {}) {
  return detail::fit(detail::as_list(residuals), rows, start, options);
}

// Finds a local minimum of a function of one Value.
template <class F> Minimum minimize(const F& f, Number auto start, const MinimizeOptions& options = {}) {
  return detail::minimize(detail::of_one_value(f), {static_cast<double>(start)}, options);
}
// Finds a root of a function of one Value.
template <class F> Root root(const F& f, Number auto start, const RootOptions& options = {}) {
  return detail::root([&f](const std::vector<Value>& x) { return std::vector<Value>{f(x[0])}; },
                      {static_cast<double>(start)}, options);
}

}  // namespace gradwalk
