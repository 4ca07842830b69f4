// SPDX-License-Identifier: MIT
// The cost of a clustering: the sum over points of the square of the distance to the nearest of the centres,
//   sum over points p of min over centres c of |p - c|^2.
// Points and centres are rows of d numbers, one after another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace bench {

template <class T> T squared_distance(const double* point, const T* centre, std::size_t d) {
  T sum = 0;
  for (std::size_t i = 0; i < d; ++i) sum += (point[i] - centre[i]) * (point[i] - centre[i]);
  return sum;
}

template <class T> T kmeans(const std::vector<T>& centres, const std::vector<double>& points, std::size_t d) {
  T cost = 0;
  for (std::size_t p = 0; p < points.size(); p += d) {
    T closest = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < centres.size(); c += d) {
      closest = std::min(closest, squared_distance(&points[p], &centres[c], d));
    }
    cost += closest;
  }
  return cost;
}

}  // namespace bench
