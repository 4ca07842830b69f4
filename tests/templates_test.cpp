// SPDX-License-Identifier: MIT
// Templates written for double, in the style of numeric libraries: a controlled ODE stepper as in Boost.odeint, and a
// quasi-Newton minimizer as in LBFGS++. With Value as the number type they compute the same numbers, and gradients pass
// through them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "gradwalk/derivatives.hpp"
#include "support.hpp"

namespace gradwalk::tests {
namespace {

// Bogacki and Shampine's stepper of order 3 with an error estimate, and the control of its step size.
template <class State, class Time = typename State::value_type> class ControlledStepper {
 public:
  using value_type = typename State::value_type;
  ControlledStepper(value_type absolute, value_type relative) : absolute_(absolute), relative_(relative) {}

  template <class System> bool try_step(System system, State& x, Time& t, Time& dt) {
    using std::abs, std::max, std::min, std::pow;
    const value_type half = value_type(1) / value_type(2), three_quarters = static_cast<value_type>(3) / 4;
    State k1{}, k2{}, k3{}, k4{}, next{}, middle{};
    system(x, k1, t);
    for (std::size_t i = 0; i < x.size(); ++i) middle[i] = x[i] + dt * half * k1[i];
    system(middle, k2, t + half * dt);
    for (std::size_t i = 0; i < x.size(); ++i) middle[i] = x[i] + dt * three_quarters * k2[i];
    system(middle, k3, t + three_quarters * dt);
    for (std::size_t i = 0; i < x.size(); ++i)
      next[i] = x[i] + dt * (value_type(2) * k1[i] + value_type(3) * k2[i] + value_type(4) * k3[i]) / value_type(9);
    system(next, k4, t + dt);
    value_type error = value_type();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const value_type estimate = dt * (-5 * k1[i] / 72 + k2[i] / 12 + k3[i] / 9 - k4[i] / 8);
      error = max(error, value_type(abs(estimate) / (absolute_ + relative_ * max(abs(x[i]), abs(next[i])))));
    }
    error = max(error, std::numeric_limits<value_type>::epsilon());
    const Time factor = static_cast<value_type>(9) / 10 * pow(error, value_type(-1) / value_type(3));
    if (error > 1) {
      dt *= max(factor, Time(0.2));
      return false;
    }
    t += dt;
    x = next;
    dt *= min(factor, Time(5));
    return true;
  }

 private:
  value_type absolute_, relative_;
};

// Returns x(1) of the oscillator x'' = -stiffness * x with x(0) = 1 and x'(0) = 0, which is cos(sqrt(stiffness)).
template <class T> T oscillator_at_one(const T& stiffness) {
  using State = std::array<T, 2>;
  const auto system = [&](const State& x, State& slope, const T& /* t */) {
    slope[0] = x[1];
    slope[1] = -stiffness * x[0];
  };
  ControlledStepper<State> stepper(1e-9, 1e-9);
  State x{T(1), T(0)};
  T t = 0, dt = 0.01;
  for (int tries = 0; t < 1 && tries < 10000; ++tries) {
    if (t + dt > 1) dt = 1 - t;
    stepper.try_step(system, x, t, dt);
  }
  return x[0];
}

// Minimizes f by BFGS with a backtracking line search. f writes its gradient, as in LBFGS++.
template <class Scalar, class Function> int minimize_in_place(const Function& f, std::vector<Scalar>& x, Scalar& fx) {
  using std::abs, std::max, std::sqrt;
  using Vector = std::vector<Scalar>;
  const Scalar eps = std::numeric_limits<Scalar>::epsilon();
  const std::size_t n = x.size();
  const auto dot = [n](const Vector& a, const Vector& b) {
    Scalar sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  };
  std::vector<Vector> steps, changes;  // the history of x and of the gradient
  Vector grad(n), drt(n), xp(n), gradp(n);
  fx = f(x, grad);
  for (int k = 1; k < 100; k++) {
    if (sqrt(dot(grad, grad)) <= 1e-10 * max(Scalar(1), sqrt(dot(x, x)))) return k;
    for (std::size_t i = 0; i < n; ++i) drt[i] = -grad[i];
    std::vector<Scalar> alpha(steps.size());
    for (std::size_t j = steps.size(); j-- > 0;) {
      alpha[j] = dot(steps[j], drt) / dot(steps[j], changes[j]);
      for (std::size_t i = 0; i < n; ++i) drt[i] -= alpha[j] * changes[j][i];
    }
    for (std::size_t j = 0; j < steps.size(); ++j) {
      const Scalar beta = dot(changes[j], drt) / dot(steps[j], changes[j]);
      for (std::size_t i = 0; i < n; ++i) drt[i] += (alpha[j] - beta) * steps[j][i];
    }
    xp = x;
    gradp = grad;
    const Scalar fx_init = fx, dg_init = dot(grad, drt);
    Scalar step = k == 1 ? Scalar(1) / sqrt(dot(grad, grad)) : Scalar(1.0);
    for (int tries = 0; tries < 40; ++tries, step *= Scalar(0.5)) {
      for (std::size_t i = 0; i < n; ++i) x[i] = xp[i] + step * drt[i];
      fx = f(x, grad);
      if (fx <= fx_init + Scalar(1e-4) * step * dg_init) break;
    }
    Vector s(n), y(n);
    for (std::size_t i = 0; i < n; ++i) s[i] = x[i] - xp[i], y[i] = grad[i] - gradp[i];
    if (dot(s, y) > eps * dot(y, y)) {
      steps.push_back(s);
      changes.push_back(y);
    }
  }
  return 100;
}

// Returns the first coordinate of the minimum of (x - a)^2 + 2 (y - x)^2 + (y - 1)^4, a function of `a`.
template <class T> T minimizer(const T& a) {
  const auto f = [&](const std::vector<T>& x, std::vector<T>& grad) {
    const T u = x[0] - a, v = x[1] - x[0], w = x[1] - 1;
    grad[0] = 2 * u - 4 * v;
    grad[1] = 4 * v + 4 * w * w * w;
    return T(u * u + 2 * v * v + w * w * w * w);
  };
  std::vector<T> x(2, T(0));
  x[1] = 0.5;
  T fx = 0;
  minimize_in_place(f, x, fx);
  return x[0];
}

TEST(ATemplateForDouble, IntegratesAnEquationOfValues) {
  Value stiffness{2.0};
  Value end = oscillator_at_one(stiffness);
  EXPECT_NEAR(end.data(), oscillator_at_one(2.0), 1e-14);
  EXPECT_NEAR(end.data(), std::cos(std::sqrt(2.0)), 1e-8);
  end.backward();
  EXPECT_NEAR(stiffness.grad(), -std::sin(std::sqrt(2.0)) / (2 * std::sqrt(2.0)), 1e-6);
}

TEST(ATemplateForDouble, MinimizesAFunctionOfValues) {
  Value a{2.0};
  Value best = minimizer(a);
  EXPECT_NEAR(best.data(), minimizer(2.0), 1e-12);
  best.backward();
  EXPECT_NEAR(a.grad(), (minimizer(2 + 1e-4) - minimizer(2 - 1e-4)) / 2e-4, 1e-5);
}

}  // namespace
}  // namespace gradwalk::tests
