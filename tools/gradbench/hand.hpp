// SPDX-License-Identifier: MIT
// The distance of a hand, posed by 26 numbers, from measured points.
//
// The hand is a tree of bones and a skin of vertices. Bone k turns by Euler angles in the frame of its parent p:
//   A_k = A_p B_k R_k,  or B_k R_k for the root; R_k = R_z R_y R_x, and A_k S_k maps a point at rest to its posed
//   position.
// A vertex v at rest in x moves to the mean of A_k S_k x over the bones, weighted by W_vk, then turns by the angle |a|
// around the axis a and moves by t. The first six of the 26 numbers are a and t. The others bend the five fingers, four
// numbers each: two angles for the first bone, one for each of the next two.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace gradbench {

template <class T> using Frame = std::array<std::array<T, 4>, 4>;  // its last row is 0 0 0 1

struct HandModel {
  std::vector<int> parents = {};                       // the parent of each bone, which comes before it; -1 for a root
  std::vector<Frame<double>> base = {}, inverse = {};  // B and S
  std::vector<std::array<double, 4>> rest = {};        // per vertex: x, y, z and 1
  std::vector<std::vector<double>> weights = {};       // per vertex: one number per bone
  std::vector<std::array<int, 3>> triangles = {};      // indices of vertices
  bool is_mirrored = false;
};

struct HandData {
  HandModel model = {};
  std::vector<int> matches = {};  // per point: a triangle if us are given, else a vertex
  std::vector<std::array<double, 3>> points = {};
};

template <class A, class B> auto product(const Frame<A>& a, const Frame<B>& b) {
  Frame<std::conditional_t<std::is_same_v<A, double>, B, A>> result;  // a product may be an expression template
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      result[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
      if (j == 3) result[i][j] = result[i][j] + a[i][3];
    }
  for (std::size_t j = 0; j < 4; ++j) result[3][j] = j == 3 ? 1.0 : 0.0;
  return result;
}

// The rotation by two Euler angles, around x and then around z. No joint turns around y.
template <class T> Frame<T> bend(const T& around_x, const T& around_z) {
  using std::cos, std::sin;
  const T cx = cos(around_x), sx = sin(around_x), cz = cos(around_z), sz = sin(around_z);
  const T zero = 0.0, one = 1.0;
  return {{{cz, -(sz * cx), sz * sx, zero},
           {sz, cz * cx, -(cz * sx), zero},
           {zero, sx, cx, zero},
           {zero, zero, zero, one}}};
}

template <class T> std::array<std::array<T, 3>, 3> turn_around(const T* a) {
  using std::cos, std::sin, std::sqrt;
  const T angle = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
  const T zero = 0.0, one = 1.0;
  if (angle < 0.0001) return {{{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}};
  const T x = a[0] / angle, y = a[1] / angle, z = a[2] / angle;
  const T s = sin(angle), c = cos(angle), d = 1.0 - c;
  return {{{x * x + (1.0 - x * x) * c, x * y * d - z * s, x * z * d + y * s},
           {x * y * d + z * s, y * y + (1.0 - y * y) * c, y * z * d - x * s},
           {x * z * d - y * s, y * z * d + x * s, z * z + (1.0 - z * z) * c}}};
}

// A_k S_k of each bone.
template <class T> std::vector<Frame<T>> posed_bones(const HandModel& model, const std::vector<T>& theta) {
  const std::size_t count = model.parents.size();
  std::vector<T> around_x(count, T(0.0)), around_z(count, T(0.0));
  // Bones 2, 3 and 4 belong to the first finger, and bone 5 is its tip; each finger has four bones.
  std::size_t next = 6;
  for (std::size_t finger = 0; finger < 5; ++finger)
    for (std::size_t joint = 0; joint < 3; ++joint) {
      const std::size_t bone = 2 + 4 * finger + joint;
      around_x.at(bone) = theta[next++];
      if (joint == 0) around_z.at(bone) = theta[next++];
    }
  std::vector<Frame<T>> absolute, posed;
  for (std::size_t k = 0; k < count; ++k) {
    const Frame<T> relative = product(model.base[k], bend(around_x[k], around_z[k]));
    const int parent = model.parents[k];
    absolute.push_back(parent < 0 ? relative : product(absolute[static_cast<std::size_t>(parent)], relative));
    posed.push_back(product(absolute[k], model.inverse[k]));
  }
  return posed;
}

// The position of every vertex.
template <class T> std::vector<std::array<T, 3>> skin(const HandModel& model, const std::vector<T>& theta) {
  const std::vector<Frame<T>> bones = posed_bones(model, theta);
  const std::array<std::array<T, 3>, 3> turn = turn_around(theta.data());
  std::vector<std::array<T, 3>> places;
  for (std::size_t v = 0; v < model.rest.size(); ++v) {
    const std::array<double, 4>& rest = model.rest[v];
    std::array<T, 3> at{T(0.0), T(0.0), T(0.0)}, place;
    for (std::size_t k = 0; k < bones.size(); ++k)
      for (std::size_t i = 0; i < 3; ++i) {
        const auto& row = bones[k][i];
        const T moved = row[0] * rest[0] + row[1] * rest[1] + row[2] * rest[2] + row[3] * rest[3];
        at[i] = at[i] + moved * model.weights[v][k];
      }
    if (model.is_mirrored) at[0] = -at[0];
    for (std::size_t i = 0; i < 3; ++i)
      place[i] = turn[i][0] * at[0] + turn[i][1] * at[1] + turn[i][2] * at[2] + theta[3 + i];
    places.push_back(place);
  }
  return places;
}

// The difference between each point and its place on the hand: three numbers per point. us has two numbers per point,
// or none.
template <class T> std::vector<T> hand(const std::vector<T>& theta, const std::vector<T>& us, const HandData& data) {
  const std::vector<std::array<T, 3>> places = skin(data.model, theta);
  std::vector<T> errors;
  for (std::size_t i = 0; i < data.points.size(); ++i) {
    const auto match = static_cast<std::size_t>(data.matches[i]);
    for (std::size_t j = 0; j < 3; ++j) {
      if (us.empty()) {
        errors.push_back(data.points[i][j] - places[match][j]);
        continue;
      }
      const auto& corners = data.model.triangles[match];
      const auto corner = [&](std::size_t c) -> const T& { return places[static_cast<std::size_t>(corners[c])][j]; };
      const T &u = us[2 * i], &v = us[2 * i + 1];
      errors.push_back(data.points[i][j] - (u * corner(0) + v * corner(1) + (1.0 - u - v) * corner(2)));
    }
  }
  return errors;
}

}  // namespace gradbench
