// SPDX-License-Identifier: MIT
// Which way to go from a point: each method of minimize() as something that gives directions and learns from steps.
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
  virtual Vector from(const Place& point) = 0;
  virtual void learn(const Place& from, const Place& to) = 0;
  virtual void forget() = 0;  // what was learned: the next direction is the gradient's
  // How much of the next direction to try first, the last step having been so much of the last one.
  virtual double first_step(const Place& point) const = 0;
};

std::unique_ptr<Directions> make_directions(const MinimizeOptions& options, Function& function);

}  // namespace gradwalk::solver
