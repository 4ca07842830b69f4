// SPDX-License-Identifier: MIT
// Checks that the variants of a case agree, and times them in turns.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "measure.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int runs_per_turn = 3;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool nearly_equal(double x, double y, const Tolerance& tolerance) {
  return std::abs(x - y) <= tolerance.relative * std::max(std::abs(x), std::abs(y)) + tolerance.absolute;
}

// Returns the time of the fastest of a few runs in a row. The first run is not counted, because the caches still
// contain the memory of another variant.
double turn(Task& task) {
  task.prepare();
  task.run();
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs_per_turn; ++i) {
    task.prepare();
    const Clock::time_point start = Clock::now();
    task.run();
    fastest = std::min(fastest, seconds_since(start));
  }
  return fastest;
}

}  // namespace

void check_results(const Case& c) {
  struct Result {
    double number;
    const Variant* from;  // the first variant with this result
  };
  std::vector<Result> expected;
  for (const Variant& variant : c.variants) {
    const std::unique_ptr<Task> task = variant.start();
    task->prepare();
    task->run();
    const std::vector<double> got = task->results();
    if (got.empty()) continue;  // this variant has no results
    for (std::size_t i = expected.size(); i < got.size(); ++i) expected.push_back({got[i], &variant});
    // A gradient may be a sum that cancels. Then its error is the rounding of its terms.
    double largest = 0;
    for (const double number : got) largest = std::max(largest, std::abs(number));
    Tolerance tolerance = c.tolerance;
    tolerance.absolute += 16 * std::numeric_limits<double>::epsilon() * largest;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (i < got.size() && nearly_equal(got[i], expected[i].number, tolerance)) continue;
      throw Disagreement(
          fmt::format("{}: needs equal results, got {:.17g} from {} and {:.17g} from {} at number {}; "
                      "nothing was timed",
                      c.name, expected[i].number, expected[i].from->name,
                      i < got.size() ? got[i] : std::numeric_limits<double>::quiet_NaN(), variant.name, i));
    }
  }
  if (!c.known) return;
  for (const Known& known : c.known()) {
    const Result& result = expected.at(known.result);
    if (std::abs(result.number - known.number) <= known.tolerance) continue;
    throw Disagreement(
        fmt::format("{}: needs {:.17g} within {:.2g} at number {}, got {:.17g} from {}; nothing was timed", c.name,
                    known.number, known.tolerance, known.result, result.number, result.from->name));
  }
}

std::vector<double> measure_time(const Case& c, const Budget& budget) {
  const std::size_t count = c.variants.size();
  std::vector<std::unique_ptr<Task>> tasks(count);
  std::vector<double> fastest(count, std::numeric_limits<double>::infinity());
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < budget.rounds || seconds_since(start) < budget.seconds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      if (tasks[i] == nullptr) tasks[i] = c.variants[i].start();
      fastest[i] = std::min(fastest[i], turn(*tasks[i]));
      if (c.alone) tasks[i].reset();
    }
  }
  for (std::size_t i = 0; i < count; ++i) fastest[i] *= 1e9 / c.variants[i].ops;
  return fastest;
}

}  // namespace bench
