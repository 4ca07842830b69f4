// SPDX-License-Identifier: MIT
// Goal: solve problems with exact, compiled derivatives. minimize() finds a minimum, fit() the parameters that explain
// measurements and their standard errors, root() a zero. The program finds the minimum of a valley by three methods,
// the orbit of a planet from 2,000 measured positions with an error of 0.01 each, by Kepler's equation where that
// planet is a year and a half later, and a decay from 10,000 measurements, one row each.
#include <cmath>
#include <cstdio>
#include <gradwalk/gradwalk.hpp>
#include <gradwalk/solve.hpp>
#include <numbers>

using namespace gradwalk;

// The Rosenbrock function: a curved valley with steep walls and an almost flat floor.
Value valley(const std::vector<Value>& x) { return 100 * pow(x[1] - x[0] * x[0], 2) + pow(1 - x[0], 2); }

// Returns the positions of a planet after each time step of 0.01. A sun at (0, 0) attracts it. T is double or Value.
template <class T> std::vector<T> orbit(const std::vector<T>& parameters, int steps) {
  T pull = parameters[0], x = parameters[1], y = parameters[2], u = parameters[3], v = parameters[4];
  std::vector<T> places;
  for (int i = 0; i < steps; ++i) {
    x += 0.005 * u;
    y += 0.005 * v;
    const T square = x * x + y * y, factor = 0.01 * pull / (square * sqrt(square));
    u -= factor * x;
    v -= factor * y;
    x += 0.005 * u;
    y += 0.005 * v;
    places.push_back(x);
    places.push_back(y);
  }
  return places;
}

void minimum() {
  for (const auto& [name, method] :
       {std::pair{"BFGS", Method::bfgs}, {"L-BFGS", Method::lbfgs}, {"Newton", Method::newton}}) {
    const Minimum found = minimize(valley, {-1.2, 1.0}, {.method = method});
    std::printf("%-7s (%.8f, %.8f), %s\n", name, found.x[0], found.x[1], gradwalk::name(found.stop).data());
  }
}

Fit planet(const std::vector<double>& seen) {
  const auto residuals = [&](const std::vector<Value>& parameters) {
    std::vector<Value> all = orbit(parameters, static_cast<int>(seen.size() / 2));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] -= seen[i];
    return all;
  };
  return fit(residuals, {1.02, 0.99, 0.01, 0.12, 1.09});
}

// Each row has a time and a measurement.
Fit decay(const std::vector<std::vector<double>>& rows) {
  const auto residual = [](const std::vector<Value>& p, const std::vector<Value>& row) {
    return p[0] * exp(-p[1] * row[0]) + p[2] - row[1];
  };
  const Fit curve = fit(residual, rows, {1, 1, 0});
  return curve;
}

int main() {
  minimum();

  const std::vector<double> truth{1, 1, 0, 0.1, 1.1};
  std::vector<double> seen = orbit(truth, 2000);
  Random random(1);
  for (double& place : seen) place += random.normal(0, 0.01);
  const Fit found = planet(seen);
  const char* const names[]{"pull", "x", "y", "dx/dt", "dy/dt"};
  for (std::size_t i = 0; i < truth.size(); ++i)
    std::printf("%-7s %8.5f +- %.5f (true value %3.1f)\n", names[i], found.x[i], found.standard_errors[i], truth[i]);
  std::printf("standard deviation of a position: %.4f; %s\n", found.deviation,
              found.compiled ? "compiled" : found.not_compiled.c_str());

  // The mean anomaly M grows evenly. The angle E of the planet solves E - e sin(E) = M.
  const double eccentricity = 0.224, mean_anomaly = 3 * std::numbers::pi + 0.5;
  const Root angle = root([&](const Value& e) { return e - eccentricity * sin(e) - mean_anomaly; }, mean_anomaly);
  std::printf("E = %.12f, %s\n", angle.x[0], name(angle.stop).data());

  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 10000; ++i) {
    const double t = 0.0004 * i;
    rows.push_back({t, 2.5 * std::exp(-1.3 * t) + 0.5 + random.normal(0, 0.02)});
  }
  const Fit curve = decay(rows);
  std::printf("decay: %.3f exp(-%.3f t) + %.3f; the function was called %s\n", curve.x[0], curve.x[1], curve.x[2],
              curve.recordings < 50 ? "on a few rows" : "on all rows");
}
