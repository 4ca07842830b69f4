// SPDX-License-Identifier: MIT
// Bundle adjustment: finds the positions of cameras and points that fit their pictures. Each observation is the picture
// of one point by one camera. With weight w, projection p and measurement m it adds |w (p - m)|^2 + (1 - w^2)^2.
//   p = f (1 + k1 r^2 + k2 r^4) s + u,  s = the first two of R (X - C) over the third,  r = |s|;
//   R turns by the angle |a| around the axis a (Rodrigues).
// Parameters: the cameras (a, C, f, u, k: eleven numbers each), the points (three each), and one weight per
// observation.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

struct BaData {
  std::size_t cameras = 0, points = 0;
  struct Observation {
    std::size_t camera = 0, point = 0;
    double x = 0, y = 0;  // measured
  };
  std::vector<Observation> observations = {};
  static constexpr std::size_t numbers_a_camera = 11;
};

template <class T> void cross(const T* a, const T* b, T* result) {
  result[0] = a[1] * b[2] - a[2] * b[1];
  result[1] = a[2] * b[0] - a[0] * b[2];
  result[2] = a[0] * b[1] - a[1] * b[0];
}

template <class T> void rotate(const T* rotation, const T* x, T* result) {
  using std::cos, std::sin, std::sqrt;
  T across[3];
  const T square = rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2];
  if (square == 0.0) {
    cross(rotation, x, across);
    for (int i = 0; i < 3; ++i) result[i] = x[i] + across[i];
    return;
  }
  const T angle = sqrt(square);
  const T sine = sin(angle), cosine = cos(angle);
  T axis[3];
  for (int i = 0; i < 3; ++i) axis[i] = rotation[i] / angle;
  cross(axis, x, across);
  const T along = (axis[0] * x[0] + axis[1] * x[1] + axis[2] * x[2]) * (1.0 - cosine);
  for (int i = 0; i < 3; ++i) result[i] = x[i] * cosine + across[i] * sine + axis[i] * along;
}

template <class T> void project(const T* camera, const T* point, T* result) {
  const T *centre = camera + 3, *focus = camera + 6, *offset = camera + 7, *distortion = camera + 9;
  T moved[3], seen[3];
  for (int i = 0; i < 3; ++i) moved[i] = point[i] - centre[i];
  rotate(camera, moved, seen);
  const T x = seen[0] / seen[2], y = seen[1] / seen[2];
  const T square = x * x + y * y;
  const T stretch = 1.0 + distortion[0] * square + distortion[1] * square * square;
  result[0] = x * stretch * focus[0] + offset[0];
  result[1] = y * stretch * focus[0] + offset[1];
}

template <class T> T ba(const std::vector<T>& parameters, const BaData& data) {
  const T* cameras = parameters.data();
  const T* points = cameras + BaData::numbers_a_camera * data.cameras;
  const T* weights = points + 3 * data.points;
  T total = 0;
  for (std::size_t i = 0; i < data.observations.size(); ++i) {
    const BaData::Observation& seen = data.observations[i];
    T projected[2];
    project(cameras + BaData::numbers_a_camera * seen.camera, points + 3 * seen.point, projected);
    const T x_error = weights[i] * (projected[0] - seen.x), y_error = weights[i] * (projected[1] - seen.y);
    const T weight_error = 1.0 - weights[i] * weights[i];
    total += x_error * x_error + y_error * y_error + weight_error * weight_error;
  }
  return total;
}

}  // namespace bench
