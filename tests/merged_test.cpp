// SPDX-License-Identifier: MIT
// Paths of a function as one graph without branches: it computes what the function computes, for rows of every path.
#include "function/merged.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "gradwalk/gradwalk.hpp"

namespace gradwalk {
namespace {

using Values = std::vector<Value>;

constexpr std::size_t inputs = 3;

// All rows of these numbers.
std::vector<std::vector<double>> rows_of(std::vector<double> numbers) {
  std::vector<std::vector<double>> rows{{}};
  for (std::size_t i = 0; i < inputs; ++i) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& row : rows)
      for (const double number : numbers) {
        longer.push_back(row);
        longer.back().push_back(number + 0.1 * static_cast<double>(i));
      }
    rows = std::move(longer);
  }
  return rows;
}

// Merges the paths of the rows, without those on which `leave_out` comparisons held.
std::optional<paths::Merged> merged(const RowOutputs& function, const Values& parameters,
                                    const std::vector<std::vector<double>>& rows, int leave_out = -1) {
  std::vector<paths::Trace> traces;
  std::set<std::vector<bool>> known;
  for (const std::vector<double>& row : rows) {
    paths::Recording recorded = paths::record(function, row, parameters);
    const std::vector<bool> outcomes = recorded.outcomes();
    if (std::count(outcomes.begin(), outcomes.end(), true) == leave_out || !known.insert(outcomes).second) continue;
    traces.push_back(*paths::Trace::of(std::move(recorded), parameters));
  }
  return paths::Merged::of(traces);
}

void expect_same(const RowOutputs& function, const Values& parameters, const std::vector<std::vector<double>>& rows) {
  const std::optional<paths::Merged> made = merged(function, parameters, rows);
  ASSERT_TRUE(made);
  for (const std::vector<double>& row : rows) {
    const Values x(row.begin(), row.end()), want = function(x), got = made->record(x, parameters);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i].data(), want[i].data()) << i;
  }
}

TEST(MergedPaths, ComputeWhatEachPathDoes) {
  const Values p{Value(1.5)};
  const std::vector<std::vector<double>> rows = rows_of({-2, -0.7, 0.4, 1.3});
  const RowOutputs one_after_another = [&](const Values& x) {
    Value sum = 0.0;
    for (const Value& number : x) sum = number < 0 ? sum - p[0] * number : sum + exp(number);
    return Values{sum, sum * x[0]};
  };
  expect_same(one_after_another, p, rows);
  const RowOutputs nested = [&](const Values& x) {
    Value y = x[0] * p[0];
    if (y > 0) {
      if (x[1] > y) return Values{x[1] - y};
      y = y * x[2];
    }
    if (x[2] > 0.5) y = tanh(y);
    return Values{y + 1};
  };
  expect_same(nested, p, rows);
  // Which branch was taken decides later, too, though no Value says so.
  const RowOutputs with_memory = [&](const Values& x) {
    const bool is_negative = x[0] < 0;
    const Value y = x[1] < 0 ? x[1] * p[0] : x[1];
    return Values{is_negative ? y * y : y};
  };
  expect_same(with_memory, p, rows);
  const RowOutputs of_numbers = [&](const Values& x) { return Values{x[0] < 0 ? Value(1.0) : x[1] < 0 ? x[2] : p[0]}; };
  expect_same(of_numbers, p, rows);
}

TEST(MergedPaths, ComputeWhatIsCommonOnce) {
  const auto branches = [](const Values& x) {
    Value y = x[0];
    if (y > 0) y = y * 2;
    const Value z = sin(y) * cos(y) + exp(y);
    return Values{x[1] > 0 ? z : -z};
  };
  const auto without = [](const Values& x) {
    const Value y = x[0] * 2;
    return Values{-(sin(y) * cos(y) + exp(y))};
  };
  const std::vector<std::vector<double>> rows = rows_of({-1, 1});
  const std::optional<paths::Merged> with_choices = merged(branches, {}, rows), plain = merged(without, {}, rows);
  ASSERT_TRUE(with_choices && plain);
  EXPECT_LT(with_choices->work(), plain->work() + 12);
}

TEST(MergedPaths, MustAllHaveBeenRecorded) {
  const RowOutputs function = [](const Values& x) {
    Value sum = 0.0;
    for (const Value& number : x) sum = number < 0 ? sum - number : sum + number * number;
    return Values{sum};
  };
  const std::vector<std::vector<double>> rows = rows_of({-1, 1});
  EXPECT_TRUE(merged(function, {}, rows));
  EXPECT_FALSE(merged(function, {}, rows, 0));
  EXPECT_FALSE(merged(function, {}, rows, 1));
}

// The first comparison decides whether there is a third one, but no Value says so at the second one.
TEST(MergedPaths, MustGoOnAlikeWhereTheyMeet) {
  const RowOutputs function = [](const Values& x) {
    const bool is_negative = x[0] < 0;
    Value y = x[1] < 0 ? 2 * x[1] : x[1];
    if (is_negative && x[2] < 0.5 * y) y = y * 3;
    return Values{y};
  };
  EXPECT_FALSE(merged(function, {}, rows_of({-1, 0.5, 1})));
}

// A constant that the user may change is not replaced by its number.
// The nodes of the long one would be related from the last to the first, each in a call of its own.
TEST(MergedPaths, StayApartWhereALongBranchMeetsAShortOne) {
  const Values p{Value(0.9)};
  const RowOutputs function = [&](const Values& x) {
    const bool is_long = x[0] > 0;
    Value y = x[1] > 0 ? x[0] * 0.5 : x[0];
    for (int i = 0; is_long && i < 28'000; ++i) y = y * p[0];
    if (!is_long) y = y + p[0];
    return Values{y};
  };
  EXPECT_FALSE(merged(function, p, rows_of({-2, 0.4})));
}

TEST(MergedPaths, ReadTheConstantsOfTheUser) {
  Value limit{0.3};
  const std::vector<std::vector<double>> rows = rows_of({-1, 1});
  const RowOutputs function = [&](const Values& x) { return Values{x[0] < limit ? x[1] : x[2]}; };
  const std::optional<paths::Merged> made = merged(function, {}, rows);
  ASSERT_TRUE(made);
  limit.data() = 5;
  const Values x{Value(1.0), Value(2.0), Value(3.0)};
  EXPECT_EQ(made->record(x, {})[0].data(), 2);
  const Value same{5.0};
  EXPECT_FALSE(merged([&](const Values& y) { return Values{y[0] < limit ? y[1] : y[2] * same}; }, {}, rows));
}

}  // namespace
}  // namespace gradwalk
