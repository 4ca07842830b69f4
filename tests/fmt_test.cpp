// SPDX-License-Identifier: MIT
// Values in {fmt}, as gradwalk/fmt.hpp promises.
#include "gradwalk/fmt.hpp"

#include <gtest/gtest.h>

namespace gradwalk {
namespace {

TEST(Fmt, PrintsAValueAsTheStreamDoes) {
  Value a{2.0};
  a.grad() = 64;
  EXPECT_EQ(fmt::format("{}", a), "Value(data=2, grad=64)");
  EXPECT_EQ(fmt::format("{:>24}|", a), "  Value(data=2, grad=64)|");
}

}  // namespace
}  // namespace gradwalk
