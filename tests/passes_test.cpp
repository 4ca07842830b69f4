// SPDX-License-Identifier: MIT
// The verifier of compile(): it must detect results of passes that the test breaks on purpose.
#include "compile/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "support.hpp"

namespace gradwalk::passes_test {

using namespace compiler;
using testing::HasSubstr;
using tests::error_of;

// A small network, and the results of all passes on it.
struct Passed {
  std::vector<Value> x = std::vector<Value>(3), w = std::vector<Value>(6);
  Scalars scalars;
  Terms terms;
  Groups groups;
  Instructions program;

  Passed() {
    const Value h0 = tanh(w[0] * x[0] + w[1] * x[1]), h1 = tanh(w[2] * x[0] + w[3] * x[1]);
    const Value loss = exp(h0 * h1 - w[4] * x[2]) / (1 + w[5] * w[5]);
    scalars = record({&loss, 1}, x, w).scalars;
    terms = simplify(scalars);
    groups = lift(terms);
    differentiate(terms, groups);
    lift_backward(terms, groups);
    program = schedule(terms, groups);
  }
};

TEST(TheVerifier, AcceptsTheResultsOfThePasses) {
  const Passed passed;
  verify(passed.scalars);
  verify(passed.terms);
  verify(passed.terms, passed.groups);
  verify(passed.program);
}

TEST(TheVerifier, FindsErrorsOfRecord) {
  const auto message = [](auto break_it) {
    Passed passed;
    break_it(passed.scalars);
    return error_of([&] { verify(passed.scalars); });
  };
  EXPECT_THAT(message([](Scalars& all) { all.nodes.back().operands[0] = static_cast<Id>(all.nodes.size()); }),
              HasSubstr("operands before their users"));
  EXPECT_THAT(message([](Scalars& all) { all.nodes.back().rate = Rate::uniform; }), HasSubstr("the rate"));
  EXPECT_THAT(message([](Scalars& all) { all.nodes.back().operands[1] = none; }), HasSubstr("as many operands"));
  EXPECT_THAT(message([](Scalars& all) { all.nodes.back().op = Op::leaf; }), HasSubstr("leaves first"));
  EXPECT_THAT(message([](Scalars& all) { all.numbers.clear(); }), HasSubstr("a number for each constant"));
  EXPECT_THAT(message([](Scalars& all) { all.outputs[0] = none; }), HasSubstr("outputs among the nodes"));
}

TEST(TheVerifier, FindsErrorsOfSimplify) {
  const auto message = [](auto break_it) {
    Passed passed;
    break_it(passed.terms);
    return error_of([&] { verify(passed.terms); });
  };
  EXPECT_THAT(message([](Terms& all) { all.products[0].a = static_cast<Id>(all.nodes.size()); }),
              HasSubstr("operands before their users"));
  EXPECT_THAT(message([](Terms& all) { all.products[0] = {1, none, none}; }), HasSubstr("a product of something"));
  EXPECT_THAT(message([](Terms& all) { all.nodes[all.outputs[0]].rate = Rate::constant; }), HasSubstr("the rate"));
  EXPECT_THAT(message([](Terms& all) { all.nodes[0].kind = Kind::function; }), HasSubstr("constants first"));
  EXPECT_THAT(message([](Terms& all) { all.products.resize(1); }), HasSubstr("in their list"));
}

TEST(TheVerifier, FindsErrorsOfLift) {
  const auto message = [](auto break_it) {
    Passed passed;
    break_it(passed.groups);
    return error_of([&] { verify(passed.terms, passed.groups); });
  };
  EXPECT_THAT(message([](Groups& all) { std::swap(all.groups.front(), all.groups.back()); }),
              HasSubstr("groups after those they need"));
  EXPECT_THAT(message([](Groups& all) { all.groups.back().members.push_back(all.groups.front().members[0]); }),
              HasSubstr("a node in one group"));
  EXPECT_THAT(message([](Groups& all) { all.groups.pop_back(); }), HasSubstr("every node in a group"));
  EXPECT_THAT(message([](Groups& all) { all.groups.back().members.clear(); }), HasSubstr("groups of something"));
}

TEST(TheVerifier, FindsErrorsOfSchedule) {
  const auto message = [](auto break_it) {
    Passed passed;
    break_it(passed.program);
    return error_of([&] { verify(passed.program); });
  };
  EXPECT_THAT(message([](Instructions& all) { std::swap(all.varying.front(), all.varying.back()); }),
              HasSubstr("computed before"));
  EXPECT_THAT(message([](Instructions& all) { all.uniform.push_back(all.uniform.back()); }),
              HasSubstr("each uniform place written once"));
  EXPECT_THAT(message([](Instructions& all) { all.factors.clear(); }), HasSubstr("terms in their list"));
  EXPECT_THAT(message([](Instructions& all) { all.outputs[0].place = all.varying_places + all.input_places; }),
              HasSubstr("computed before"));
  EXPECT_THAT(message([](Instructions& all) { all.constants.clear(); }), HasSubstr("computed before"));
}

// Weights, inputs, kinds of nodes and packs are found by hash. With a mask of 0 all hashes are equal, and only a
// comparison of the contents distinguishes them.
TEST(EqualHashes, AreNotTakenForEqualContents) {
  std::vector<Value> x(6), w(30), outputs;
  std::size_t next = 0;
  for (std::size_t first = 0; first < 3; ++first)  // layers of equal shape on several lists of inputs
    for (std::size_t o = 0; o < 3; ++o) {
      Value sum = w[next++ % w.size()];
      for (std::size_t i = first; i < first + 3; ++i) sum += (o == 2 ? 2 : 1) * w[next++ % w.size()] * x[i];
      outputs.push_back(o % 2 == 0 ? tanh(sum) : exp(sum));
    }
  Value loss = outputs[0];
  for (std::size_t i = 1; i < outputs.size(); ++i) loss = loss * outputs[i] + outputs[i - 1];
  const Scalars scalars = record({&loss, 1}, x, w).scalars;
  const auto texts_with = [&](std::uint64_t mask) {
    Terms terms = simplify(scalars);
    Groups groups = lift(terms, mask);
    differentiate(terms, groups);
    lift_backward(terms, groups, mask);
    verify(terms, groups);
    const Instructions program = schedule(terms, groups, mask);
    verify(program);
    return dump(terms, groups) + dump(program);
  };
  for (const std::uint64_t mask : {0u, 1u, 7u}) EXPECT_EQ(texts_with(mask), texts_with(whole_hash)) << mask;
}

// A sum over all pairs of points in three dimensions, whose coordinates are recorded point by point. The places of
// their first coordinates are three apart, also where the coordinates were computed before.
class SumsOverPairs : public testing::TestWithParam<std::tuple<bool, bool>> {};
INSTANTIATE_TEST_SUITE_P(Compile, SumsOverPairs, testing::Combine(testing::Bool(), testing::Bool()));

TEST_P(SumsOverPairs, ReadOperandsSideBySideInBothDirections) {
  constexpr std::size_t points = 100, pairs = points * (points - 1) / 2;
  const auto [are_computed, is_upper] = GetParam();
  std::vector<Value> parameters;
  for (std::size_t i = 0; i < 3 * points; ++i) parameters.emplace_back(std::sin(7.0 * static_cast<double>(i)));
  std::vector<Value> x = parameters;
  if (are_computed)
    for (Value& one : x) one = tanh(one);
  Value loss = 0;
  for (std::size_t i = 0; i < points; ++i)
    for (std::size_t j = is_upper ? i + 1 : 0; j < (is_upper ? points : i); ++j) {
      Value square = 1;
      for (std::size_t k = 0; k < 3; ++k) square += pow(x[3 * i + k] - x[3 * j + k], 2);
      loss += 1 / square;
    }
  Terms terms = simplify(record({&loss, 1}, {}, parameters).scalars);
  Groups groups = lift(terms);
  const Instructions program = schedule(terms, groups);
  verify(program);
  // Without copies, the differences alone have a table of 2 * 3 * pairs entries.
  EXPECT_LT(program.tables.size(), pairs);
  differentiate(terms, groups);
  lift_backward(terms, groups);
  const Instructions with_backward = schedule(terms, groups);
  verify(with_backward);
  // Most gradients begin with a part that was summed for several points at once.
  const auto is_begun = [](const Instruction& one) {
    return one.form == Instruction::Form::dot && one.start.exists() && one.start.rate == Rate::uniform;
  };
  EXPECT_GT(std::ranges::count_if(with_backward.uniform_backward, is_begun), 3 * points / 2);

  Program compiled = compile(loss, {.parameters = parameters});
  std::vector<double> gradient(parameters.size());
  const double value = compiled.gradients(gradient);
  EXPECT_NEAR(value, loss.data(), 1e-12 * loss.data());
  loss.backward();
  for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(gradient[i], parameters[i].grad(), 1e-12 * points);
}

}  // namespace gradwalk::passes_test
