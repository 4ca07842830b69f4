// SPDX-License-Identifier: MIT
// Measures how long something takes: wall-clock time, and processor time summed over the cores.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <string>

namespace gradwalk::cli {

struct Duration {
  double seconds = 0, processor = 0;
};

// Adds its lifetime to a duration.
class Stopwatch {
 public:
  explicit Stopwatch(Duration& sum) : sum_(sum) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    sum_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    sum_.processor += static_cast<double>(std::clock() - processor_) / CLOCKS_PER_SEC;
  }

 private:
  Duration& sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::clock_t processor_ = std::clock();
};

inline std::string in_words(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.2g} ms", 1000 * seconds);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", 1000 * seconds);
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  const double minutes = seconds / 60;
  return minutes < 100 ? fmt::format("{:.0f} min", minutes) : fmt::format("{:.0f} h", minutes / 60);
}

}  // namespace gradwalk::cli
