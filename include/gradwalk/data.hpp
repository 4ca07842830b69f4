// SPDX-License-Identifier: MIT
// Data to learn from: rows of features, each with a class or a number; synthetic data; and preparing data for training.
//
// Random results depend on their seed alone, and are the same bits on every machine (docs/random.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/random.hpp"

namespace gradwalk {

inline constexpr std::size_t most_categories = 100;  // the largest number of categories in a text column

// How a column of a table becomes features. A numeric column is one feature. A text column is one feature per category,
// which is 1 in rows of that category and 0 in others.
struct Column {
  std::string name;                          // the name of the column in the header, or x1, x2, ... without one
  std::vector<std::string> categories = {};  // the categories of a text column; empty for a numeric one
  bool has_other = false;                    // whether there is one more feature, for texts that are no category
  std::optional<double> fill = {};           // replaces a missing number; a missing text has no category
  std::size_t features() const { return categories.empty() ? 1 : categories.size() + (has_other ? 1 : 0); }
  // Returns the name of feature i of this column: the column's own name, "column=category" or "column=(other)".
  std::string feature_name(std::size_t i) const {
    return categories.empty() ? name : name + "=" + (i < categories.size() ? categories[i] : "(other)");
  }
  bool operator==(const Column&) const = default;
};

// Rows of features and, for each row, a class (classification) or a number (regression).
struct Dataset {
  std::size_t columns = 0;                 // the number of features
  std::vector<double> x;                   // rows * columns numbers, row after row
  std::vector<std::size_t> labels;         // the class of each row, as an index into label_names
  std::vector<std::string> feature_names;  // one name per feature
  std::vector<std::string> label_names;    // the names of the classes
  // NOLINTNEXTLINE(readability-redundant-member-init): without it g++ warns when initialisers leave it out
  std::vector<double> targets = {};  // for regression: the number of each row; there are no labels then
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::string target_name = {};
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<Column> table = {};  // the columns that the features come from; empty: one numeric column per feature
  std::size_t dropped = 0;         // the number of rows that were left out because a field was missing

  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<double> weights = {};  // the weight of each row in the loss; empty: all are 1

  // Returns the number of rows, from the labels or the targets, of which a dataset has only one.
  std::size_t rows() const { return labels.size() + targets.size(); }
  // Returns the factor on the loss of a row: its entry in `weights`, or 1 if that is empty.
  double weight(std::size_t row) const { return weights.empty() ? 1 : weights[row]; }
  // Returns whether the data is for regression. It is false for data without rows.
  bool has_targets() const { return !targets.empty(); }
  // Returns a view of the features of row i, without a check of i. It is valid while `x` stays unchanged.
  std::span<const double> row(std::size_t i) const { return {x.data() + i * columns, columns}; }
};

// Returns two interleaving half circles, like scikit-learn's make_moons: n / 2 rows of the outer one, the rest of the
// inner one, in random order. Here and below, `noise` is the standard deviation of the normal noise on each number.
GRADWALK_EXPORT Dataset make_moons(std::size_t n, double noise, std::uint64_t seed);
// Returns a circle and a second one inside it, `factor` times its size, like scikit-learn's make_circles.
GRADWALK_EXPORT Dataset make_circles(std::size_t n, double noise, double factor, std::uint64_t seed);
// Returns spiral arms that start in the centre, one per class, each three quarters of a turn long.
GRADWALK_EXPORT Dataset make_spiral(std::size_t n, std::size_t classes, double noise, std::uint64_t seed);

// Returns -1 for each label 0 and 1 for each label 1, for hinge(). Throws an Error for other labels.
GRADWALK_EXPORT std::vector<double> signs(std::span<const std::size_t> labels);
// Returns these rows of the data, in this order. Throws an Error for a row that does not exist.
GRADWALK_EXPORT Dataset select_rows(const Dataset& data, std::span<const std::size_t> rows);

// Rows for training and rows for testing.
struct Split {
  Dataset train;  // the rows to learn from
  Dataset test;   // the rows to judge the model by
};
// Replaces each missing number (NaN), in both parts, by the mean of its column in the training part. The means are
// stored in the tables (Column::fill). Throws an Error for a column without any number.
GRADWALK_EXPORT void fill_missing(Split& data);
// Divides the rows at random: round(rows * test_fraction) of them, but at least one, are for testing. The split is
// stratified: each class is divided in the same proportion, up to one row. For regression all rows are one class.
GRADWALK_EXPORT Split split(const Dataset& data, double test_fraction, std::uint64_t seed);

// Returns `count` splits of the rows for cross-validation: each row is in the test part of exactly one. The splits are
// stratified like those of split().
GRADWALK_EXPORT std::vector<Split> folds(const Dataset& data, std::size_t count, std::uint64_t seed);

// Scales each column to mean 0 and standard deviation 1.
struct GRADWALK_EXPORT Standardisation {
  std::vector<double> mean, deviation;  // one number per column; the deviation of a constant column is 1
  // Computes the means and the standard deviations (dividing by n) of the columns.
  static Standardisation fit(const Dataset& data);
  // Subtracts the means and divides by the deviations, in place.
  void apply(std::span<double> row) const;
  void apply(Dataset& data) const;
};

// Batches of row numbers without end. Each epoch goes through all rows 0, ..., rows - 1 in a new random order. The last
// batch of an epoch may be smaller; none is empty.
class GRADWALK_EXPORT Batches {
 public:
  // The position in the sequence of batches: Batches with the same rows and size continue from it with the same
  // batches.
  struct State {
    Random::State random{};   // the generator's state before it shuffled the current epoch
    std::uint64_t epoch = 0;  // the number of complete epochs
    std::uint64_t taken = 0;  // the number of rows taken of the current epoch
    bool operator==(const State&) const = default;
  };

  Batches(std::size_t rows, std::size_t size, std::uint64_t seed);
  std::span<const std::size_t> next();  // the row numbers of the next batch, valid until the next call
  std::size_t in_an_epoch() const { return (order_.size() + size_ - 1) / size_; }  // the number of batches per epoch
  const State& state() const { return state_; }  // where to continue after the last batch that next() returned
  void set_state(const State& state);            // throws an Error for the state of Batches of fewer rows

 private:
  void shuffle();

  std::vector<std::size_t> order_;
  std::size_t size_;
  Random random_;
  State state_;
};

}  // namespace gradwalk
