// SPDX-License-Identifier: MIT
// det: the determinant of an 8 by 8 matrix.
#include "det.hpp"

#include "../objective.hpp"

namespace bench {

Case det(const Sizes& sizes) {
  const std::size_t n = sizes.tiny ? 4 : 8;
  const auto objective = [n](const auto& matrix) { return det(matrix, n); };
  return objective_case("det", objective, Numbers().uniform(n * n, -1, 1), over_codipack(1.3), over_primal(0.05, 0.01));
}

}  // namespace bench
