// SPDX-License-Identifier: MIT
// Every operation of the table, in loops over the table: first, second and third derivatives against central
// differences at random points of its domain, and equal results for operands that are Values or numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support.hpp"

namespace gradwalk {
namespace {

using tests::sized;

struct OpCase {
  Op op;
  std::size_t operands;
  bool (*domain)(const Numbers&);
  Value (*apply)(const std::vector<Value>&);
  Value (*number_second)(const Value&, double);
  Value (*number_first)(double, const Value&);
  friend void PrintTo(const OpCase& op_case, std::ostream* out) { *out << name(op_case.op); }
};

const std::vector<OpCase> op_cases{
#define GRADWALK_UNARY(name, ...)                                        \
  {Op::name,                                                             \
   1,                                                                    \
   [](const Numbers& x) { return rules::Rule<Op::name>::domain(x[0]); }, \
   [](const std::vector<Value>& x) { return name(x[0]); },               \
   [](const Value& x, double) { return x.name(); },                      \
   nullptr},
#define GRADWALK_BINARY(name, ...)                                             \
  {Op::name,                                                                   \
   2,                                                                          \
   [](const Numbers& x) { return rules::Rule<Op::name>::domain(x[0], x[1]); }, \
   [](const std::vector<Value>& x) { return name(x[0], x[1]); },               \
   [](const Value& x, double y) { return name(x, y); },                        \
   [](double x, const Value& y) { return name(x, y); }},
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
};

double to_nearest_integer(double x) { return std::abs(x - std::round(x)); }

// Whether finite differences can be trusted around x: inside the domain, away from kinks, poles and cuts.
bool is_smooth_around(const OpCase& op_case, const Numbers& x) {
  constexpr double margin = 0.1;
  for (const double dx : {-margin, 0.0, margin})
    for (const double dy : {-margin, 0.0, margin})
      if (!op_case.domain({x[0] + dx, x[1] + dy})) return false;
  switch (op_case.op) {
    case Op::relu:
    case Op::abs:
    case Op::atan2: return std::abs(x[0]) > margin;
    case Op::copysign: return std::abs(x[0]) > margin && std::abs(x[1]) > margin;
    case Op::floor:
    case Op::ceil:
    case Op::trunc: return to_nearest_integer(x[0]) > margin;
    case Op::round: return to_nearest_integer(x[0] + 0.5) > margin;
    case Op::fmod: {
      const double times = x[0] / x[1];
      return std::abs(x[1]) > 0.5 && to_nearest_integer(times) * std::abs(x[1]) > margin * (2 + std::abs(times));
    }
    case Op::max:
    case Op::min:
    case Op::fmax:
    case Op::fmin:
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::not_equal: return std::abs(x[0] - x[1]) > margin;
    case Op::hypot: return std::abs(x[0]) > 0.5;
    case Op::div: return std::abs(x[1]) > 0.5;
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::sqrt:
    case Op::pow: return x[0] > 0.5;
    case Op::lgamma:
    case Op::digamma: return x[0] > 0.5 || to_nearest_integer(x[0]) > 0.2;
    case Op::cbrt: return std::abs(x[0]) > 0.5;
    case Op::acosh: return x[0] > 1.5;
    case Op::log1p: return x[0] > -0.5;
    case Op::asin:
    case Op::acos:
    case Op::atanh: return std::abs(x[0]) < 0.7;
    case Op::tan: return std::abs(std::cos(x[0])) > 0.5;
    default: return true;
  }
}

class EveryOp : public testing::TestWithParam<OpCase> {
 protected:
  // Calls f with many random points at which differences can be trusted.
  template <class F> void at_random_points(F f) const {
    std::mt19937 random{2024};
    std::uniform_real_distribution<double> anywhere(-3, 3);
    for (std::size_t points = 0; points < sized(200, 40);) {
      Numbers x{anywhere(random), anywhere(random)};
      if (!is_smooth_around(GetParam(), x)) continue;
      ++points;
      x.resize(GetParam().operands);
      f(x);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(op_cases),
                         [](const auto& test) { return std::string(name(test.param.op)); });

TEST_P(EveryOp, HasTheGradientOfItsValue) {
  if (GetParam().op == Op::stop) return;  // stop has no gradient.
  at_random_points([&](const Numbers& x) {
    const GradientCheck check = check_gradient(GetParam().apply, x, 1e-8);
    EXPECT_TRUE(check) << check.message << testing::PrintToString(x);
  });
}

TEST_P(EveryOp, HasTheSecondDerivativesOfItsValue) {
  for (std::size_t i = 0; i < GetParam().operands; ++i)
    at_random_points([&](const Numbers& x) {
      const ScalarFunction slope = [&](const std::vector<Value>& at) {
        return derivatives(GetParam().apply(at), at)[i];
      };
      const GradientCheck check = check_gradient(slope, x, 1e-7);
      EXPECT_TRUE(check) << check.message << testing::PrintToString(x);
    });
}

TEST_P(EveryOp, HasTheThirdDerivativesOfItsValue) {
  for (std::size_t i = 0; i < GetParam().operands; ++i)
    at_random_points([&](const Numbers& x) {
      const ScalarFunction bend = [&](const std::vector<Value>& at) {
        return derivatives(derivatives(GetParam().apply(at), at)[i], at)[0];
      };
      const GradientCheck check = check_gradient(bend, x, 1e-6);
      EXPECT_TRUE(check) << check.message << testing::PrintToString(x);
    });
}

TEST_P(EveryOp, IsTheSameWithAPlainNumberAsAnOperand) {
  at_random_points([&](const Numbers& at) {
    const std::vector<Value> x(at.begin(), at.end());
    const Value whole = GetParam().apply(x);
    whole.backward();
    const Value first{at[0]}, number_second = GetParam().number_second(first, at.back());
    number_second.backward();
    EXPECT_EQ(number_second.data(), whole.data());
    EXPECT_EQ(first.grad(), x[0].grad());
    if (GetParam().number_first == nullptr) return;
    const Value second{at[1]}, number_first = GetParam().number_first(at[0], second);
    number_first.backward();
    EXPECT_EQ(number_first.data(), whole.data());
    EXPECT_EQ(second.grad(), x[1].grad());
  });
}

TEST_P(EveryOp, HasOneSpellingEverywhere) {
  const std::vector<Value> x{0.5, 0.25};
  const Value node = GetParam().apply(x);
  EXPECT_EQ(node.op(), GetParam().op);
  EXPECT_EQ(node.op_name(), symbol(GetParam().op));
  EXPECT_EQ(node.inputs().size(), GetParam().operands);
  EXPECT_EQ(static_cast<std::size_t>(info(GetParam().op).operands), GetParam().operands);
}

TEST_P(EveryOp, OfNanIsNan) {
  if (is_comparison(GetParam().op)) return;  // 1 or 0, as for doubles
  const double nan = std::nan("");
  const auto is_nan = [&](std::vector<Value> x) { return std::isnan(GetParam().apply(x).data()); };
  const bool passes_over = GetParam().op == Op::fmax || GetParam().op == Op::fmin;  // as in <cmath>
  const bool takes_sign = GetParam().op == Op::copysign;
  EXPECT_EQ(is_nan({nan, 2}), !passes_over);
  EXPECT_TRUE(is_nan({nan, nan}));
  if (GetParam().operands == 2) {
    EXPECT_EQ(is_nan({2, nan}), !passes_over && !takes_sign);
  }
}

// The boundaries of all domains are among these points. A power of 0 with a negative exponent is a pole in its domain.
TEST_P(EveryOp, IsFiniteExactlyInItsDomain) {
  for (const double x : {-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0})
    for (const double y : {-2.0, -0.5, 0.0, 0.5, 1.0, 2.0}) {
      if (GetParam().op == Op::pow && x == 0 && y < 0) continue;
      const Value result = GetParam().apply({x, y});
      EXPECT_EQ(GetParam().domain({x, y}), std::isfinite(result.data())) << "at " << x << ", " << y;
    }
}

TEST_P(EveryOp, IsEvaluatedAgainByRecomputeToTheSameNumber) {
  at_random_points([&](const Numbers& at) {
    std::vector<Value> x(at.size());
    const Value node = GetParam().apply(x);
    for (std::size_t i = 0; i < x.size(); ++i) x[i].data() = at[i];
    recompute(node);
    const std::vector<Value> fresh(at.begin(), at.end());
    EXPECT_EQ(node.data(), GetParam().apply(fresh).data());
  });
}

TEST(OpTable, HasEveryOpOfTheDesign) {
  std::vector<std::string_view> names;
  for (const OpCase& op_case : op_cases) names.push_back(name(op_case.op));
  EXPECT_THAT(names, testing::UnorderedElementsAre(
                         "add", "sub", "mul", "div", "neg", "pow", "exp", "log", "sqrt", "tanh", "sigmoid", "relu",
                         "abs", "max", "min", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot", "sinh",
                         "cosh", "log1p", "expm1", "erf", "softplus", "less", "less_equal", "equal", "not_equal",
                         "stop", "exp2", "log2", "log10", "cbrt", "asinh", "acosh", "atanh", "erfc", "gelu", "floor",
                         "ceil", "round", "trunc", "fmod", "copysign", "fmax", "fmin", "lgamma", "digamma"));
}

}  // namespace
}  // namespace gradwalk
