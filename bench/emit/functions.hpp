// SPDX-License-Identifier: MIT
// Four functions of robotics, as plain code over any number type. The generator records them with Values; hand.c states
// their values and gradients by hand.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace gradwalk::bench {

// The vector v rotated by the quaternion q = (w, x, y, z).
template <class T, class V> std::array<T, 3> rotated(const T* q, const V& v) {
  const T tx = 2 * (q[2] * v[2] - q[3] * v[1]), ty = 2 * (q[3] * v[0] - q[1] * v[2]),
          tz = 2 * (q[1] * v[1] - q[2] * v[0]);
  return {v[0] + q[0] * tx + (q[2] * tz - q[3] * ty), v[1] + q[0] * ty + (q[3] * tx - q[1] * tz),
          v[2] + q[0] * tz + (q[1] * ty - q[2] * tx)};
}

// The squared distance between a rotated point and a target: p = quaternion, point; x = target.
template <class T> T quaternion(std::span<const T> p, std::span<const T> x) {
  const std::array<T, 3> r = rotated(p.data(), p.subspan(4));
  T sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum = sum + (r[i] - x[i]) * (r[i] - x[i]);
  return sum;
}

// The squared distance between the tool of a robot arm with six joints and a target: p = angles; x = target.
inline constexpr std::array<double, 6> arm_length{0, 0.612, 0.5723, 0, 0, 0},
    arm_offset{0.1273, 0, 0, 0.1639, 0.1157, 0.0922};
inline constexpr std::array<double, 6> arm_cosine{0, 1, 1, 0, 0, 1}, arm_sine{1, 0, 0, 1, -1, 0};
template <class T> T arm(std::span<const T> p, std::span<const T> x) {
  T a = 0, b = 0, c = 0;
  for (std::size_t i = 6; i-- > 0;) {
    const T u = a + arm_length[i], v = arm_cosine[i] * b - arm_sine[i] * c,
            w = arm_sine[i] * b + arm_cosine[i] * c + arm_offset[i];
    const T s = sin(p[i]), k = cos(p[i]);
    a = k * u - s * v;
    b = s * u + k * v;
    c = w;
  }
  return (a - x[0]) * (a - x[0]) + (b - x[1]) * (b - x[1]) + (c - x[2]) * (c - x[2]);
}

// The squared error of the position after 20 samples of an IMU: p = biases of gyroscope and accelerometer, velocity;
// x = 20 samples of angular rate and acceleration, and the measured position.
inline constexpr std::size_t imu_samples = 20;
inline constexpr double imu_dt = 0.005;
template <class T> T imu(std::span<const T> p, std::span<const T> x) {
  std::array<T, 4> q{T(1), T(0), T(0), T(0)};
  std::array<T, 3> v{p[6], p[7], p[8]}, at{T(0), T(0), T(0)};
  for (std::size_t k = 0; k < imu_samples; ++k) {
    const T* sample = x.data() + 6 * k;
    std::array<T, 3> h, f;
    for (std::size_t i = 0; i < 3; ++i) h[i] = (0.5 * imu_dt) * (sample[i] - p[i]), f[i] = sample[3 + i] - p[3 + i];
    const std::array<T, 4> n{
        q[0] - q[1] * h[0] - q[2] * h[1] - q[3] * h[2], q[1] + q[0] * h[0] + q[2] * h[2] - q[3] * h[1],
        q[2] + q[0] * h[1] + q[3] * h[0] - q[1] * h[2], q[3] + q[0] * h[2] + q[1] * h[1] - q[2] * h[0]};
    const T scale = 1 / sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] + n[3] * n[3]);
    for (std::size_t i = 0; i < 4; ++i) q[i] = n[i] * scale;
    const std::array<T, 3> force = rotated(q.data(), f);
    for (std::size_t i = 0; i < 3; ++i) {
      v[i] = v[i] + imu_dt * (i == 2 ? force[i] - 9.81 : force[i]);
      at[i] = at[i] + imu_dt * v[i];
    }
  }
  T sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum = sum + (at[i] - x[6 * imu_samples + i]) * (at[i] - x[6 * imu_samples + i]);
  return sum;
}

// The squared reprojection error of a camera that reads its rows one after another while it moves: p = quaternion,
// translation, angular rate, velocity, focal length, two coefficients of distortion; x = point, observed pixel.
template <class T> T camera(std::span<const T> p, std::span<const T> x) {
  const T time = 0.03 * x[4];
  std::array<T, 3> at = rotated(p.data(), x);
  for (std::size_t i = 0; i < 3; ++i) at[i] = at[i] + p[4 + i];
  const std::array<T, 3> moved{at[0] + time * (p[8] * at[2] - p[9] * at[1] + p[10]),
                               at[1] + time * (p[9] * at[0] - p[7] * at[2] + p[11]),
                               at[2] + time * (p[7] * at[1] - p[8] * at[0] + p[12])};
  const T u = moved[0] / moved[2], v = moved[1] / moved[2], r = u * u + v * v;
  const T scale = p[13] * (1 + r * (p[14] + r * p[15]));
  const T du = scale * u - x[3], dv = scale * v - x[4];
  return du * du + dv * dv;
}

}  // namespace gradwalk::bench
