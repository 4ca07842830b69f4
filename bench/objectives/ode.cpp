// SPDX-License-Identifier: MIT
// ode: 100 equations, 100 steps.
#include "ode.hpp"

#include "../objective.hpp"

namespace bench {

Case ode(const Sizes& sizes) {
  const int steps = sizes.tiny ? 3 : 100;
  const auto objective = [steps](const auto& x) { return ode(x, steps); };
  return objective_case("ode", objective, Numbers().uniform(sizes.tiny ? 5 : 100, 0.5, 1.5), over_codipack(2.8),
                        over_primal(10, 5));
}

}  // namespace bench
