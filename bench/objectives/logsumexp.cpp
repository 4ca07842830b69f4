// SPDX-License-Identifier: MIT
// logsumexp: the logarithm of the sum of 10,000 exponentials.
#include "logsumexp.hpp"

#include "../objective.hpp"

namespace bench {

Case logsumexp(const Sizes& sizes) {
  const auto objective = [](const auto& x) { return logsumexp(x); };
  return objective_case("logsumexp", objective, Numbers().uniform(sizes.tiny ? 10 : 10'000, -5, 5), over_codipack(1.8),
                        over_primal(0.6, 0.37));
}

}  // namespace bench
