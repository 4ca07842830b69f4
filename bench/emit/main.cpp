// SPDX-License-Identifier: MIT
// Emitted C beside C by hand, on four functions: value and gradient. Both must agree. Prints the time of each and the
// ratio: the smallest of many interleaved runs, by the CPU time of the thread.
// usage: gradwalk-bench-emit [--smoke]     --smoke compares the results and measures nothing
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>

#include "hand.h"

// Emitted by generate.cpp.
extern "C" {
double arm_gradient(const double* parameters, const double* inputs, double* gradient, double* work);
double camera_gradient(const double* parameters, const double* inputs, double* gradient, double* work);
double imu_gradient(const double* parameters, const double* inputs, double* gradient, double* work);
double quaternion_gradient(const double* parameters, const double* inputs, double* gradient, double* work);
}

namespace {

using Hand = double (*)(const double*, const double*, double*);
using Emitted = double (*)(const double*, const double*, double*, double*);
struct Case {
  const char* name;
  Hand hand;
  Emitted emitted;
  std::size_t parameters, inputs, calls;
};

double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Each call depends on the one before, so that calls do not overlap.
template <class Call> double seconds(std::size_t calls, std::vector<double>& p, const Call& call) {
  const double start = now();
  for (std::size_t i = 0; i < calls; ++i) p[0] += 1e-30 * call();
  return (now() - start) / static_cast<double>(calls);
}

bool run(const Case& one, bool is_smoke) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<> any(-1, 1);
  std::vector<double> p(one.parameters), x(one.inputs), by_hand(one.parameters), emitted(one.parameters), work(4096);
  for (double& number : p) number = any(random);
  for (double& number : x) number = any(random);
  if (std::strcmp(one.name, "camera") == 0) p[6] = 5, x[4] = 0.5;
  const double value = one.hand(p.data(), x.data(), by_hand.data());
  const double other = one.emitted(p.data(), x.data(), emitted.data(), work.data());
  double error = std::abs(value - other), size = std::abs(value);
  for (std::size_t i = 0; i < p.size(); ++i)
    error = std::max(error, std::abs(by_hand[i] - emitted[i])), size = std::max(size, std::abs(by_hand[i]));
  const bool agrees = error <= 1e-12 * size;
  if (!agrees) std::printf("%s: the results differ by %g\n", one.name, error);
  if (is_smoke || !agrees) return agrees;
  double hand_time = 1, emitted_time = 1;
  for (int i = 0; i < 200; ++i) {
    hand_time =
        std::min(hand_time, seconds(one.calls, p, [&] { return one.hand(p.data(), x.data(), by_hand.data()); }));
    emitted_time =
        std::min(emitted_time,
                 seconds(one.calls, p, [&] { return one.emitted(p.data(), x.data(), emitted.data(), work.data()); }));
  }
  std::printf("%-12s by hand %7.1f ns   emitted %7.1f ns   ratio %.2f\n", one.name, 1e9 * hand_time, 1e9 * emitted_time,
              emitted_time / hand_time);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  const Case cases[]{{"camera", hand_camera, camera_gradient, 16, 5, 2000},
                     {"imu", hand_imu, imu_gradient, 9, 123, 200},
                     {"quaternion", hand_quaternion, quaternion_gradient, 7, 3, 4000},
                     {"arm", hand_arm, arm_gradient, 6, 3, 1000}};
  bool agrees = true;
  for (const Case& one : cases) agrees &= run(one, is_smoke);
  return agrees ? 0 : 1;
}
