// SPDX-License-Identifier: MIT
// The formatter of gradwalk/fmt.hpp.
#include "gradwalk/fmt.hpp"

#include <gtest/gtest.h>

namespace gradwalk {
namespace {

TEST(Fmt, PrintsAValueLikeAStream) {
  Value a{2.0};
  a.grad() = 64;
  EXPECT_EQ(fmt::format("{}", a), "Value(data=2, grad=64)");
  EXPECT_EQ(fmt::format("{:>24}|", a), "  Value(data=2, grad=64)|");
  EXPECT_EQ(fmt::format("{:.<24}|{:24}|", a, a), "Value(data=2, grad=64)..|Value(data=2, grad=64)  |");
  EXPECT_EQ(fmt::format("{:é^{width}}", a, fmt::arg("width", 24)), "éValue(data=2, grad=64)é");
}

TEST(Fmt, PrintsTheDataInANumberFormat) {
  const Value a{2.0}, third = a / 6;
  EXPECT_EQ(fmt::format("{:.2f}", a), "2.00");
  EXPECT_EQ(fmt::format("{:8.3f}|{:<8.3f}|{:*>8.3f}", third, third, third), "   0.333|0.333   |***0.333");
  EXPECT_EQ(fmt::format("{:e}|{:g}|{:.3}|{:+}", a, a, third, a), "2.000000e+00|2|0.333|+2");
  EXPECT_EQ(fmt::format("{:08.2f}|{:.{}f}|{:{}.{}f}", a, third, 1, third, 6, 2), "00002.00|0.3|  0.33");
}

}  // namespace
}  // namespace gradwalk
