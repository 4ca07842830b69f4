// SPDX-License-Identifier: MIT
// llsq: a polynomial of 64 coefficients at 512 points.
#include "llsq.hpp"

#include "../objective.hpp"

namespace bench {

Case llsq(const Sizes& sizes) {
  const std::size_t places = sizes.tiny ? 9 : 512;
  const auto objective = [places](const auto& x) { return llsq(x, places); };
  return objective_case("llsq", objective, Numbers().uniform(sizes.tiny ? 4 : 64, -1, 1), over_codipack(2.1),
                        over_primal(0.5, 0.31));
}

}  // namespace bench
