// SPDX-License-Identifier: MIT
// The kernels of compiled programs, on every instruction set of the machine, for float and double. They are compared
// with the scalar rules of the table and with plain loops, and must not write outside their outputs.
#include "compile/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"

namespace gradwalk::detail {
namespace {

constexpr std::size_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 33, 100};

template <class T> constexpr T inf = std::numeric_limits<T>::infinity();
template <class T> constexpr T nan = std::numeric_limits<T>::quiet_NaN();

// An output of n numbers between guards, which detect writes outside it. Inputs are vectors of their exact length, so
// that a sanitizer detects reads outside them.
template <class T> class Array {
 public:
  static constexpr std::size_t guard = 16;

  explicit Array(std::size_t n, T fill = T{0}) : n_(n), all_(n + 2 * guard, T{-77}) {
    for (T& x : *this) x = fill;
  }
  T* begin() { return all_.data() + guard; }
  T* end() { return begin() + n_; }
  T& operator[](std::size_t i) { return begin()[i]; }
  bool is_unharmed() const {
    for (std::size_t i = 0; i < guard; ++i)
      if (all_[i] != T{-77} || all_[guard + n_ + i] != T{-77}) return false;
    return true;
  }

 private:
  std::size_t n_;
  std::vector<T> all_;
};

template <class T> std::vector<T> numbers(std::size_t n, std::uint64_t seed, double low = -2, double high = 2) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> between(low, high);
  std::vector<T> result(n);
  for (T& x : result) x = static_cast<T>(between(generator));
  return result;
}

// Returns the error of `got` in units of the last place of `want`, or of `size` if that is larger.
template <class T> double error_in_ulp(T got, double want, double size = 0) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) == std::isnan(want) ? 0 : inf<double>;
  const T near = static_cast<T>(want);
  if (std::isinf(got) || std::isinf(near)) {
    // A number near the largest one may round to infinity.
    if (std::isinf(got) && std::isinf(near)) return got == near ? 0 : inf<double>;
    const T finite = std::isinf(got) ? near : got;
    return std::abs(finite) > std::numeric_limits<T>::max() * static_cast<T>(0.99999) ? 0 : inf<double>;
  }
  const T scale = std::max({std::abs(near), static_cast<T>(std::abs(size)), std::numeric_limits<T>::min()});
  const double ulp = static_cast<double>(scale) - static_cast<double>(std::nextafter(scale, T{0}));
  return std::abs(static_cast<double>(got) - want) / ulp;
}

// A rule of the table as a function of its operands and its result.
template <class T> struct RuleCase {
  Op op;
  std::size_t by;  // the operand of the derivative; `none` for the value
  T (*apply)(const T* in, T r);
};
constexpr std::size_t none = 9;

template <class T> const std::vector<RuleCase<T>> rule_cases{
#define GRADWALK_UNARY(name, ...)                                                       \
  {Op::name, none, [](const T* in, T) { return rules::Rule<Op::name>::value(in[0]); }}, \
      {Op::name, 0, [](const T* in, T r) { return rules::Rule<Op::name>::dx(in[0], r); }},
#define GRADWALK_BINARY(name, ...)                                                                \
  {Op::name, none, [](const T* in, T) { return rules::Rule<Op::name>::value(in[0], in[1]); }},    \
      {Op::name, 0, [](const T* in, T r) { return rules::Rule<Op::name>::dx(in[0], in[1], r); }}, \
      {Op::name, 1, [](const T* in, T r) { return rules::Rule<Op::name>::dy(in[0], in[1], r); }},
#define GRADWALK_TERNARY(name, ...)                                                                   \
  {Op::name, none, [](const T* in, T) { return rules::Rule<Op::name>::value(in[0], in[1], in[2]); }}, \
      {Op::name, 1, [](const T* in, T) { return rules::Rule<Op::name>::dx(in[0]); }},                 \
      {Op::name, 2, [](const T* in, T) { return rules::Rule<Op::name>::dy(in[0]); }},
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
};

std::size_t operands(Op op) { return static_cast<std::size_t>(info(op).operands); }

// Returns the largest intermediate result of a rule whose error the result inherits. A rule that subtracts, such as
// 1 - r * r, has the error of its terms, not of their difference.
double size_of(Op op, std::size_t by, const double* in, double r) {
  if (by == none) return op == Op::add || op == Op::sub ? std::abs(in[0]) + std::abs(in[1]) : 0;
  switch (op) {
    case Op::tanh:
    case Op::sigmoid:
    case Op::expm1: return 1 + std::abs(r);
    default: return 0;
  }
}

template <class T> class KernelsOf : public testing::Test {
 protected:
  // Runs f(kernels) for every instruction set.
  template <class F> void each_set(F f) {
    for (const std::string_view name : instruction_sets()) {
      SCOPED_TRACE(std::string(name));
      f(kernels<T>(name));
      if (this->HasFailure()) return;
    }
  }

  // Expects that a kernel, which reads its operands with these strides, is close to the scalar rule for every element.
  void expect_near(const Kernels<T>& k, const RuleCase<double>& rule, const std::vector<T>* operand,
                   const std::size_t* stride, std::size_t n, double tolerance) {
    In<T> in[3];
    for (std::size_t o = 0; o < operands(rule.op); ++o) in[o] = {operand[o].data(), stride[o]};
    const auto at = [&](std::size_t i, double* x) {
      for (std::size_t o = 0; o < operands(rule.op); ++o) x[o] = static_cast<double>(operand[o][i * stride[o]]);
    };
    const RuleCase<double>& value =
        *std::ranges::find_if(rule_cases<double>, [&](const RuleCase<double>& other) { return other.op == rule.op; });
    std::vector<T> r(n), g = numbers<T>(n, 5);
    Array<T> out(n, T{3});
    double x[3] = {};
    for (std::size_t i = 0; i < n; ++i) at(i, x), r[i] = static_cast<T>(value.apply(x, 0));
    if (rule.by == none) {
      k.value(rule.op)(n, in, out.begin());
    } else {
      const auto local = k.local(rule.op, rule.by);
      const bool is_dx = rule.by == (operands(rule.op) == 3 ? 1 : 0);
      ASSERT_EQ(local == nullptr, (is_dx ? info(rule.op).dx : info(rule.op).dy) == "0") << name(rule.op);
      if (local == nullptr) return;
      local(n, in, {r.data()}, {g.data()}, out.begin(), false);
    }
    ASSERT_TRUE(out.is_unharmed()) << name(rule.op) << " by " << rule.by;
    for (std::size_t i = 0; i < n; ++i) {
      at(i, x);
      const double rd = static_cast<double>(r[i]), factor = rule.by == none ? 1 : static_cast<double>(g[i]);
      const double want = rule.apply(x, rd) * factor;
      ASSERT_LE(error_in_ulp(out[i], want, size_of(rule.op, rule.by, x, rd) * factor), tolerance)
          << name(rule.op) << " by " << rule.by << " of " << x[0] << ", " << x[1] << ", " << x[2] << ": " << out[i]
          << ", not " << want << "; n = " << n;
    }
  }
};

using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(KernelsOf, Numbers);

TYPED_TEST(KernelsOf, FollowEveryRuleOfTheTable) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    for (const RuleCase<double>& rule : rule_cases<double>)
      for (const std::size_t n : lengths)
        for (const std::size_t strides : {0b111u, 0b110u, 0b101u, 0b000u}) {
          const std::size_t stride[] = {strides & 1, strides >> 1 & 1, strides >> 2 & 1};
          const double low = rule.op == Op::acosh ? 1.05 : 0.05;
          const std::vector<T> operand[] = {numbers<T>(n, 1, low, low + 0.9), numbers<T>(n, 2), numbers<T>(n, 3)};
          // 12 covers six roundings, Highway's own error, and a float rounding that a steep rule enlarges.
          this->expect_near(k, rule, operand, stride, n, 12);
          if (this->HasFailure()) return;
        }
  });
}

TYPED_TEST(KernelsOf, AreCloseToTheRulesOverTheWholeRange) {
  using T = TypeParam;
  const std::size_t n = tests::sized(20000, 2000), stride[] = {1, 1, 1};
  std::mt19937_64 generator(7);
  std::vector<T> operand[3];
  for (std::vector<T>& numbers_of_operand : operand)
    for (std::size_t i = 0; i < n; ++i) {
      const double size = std::uniform_real_distribution<double>(-60, sizeof(T) == 4 ? 7 : 10)(generator);
      numbers_of_operand.push_back(static_cast<T>((generator() % 2 == 0 ? 1 : -1) * std::exp2(size)));
    }
  this->each_set([&](const Kernels<T>& k) {
    for (const RuleCase<double>& rule : rule_cases<double>) {
      if (rule.by != none || operands(rule.op) > 1) continue;
      if (rule.op == Op::sigmoid || rule.op == Op::softplus || rule.op == Op::gelu)
        continue;  // their rules combine several functions
      const bool is_of_angle = rule.op == Op::sin || rule.op == Op::cos || rule.op == Op::tan;
      if (is_of_angle && sizeof(T) == 8 && !tests::exact_angles) continue;
      if (rule.op == Op::erfc && sizeof(T) == 4 && k.name == "SCALAR" && !tests::exact_erfc_of_floats) continue;
      this->expect_near(k, rule, operand, stride, n, 4.6);  // 4 for the kernel, 0.6 for the scalar function
    }
  });
}

template <class T> const std::vector<T> special_numbers{T{0},
                                                        -T{0},
                                                        T{1},
                                                        T{-1},
                                                        T{0.5},
                                                        T{2},
                                                        T{-3},
                                                        inf<T>,
                                                        -inf<T>,
                                                        nan<T>,
                                                        std::numeric_limits<T>::max(),
                                                        std::numeric_limits<T>::lowest(),
                                                        std::numeric_limits<T>::min(),
                                                        std::numeric_limits<T>::denorm_min(),
                                                        -std::numeric_limits<T>::denorm_min(),
                                                        T(1e-30),
                                                        T(1e30),
                                                        T(-1e30),
                                                        T(100),
                                                        T(-100),
                                                        T(1000),
                                                        T(-1000),
                                                        T(50000)};

template <class T> std::string kind(T x) {
  if (std::isnan(x)) return "NaN";
  return std::string(std::signbit(x) ? "-" : "+") + (x == 0 ? "0" : std::isinf(x) ? "inf" : "number");
}

TYPED_TEST(KernelsOf, KeepSpecialValuesAsTheScalarRulesDo) {
  using T = TypeParam;
  std::vector<T> operand[3];
  for (const T x : special_numbers<T>)
    for (const T y : special_numbers<T>)
      for (const T z : {T{0}, T{2}, nan<T>}) operand[0].push_back(x), operand[1].push_back(y), operand[2].push_back(z);
  const std::size_t n = operand[0].size();
  const In<T> in[] = {{operand[0].data()}, {operand[1].data()}, {operand[2].data()}};
  this->each_set([&](const Kernels<T>& k) {
    for (const RuleCase<T>& rule : rule_cases<T>) {
      std::vector<T> r(n), g(n, T{1}), out(n);
      k.value(rule.op)(n, in, r.data());
      if (rule.by == none)
        out = r;
      else if (k.local(rule.op, rule.by) == nullptr)
        continue;
      else
        k.local(rule.op, rule.by)(n, in, {r.data()}, {g.data()}, out.data(), false);
      for (std::size_t i = 0; i < n; ++i) {
        const T x[] = {operand[0][i], operand[1][i], operand[2][i]};
        const T want = rule.apply(x, r[i]);
        // The scalar rule computes y - 1 in double, which has no equal float.
        if (rule.op == Op::pow && rule.by == 0 && std::abs(x[1]) < static_cast<T>(1e-6) && sizeof(T) == 4) continue;
        ASSERT_EQ(kind(out[i]), kind(want)) << name(rule.op) << " by " << rule.by << " of " << x[0] << ", " << x[1]
                                            << ", " << x[2] << ": " << out[i] << ", not " << want;
      }
    }
  });
}

TYPED_TEST(KernelsOf, PassNoGradientOnIfItIsZeroAndKeepNaN) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    const std::vector<T> x{0, 0, 0, 4}, y{0, 0, 0, 2}, r(4), g{0, -T{0}, nan<T>, 1};
    const In<T> in[] = {{x.data()}, {y.data()}};
    std::vector<T> out(4);
    k.local(Op::div, 0)(4, in, {r.data()}, {g.data()}, out.data(), false);
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[1], 0);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_EQ(out[3], T{0.5});
    k.local(Op::div, 0)(4, in, {r.data()}, {g.data()}, out.data(), true);
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[3], 1);
    const std::vector<T> negative(4, T{-1});
    const In<T> of_relu[] = {{negative.data()}};
    k.local(Op::relu, 0)(4, of_relu, {r.data()}, {g.data()}, out.data(), false);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_EQ(out[3], 0);
    const std::vector<T> infinite(4, inf<T>), zero(4), one(4, T{1});
    const std::vector<Term<T>> passed{{{one.data()}, {g.data()}, {infinite.data()}}};
    k.sums_without_zeros(4, {}, passed, out.data());
    EXPECT_EQ(out[0], 0);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_EQ(out[3], inf<T>);
    const std::vector<Term<T>> nothing{{{zero.data()}, {one.data()}, {infinite.data()}}};
    k.sums_without_zeros(4, {}, nothing, out.data());
    EXPECT_EQ(out, std::vector<T>(4));
    EXPECT_EQ(k.pass_sum(4, {one.data()}, {zero.data()}, {infinite.data()}), 0);
    EXPECT_TRUE(std::isnan(k.dot(4, {one.data()}, {zero.data()}, {infinite.data()})));
  });
}

TYPED_TEST(KernelsOf, ReadOnlyTheOperandsThatARuleMentions) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    const std::vector<T> r{T{0.5}}, g{2};
    const In<T> nothing[3] = {};
    T out = 0;
    k.local(Op::tanh, 0)(1, nothing, {r.data()}, {g.data()}, &out, false);
    EXPECT_EQ(out, T{1.5});
    k.local(Op::add, 1)(1, nothing, {}, {g.data()}, &out, true);
    EXPECT_EQ(out, T{3.5});
  });
}

TYPED_TEST(KernelsOf, WriteInPlaceAndAccumulate) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    for (const std::size_t n : lengths) {
      const std::vector<T> x = numbers<T>(n, 1), y = numbers<T>(n, 2), g = numbers<T>(n, 3);
      std::vector<T> in_place = x, out(n), sum = y;
      const In<T> in[] = {{x.data()}, {y.data()}}, own[] = {{in_place.data()}, {y.data()}};
      k.value(Op::mul)(n, in, out.data());
      k.value(Op::mul)(n, own, in_place.data());
      EXPECT_EQ(out, in_place);
      k.local(Op::mul, 0)(n, in, {out.data()}, {g.data()}, sum.data(), true);
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(sum[i], y[i] + g[i] * y[i]);
      sum = y;
      k.add(n, x.data(), sum.data());
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(sum[i], x[i] + y[i]);
    }
  });
}

TYPED_TEST(KernelsOf, AddUpTermsWithAnyOfTheirThreeFactors) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    for (const std::size_t n : lengths) {
      const std::vector<T> x = numbers<T>(n, 1), y = numbers<T>(n, 2), z = numbers<T>(n, 3), start = numbers<T>(n, 4);
      const In<T> all[] = {{}, {x.data()}, {y.data(), 0}, {z.data()}};
      const auto read = [](In<T> in, std::size_t i) {
        return in.at == nullptr ? 1.0 : static_cast<double>(in.at[i * in.stride]);
      };
      std::vector<Term<T>> terms;
      for (const In<T>& f : all)
        for (const In<T>& a : all)
          for (const In<T>& b : all) terms.push_back({f, a, b});
      for (const In<T> from : {In<T>{}, In<T>{start.data()}, In<T>{start.data(), 0}}) {
        Array<T> out(n);
        k.sums(n, from, terms, out.begin());
        EXPECT_TRUE(out.is_unharmed());
        for (std::size_t i = 0; i < n; ++i) {
          double want = from.at == nullptr ? 0 : read(from, i);
          for (const Term<T>& term : terms) want += read(term.factor, i) * read(term.a, i) * read(term.b, i);
          EXPECT_LE(error_in_ulp(out[i], want, 256), 64);
        }
      }
      for (const In<T>& f : all)
        for (const In<T>& a : all)
          for (const In<T>& b : all) {
            double want = 0;
            Array<T> out(n, T{1});
            const std::vector<Term<T>> term{{f, a, b}};
            k.sums_without_zeros(n, {}, term, out.begin());
            EXPECT_TRUE(out.is_unharmed());
            for (std::size_t i = 0; i < n; ++i) {
              want += read(f, i) * read(a, i) * read(b, i);
              EXPECT_LE(error_in_ulp(out[i], read(f, i) * read(a, i) * read(b, i), 8), 4);
            }
            EXPECT_LE(error_in_ulp(k.dot(n, f, a, b), want, 800), 16);
            EXPECT_LE(error_in_ulp(k.pass_sum(n, f, a, b), want, 800), 16);
          }
      Array<T> out(n, T{5});
      k.sums(n, {}, {}, out.begin());
      for (const T sum : out) EXPECT_EQ(sum, 0);
    }
    EXPECT_EQ(k.dot(0, {}, {}, {}), 0);
  });
}

TYPED_TEST(KernelsOf, AddUpTermsOfSeveralVectorsInSteps) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    constexpr std::size_t vectors = 3;
    for (const std::size_t n : lengths) {
      const auto length = static_cast<std::ptrdiff_t>(n);
      const std::vector<T> x = numbers<T>(vectors * n, 1), y = numbers<T>(n, 2), c = numbers<T>(vectors, 3);
      const InSteps<T> factor{{c.data(), 0}, 1}, each{{x.data()}, length}, same{{y.data()}, 0},
          back{{x.data() + (vectors - 1) * n}, -length};
      const std::vector<TermInSteps<T>> terms{{factor, each, same}, {{}, back, {}}, {{}, each, each}};
      Array<T> out(vectors * (n + 1), T{9});
      k.sums_in_steps(vectors, n, factor, terms, out.begin(), n + 1);
      EXPECT_TRUE(out.is_unharmed());
      for (std::size_t v = 0; v < vectors; ++v) {
        for (std::size_t i = 0; i < n; ++i) {
          const double one = static_cast<double>(x[v * n + i]),
                       other = static_cast<double>(x[(vectors - 1 - v) * n + i]);
          const double want = static_cast<double>(c[v]) + static_cast<double>(c[v]) * one * static_cast<double>(y[i]) +
                              other + one * one;
          EXPECT_LE(error_in_ulp(out[v * (n + 1) + i], want, 8), 4);
        }
        EXPECT_EQ(out[v * (n + 1) + n], 9);
      }
    }
  });
}

TYPED_TEST(KernelsOf, SkipTermsThatAreZeroInSteps) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    const std::vector<T> zero(4), one(4, T{1}), infinite(4, inf<T>);
    const TermInSteps<T> skipped{{}, {{zero.data()}, 0}, {{infinite.data()}, 0}}, kept{{}, {{one.data()}, 0}, {}};
    const std::vector<TermInSteps<T>> terms{skipped, kept};
    std::vector<T> out(8, T{7});
    k.sums_in_steps_without_zeros(2, 4, {{nullptr, 0}, 0}, terms, out.data(), 4);
    EXPECT_EQ(out, std::vector<T>(8, T{1}));
  });
}

TYPED_TEST(KernelsOf, AddTheTermsOfAllRowsToTheSumsOfLanes) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    for (const std::size_t n : lengths) {
      const std::vector<T> x = numbers<T>(n, 1), y = numbers<T>(n, 2);
      const T factor = T{3};
      const std::vector<Term<T>> terms{{{&factor, 0}, {x.data()}, {y.data()}}, {{}, {x.data()}, {}}};
      Array<T> sums(k.lanes, T{2});
      k.row_sum(n, terms, sums.begin());
      EXPECT_TRUE(sums.is_unharmed());
      for (std::size_t lane = 0; lane < k.lanes; ++lane) {
        double want = 2, size = 2;
        for (std::size_t i = lane; i < n; i += k.lanes) {
          const double a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
          want += 3 * a * b + a;
          size += std::abs(3 * a * b) + std::abs(a);
        }
        EXPECT_NEAR(static_cast<double>(sums[lane]), want, 8 * size * std::numeric_limits<T>::epsilon());
      }
    }
  });
}

TYPED_TEST(KernelsOf, FindTheLargestTheSmallestAndNaN) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    for (const std::size_t n : lengths) {
      std::vector<T> x = numbers<T>(n, n);
      EXPECT_EQ(k.largest(n, x.data()), *std::ranges::max_element(x));
      EXPECT_EQ(k.smallest(n, x.data()), *std::ranges::min_element(x));
      EXPECT_FALSE(k.has_nan(n, x.data()));
      for (std::size_t i = 0; i < n; ++i) {
        const T before = std::exchange(x[i], inf<T>);
        EXPECT_FALSE(k.has_nan(n, x.data()));
        EXPECT_EQ(k.largest(n, x.data()), inf<T>);
        x[i] = nan<T>;
        EXPECT_TRUE(k.has_nan(n, x.data()));
        EXPECT_TRUE(std::isnan(k.largest(n, x.data())));
        EXPECT_TRUE(std::isnan(k.smallest(n, x.data())));
        x[i] = before;
      }
    }
    EXPECT_FALSE(k.has_nan(0, nullptr));
  });
}

TYPED_TEST(KernelsOf, GatherAndTranspose) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    const std::vector<T> x = numbers<T>(50, 1);
    for (const std::size_t n : lengths) {
      std::vector<std::uint32_t> at(n);
      for (std::size_t i = 0; i < n; ++i) at[i] = static_cast<std::uint32_t>(i * 37 % 50);
      Array<T> out(n);
      k.gather(n, x.data(), at.data(), out.begin());
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], x[at[i]]);
      EXPECT_TRUE(out.is_unharmed());
    }
    for (const std::size_t rows : lengths)
      for (const std::size_t columns : {1u, 2u, 3u, 4u, 5u, 8u, 13u, 33u}) {
        const std::vector<T> from = numbers<T>((rows - 1) * (columns + 2) + columns, rows);
        Array<T> to((columns - 1) * (rows + 3) + rows, T{9});
        k.transpose(rows, columns, from.data(), columns + 2, to.begin(), rows + 3);
        EXPECT_TRUE(to.is_unharmed());
        for (std::size_t j = 0; j < columns; ++j) {
          for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(to[j * (rows + 3) + i], from[i * (columns + 2) + j]);
          for (std::size_t i = rows; i < rows + 3 && j + 1 < columns; ++i) ASSERT_EQ(to[j * (rows + 3) + i], T{9});
        }
      }
  });
}

// A matrix product with its numbers. If it is indexed, the rows of X are in another order.
template <class T> struct ProductCase {
  std::vector<T> a, x, bias;
  std::vector<std::uint32_t> order;
  MatrixProduct<T> p;

  ProductCase(std::size_t rows, std::size_t depth, std::size_t columns, bool turned, bool indexed)
      : a(numbers<T>(rows * depth + 1, 1)), x(numbers<T>(depth * (columns + 1) + 1, 2)), bias(numbers<T>(2 * rows, 3)) {
    for (std::size_t t = 0; t < depth; ++t) order.push_back(static_cast<std::uint32_t>(depth - 1 - t));
    p.rows = rows, p.depth = depth, p.columns = columns;
    p.a = a.data(), p.a_row = turned ? 1 : depth, p.a_column = turned ? rows : 1;
    p.x = x.data(), p.x_row = columns + 1, p.x_rows = indexed ? order.data() : nullptr;
    p.y_row = columns + 2;
  }
  std::size_t size() const { return p.rows * p.y_row; }
  double want(std::size_t i, std::size_t j, double before) const {
    double sum = p.add ? before : p.bias != nullptr ? static_cast<double>(p.bias[i * p.bias_step]) : 0;
    for (std::size_t t = 0; t < p.depth; ++t) {
      const double xt = static_cast<double>(p.x[(p.x_rows == nullptr ? t : p.x_rows[t]) * p.x_row + j]);
      if (!p.skip_zeros || xt != 0) sum += static_cast<double>(p.a[i * p.a_row + t * p.a_column]) * xt;
    }
    return p.relu ? rules::Rule<Op::relu>::value(sum) : sum;
  }
};

constexpr std::size_t heights[] = {1, 2, 3, 5, 6, 7, 13, 16}, depths[] = {0, 1, 2, 9, 113, 230},
                      widths[] = {1, 3, 8, 15, 16, 17, 40, 65, 104};

TYPED_TEST(KernelsOf, MultiplyMatrices) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    std::size_t variant = 0;
    for (const std::size_t rows : heights)
      for (const std::size_t depth : depths)
        for (const std::size_t columns : widths) {
          ++variant;
          ProductCase<T> c(rows, depth, columns, variant % 2 == 1, variant % 3 == 1);
          if (variant % 4 != 0) c.p.bias = c.bias.data(), c.p.bias_step = variant % 3;
          c.p.add = variant % 5 == 0;
          c.p.relu = variant % 7 < 2;
          c.p.skip_zeros = variant % 11 == 0;
          Array<T> y(c.size(), T{2});
          c.p.y = y.begin();
          k.product(c.p);
          ASSERT_TRUE(y.is_unharmed());
          for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < c.p.y_row; ++j) {
              const double got = static_cast<double>(y[i * c.p.y_row + j]), want = j < columns ? c.want(i, j, 2) : 2;
              ASSERT_NEAR(got, want, (4.0 * static_cast<double>(depth) + 4) * std::numeric_limits<T>::epsilon())
                  << rows << " x " << depth << " x " << columns << " at " << i << ", " << j;
            }
        }
  });
}

TYPED_TEST(KernelsOf, MultiplyToTheSameBitsForAnySplitOfAProduct) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    ProductCase<T> c(13, 230, 5 * k.lanes + 3, false, false);
    c.p.bias = c.bias.data();
    c.p.relu = true;
    std::vector<T> whole(c.size()), cut(c.size());
    c.p.y = whole.data();
    k.product(c.p);
    c.p.y = cut.data();
    for (std::size_t at = 1; at < 13; ++at) {
      std::ranges::fill(cut, T{0});
      MatrixProduct<T> first = c.p, second = c.p;
      first.rows = at;
      second.rows -= at, second.a += at * second.a_row, second.y += at * second.y_row, second.bias += at;
      k.product(first);
      k.product(second);
      EXPECT_EQ(whole, cut) << at << " rows first";
    }
    for (std::size_t at = k.lanes; at < c.p.columns; at += k.lanes) {
      std::ranges::fill(cut, T{0});
      MatrixProduct<T> first = c.p, second = c.p;
      first.columns = at;
      second.columns -= at, second.x += at, second.y += at;
      k.product(first);
      k.product(second);
      EXPECT_EQ(whole, cut) << at << " columns first";
    }
  });
}

TYPED_TEST(KernelsOf, SkipZerosIfTheOtherFactorIsInfinite) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    for (const std::size_t columns : {1u, 5u, 19u}) {
      ProductCase<T> c(3, 4, columns, false, false);
      c.a[1] = inf<T>;
      for (std::size_t j = 0; j < columns; ++j) c.x[c.p.x_row + j] = 0;
      Array<T> y(c.size());
      c.p.y = y.begin();
      k.product(c.p);
      EXPECT_TRUE(std::isnan(y[0]));
      c.p.skip_zeros = true;
      k.product(c.p);
      for (std::size_t j = 0; j < columns; ++j) EXPECT_NEAR(y[j], c.want(0, j, 0), 1e-5);
      std::vector<T> d(columns), x(columns, inf<T>);
      d[0] = 1, x[0] = 3;
      T g = 0;
      OuterProduct<T> outer{.rows = 1, .depth = 1, .columns = columns, .d = d.data(), .d_row = columns, .x = x.data()};
      outer.g = &g, outer.g_row = 1, outer.skip_zeros = true;
      k.outer(outer);
      EXPECT_EQ(g, 3);
    }
  });
}

template <class T> struct OuterCase {
  std::vector<T> d, x;
  std::vector<std::uint32_t> order;
  OuterProduct<T> p;

  OuterCase(std::size_t rows, std::size_t depth, std::size_t columns, int layout, bool indexed)
      : d(numbers<T>(rows * (columns + 1), 1)), x(numbers<T>(depth * (columns + 3), 2)) {
    for (std::size_t t = 0; t < depth; ++t) order.push_back(static_cast<std::uint32_t>(depth - 1 - t));
    p.rows = rows, p.depth = depth, p.columns = columns;
    p.d = d.data(), p.d_row = columns + 1;
    p.x = x.data(), p.x_row = columns + 3, p.x_rows = indexed ? order.data() : nullptr;
    p.g_row = layout == 0 ? depth + 1 : layout == 1 ? 1 : 2 * depth;
    p.g_column = layout == 0 ? 1 : layout == 1 ? rows + 1 : 2;
  }
  std::size_t size() const { return (p.rows - 1) * p.g_row + (p.depth - 1) * p.g_column + 1; }
  double want(std::size_t i, std::size_t t) const {
    double sum = 0;
    for (std::size_t j = 0; j < p.columns; ++j)
      sum += static_cast<double>(p.d[i * p.d_row + j]) *
             static_cast<double>(p.x[(p.x_rows == nullptr ? t : p.x_rows[t]) * p.x_row + j]);
    return sum;
  }
};

TYPED_TEST(KernelsOf, MultiplyByATransposedMatrix) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    std::size_t variant = 0;
    for (const std::size_t rows : {1u, 2u, 4u, 7u, 13u, 70u})
      for (const std::size_t depth : {1u, 2u, 3u, 6u, 16u, 33u, 64u, 77u, 150u})
        for (const std::size_t columns : {0u, 1u, 3u, 8u, 16u, 37u, 104u, 230u}) {
          ++variant;
          OuterCase<T> c(rows, depth, columns, static_cast<int>(variant % 3), variant % 4 == 1);
          c.p.add = variant % 5 < 2;
          c.p.skip_zeros = variant % 11 == 0;
          Array<T> g(c.size(), T{2});
          c.p.g = g.begin();
          k.outer(c.p);
          ASSERT_TRUE(g.is_unharmed());
          std::vector<T> rest(g.begin(), g.end());
          for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t t = 0; t < depth; ++t) {
              const std::size_t at = i * c.p.g_row + t * c.p.g_column;
              rest[at] = 2;
              ASSERT_NEAR(g[at], c.want(i, t) + (c.p.add ? 2 : 0),
                          (4.0 * static_cast<double>(columns) + 4) * std::numeric_limits<T>::epsilon())
                  << rows << " x " << depth << " x " << columns << " at " << i << ", " << t;
            }
          ASSERT_EQ(rest, std::vector<T>(c.size(), T{2}));
        }
  });
}

TYPED_TEST(KernelsOf, SumThePartsOfAnOuterProduct) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    constexpr std::size_t parts = 3, rows = 7;
    for (const std::size_t depth : {2u, 16u, 33u})
      for (const std::size_t columns : {1u, 16u, 37u})
        for (const bool skip : {false, true}) {
          OuterCase<T> c(rows, depth, parts * columns, 0, true);
          c.order.clear();
          for (std::size_t part = 0; part < parts; ++part)
            for (std::size_t t = 0; t < depth; ++t) c.order.push_back(static_cast<std::uint32_t>((t + part) % depth));
          c.p.columns = columns, c.p.parts = parts, c.p.d_part = columns, c.p.x_rows = c.order.data();
          c.p.skip_zeros = skip;
          std::vector<T> g(c.size(), T{2});
          c.p.g = g.data();
          k.outer(c.p);
          for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t t = 0; t < depth; ++t) {
              double want = 0;
              for (std::size_t part = 0; part < parts; ++part)
                for (std::size_t j = 0; j < columns; ++j)
                  want += static_cast<double>(c.d[i * c.p.d_row + part * columns + j]) *
                          static_cast<double>(c.x[(t + part) % depth * c.p.x_row + j]);
              ASSERT_NEAR(g[i * c.p.g_row + t * c.p.g_column], want, 500 * std::numeric_limits<T>::epsilon());
            }
        }
  });
}

TYPED_TEST(KernelsOf, SumOuterProductsToTheSameBitsForAnySplitOfRows) {
  using T = TypeParam;
  this->each_set([&](const Kernels<T>& k) {
    for (const std::size_t depth : {2u, 16u, 33u, 150u})
      for (const int layout : {0, 1, 2}) {
        OuterCase<T> c(13, depth, 230, layout, false);
        std::vector<T> whole(c.size(), T{1}), cut;
        c.p.add = true;
        c.p.g = whole.data();
        k.outer(c.p);
        for (std::size_t at = 1; at < 13; ++at) {
          cut.assign(c.size(), T{1});
          OuterProduct<T> first = c.p, second = c.p;
          first.g = second.g = cut.data();
          first.rows = at;
          second.rows -= at, second.d += at * second.d_row, second.g += at * second.g_row;
          k.outer(first);
          k.outer(second);
          EXPECT_EQ(whole, cut) << depth << ", " << layout << ": " << at << " rows first";
        }
      }
  });
}

TEST(InstructionSets, EndWithPlainCodeAndAreChosenByName) {
  const auto names = instruction_sets();
  ASSERT_FALSE(names.empty());
#ifdef GRADWALK_ONE_INSTRUCTION_SET
  EXPECT_EQ(names.size(), 1u);
#else
  EXPECT_EQ(names.back(), "SCALAR");
#endif
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(kernels<float>().name, names.front());
  for (const std::string_view name : names) EXPECT_EQ(kernels<double>(name).name, name);
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  EXPECT_EQ(tests::error_of([] { kernels<double>("MMX"); }),
            "kernels: needs an instruction set of this machine, got 'MMX'; give one of " + all);
}

TEST(InstructionSets, HaveNoKernelForOpsWithoutARule) {
  for (const Op op : {Op::leaf, Op::constant, Op::custom}) {
    EXPECT_EQ(kernels<double>().value(op), nullptr);
    EXPECT_EQ(kernels<double>().local(op, 0), nullptr);
  }
  EXPECT_EQ(kernels<double>().local(Op::select, 0), nullptr);
  EXPECT_EQ(kernels<double>().local(Op::tanh, 1), nullptr);
}

}  // namespace
}  // namespace gradwalk::detail
