// SPDX-License-Identifier: MIT
// ba: 1,000 observations, 20 cameras around a cloud of 250 points.
#include "ba.hpp"

#include "../objective.hpp"

namespace bench {
namespace {

void append(std::vector<double>& to, const std::vector<double>& more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

Case ba(const Sizes& sizes) {
  BaData data{.cameras = sizes.tiny ? 2u : 20u, .points = sizes.tiny ? 3u : 250u};
  Numbers numbers;
  std::vector<double> parameters;
  for (std::size_t i = 0; i < data.cameras; ++i) {
    append(parameters, numbers.uniform(3, -0.2, 0.2));                           // turned a little
    append(parameters, numbers.uniform(2, -0.5, 0.5));                           // at
    parameters.push_back(numbers.uniform(-6, -4));                               // a distance
    parameters.push_back(numbers.uniform(400, 600));                             // focal length
    append(parameters, {numbers.uniform(300, 340), numbers.uniform(220, 260)});  // centre of the picture
    append(parameters, numbers.uniform(2, -0.01, 0.01));                         // distortion
  }
  append(parameters, numbers.uniform(3 * data.points, -1, 1));

  const double* points = parameters.data() + BaData::numbers_a_camera * data.cameras;
  for (std::size_t i = 0; i < (sizes.tiny ? 6u : 1000u); ++i) {
    const std::size_t camera = i % data.cameras, point = i % data.points;
    double seen[2];
    project(parameters.data() + BaData::numbers_a_camera * camera, points + 3 * point, seen);
    data.observations.push_back({camera, point, seen[0] + numbers.normal(), seen[1] + numbers.normal()});
  }
  append(parameters, numbers.uniform(data.observations.size(), 0.5, 1));

  const auto objective = [data](const auto& x) { return ba(x, data); };
  return objective_case("ba", objective, parameters, over_codipack(1.4));
}

}  // namespace bench
