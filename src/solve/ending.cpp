// SPDX-License-Identifier: MIT
// Describes the ending of a solver as text.
#include "gradwalk/solve.hpp"
#include "text/numbers.hpp"

namespace gradwalk {

std::string_view name(Stop stop) {
  switch (stop) {
    case Stop::gradient: return "converged on gradient";
    case Stop::step: return "converged on step";
    case Stop::value: return "converged on value";
    case Stop::iterations: return "iteration limit";
    case Stop::not_finite: return "not finite";
    case Stop::no_descent: return "no descent";
    case Stop::unbounded: return "unbounded";
  }
  return "unknown";
}

std::string Ending::summary() const {
  return std::string(name(stop)) + " after " + detail::counted(iterations, "iteration", "iterations") + ", " +
         detail::counted(evaluations, "evaluation", "evaluations") + (compiled ? " (compiled)" : " (recorded)");
}

}  // namespace gradwalk
