// SPDX-License-Identifier: MIT
// pick: the value with an index, as an operation of the engine.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "support.hpp"

namespace gradwalk::pick_test {
namespace {

std::vector<Value> values_of(std::size_t count) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < count; ++i) values.emplace_back(static_cast<double>(i) + 0.25);
  return values;
}

TEST(Pick, IsTheValueWithTheIndex) {
  const std::vector<Value> values = values_of(5);
  for (std::size_t i = 0; i < 5; ++i) {
    const Value index(static_cast<double>(i)), picked = pick(values, index);
    EXPECT_EQ(picked.data(), values[i].data());
    EXPECT_EQ(picked.op(), Op::pick);
    EXPECT_EQ(picked.op_name(), "pick");
    EXPECT_TRUE(same_node(picked.inputs().at(0), values[i]));
    EXPECT_TRUE(same_node(picked.inputs().at(1), index));
  }
}

TEST(Pick, PassesItsGradientToTheChosenValueAlone) {
  std::vector<Value> values = values_of(3);
  Value index(1.0);
  const Value loss = 3 * pick(values, index) * pick(values, index);
  loss.backward();
  EXPECT_EQ(values[0].grad(), 0);
  EXPECT_EQ(values[1].grad(), 6 * 1.25);
  EXPECT_EQ(values[2].grad(), 0);
  EXPECT_EQ(index.grad(), 0);
}

TEST(Pick, TakesComputedValuesAndAComputedIndex) {
  Value x(2.0), i(0.5);
  const std::vector<Value> powers{x, x * x, x * x * x};
  const Value picked = pick(powers, 2 * i + 1);
  EXPECT_EQ(picked.data(), 8);
  picked.backward();
  EXPECT_EQ(x.grad(), 12);
  EXPECT_EQ(i.grad(), 0);
}

TEST(Pick, RefusesAWrongIndex) {
  const std::vector<Value> values = values_of(3);
  const LookupTable table(values);
  const auto rule = [](const std::string& call, const std::string& got) {
    return call + ": needs a whole number from 0 to 2 as the index, got " + got + "; check the index, and count from 0";
  };
  EXPECT_EQ(tests::error_of([&] { pick(values, Value(3.0)); }), rule("pick", "3"));
  EXPECT_EQ(tests::error_of([&] { pick(values, Value(-1.0)); }), rule("pick", "-1"));
  EXPECT_EQ(tests::error_of([&] { pick(values, Value(0.5)); }), rule("pick", "0.5"));
  EXPECT_EQ(tests::error_of([&] { pick(values, Value(NAN)); }), rule("pick", "nan"));
  EXPECT_EQ(tests::error_of([&] { pick(table, Value(INFINITY)); }), rule("pick", "inf"));
  EXPECT_EQ(tests::error_of([&] { pick_row(table, Value(1e300)); }), rule("pick_row", "1e+300"));
}

TEST(Pick, RefusesNoValuesAndTooMany) {
  EXPECT_EQ(tests::error_of([] { pick(std::vector<Value>(), Value(0.0)); }),
            "pick: needs values to choose from, got none; give at least one");
  EXPECT_EQ(tests::error_of([] { pick(values_of(16001), Value(0.0)); }),
            "pick: needs at most 16000 values, got 16001; make a LookupTable of them, and pick from that");
  EXPECT_EQ(pick(values_of(16000), Value(15999.0)).data(), 15999.25);
}

TEST(Pick, KeepsTheValuesAliveThatItCouldChoose) {
  Value index(1.0), kept(0.0);
  {
    std::vector<Value> computed;
    Value x(3.0);
    for (int i = 0; i < 100; ++i) computed.push_back(x * i);
    kept = pick(computed, index);
  }
  {
    std::vector<Value> garbage;  // fills chunks, so that dead records are searched for
    for (int i = 0; i < 200000; ++i) garbage.push_back(Value(1.0 / 3) * i);
  }
  index.data() = 99;
  recompute(kept);
  EXPECT_EQ(kept.data(), 297);
}

TEST(Pick, ChoosesAgainWhenTheGraphIsEvaluatedAgain) {
  std::vector<Value> values = values_of(4);
  const LookupTable table(values);
  Value index(0.0), x(2.0);
  const std::vector<Value> computed{x, exp(x)};
  Value which(0.0);
  const Value sum = pick(values, index) + 10 * pick(table, index) + 100 * pick(computed, which);
  EXPECT_EQ(sum.data(), 0.25 + 2.5 + 200);
  index.data() = 3;
  which.data() = 1;
  x.data() = 1;
  recompute(sum);
  EXPECT_DOUBLE_EQ(sum.data(), 3.25 + 32.5 + 100 * std::exp(1.0));
  sum.backward();
  EXPECT_EQ(values[3].grad(), 11);
  EXPECT_EQ(values[0].grad(), 0);
  index.data() = 4;
  EXPECT_EQ(tests::error_of([&] { recompute(sum); }),
            "recompute: needs a whole number from 0 to 3 as the index, got 4; check the index, and count from 0");
}

TEST(Pick, RecordsNothingUnderNoGrad) {
  const std::vector<Value> values = values_of(3);
  const LookupTable table(values);
  const NoGrad guard;
  EXPECT_EQ(pick(values, Value(2.0)).op(), Op::leaf);
  EXPECT_EQ(pick(table, Value(2.0)).data(), 2.25);
}

TEST(Pick, HasExactSecondDerivatives) {
  const auto f = [](const std::vector<Value>& x) {
    const Value index = Value(1.0);
    return pick(std::vector<Value>{x[0] * x[0], x[0] * x[1] * x[1]}, index);
  };
  const auto second = hessian(f, {2.0, 3.0});
  EXPECT_EQ(second[0][0], 0);
  EXPECT_EQ(second[0][1], 6);
  EXPECT_EQ(second[1][1], 4);
}

TEST(Pick, HasDerivativesForEveryIndex) {
  std::vector<Value> values = values_of(3);
  Value index(0.0);
  const Value squared = pow(pick(values, index), 2);
  const std::vector<Value> slopes = derivatives(squared, values);
  EXPECT_EQ(slopes[0].data(), 0.5);
  EXPECT_EQ(slopes[2].data(), 0);
  index.data() = 2;
  recompute(squared);
  for (const Value& slope : slopes) recompute(slope);
  EXPECT_EQ(slopes[0].data(), 0);
  EXPECT_EQ(slopes[2].data(), 4.5);
}

TEST(LookupTable, GivesRows) {
  std::vector<Value> values = values_of(6);
  const LookupTable table(values, 3);
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.columns(), 3u);
  Value index(1.0);
  const std::vector<Value> row = pick_row(table, index);
  ASSERT_EQ(row.size(), 3u);
  (row[0] + 2 * row[1] + 3 * row[2]).backward();
  EXPECT_EQ(values[2].grad(), 0);
  EXPECT_EQ(values[3].grad(), 1);
  EXPECT_EQ(values[4].grad(), 2);
  EXPECT_EQ(values[5].grad(), 3);
  EXPECT_EQ(tests::error_of([&] { pick(table, index); }),
            "pick: needs a table with one column, got 3 columns; call pick_row(table, index)");
}

TEST(LookupTable, RefusesValuesThatDoNotFillRows) {
  EXPECT_EQ(tests::error_of([] { LookupTable(values_of(5), 2); }),
            "LookupTable: needs values that fill rows of at least one, got 5 values in rows of 2; give one value per "
            "row and column");
  EXPECT_EQ(tests::error_of([] { LookupTable(std::vector<Value>(), 1); }),
            "LookupTable: needs values that fill rows of at least one, got 0 values in rows of 1; give one value per "
            "row and column");
}

TEST(LookupTable, MayEndBeforeThePassButNotBeforeRecompute) {
  std::vector<Value> values = values_of(3);
  Value index(1.0);
  auto table = std::make_unique<LookupTable>(values);
  const Value picked = 2 * pick(*table, index);
  table.reset();
  picked.backward();
  EXPECT_EQ(values[1].grad(), 2);
  EXPECT_EQ(tests::error_of([&] { recompute(picked); }),
            "recompute: needs the LookupTable of each pick, got a pick from one that was destroyed; keep the "
            "LookupTable while its picks are used");
}

TEST(LookupTable, TakesTheSameTimeForEachPickHoweverLargeItIs) {
  const std::vector<Value> values = values_of(100000);  // fits the tape of a 32-bit system, with the picks
  const LookupTable table(values);
  Value sum(0.0);
  for (int i = 0; i < 100000; ++i) sum += pick(table, Value(static_cast<double>(i)));  // 1e10 steps otherwise
  sum.backward();
  EXPECT_EQ(values[65432].grad(), 1);
}

TEST(LookupTable, IsForgottenWhenItsLastCopyGoes) {
  const std::vector<Value> values = values_of(4);
  const LookupTable kept(values);
  for (int i = 0; i < 1000; ++i) {
    const LookupTable table(values, 2), copy = table;
    EXPECT_EQ(pick_row(copy, Value(1.0))[1].data(), 3.25);
  }
  Value index(2.0);
  const Value picked = pick(kept, index);
  index.data() = 3;
  recompute(picked);
  EXPECT_EQ(picked.data(), 3.25);
}

TEST(Pick, IsShownWithTheValueThatItChose) {
  std::vector<Value> values = values_of(2);
  values[0].label("a");
  values[1].label("b");
  Value index = Value(1.0).label("i");
  const Value picked = pick(values, index);
  picked.backward();
  const Snapshot graph = snapshot(picked);
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes[2].op_name, "pick");
  EXPECT_EQ(graph.nodes[2].locals, (std::vector<double>{1, 0}));
  EXPECT_EQ(graph.nodes[graph.nodes[2].operands[0]].label, "b");
  EXPECT_EQ(tests::error_of([&] { to_code(graph, Language::cpp); }),
            "to_code: needs operations of the table, got 'pick'; draw or walk the graph instead");
}

}  // namespace
}  // namespace gradwalk::pick_test
