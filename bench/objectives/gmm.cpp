// SPDX-License-Identifier: MIT
// gmm: a mixture of 5 Gaussians in 10 dimensions, 1,000 points.
#include "gmm.hpp"

#include "../objective.hpp"

namespace bench {

Case gmm(const Sizes& sizes) {
  GmmData data = sizes.tiny ? GmmData{.d = 2, .k = 3, .n = 5} : GmmData{.d = 10, .k = 5, .n = 1000};
  Numbers numbers;
  data.points = numbers.normal(data.n * data.d);
  const auto objective = [data](const auto& parameters) { return gmm(parameters, data); };
  return objective_case("gmm", objective, numbers.uniform(data.parameters(), -0.5, 0.5), over_codipack(1.1),
                        over_primal(0.6, 0.36));
}

}  // namespace bench
