// SPDX-License-Identifier: MIT
// Learning-rate schedules.
#include "gradwalk/optim.hpp"
#include "random/turn.hpp"

namespace gradwalk {
namespace {

void need_steps(const char* call, std::uint64_t steps) {
  if (steps == 0) throw Error(call, "at least one step", "0", "give the number of steps in which the rate changes");
}

}  // namespace

Schedule constant_rate(double lr) {
  return [=](std::uint64_t) { return lr; };
}

Schedule linear_decay(double from, double to, std::uint64_t steps) {
  need_steps("linear_decay", steps);
  return [=](std::uint64_t step) {
    if (step >= steps) return to;
    return from - (from - to) * static_cast<double>(step) / static_cast<double>(steps);
  };
}

Schedule cosine_decay(double from, double to, std::uint64_t steps) {
  need_steps("cosine_decay", steps);
  return [=](std::uint64_t step) {
    if (step >= steps) return to;
    const double turn = static_cast<double>(step) / static_cast<double>(steps) / 2;
    return to + (from - to) * (1 + detail::on_circle(turn).cosine) / 2;
  };
}

Schedule warm_up(std::uint64_t steps, Schedule then) {
  if (!then) throw Error("warm_up", "a schedule to follow", "none", "give one: warm_up(10, constant_rate(0.01))");
  return [steps, then = std::move(then)](std::uint64_t step) {
    if (step >= steps) return then(step - steps);
    return then(0) * static_cast<double>(step + 1) / static_cast<double>(steps);
  };
}

}  // namespace gradwalk
