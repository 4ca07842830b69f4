// SPDX-License-Identifier: MIT
// Directions: the interface of the methods of minimize(). A method returns a direction and learns from each step.
#pragma once

#include <memory>

#include "line_search.hpp"

namespace gradwalk::solver {

class Directions {
 public:
  Directions() = default;
  Directions(const Directions&) = delete;
  Directions& operator=(const Directions&) = delete;
  virtual ~Directions() = default;
  // Returns the direction to search from a point.
  virtual Vector from(const Point& point) = 0;
  // Learns from a step between two points.
  virtual void learn(const Point& from, const Point& to) = 0;
  // Forgets what was learned. The next direction is that of the gradient.
  virtual void forget() = 0;
  // From now on, only the parameters with a 1 are free to move. The gradients of the others are given as 0.
  virtual void restrict(const Vector& /*free*/) { forget(); }
  // Returns the share of the direction that the line search tries first.
  virtual double first_step(const Point& point) const = 0;
};

std::unique_ptr<Directions> make_directions(const MinimizeOptions& options, Function& function);

}  // namespace gradwalk::solver
