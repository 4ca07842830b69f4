// SPDX-License-Identifier: MIT
// The headers do not change the macros of their users.
#define UNARY 7
#define BINARY 8
#define NUMBER 9
#include "gradwalk/gradwalk.hpp"

#include <gtest/gtest.h>

namespace gradwalk {
namespace {

TEST(TheHeaders, LeaveTheUsersMacrosAlone) {
  EXPECT_EQ(UNARY, 7);
  EXPECT_EQ(BINARY, 8);
  EXPECT_EQ(NUMBER, 9);
}

TEST(TheNameOfAnInvalidOp, IsNoOp) {
  for (int code = static_cast<int>(Op::pick) + 1; code < 256; ++code) {
    EXPECT_EQ(name(static_cast<Op>(code)), "no op");
    EXPECT_EQ(info(static_cast<Op>(code)).operands, 0);
  }
  EXPECT_EQ(name(Op::custom), "custom");
  EXPECT_EQ(name(Op::pick), "pick");
}

}  // namespace
}  // namespace gradwalk
