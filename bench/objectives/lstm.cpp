// SPDX-License-Identifier: MIT
// lstm: two layers of 14 cells over a sequence of 100 rows.
#include "lstm.hpp"

#include "../objective.hpp"

namespace bench {

Case lstm(const Sizes& sizes) {
  LstmData data =
      sizes.tiny ? LstmData{.layers = 2, .width = 3, .steps = 4} : LstmData{.layers = 2, .width = 14, .steps = 100};
  Numbers numbers;
  data.sequence = numbers.uniform(data.steps * data.width, 0, 1);
  data.state = numbers.uniform(2 * data.layers * data.width, -1, 1);
  const auto objective = [data](const auto& parameters) { return lstm(parameters, data); };
  return objective_case("lstm", objective, numbers.uniform(data.parameters(), -1, 1), over_codipack(1.8),
                        over_primal(1.3, 0.87));
}

}  // namespace bench
