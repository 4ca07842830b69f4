// SPDX-License-Identifier: MIT
// minimize(): takes a direction from the method, searches along it, and repeats.
#include <algorithm>
#include <cmath>

#include "directions.hpp"
#include "rows_function.hpp"
#include "start.hpp"

namespace gradwalk {
namespace solver {
namespace {

constexpr double far_away = 1e100;

// Returns the largest |derivative| * max(1, |parameter|), which gradient_tolerance bounds. `at` has the gradients of
// the free parameters only.
double steepness(const Point& at) {
  return at.gradient.cwiseProduct(at.x.cwiseAbs().cwiseMax(1)).lpNorm<Eigen::Infinity>();
}

class Descent {
 public:
  Descent(Function& function, const Box& box, const MinimizeOptions& options)
      : function_(function), box_(box), options_(options), directions_(make_directions(options, function)) {}

  Stop run(Point& found, std::size_t& iterations) {
    Point at = found;
    free_ = Vector::Ones(at.x.size());
    restrict(at);
    const Stop stop = run_restricted(at, iterations);
    found = std::move(at);
    found.gradient = std::move(gradient_);
    return stop;
  }

 private:
  // Keeps the gradient of the free parameters in `at`, and the whole gradient in gradient_.
  void restrict(Point& at) {
    gradient_ = at.gradient;
    if (!box_.is_bounded()) return;
    const Vector free = box_.free(at.x, at.gradient);
    if (free != free_) directions_->restrict(free);
    free_ = free;
    at.gradient = at.gradient.cwiseProduct(free_);
  }

  Stop run_restricted(Point& at, std::size_t& iterations) {
    least_ = steepest_ = steepness(at);
    idle_ = 0;
    bool started_again = false;
    for (;;) {
      if (steepness(at) <= options_.gradient_tolerance) return Stop::gradient;
      if (iterations >= options_.iterations) return Stop::iterations;
      ++iterations;
      if (options_.progress) options_.progress(iterations, at.value);
      Vector direction = directions_->from(at);
      if (!direction.allFinite() || !(direction.dot(at.gradient) < 0)) {
        directions_->forget();
        direction = directions_->from(at);
      }
      const Point before = at;
      double step = directions_->first_step(at);
      const double promised = -direction.dot(at.gradient) * step;
      switch (search_line(function_, box_, direction, options_.lowest, at, step)) {
        case Found::no_end: gradient_ = at.gradient; return Stop::unbounded;
        case Found::nothing_lower:
          if (promised <= noise * std::abs(at.value)) return unless_kink(Stop::value, at);
          if (share_changed(at.x, at.x + step * direction) <= short_share) return unless_kink(Stop::step, at);
          if (started_again) return Stop::no_descent;
          directions_->forget();
          started_again = true;
          continue;
        case Found::point: break;
      }
      started_again = false;
      const Vector free = free_;
      restrict(at);
      if (free == free_) directions_->learn(before, at);
      if (const std::optional<Stop> stop = reason_to_stop(before, at)) return *stop;
    }
  }

  std::optional<Stop> reason_to_stop(const Point& before, const Point& at) {
    if (at.x.lpNorm<Eigen::Infinity>() > far_away) return Stop::unbounded;
    const double fall = before.value - at.value;
    if (share_changed(before.x, at.x) <= options_.step_tolerance) return Stop::step;
    if (options_.value_tolerance > 0 && fall <= options_.value_tolerance * std::max(1.0, std::abs(at.value)))
      return Stop::value;
    // Count the steps in which neither the value nor the gradient gets better by more than rounding.
    const double now = steepness(at);
    steepest_ = std::max(steepest_, now);
    idle_ = fall > 4 * epsilon * std::abs(at.value) || now < 0.5 * least_ ? 0 : idle_ + 1;
    if (idle_ == 0) least_ = std::min(least_, now);
    if (idle_ >= most_idle) return unless_kink(Stop::value, at);
    return {};
  }

  // Returns `stop`, or no_descent if the point is a kink: the gradient is about as large as ever and predicts a fall
  // above rounding, but nothing is lower.
  Stop unless_kink(Stop stop, const Point& at) const {
    const double steep = steepness(at);
    return steep > 1e-5 * steepest_ && short_share * steep > noise * std::abs(at.value) ? Stop::no_descent : stop;
  }

  static constexpr double epsilon = std::numeric_limits<double>::epsilon();

  Function& function_;
  const Box& box_;
  const MinimizeOptions& options_;
  Vector free_, gradient_;  // 1 for each free parameter; the gradient of all parameters
  std::unique_ptr<Directions> directions_;
  double least_ = 0, steepest_ = 0;  // the smallest and the largest steepness so far
  int idle_ = 0;                     // the number of steps without progress in a row
  static constexpr int most_idle = 10;
};

Minimum minimized(Function& function, const Vector& begin, const MinimizeOptions& options) {
  const Box box("minimize", begin, options.lower, options.upper);
  Minimum result;
  const auto at_point = [&](const Vector& x) {
    Point point{x, 0, {}};
    point.value = function.gradient(x, point.gradient);
    return point;
  };
  const auto descend = [&](Point& at) {
    result.stop = at.is_finite() ? Descent(function, box, options).run(at, result.iterations) : Stop::not_finite;
  };
  const Point first = at_point(begin);
  Point at = first;
  descend(at);
  if (!function.confirms(at.x, at.value, at.gradient)) {
    if (!(at.value <= first.value) || !at.is_finite()) at = first;
    descend(at);
  }
  function.report(result);
  result.x = numbers(at.x);
  result.value = at.value;
  result.gradient = numbers(at.gradient);
  result.gradient_norm = at.gradient.norm();
  return result;
}

}  // namespace
}  // namespace solver

Minimum detail::minimize(const ScalarFunction& function, const AnyNumbers& start, const MinimizeOptions& options) {
  using namespace solver;
  const Vector begin = start_of("minimize", start);
  WholeFunction whole(
      "minimize", [&](const std::vector<Value>& at) { return std::vector{function(at)}; }, options.compile);
  return minimized(whole, begin, options);
}

Minimum detail::minimize(const RowLoss& loss, const Rows& rows, const AnyNumbers& start,
                         const MinimizeOptions& options) {
  using namespace solver;
  const Vector begin = start_of("minimize", start);
  RowsFunction over_rows(
      "minimize",
      [&](const std::vector<Value>& parameters, const std::vector<Value>& row) {
        return std::vector{loss(parameters, row)};
      },
      rows, Over::sum, options.compile);
  return minimized(over_rows, begin, options);
}

}  // namespace gradwalk
