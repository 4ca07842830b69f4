// SPDX-License-Identifier: MIT
// Prepares data for training: choosing rows, splitting, filling in, standardising, batches.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "shape.hpp"
#include "text/numbers.hpp"
#include "text/shown.hpp"

namespace gradwalk {
namespace {

std::vector<std::size_t> counting(std::size_t n) {
  std::vector<std::size_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

}  // namespace

std::vector<double> signs(std::span<const std::size_t> labels) {
  std::vector<double> result;
  result.reserve(labels.size());
  for (const std::size_t label : labels) {
    if (label > 1)
      throw Error("signs", "labels that are 0 or 1", std::to_string(label),
                  "use softmax_cross_entropy for more than two classes");
    result.push_back(label == 1 ? 1.0 : -1.0);
  }
  return result;
}

Dataset select_rows(const Dataset& data, std::span<const std::size_t> rows) {
  detail::check_shape("select_rows", data);
  Dataset result{data.columns, {},           {}, data.feature_names, data.label_names, {}, data.target_name,
                 data.table,   data.dropped, {}};
  result.x.reserve(rows.size() * data.columns);
  (data.has_targets() ? result.targets.reserve(rows.size()) : result.labels.reserve(rows.size()));
  for (const std::size_t row : rows) {
    if (row >= data.rows())
      throw Error("select_rows", "rows below " + std::to_string(data.rows()), std::to_string(row), "count from 0");
    if (!data.weights.empty()) result.weights.push_back(data.weights[row]);
    const std::span<const double> numbers = data.row(row);
    result.x.insert(result.x.end(), numbers.begin(), numbers.end());
    if (data.has_targets())
      result.targets.push_back(data.targets[row]);
    else
      result.labels.push_back(data.labels[row]);
  }
  return result;
}

namespace {

struct ShuffledRows {
  std::vector<std::size_t> order;
  std::map<std::size_t, std::vector<std::size_t>> of_class;  // rows in that order; for regression all are one class
};

ShuffledRows shuffled_rows(const Dataset& data, std::uint64_t seed) {
  ShuffledRows rows{counting(data.rows()), {}};
  Random random(seed);
  random.shuffle(rows.order);
  for (const std::size_t row : rows.order) rows.of_class[data.has_targets() ? 0 : data.labels[row]].push_back(row);
  return rows;
}

}  // namespace

// Goes through the shuffled rows class by class and takes test rows at even distances, so each class is divided in the
// same proportion.
Split split(const Dataset& data, double test_fraction, std::uint64_t seed) {
  const std::size_t rows = data.rows();
  if (rows < 2) throw Error("split", "at least two rows", std::to_string(rows), "add rows");
  detail::check_shape("split", data);
  const bool fits = test_fraction > 0 && test_fraction < 1;
  if (!fits)
    throw Error("split", "a test fraction between 0 and 1", detail::format_number(test_fraction), "0.2 is usual");
  const double wanted = std::round(static_cast<double>(rows) * test_fraction);
  const std::size_t tested = std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, rows - 1);

  const auto [order, rows_of_class] = shuffled_rows(data, seed);
  std::vector<bool> is_test(rows);
  std::size_t due = rows / 2;  // rounds to the nearest row rather than down
  for (const auto& [label, members] : rows_of_class)
    for (const std::size_t row : members) {
      due += tested;
      if (due < rows) continue;
      due -= rows;
      is_test[row] = true;
    }

  std::vector<std::size_t> train, test;
  for (const std::size_t row : order) (is_test[row] ? test : train).push_back(row);
  return {select_rows(data, train), select_rows(data, test)};
}

// Deals the shuffled rows to the folds like cards, class by class.
std::vector<Split> folds(const Dataset& data, std::size_t count, std::uint64_t seed) {
  detail::check_shape("folds", data);
  if (count < 2 || count > data.rows())
    throw Error("folds", "from 2 folds to one per row, " + std::to_string(data.rows()), std::to_string(count),
                "5 or 10 are usual");
  const auto [order, rows_of_class] = shuffled_rows(data, seed);
  std::vector<std::size_t> fold_of(data.rows());
  std::size_t dealt = 0;
  for (const auto& [label, members] : rows_of_class)
    for (const std::size_t row : members) fold_of[row] = dealt++ % count;

  std::vector<Split> result;
  for (std::size_t fold = 0; fold < count; ++fold) {
    std::vector<std::size_t> train, test;
    for (const std::size_t row : order) (fold_of[row] == fold ? test : train).push_back(row);
    result.push_back({select_rows(data, train), select_rows(data, test)});
  }
  return result;
}

void fill_missing(Split& data) {
  for (const Dataset* part : {&data.train, &data.test}) detail::check_shape("fill_missing", *part);
  std::size_t feature = 0;
  for (std::size_t k = 0; k < data.train.table.size(); feature += data.train.table[k].features(), ++k) {
    if (!data.train.table[k].categories.empty()) continue;
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < data.train.rows(); ++i)
      if (const double x = data.train.row(i)[feature]; !std::isnan(x)) sum += x, ++count;
    if (count == 0)
      throw Error("fill_missing", "a number in the column " + detail::shown(data.train.table[k].name), "none",
                  "leave the column out");
    const double mean = sum / static_cast<double>(count);
    for (Dataset* part : {&data.train, &data.test}) {
      part->table[k].fill = mean;
      for (std::size_t i = 0; i < part->rows(); ++i)
        if (double& x = part->x[i * part->columns + feature]; std::isnan(x)) x = mean;
    }
  }
}

namespace {

// Fits a column whose sums overflow a double, in units of 2^600. The scaling changes no digit.
void fit_huge(const Dataset& data, std::size_t column, double& mean, double& deviation) {
  constexpr int scale = 600;
  const auto rows = static_cast<double>(data.rows());
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < data.rows(); ++i) sum += std::ldexp(data.row(i)[column], -scale);
  const double middle = sum / rows;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const double deviation_of_row = std::ldexp(data.row(i)[column], -scale) - middle;
    squares += deviation_of_row * deviation_of_row;
  }
  mean = std::ldexp(middle, scale);
  deviation = std::ldexp(std::sqrt(squares / rows), scale);
}

void check_finite(std::span<const double> row, std::size_t number) {
  const auto bad =
      std::find_if_not(row.begin(), row.end(), [](double number_in_row) { return std::isfinite(number_in_row); });
  if (bad != row.end())
    throw Error("Standardisation", "finite numbers",
                detail::format_number(*bad) + " in row " + std::to_string(number) + ", column " +
                    std::to_string(bad - row.begin()),
                "delete the row, or fill in a number");
}

}  // namespace

Standardisation Standardisation::fit(const Dataset& data) {
  if (data.rows() == 0) throw Error("Standardisation", "at least one row", "none", "fit it to the training data");
  detail::check_shape("Standardisation", data);
  // Go row by row, in the order of memory.
  const auto rows = static_cast<double>(data.rows());
  const std::span<const double> first = data.row(0);
  std::vector<double> mean(data.columns), squares(data.columns);
  std::vector<double> low(first.begin(), first.end()), high = low;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const std::span<const double> row = data.row(i);
    check_finite(row, i);
    for (std::size_t k = 0; k < row.size(); ++k) {
      mean[k] += row[k];
      low[k] = std::min(low[k], row[k]), high[k] = std::max(high[k], row[k]);
    }
  }
  for (std::size_t k = 0; k < data.columns; ++k) mean[k] = low[k] == high[k] ? low[k] : mean[k] / rows;
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const std::span<const double> row = data.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) squares[k] += (row[k] - mean[k]) * (row[k] - mean[k]);
  }
  std::vector<double> deviation;
  for (std::size_t k = 0; k < data.columns; ++k) {
    double root = std::sqrt(squares[k] / rows);
    if (!std::isfinite(mean[k]) || !std::isfinite(root)) fit_huge(data, k, mean[k], root);
    deviation.push_back(root > 0 ? root : 1);
  }
  return {std::move(mean), std::move(deviation)};
}

void Standardisation::apply(std::span<double> row) const {
  if (row.size() != mean.size())
    throw Error("Standardisation", "rows of " + detail::counted(mean.size(), "number", "numbers"),
                std::to_string(row.size()), "give rows with the same columns as the data that it was fitted to");
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = (row[i] - mean[i]) / deviation[i];
}

void Standardisation::apply(Dataset& data) const {
  detail::check_shape("Standardisation", data);
  const std::span<double> numbers = data.x;
  for (std::size_t i = 0; i < data.rows(); ++i) apply(numbers.subspan(i * data.columns, data.columns));
}

Batches::Batches(std::size_t rows, std::size_t size, std::uint64_t seed)
    : order_(rows), size_(size), random_(seed), state_{random_.state()} {
  if (rows == 0) throw Error("Batches", "at least one row", "none", "give the number of rows of the data");
  if (size == 0) throw Error("Batches", "batches of at least one row", "0", "give the size of a batch, such as 32");
  shuffle();
}

std::span<const std::size_t> Batches::next() {
  if (state_.taken == order_.size()) {
    state_ = {random_.state(), state_.epoch + 1, 0};
    shuffle();
  }
  const auto from = static_cast<std::size_t>(state_.taken);
  const std::size_t count = std::min(size_, order_.size() - from);
  state_.taken += count;
  return std::span<const std::size_t>(order_).subspan(from, count);
}

void Batches::set_state(const State& state) {
  if (state.taken > order_.size())
    throw Error("set_state", "at most " + detail::counted(order_.size(), "row", "rows") + " taken",
                std::to_string(state.taken), "give the state of Batches with as many rows");
  random_ = Random::from_state(state.random);
  state_ = state;
  shuffle();
}

// Starts from 0, 1, 2, ..., so that the state of the generator determines the whole order.
void Batches::shuffle() {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  random_.shuffle(order_);
}

}  // namespace gradwalk
