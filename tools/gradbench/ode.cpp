// SPDX-License-Identifier: MIT
// ode: solves a linear system of differential equations by the Runge-Kutta method. The gradient is that of the last
// value.
#include "../../bench/objectives/ode.hpp"

#include "gradient.hpp"

namespace gradbench {
namespace {

struct Ode {
  explicit Ode(const Input& input) : x(input.numbers("x")), steps(static_cast<int>(input.count("s"))) {}
  Numbers x;
  int steps;
  template <class T> T operator()(const std::vector<T>& at) const { return bench::ode(at, steps); }
  Numbers gradient_by_hand() const;
  static void write_gradient(gradwalk::JsonWriter& json, const Numbers& gradient) { write(json, gradient); }
};

// The backward pass of a stage k = f(place), with f_0 = x_0 and f_i = x_i place_(i-1): from the gradient by k it
// computes the gradients by x and by place. The latter is also part of the gradient by y.
void stage_back(const Numbers& x, const Numbers& place, const Numbers& by_k, Numbers& by_x, Numbers& by_place,
                Numbers& by_y) {
  const std::size_t n = x.size();
  by_x[0] += by_k[0];
  for (std::size_t i = 1; i < n; ++i) by_x[i] += by_k[i] * place[i - 1];
  for (std::size_t i = 1; i < n; ++i) by_place[i - 1] = by_k[i] * x[i];
  by_place[n - 1] = 0;
  for (std::size_t i = 0; i < n; ++i) by_y[i] += by_place[i];
}

Numbers Ode::gradient_by_hand() const {
  const std::size_t n = x.size();
  const double h = 2.0 / steps;
  struct Step {  // the points of the four stages
    Numbers y, second, third, fourth;
  };
  std::vector<Step> path;
  Numbers y(n), k1(n), k2(n), k3(n), k4(n);
  const auto moved = [&](double by, const Numbers& k) {
    Numbers place = y;
    for (std::size_t i = 0; i < n; ++i) place[i] += by * k[i];
    return place;
  };
  for (int step = 0; step < steps; ++step) {
    Step& at = path.emplace_back();
    at.y = y;
    bench::slope(x, at.y, k1);
    at.second = moved(h / 2, k1);
    bench::slope(x, at.second, k2);
    at.third = moved(h / 2, k2);
    bench::slope(x, at.third, k3);
    at.fourth = moved(h, k3);
    bench::slope(x, at.fourth, k4);
    for (std::size_t i = 0; i < n; ++i) y[i] += h * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) / 6;
  }

  Numbers by_x(n), by_y(n), by_k(n), by_place(n);
  by_y[n - 1] = 1;
  while (!path.empty()) {
    const Step& at = path.back();
    const Numbers by_end = by_y;
    // The gradient by each k comes from its share of the step, and from the point of the next stage.
    const auto back = [&](double share, double by, const Numbers& place) {
      for (std::size_t i = 0; i < n; ++i) by_k[i] = share * by_end[i] + by * by_place[i];
      stage_back(x, place, by_k, by_x, by_place, by_y);
    };
    back(h / 6, 0, at.fourth);
    back(h / 3, h, at.third);
    back(h / 3, h / 2, at.second);
    back(h / 6, h / 2, at.y);
    path.pop_back();
  }
  return by_x;
}

// Returns all values; Primal returns the last.
class Path final : public Task {
 public:
  explicit Path(const Input& input) : ode_(input) {}
  void run() override { end_ = bench::ode_end(ode_.x, ode_.steps); }
  void write(gradwalk::JsonWriter& json) const override { gradbench::write(json, end_); }

 private:
  Ode ode_;
  Numbers end_;
};

}  // namespace

const std::map<std::string, MakeTask> functions{{"primal", task<Path>()}, {"gradient", task<Gradient<Ode>>()}};

}  // namespace gradbench
