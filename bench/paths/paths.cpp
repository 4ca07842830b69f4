// SPDX-License-Identifier: MIT
// paths-barrier and its like: functions that branch on their data, over many rows: plain doubles without gradients, the
// engine, a Function that starts from nothing, and one that has seen the rows. An op is one row.
#include <gradwalk/function.hpp>
#include <gradwalk/gradwalk.hpp>

#include "../cases.hpp"
#include "../row_tasks.hpp"
#include "models.hpp"

namespace bench {
namespace {

using gradwalk::Function, gradwalk::Value;

// The adaptive ODE from spread starts, with loop() and with select() in place of branches.
struct OdeWithLoop : models::AdaptiveOde<false> {
  static double of(const std::vector<double>& p, const std::vector<double>& x) {
    return models::AdaptiveOde<false>::of(p, x);
  }
  static Value of(const std::vector<Value>& p, const std::vector<Value>& x) {
    using State = std::vector<Value>;
    const State last = gradwalk::loop(
        State{x[0], x[1], Value(0.0), Value(0.05)}, [](const State& s) { return s[2] < 1.5; },
        [&](const State& s) {
          const Value &y = s[0], &v = s[1], &t = s[2], h = select(t + s[3] > 1.5, 1.5 - t, s[3]);
          const Value a = p[0] * (1 - y * y) * v - p[1] * y, y1 = y + h * v, v1 = v + h * a;
          const Value b = p[0] * (1 - y1 * y1) * v1 - p[1] * y1, v2 = v + 0.5 * h * (a + b);
          const Value error = abs(v2 - v1), is_rejected(error > 0.01);
          return State{select(is_rejected, y, y + 0.5 * h * (v + v1)), select(is_rejected, v, v2),
                       select(is_rejected, t, t + h), select(is_rejected, 0.5 * h, select(error < 0.002, 2 * h, h))};
        });
    return last[0];
  }
};

// The same with branches.
struct OdeWithLoopThatBranches : models::AdaptiveOde<false> {
  static double of(const std::vector<double>& p, const std::vector<double>& x) {
    return models::AdaptiveOde<false>::of(p, x);
  }
  static Value of(const std::vector<Value>& p, const std::vector<Value>& x) {
    using State = std::vector<Value>;
    const State last = gradwalk::loop(
        State{x[0], x[1], Value(0.0), Value(0.05)}, [](const State& s) { return s[2] < 1.5; },
        [&](const State& s) {
          Value y = s[0], v = s[1], t = s[2], h = s[3];
          if (t + h > 1.5) h = 1.5 - t;
          const Value a = p[0] * (1 - y * y) * v - p[1] * y, y1 = y + h * v, v1 = v + h * a;
          const Value b = p[0] * (1 - y1 * y1) * v1 - p[1] * y1, v2 = v + 0.5 * h * (a + b);
          const Value error = abs(v2 - v1);
          if (error > 0.01) return State{y, v, t, 0.5 * h};
          if (error < 0.002) return State{y + 0.5 * h * (v + v1), v2, t + h, 2 * h};
          return State{y + 0.5 * h * (v + v1), v2, t + h, h};
        });
    return last[0];
  }
};

template <class Model> Function function_of(const std::vector<Value>& parameters) {
  return Function([parameters](const std::vector<Value>& x) { return Model::of(parameters, x); },
                  {.inputs = Model::inputs, .parameters = parameters});
}

template <class Model> class Cold final : public OfValues<Model> {
 public:
  using OfValues<Model>::OfValues;
  void run() override {
    Function function = function_of<Model>(this->parameters_);
    std::vector<double> gradient(this->parameters_.size());
    this->set_results(function.gradients(this->numbers_, gradient), gradient);
  }
};

template <class Model> class Warm final : public OfValues<Model> {
 public:
  explicit Warm(std::size_t rows) : OfValues<Model>(rows) {
    run();
    run();
  }
  void run() override {
    std::vector<double> gradient(this->parameters_.size());
    this->set_results(function_.gradients(this->numbers_, gradient), gradient);
  }

 private:
  Function function_ = function_of<Model>(this->parameters_);
};

// `least` is how many times as fast as the engine a warm Function must be, and `wanted` how many it should be. Runs of
// the engine are long: on a busy machine their times include other programs', so the ratios are too good there.
template <class Model>
Case paths_case(std::string name, const Sizes& sizes, std::size_t rows, double least, double wanted) {
  if (sizes.tiny) rows = 200;
  const double ops = static_cast<double>(rows);
  return {
      .name = std::move(name),
      .variants = {{"double", ops, starting<Doubles<Model>>(rows)},
                   {"eager", ops, starting<EagerRows<Model>>(rows)},
                   {"cold", ops, starting<Cold<Model>>(rows), {.ratio = 1 / 0.8, .goal = 1 / 0.9, .to = "eager"}},
                   {"warm", ops, starting<Warm<Model>>(rows), {.ratio = 1 / least, .goal = 1 / wanted, .to = "eager"}}},
      .measure_memory = false,
      .tolerance = {.relative = 1e-7, .absolute = 1e-7}};
}

}  // namespace

Case paths_barrier(const Sizes& sizes) { return paths_case<models::Barrier>("paths-barrier", sizes, 20'000, 6, 8); }
Case paths_volatility(const Sizes& sizes) {
  return paths_case<models::ImpliedVolatility>("paths-volatility", sizes, 20'000, 10, 12);
}
Case paths_ode_near(const Sizes& sizes) {
  return paths_case<models::AdaptiveOde<true>>("paths-ode-near", sizes, 20'000, 6, 6);
}
Case paths_ode_far(const Sizes& sizes) {
  return paths_case<models::AdaptiveOde<false>>("paths-ode-far", sizes, 20'000, 0.8, 6);
}
Case paths_ode_loop(const Sizes& sizes) { return paths_case<OdeWithLoop>("paths-ode-loop", sizes, 20'000, 6, 8); }
Case paths_ode_body(const Sizes& sizes) {
  return paths_case<OdeWithLoopThatBranches>("paths-ode-body", sizes, 20'000, 6, 8);
}
Case paths_rejection(const Sizes& sizes) {
  return paths_case<models::Rejection>("paths-rejection", sizes, 50'000, 10, 12);
}
Case paths_sort_3(const Sizes& sizes) { return paths_case<models::Sorting<3>>("paths-sort-3", sizes, 50'000, 12, 14); }
Case paths_sort_7(const Sizes& sizes) { return paths_case<models::Sorting<7>>("paths-sort-7", sizes, 50'000, 0.8, 1); }

}  // namespace bench
