// SPDX-License-Identifier: MIT
// Data: synthetic sets, splits, standardisation and batches; arguments that are rejected.
#include "gradwalk/data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support.hpp"

namespace gradwalk::data_test {
namespace {

using testing::ElementsAre;
using tests::error_of;

// Rows with one feature, which is the number of the row.
Dataset numbered(const std::vector<std::size_t>& labels) {
  Dataset data{1, {}, labels, {"row"}, {"a", "b", "c"}};
  for (std::size_t i = 0; i < labels.size(); ++i) data.x.push_back(static_cast<double>(i));
  return data;
}

std::size_t count(const Dataset& data, std::size_t label) {
  return static_cast<std::size_t>(std::ranges::count(data.labels, label));
}

TEST(Standardisation, KeepsHugeColumnsFinite) {
  Dataset data{2, {1e300, 1, 3e300, 2, -2e300, 3}, {0, 1, 0}, {"a", "b"}, {"x", "y"}};
  const Standardisation fitted = Standardisation::fit(data);
  EXPECT_DOUBLE_EQ(fitted.mean[0], 2e300 / 3);
  EXPECT_NEAR(fitted.deviation[0] / 1e300, std::sqrt((1.0 / 9 + 49.0 / 9 + 64.0 / 9) / 3), 1e-12);
  fitted.apply(data);
  for (const double x : data.x) EXPECT_LT(std::abs(x), 2);
  Dataset largest{1, {1.7e308, 1.7e308, -1.7e308}, {0, 1, 0}, {"a"}, {"x", "y"}};
  EXPECT_TRUE(std::isfinite(Standardisation::fit(largest).mean[0]));
  EXPECT_TRUE(std::isfinite(Standardisation::fit(largest).deviation[0]));
}

TEST(SyntheticData, IsTheSameForOneSeed) {
  const Dataset data = make_moons(50, 0.1, 3), same = make_moons(50, 0.1, 3), other = make_moons(50, 0.1, 4);
  EXPECT_EQ(data.x, same.x);
  EXPECT_EQ(data.labels, same.labels);
  EXPECT_NE(data.x, other.x);
  EXPECT_NE(data.labels, other.labels);
  EXPECT_EQ(data.rows(), 50u);
  EXPECT_EQ(data.columns, 2u);
  EXPECT_EQ(data.x.size(), 100u);
  EXPECT_THAT(data.feature_names, ElementsAre("x0", "x1"));
  EXPECT_THAT(data.label_names, ElementsAre("outer", "inner"));
}

TEST(SyntheticData, HasTheSameBitsOnEveryMachine) {
  const Dataset moons = make_moons(4, 0.1, 1), spiral = make_spiral(5, 3, 0.2, 1);
  EXPECT_THAT(moons.labels, ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(moons.x, ElementsAre(-0.01435720367444362, 0.561079214808288, 1.075114309417674, 0.31622530751264266,
                                   1.9684688198071667, 0.32945053535701535, -0.928179362177526, 0.06267669731414427));
  EXPECT_EQ(spiral.x.back(), -0.09604881220076365);
}

TEST(SyntheticData, HasTheGivenNoise) {
  const Dataset plain = make_circles(2000, 0, 0.5, 1), noisy = make_circles(2000, 0.1, 0.5, 1);
  EXPECT_EQ(plain.labels, noisy.labels);
  double squares = 0;
  for (std::size_t i = 0; i < plain.x.size(); ++i) squares += std::pow(noisy.x[i] - plain.x[i], 2);
  EXPECT_NEAR(std::sqrt(squares / 4000), 0.1, 0.005);
  for (std::size_t i = 0; i < plain.rows(); ++i)
    EXPECT_NEAR(std::hypot(plain.row(i)[0], plain.row(i)[1]), plain.labels[i] == 0 ? 1 : 0.5, 1e-15);
}

TEST(SyntheticData, DividesItsRowsAmongItsClasses) {
  const Dataset moons = make_moons(7, 0, 1), spiral = make_spiral(11, 3, 0, 1);
  EXPECT_EQ(count(moons, 0), 3u);
  EXPECT_EQ(count(moons, 1), 4u);
  EXPECT_EQ(count(spiral, 0), 4u);
  EXPECT_EQ(count(spiral, 1), 4u);
  EXPECT_EQ(count(spiral, 2), 3u);
}

TEST(SyntheticData, RejectsImpossibleArguments) {
  EXPECT_EQ(error_of([] { make_moons(1, 0, 1); }),
            "make_moons: needs at least 2 rows, got 1; give at least one row per class");
  EXPECT_EQ(error_of([] { make_moons(10, -0.1, 1); }),
            "make_moons: needs noise >= 0, got -0.1; give the standard deviation of the noise, such as 0.1");
  EXPECT_EQ(error_of([] { make_circles(10, NAN, 0.5, 1); }),
            "make_circles: needs noise >= 0, got nan; give the standard deviation of the noise, such as 0.1");
  EXPECT_EQ(error_of([] { make_circles(10, 0, 1, 1); }),
            "make_circles: needs 0 <= factor < 1, got 1; give the size of the inner circle, such as 0.5");
  EXPECT_EQ(error_of([] { make_spiral(10, 0, 0, 1); }),
            "make_spiral: needs at least one class, got 0; give the number of arms, such as 3");
  EXPECT_EQ(error_of([] { make_spiral(2, 3, 0, 1); }),
            "make_spiral: needs at least 3 rows, got 2; give at least one row per class");
}

TEST(Signs, AreMinusOneAndOne) {
  EXPECT_THAT(signs(std::vector<std::size_t>{0, 1, 1}), ElementsAre(-1, 1, 1));
  EXPECT_EQ(error_of([] { signs(std::vector<std::size_t>{0, 2}); }),
            "signs: needs labels that are 0 or 1, got 2; use softmax_cross_entropy for more than two classes");
}

TEST(SelectRows, KeepsNamesAndOrder) {
  const Dataset some = select_rows(numbered({0, 1, 2}), std::vector<std::size_t>{2, 0, 2});
  EXPECT_THAT(some.x, ElementsAre(2, 0, 2));
  EXPECT_THAT(some.labels, ElementsAre(2, 0, 2));
  EXPECT_THAT(some.label_names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(error_of([] { select_rows(numbered({0}), std::vector<std::size_t>{1}); }),
            "select_rows: needs rows below 1, got 1; count from 0");
}

TEST(Split, PutsEveryRowInOnePart) {
  for (const double fraction : {0.001, 0.2, 0.5, 0.77, 0.999}) {
    std::vector<std::size_t> labels(37);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % 3;
    const Split parts = split(numbered(labels), fraction, 5);
    std::vector<double> all = parts.train.x;
    all.insert(all.end(), parts.test.x.begin(), parts.test.x.end());
    EXPECT_FALSE(std::ranges::is_sorted(all));
    std::ranges::sort(all);
    for (std::size_t i = 0; i < labels.size(); ++i) ASSERT_EQ(all[i], static_cast<double>(i));
    const auto wanted = static_cast<std::size_t>(std::round(37 * fraction));
    EXPECT_EQ(parts.test.rows(), std::clamp<std::size_t>(wanted, 1, 36));
    for (std::size_t i = 0; i < parts.train.rows(); ++i)
      EXPECT_EQ(parts.train.labels[i], static_cast<std::size_t>(parts.train.row(i)[0]) % 3);
  }
}

TEST(Split, DividesEachClassInTheSameProportion) {
  std::vector<std::size_t> labels(100, 0);
  std::fill(labels.begin() + 60, labels.begin() + 90, 1);
  std::fill(labels.begin() + 90, labels.end(), 2);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Dataset test = split(numbered(labels), 0.25, seed).test;
    EXPECT_EQ(count(test, 0), 15u);
    EXPECT_EQ(count(test, 1), 8u);
    EXPECT_EQ(count(test, 2), 2u);
  }
}

TEST(Split, DependsOnItsSeed) {
  const Dataset data = make_moons(40, 0.1, 1);
  EXPECT_EQ(split(data, 0.5, 1).train.x, split(data, 0.5, 1).train.x);
  EXPECT_NE(split(data, 0.5, 1).train.x, split(data, 0.5, 2).train.x);
}

TEST(Folds, TestEachRowOnceAndEveryClassInEachFold) {
  std::vector<std::size_t> labels(23);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i < 12 ? 0 : i < 18 ? 1 : 2;
  const Dataset data = numbered(labels);
  const std::vector<Split> all = folds(data, 5, 7);
  ASSERT_EQ(all.size(), 5u);
  std::vector<double> tested;
  for (const Split& one : all) {
    EXPECT_EQ(one.train.rows() + one.test.rows(), 23u);
    EXPECT_THAT(one.test.rows(), testing::AnyOf(4u, 5u));
    EXPECT_THAT(count(one.test, 0), testing::AnyOf(2u, 3u));
    EXPECT_THAT(count(one.test, 1), testing::AnyOf(1u, 2u));
    EXPECT_EQ(count(one.test, 2), 1u);
    std::vector<double> both = one.train.x;
    both.insert(both.end(), one.test.x.begin(), one.test.x.end());
    std::ranges::sort(both);
    EXPECT_EQ(both, data.x);
    tested.insert(tested.end(), one.test.x.begin(), one.test.x.end());
  }
  std::ranges::sort(tested);
  EXPECT_EQ(tested, data.x);
  EXPECT_EQ(folds(data, 5, 7)[3].test.x, all[3].test.x);
  EXPECT_NE(folds(data, 5, 8)[3].test.x, all[3].test.x);
  EXPECT_EQ(folds(data, 23, 7)[0].test.rows(), 1u);
  for (const std::size_t wrong : {0u, 1u, 24u})
    EXPECT_EQ(error_of([&] { folds(data, wrong, 7); }),
              "folds: needs from 2 folds to one per row, 23, got " + std::to_string(wrong) + "; 5 or 10 are usual");
}

TEST(Split, RejectsDataThatCannotBeDivided) {
  EXPECT_EQ(error_of([] { split(numbered({0}), 0.5, 1); }), "split: needs at least two rows, got 1; add rows");
  EXPECT_EQ(error_of([] { split(numbered({0, 1}), 1, 1); }),
            "split: needs a test fraction between 0 and 1, got 1; 0.2 is usual");
}

TEST(Standardisation, ScalesColumnsToMeanZeroAndDeviationOne) {
  Dataset data{3, {1, 0.1, 10, 2, 0.1, 20, 6, 0.1, 60}, {0, 0, 0}, {}, {}};
  const Standardisation found = Standardisation::fit(data);
  EXPECT_THAT(found.mean, ElementsAre(3, 0.1, 30));
  EXPECT_DOUBLE_EQ(found.deviation[0], std::sqrt(14.0 / 3));
  EXPECT_EQ(found.deviation[1], 1);
  found.apply(data);
  EXPECT_DOUBLE_EQ(data.x[0], -2 / std::sqrt(14.0 / 3));
  EXPECT_EQ(data.x[4], 0);
  EXPECT_DOUBLE_EQ(data.x[8], data.x[6]);
  std::vector<double> row{3, 1.1, 30};
  found.apply(row);
  EXPECT_THAT(row, ElementsAre(0, 1, 0));
}

TEST(Standardisation, RejectsNumbersThatAreNotFinite) {
  EXPECT_EQ(error_of([] { Standardisation::fit(Dataset{}); }),
            "Standardisation: needs at least one row, got none; fit it to the training data");
  EXPECT_EQ(error_of([] { Standardisation::fit(Dataset{1, {1, NAN}, {0, 0}, {}, {}}); }),
            "Standardisation: needs finite numbers, got nan in row 1, column 0; delete the row, or fill in a number");
  EXPECT_EQ(error_of([] {
              std::vector<double> row{1, 2};
              Standardisation::fit(numbered({0, 1})).apply(row);
            }),
            "Standardisation: needs rows of 1 number, got 2; give rows with the same columns as the data that it was "
            "fitted to");
}

TEST(Datasets, AreRejectedUnreadIfRowsAreMissing) {
  const auto with = [](auto use) {
    Dataset data = make_moons(4, 0, 1);
    data.x.resize(7);
    return error_of([&] { use(data); });
  };
  const std::string rest = ": needs 8 numbers: rows times columns, got 7; give each row its features";
  EXPECT_EQ(with([](Dataset& data) { select_rows(data, std::vector<std::size_t>{3}); }), "select_rows" + rest);
  EXPECT_EQ(with([](Dataset& data) { split(data, 0.5, 1); }), "split" + rest);
  EXPECT_EQ(with([](Dataset& data) { Standardisation::fit(data); }), "Standardisation" + rest);
  EXPECT_EQ(with([](Dataset& data) { Standardisation::fit(make_moons(4, 0, 1)).apply(data); }),
            "Standardisation" + rest);
  Dataset wraps{std::size_t{1} << 63, {}, {0, 1}, {}, {}};  // rows times columns overflows to 0
  EXPECT_NE(error_of([&] { Standardisation::fit(wraps); }), "no error");
}

std::vector<std::size_t> epoch(Batches& batches) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < batches.in_an_epoch(); ++i) {
    const std::span<const std::size_t> batch = batches.next();
    rows.insert(rows.end(), batch.begin(), batch.end());
  }
  return rows;
}

TEST(Batches, GoThroughEveryRowOncePerEpoch) {
  Batches batches(10, 4, 1);
  EXPECT_EQ(batches.in_an_epoch(), 3u);
  std::vector<std::size_t> first = epoch(batches), second = epoch(batches);
  EXPECT_NE(first, second);
  EXPECT_EQ(batches.state().epoch, 1u);
  for (std::vector<std::size_t>* rows : {&first, &second}) {
    std::ranges::sort(*rows);
    EXPECT_THAT(*rows, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  }
}

TEST(Batches, KeepTheLastIncompleteBatch) {
  Batches batches(10, 4, 1);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 6; ++i) sizes.push_back(batches.next().size());
  EXPECT_THAT(sizes, ElementsAre(4, 4, 2, 4, 4, 2));
  EXPECT_EQ(Batches(3, 100, 1).next().size(), 3u);
}

TEST(Batches, ContinueFromAState) {
  for (int before = 0; before < 7; ++before) {
    Batches batches(10, 4, 1), again(10, 4, 99);
    for (int i = 0; i < before; ++i) batches.next();
    again.set_state(batches.state());
    for (int i = 0; i < 7; ++i) {
      const auto batch = batches.next(), same = again.next();
      EXPECT_TRUE(std::ranges::equal(batch, same)) << before << ", " << i;
    }
    EXPECT_EQ(batches.state(), again.state());
  }
}

TEST(Batches, RejectZeroRowsAndStatesOfOthers) {
  EXPECT_EQ(error_of([] { Batches(0, 4, 1); }),
            "Batches: needs at least one row, got none; give the number of rows of the data");
  EXPECT_EQ(error_of([] { Batches(4, 0, 1); }),
            "Batches: needs batches of at least one row, got 0; give the size of a batch, such as 32");
  EXPECT_EQ(error_of([] {
              Batches large(10, 10, 1), small(4, 4, 1);
              large.next();
              small.set_state(large.state());
            }),
            "set_state: needs at most 4 rows taken, got 10; give the state of Batches with as many rows");
}

}  // namespace
}  // namespace gradwalk::data_test
