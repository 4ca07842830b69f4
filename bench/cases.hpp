// SPDX-License-Identifier: MIT
// The benchmark cases.
//
// A case is one piece of work in several variants. The first variant is the baseline: times are ratios to its time.
// Variants must agree on their results. A later variant has at least as many results as the earlier ones, or none.
// Limits are the bars and goals of the project.
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

// The work of a variant. The constructor does what is done once and is not timed.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;
  virtual void prepare() {}  // called before each run, not timed
  virtual void run() = 0;    // timed
  virtual std::vector<double> results() const = 0;
};

// The limits of a variant, each at most.
struct Limits {
  std::optional<double> ratio = {};        // the ratio to the variant `to`
  std::optional<double> goal = {};         // the ratio that we would like
  std::optional<double> bytes = {};        // bytes per op
  std::string to = {};                     // a variant, or empty for the baseline; without this variant, no limit
  std::optional<double> to_baseline = {};  // the ratio to the baseline, if `to` is another variant
  std::optional<double> ms = {};           // the time of a run, which any current machine must reach
};

// Returns the limits of a program as a ratio to the time of the function itself.
inline Limits over_primal(double bar, double goal) { return {.ratio = bar, .goal = goal}; }

struct Variant {
  std::string name;
  double ops = 0;  // the scalar operations of one run, counted like micrograd's nodes
  std::function<std::unique_ptr<Task>()> start;
  Limits limits = {};
};

// A result that is known independently of the variants, such as a derivative from differences.
struct Known {
  std::size_t result = 0;  // its index among the results
  double number = 0, tolerance = 0;
};

// The allowed difference of two results: a part of the number, plus a constant for numbers near 0.
struct Tolerance {
  double relative = 1e-9, absolute = 0;
};

struct Case {
  std::string name;
  std::vector<Variant> variants;
  std::function<std::vector<Known>()> known = {};
  bool alone = false;  // true if the task of no other variant may exist while one is timed
  bool measure_memory = true;
  Tolerance tolerance = {};
  int steps = 0;  // the training steps of one run, or 0
};

struct Sizes {
  int moons_steps = 20;
  int gpt_steps = 20;
  int mlp_steps = 20;
  long links = 1'000'000;
  long neurons = 100'000;
  long products = 1'000'000;
  long live_neurons = 10'000;
  int first_power = 6, last_power = 7;  // for scaling: chains of 10^first to 10^last links
  bool tiny = false;                    // true selects the small size of objectives

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

Case function_pow(const Sizes& sizes);
Case function_erf(const Sizes& sizes);
Case function_erfc(const Sizes& sizes);
Case function_gelu(const Sizes& sizes);
Case function_cbrt(const Sizes& sizes);
Case function_atan2(const Sizes& sizes);

Case paths_barrier(const Sizes& sizes);
Case paths_volatility(const Sizes& sizes);
Case paths_ode_near(const Sizes& sizes);
Case paths_ode_far(const Sizes& sizes);
Case paths_ode_loop(const Sizes& sizes);
Case paths_ode_body(const Sizes& sizes);
Case paths_rejection(const Sizes& sizes);
Case paths_sort_3(const Sizes& sizes);
Case paths_sort_7(const Sizes& sizes);

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
// objectives/kinds.cpp
Case kind_pairs(const Sizes& sizes);
Case kind_gravity(const Sizes& sizes);
Case kind_chain(const Sizes& sizes);
Case kind_path(const Sizes& sizes);
Case kind_kalman(const Sizes& sizes);
Case kind_euler(const Sizes& sizes);
Case kind_heston(const Sizes& sizes);
Case kind_libor(const Sizes& sizes);
Case kind_data(const Sizes& sizes);
Case kind_embedding(const Sizes& sizes);
Case kind_mixed(const Sizes& sizes);

// Returns the engine's variant of moons, as the baseline of cases whose ops should cost about as much. It has no
// results.
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
