// SPDX-License-Identifier: MIT
// What a benchmark case is, and the list of them.
//
// A case is one piece of work in several variants. The first variant is the baseline: times are ratios to its time.
// Variants must agree on every result that more than one of them gives, a later one giving at least as many as those
// before it, or none. Limits are the bars and goals the project set itself.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;
  virtual void prepare() {}  // before each run, not timed
  virtual void run() = 0;    // what is timed; what is made once is made by the constructor
  virtual std::vector<double> results() const = 0;
};

struct Limits {
  std::optional<double> ratio = {};        // to another variant, at most
  std::optional<double> goal = {};         // the ratio we would like
  std::optional<double> bytes = {};        // an op, at most
  std::string to = {};                     // which variant; empty: the baseline; where it is not there, no limit
  std::optional<double> to_baseline = {};  // at most, beside a ratio to another variant
  std::optional<double> ms = {};           // a run, at most: a promise to users, kept on any machine of today
};

struct Variant {
  std::string name;
  double ops = 0;  // scalar operations in one run, as micrograd counts nodes
  std::function<std::unique_ptr<Task>()> start;
  Limits limits = {};
};

// A result that is known without any variant, such as a derivative from differences.
struct Known {
  std::size_t result = 0;  // its place among the results
  double number = 0, tolerance = 0;
};

// By how much two variants' results may differ: a part of the number, and what numbers near 0 may differ by.
struct Tolerance {
  double relative = 1e-9, absolute = 0;
};

struct Case {
  std::string name;
  std::vector<Variant> variants;
  std::function<std::vector<Known>()> known = {};
  bool alone = false;  // no other variant's task may be alive while one is timed
  bool measure_memory = true;
  Tolerance tolerance = {};
  int steps = 0;  // of training in one run, where that is what it does
};

struct Sizes {
  int moons_steps = 20;
  int gpt_steps = 20;
  int mlp_steps = 20;
  long links = 1'000'000;
  long neurons = 100'000;
  long products = 1'000'000;
  long live_neurons = 10'000;
  int first_power = 6, last_power = 7;  // scaling: chains of 10^first ... 10^last links
  bool tiny = false;                    // objectives have one size to be timed and one to be tried

  static Sizes smoke() { return {2, 2, 2, 1'000, 100, 1'000, 50, 2, 4, true}; }
};

Case moons(const Sizes& sizes);
Case gpt(const Sizes& sizes);
Case gpt_float64(const Sizes& sizes);
Case gpt_float32(const Sizes& sizes);
Case chain(const Sizes& sizes);
Case neuron(const Sizes& sizes);
Case products(const Sizes& sizes);
Case scaling(const Sizes& sizes);
Case live_neurons(const Sizes& sizes);
Case reading(const Sizes& sizes);

Case gmm(const Sizes& sizes);
Case lstm(const Sizes& sizes);
Case det(const Sizes& sizes);
Case logsumexp(const Sizes& sizes);
Case ode(const Sizes& sizes);
Case llsq(const Sizes& sizes);
Case kmeans(const Sizes& sizes);
Case ba(const Sizes& sizes);

Case compiled_moons(const Sizes& sizes);
Case compiled_mlp(const Sizes& sizes);
Case compiled_mlp_2(const Sizes& sizes);
Case compiled_row(const Sizes& sizes);
Case compiled_small(const Sizes& sizes);

Case more_options(const Sizes& sizes);
Case more_kalman(const Sizes& sizes);
Case more_attraction(const Sizes& sizes);
Case more_inverse(const Sizes& sizes);
Case more_rosenbrock(const Sizes& sizes);
Case more_choices(const Sizes& sizes);
Case more_fibonacci(const Sizes& sizes);
Case more_horner(const Sizes& sizes);
Case more_walk(const Sizes& sizes);
Case more_heat(const Sizes& sizes);

// The engine's moons as the baseline of another case, whose op is to cost about as much; it has no results to compare.
Variant moons_op(const Sizes& sizes);

struct Entry {
  std::string_view name, about;
  Case (*make)(const Sizes& sizes);
};
std::span<const Entry> entries();

template <class T, class... Arguments> std::function<std::unique_ptr<Task>()> starting(Arguments... arguments) {
  return [=] { return std::make_unique<T>(arguments...); };
}

}  // namespace bench
