// SPDX-License-Identifier: MIT
// A controller for a microcontroller, as C. The cost of 20 control steps of a pendulum is recorded once, with plain
// Values; emit_c() writes its value and its gradient with respect to the torques. The program prints the C file.
//
//   13_controller > pendulum.c && cc -std=c99 -O2 pendulum.c -lm && ./a.out
#include <iostream>

#include "gradwalk/emit.hpp"
#include "gradwalk/gradwalk.hpp"

using namespace gradwalk;

int main() {
  Value angle = Value(3.0).label("angle"), speed = Value(0.0).label("speed");  // the state that sensors measure
  std::vector<Value> torques(20);
  const double dt = 0.05;

  Value a = angle, v = speed, cost = 0;
  for (const Value& torque : torques) {
    v += dt * (torque - 9.81 * sin(a) - 0.1 * v);
    a += dt * v;
    const Value effort = 0.01 * pow(torque, 2), motion = 0.1 * pow(v, 2), distance = pow(a, 2);
    cost += distance + motion + effort;
  }

  std::cout << emit_c(cost, {.name = "pendulum",
                             .inputs = {angle, speed},
                             .parameters = torques,
                             .precision = Precision::float32,
                             .main = true,
                             .about = "The cost of 20 torques, one every 0.05 s, for a pendulum in a given state."});
}
