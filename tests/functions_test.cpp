// SPDX-License-Identifier: MIT
// The errors of the vector functions, on every instruction set of the machine. Each row states what the table of
// src/compile/functions-inl.hpp states: the largest error in ulp, and the range. `./test long` draws 2 million numbers
// per row, as the table did.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "compile/kernels.hpp"
#include "support.hpp"

namespace gradwalk::detail {
namespace {

using Wide = long double;

struct Range {
  double low, high;
};
struct Row {
  Op op;
  Wide (*function)(Wide x, Wide y);
  double error_float, error_double;
  Range x_float, x_double, y = {};
};

constexpr Range all_float{-3e38, 3e38}, all_double{-1e308, 1e308}, positive_float{0, 3e38}, positive_double{0, 1e308};
constexpr Range angle{-39000, 39000}, unit{-1, 1};

#define OF_X(name) Op::name, [](Wide x, Wide) { return std::name(x); }
#define OF_X_AND_Y(name) Op::name, [](Wide x, Wide y) { return std::name(x, y); }
const std::vector<Row> rows{
    {OF_X(exp), 0.98, 1.01, {-1e3, 88}, {-1e4, 709}},
    {OF_X(expm1), 3.41, 3.94, {-1e3, 88}, {-1e4, 709}},
    {OF_X(exp2), 0.51, 1.46, {-1e3, 1e3}, {-1021, 1021}},
    {OF_X(log), 0.94, 0.91, positive_float, positive_double},
    {OF_X(log1p), 2.39, 2.35, {-1, 3e38}, {-1, 1e308}},
    {OF_X(log2), 1.85, 1.77, positive_float, positive_double},
    {OF_X(log10), 2.09, 1.93, positive_float, positive_double},
    {OF_X(tanh), 2.78, 3.06, all_float, all_double},
    {OF_X(sinh), 3.08, 3.50, {-88, 88}, {-709, 709}},
    {OF_X(cosh), 1.41, 1.40, {-88, 88}, {-709, 709}},
    {OF_X(sin), 2.48, 2.69, angle, angle},
    {OF_X(cos), 2.38, 2.79, angle, angle},
    {OF_X(tan), 0.51, 1.81, angle, angle},
    {OF_X(asin), 2.48, 2.35, unit, unit},
    {OF_X(acos), 1.26, 1.22, unit, unit},
    {OF_X(atan), 2.53, 1.93, all_float, all_double},
    {OF_X(asinh), 2.88, 2.77, all_float, all_double},
    {OF_X(acosh), 3.43, 3.48, {1, 3e38}, {1, 1e308}},
    {OF_X(atanh), 2.96, 2.93, unit, unit},
    {OF_X(cbrt), 0.51, 0.67, all_float, all_double},
    {OF_X(erf), 0.51, 1.15, all_float, all_double},
    {OF_X(erfc), 0.52, 3.76, {-3e38, 30}, {-1e308, 26.5}},
    {OF_X_AND_Y(pow), 0.51, 1.37, positive_float, positive_double, {-3, 3}},
    {OF_X_AND_Y(pow), 0.51, 1.37, {0.9, 1.1}, {0.9, 1.1}, {-4000, 4000}},
    {OF_X_AND_Y(atan2), 3.20, 2.37, {-1e3, 1e3}, {-1e3, 1e3}, {-1e3, 1e3}},
    {OF_X_AND_Y(hypot), 1.17, 1.17, {-1e15, 1e15}, {-1e150, 1e150}, {-1e15, 1e15}},
};
#undef OF_X
#undef OF_X_AND_Y

// Returns a number of the range: either uniformly distributed, or with a uniformly distributed logarithm.
template <class T> T draw(std::mt19937_64& generator, Range range) {
  std::uniform_real_distribution<double> part(0, 1);
  if (generator() % 2 == 0) return static_cast<T>(range.low + (range.high - range.low) * part(generator));
  const double least = sizeof(T) == 4 ? -100 : -900,
               end = generator() % 2 == 0 && range.low < 0 ? range.low : range.high;
  const double power = least + (std::log2(std::abs(end)) - least) * part(generator);
  const double number = std::copysign(std::exp2(generator() % 2 == 0 ? power : power / 20), end);
  return static_cast<T>(std::clamp(number, range.low, range.high));
}

// Returns the error of a result in units of the last place of the right one.
template <class T> double error_of_result(T got, Wide want) {
  const T near = static_cast<T>(want);
  if (std::isnan(got) || std::isinf(got) || std::isinf(near) || std::isnan(near))
    return got == near || (std::isnan(got) && std::isnan(near)) ? 0 : std::numeric_limits<double>::infinity();
  const T size = std::max(std::abs(near), std::numeric_limits<T>::min());
  const T next = std::nextafter(size, std::numeric_limits<T>::infinity());
  return static_cast<double>(std::abs(static_cast<Wide>(got) - want) /
                             (static_cast<Wide>(next) - static_cast<Wide>(size)));
}

template <class T> class FunctionsOf : public testing::Test {};
using FloatAndDouble = testing::Types<float, double>;
TYPED_TEST_SUITE(FunctionsOf, FloatAndDouble);

TYPED_TEST(FunctionsOf, HaveTheErrorsThatTheirTableStates) {
  using T = TypeParam;
  const std::size_t n = tests::long_run() ? 2'000'000 : tests::sized(20'000, 2'000);
  std::mt19937_64 generator(11);
  for (const Row& row : rows) {
    const bool is_of_angle = row.op == Op::sin || row.op == Op::cos || row.op == Op::tan;
    if (is_of_angle && sizeof(T) == 8 && !tests::exact_angles) continue;  // there is nothing to compare with
    std::vector<T> x(n), y(n), got(n);
    std::vector<Wide> want(n);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = draw<T>(generator, sizeof(T) == 4 ? row.x_float : row.x_double);
      y[i] = row.y.high > 0 ? draw<T>(generator, row.y) : T{0};
      want[i] = row.function(static_cast<Wide>(x[i]), static_cast<Wide>(y[i]));
    }
    for (const std::string_view set : instruction_sets()) {
      if (set == "SCALAR") continue;  // the C++ library's functions
      const In<T> in[] = {{x.data()}, {y.data()}};
      kernels<T>(set).value(row.op)(n, in, got.data());
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < n; ++i)
        if (const double error = error_of_result(got[i], want[i]); error > worst) worst = error, at = i;
      // Half a hundredth for the rounding of the figures.
      EXPECT_LE(worst, (sizeof(T) == 4 ? row.error_float : row.error_double) + 0.005)
          << set << ": " << name(row.op) << " of " << x[at] << ", " << y[at] << ": " << got[at] << ", not " << want[at];
    }
  }
}

}  // namespace
}  // namespace gradwalk::detail
