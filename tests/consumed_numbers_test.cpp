// SPDX-License-Identifier: MIT
// Numbers in temporary Values, as in T(1) - x. The graph that they record must not depend on the optimiser, so this
// file is compiled twice: at -O0 and at -O2.
#include <gtest/gtest.h>

#include "gradwalk/gradwalk.hpp"

namespace gradwalk {
namespace {

// The compiler cannot see that the result holds a number.
[[gnu::noinline]] Value hidden(double number) {
  asm volatile("");
  return number;
}

void expect_inputs(const Value& node, Op first, Op second) {
  const std::vector<Value> inputs = node.inputs();
  ASSERT_EQ(inputs.size(), 2u) << node.op_name();
  EXPECT_EQ(inputs[0].op(), first) << node.op_name();
  EXPECT_EQ(inputs[1].op(), second) << node.op_name();
}

TEST(ATemporaryNumber, IsAConstantOperandOfEveryBinaryOperation) {
  const Value x{0.3};
#define GRADWALK_UNARY(...)
#define GRADWALK_BINARY(name, ...)                                  \
  expect_inputs(name(Value(0.5), x), Op::constant, Op::leaf);       \
  expect_inputs(name(x, Value(0.5)), Op::leaf, Op::constant);       \
  expect_inputs(name(hidden(0.5), x), Op::constant, Op::leaf);      \
  expect_inputs(name(x, hidden(0.5)), Op::leaf, Op::constant);      \
  expect_inputs(name(Value(0.5), x.exp()), Op::constant, Op::exp);  \
  expect_inputs(name(x.exp(), Value(0.5)), Op::exp, Op::constant);  \
  expect_inputs(name(hidden(0.5), x.exp()), Op::constant, Op::exp); \
  expect_inputs(name(x.exp(), hidden(0.5)), Op::exp, Op::constant);
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
}

TEST(ATemporaryNumber, BesideAnotherOneLeavesTheFirstALeaf) {
  expect_inputs(Value(1) - Value(2), Op::leaf, Op::constant);
  expect_inputs(Value(1) - hidden(2), Op::leaf, Op::constant);
  expect_inputs(hidden(1) - Value(2), Op::leaf, Op::constant);
  expect_inputs(hidden(1) + hidden(2), Op::leaf, Op::constant);
}

TEST(ATemporaryNumber, IsAConstantBesideANamedNumber) {
  const Value named = 2;
  expect_inputs(Value(1) + named, Op::constant, Op::leaf);
  const Value other = 2;
  expect_inputs(other * hidden(1), Op::leaf, Op::constant);
}

TEST(ANamedNumber, IsALeafOnceItIsUsed) {
  const Value one = 1, x = 2;
  expect_inputs(one - x, Op::leaf, Op::leaf);
  expect_inputs(x.exp() * one, Op::exp, Op::leaf);
}

TEST(ANumberThatAnAssignmentConsumes, IsAConstantOperand) {
  const Value x = 2;
  Value sum = 1, product = 3, difference = hidden(4);
  sum += x;
  product *= x;
  difference -= x.exp();
  expect_inputs(sum, Op::constant, Op::leaf);
  expect_inputs(product, Op::constant, Op::leaf);
  expect_inputs(difference, Op::constant, Op::exp);
}

TEST(ANumberThatAnAssignmentConsumes, MayBeBothOperands) {
  Value sum = 3, difference = 3, product = 3, quotient = 3;
  sum += sum;
  difference -= difference;
  product *= product;
  quotient /= quotient;
  EXPECT_EQ(sum.data(), 6);
  EXPECT_EQ(difference.data(), 0);
  EXPECT_EQ(product.data(), 9);
  EXPECT_EQ(quotient.data(), 1);
  product.backward();
  EXPECT_EQ(product.inputs()[0].grad(), 6);
  EXPECT_TRUE(same_node(product.inputs()[0], product.inputs()[1]));
}

TEST(ATemporaryNumber, IsFusedIntoASumLikeAWrittenOne) {
  const Value a = 2, b = 3;
  const Value written = 1 + a * b + 4, visible = Value(1) + a * b + Value(4), opaque = hidden(1) + a * b + hidden(4);
  EXPECT_EQ(Reading(written).size(), 3u);  // two leaves and one record
  EXPECT_EQ(Reading(visible).size(), 3u);
  EXPECT_EQ(Reading(opaque).size(), 3u);
  EXPECT_EQ(opaque.data(), 11);
}

TEST(ATemporaryNumber, LeavesTheGradientsOfTheOtherOperandRight) {
  Value x = 3;
  (hidden(2) * x + hidden(1) / x).backward();
  EXPECT_DOUBLE_EQ(x.grad(), 2 - 1.0 / 9);
}

}  // namespace
}  // namespace gradwalk
