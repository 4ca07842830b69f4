// SPDX-License-Identifier: MIT
// kmeans: 2,000 points and 8 centres in 10 dimensions.
#include "kmeans.hpp"

#include "../objective.hpp"

namespace bench {

Case kmeans(const Sizes& sizes) {
  const std::size_t n = sizes.tiny ? 20 : 2'000, k = sizes.tiny ? 3 : 8, d = sizes.tiny ? 2 : 10;
  Numbers numbers;
  const std::vector<double> points = numbers.normal(n * d);
  const auto objective = [points, d](const auto& centres) { return kmeans(centres, points, d); };
  return objective_case("kmeans", objective, numbers.normal(k * d), over_codipack(3.0));
}

}  // namespace bench
