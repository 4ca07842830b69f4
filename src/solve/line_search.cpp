// SPDX-License-Identifier: MIT
// The line search: brackets a step between one that is too short and one that is too long, then narrows the bracket.
#include "line_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradwalk::solver {
namespace {

constexpr int most_trials = 150;    // enough to grow to 1e100, or to halve to 0
constexpr double decrease = 1e-4;   // the least share of the predicted fall that a step must reach
constexpr double flattening = 0.9;  // the largest share of the slope that may remain
constexpr double growth = 10;       // the factor from one step to the next while none is too long

struct Trial {
  double step = 0;
  Point point;
  double slope = 0;
};

class Search {
 public:
  Search(const Point& start, const Vector& direction)
      : start_(start), slope_(direction.dot(start.gradient)), low_{0, start, slope_} {}

  // Tests Wolfe's condition on the value. Where rounding hides the difference of values, tests Hager and Zhang's
  // approximate condition, which is on the slope.
  bool is_low_enough(const Trial& trial) const {
    if (trial.point.value <= start_.value + decrease * trial.step * slope_) return true;
    return trial.point.value <= start_.value + noise * std::abs(start_.value) &&
           trial.slope <= (2 * decrease - 1) * slope_;
  }
  bool is_flat_enough(const Trial& trial) const { return trial.slope >= flattening * slope_; }

  void take_as_too_short(Trial trial) { low_ = std::move(trial); }
  void take_as_too_long(const Trial& trial) {
    high_ = trial.step;
    high_value_ = trial.point.value;
  }
  const Trial& low() const { return low_; }

  double next_step() {
    if (high_ == none) return growth * low_.step;
    const double width = high_ - low_.step;
    if (!std::isfinite(high_value_)) return low_.step + 0.1 * width;
    // Take the minimum of the parabola through both values and the slope at the lower end. Every third time take the
    // middle, so that the width goes to 0.
    const double fall = -low_.slope * width;
    const double share = fall / (2 * (high_value_ - low_.point.value + fall));
    const bool takes_middle = ++narrowed_ % 3 == 0 || !(share > 0);
    return low_.step + width * (takes_middle ? 0.5 : std::clamp(share, 0.1, 0.9));
  }

 private:
  const Point& start_;
  double slope_;
  Trial low_;
  static constexpr double none = std::numeric_limits<double>::infinity();
  double high_ = none, high_value_ = none;
  int narrowed_ = 0;
};

}  // namespace

namespace {

// Returns the slope at a point on the way along a direction. Where a bound has stopped a parameter, it has no part in
// it.
double slope_at(const Point& point, const Vector& unbounded, const Vector& direction) {
  return (point.x.array() == unbounded.array()).select(direction, 0).dot(point.gradient);
}

}  // namespace

Found search_line(Function& function, const Box& box, const Vector& direction, double lowest, Point& at, double& step) {
  Search search(at, direction);
  Trial trial{step, {}, 0};
  for (int i = 0; i < most_trials; ++i) {
    const Vector unbounded = at.x + trial.step * direction;
    trial.point.x = box.nearest(unbounded);
    if (trial.point.x == search.low().point.x) break;  // the step is below the precision of doubles
    trial.point.value = function.gradient(trial.point.x, trial.point.gradient);
    trial.slope = box.is_bounded() ? slope_at(trial.point, unbounded, direction) : direction.dot(trial.point.gradient);
    if (trial.point.value < lowest) {
      at = std::move(trial.point);
      return Found::no_end;
    }
    if (!trial.point.is_finite() || !std::isfinite(trial.slope) || !search.is_low_enough(trial)) {
      search.take_as_too_long(trial);
    } else if (!search.is_flat_enough(trial)) {
      search.take_as_too_short(trial);
    } else {
      step = trial.step;
      at = std::move(trial.point);
      return Found::point;
    }
    trial.step = search.next_step();
  }
  if (search.low().step == 0) return Found::nothing_lower;
  step = search.low().step;
  at = search.low().point;  // lower, but as steep as before: there is a kink
  return Found::point;
}

}  // namespace gradwalk::solver
