// SPDX-License-Identifier: MIT
// Goal: a while loop whose number of rounds depends on the data, over many rows, compiled. An oscillator is integrated
// from 5,000 starts with a step that adapts to the error of each. A Function compiles the sequences of steps that many
// starts share. Its gradient then fits the oscillator's damping to measured ends.
#include <cmath>
#include <cstdio>
#include <gradwalk/function.hpp>
#include <gradwalk/gradwalk.hpp>

using namespace gradwalk;

// The position at time 2 of y'' = -damping y' - y^3, by Heun's method. The change of the acceleration within a step
// decides whether the step is repeated with half its length, or the next one may be longer.
Value end(const Value& damping, const Value& position, const Value& velocity) {
  Value y = position, v = velocity, t = 0.0, h = 0.1;
  while (t < 2) {
    if (t + h > 2) h = 2 - t;
    const Value a = -damping * v - y * y * y, y1 = y + h * v, v1 = v + h * a;
    const Value b = -damping * v1 - y1 * y1 * y1, change = abs(h * (b - a));
    if (change > 0.1) {
      h = h / 2;
      continue;
    }
    t = t + h;
    y = y + h * (v + v1) / 2;
    v = v + h * (a + b) / 2;
    if (change < 0.01) h = h * 2;
  }
  return y;
}

int main() {
  constexpr double true_damping = 0.4;
  Random random(2);
  std::vector<double> rows;  // position, velocity and measured end
  for (int i = 0; i < 5000; ++i) {
    const double position = 1 + 0.2 * random.uniform(-1, 1), velocity = 0.2 * random.uniform(-1, 1);
    rows.insert(rows.end(), {position, velocity, end(true_damping, position, velocity).data()});
  }

  Value damping{0.1};
  Function error([&](const std::vector<Value>& x) { return pow(end(damping, x[0], x[1]) - x[2], 2); },
                 {.inputs = 3, .parameters = {damping}});
  for (int step = 0; step <= 10; ++step) {
    damping.grad() = 0;
    const double loss = error.run(rows, {.result = RunOptions::Result::mean});
    if (step % 5 == 0) std::printf("step %2d: damping %.4f, mean squared error %.1e\n", step, damping.data(), loss);
    damping.data() -= 1.0 * damping.grad();
  }
  const Function::Description about = error.describe(0);
  std::printf("more than %d %% of the rows ran compiled\n", about.compiled_rows > 9 * about.eager_rows ? 90 : 0);
}
