// SPDX-License-Identifier: MIT
// Data to learn from: rows of features with a class or a number each; some made up, and what training needs done to
// them.
//
// Everything random follows from a seed, bit for bit, on every machine (docs/random.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/random.hpp"

namespace gradwalk {

inline constexpr std::size_t most_categories = 100;  // of a column of texts

// How a column of a table became features: numbers as they are; texts as a feature a category, which is 1 where it is
// that one and else 0.
struct Column {
  std::string name;
  std::vector<std::string> categories = {};  // of a column of texts; none: numbers
  bool has_other = false;                    // one feature more, for texts that are no category
  std::optional<double> fill = {};           // what a missing number becomes; a missing text is no category
  std::size_t features() const { return categories.empty() ? 1 : categories.size() + (has_other ? 1 : 0); }
  std::string feature_name(std::size_t i) const {
    return categories.empty() ? name : name + "=" + (i < categories.size() ? categories[i] : "(other)");
  }
  bool operator==(const Column&) const = default;
};

// Rows of numbers and, for each row, which class it is of, or the number to learn.
struct Dataset {
  std::size_t columns = 0;                 // features in a row
  std::vector<double> x;                   // rows * columns numbers, row after row
  std::vector<std::size_t> labels;         // one a row: an index into label_names
  std::vector<std::string> feature_names;  // one a column
  std::vector<std::string> label_names;    // as they stand in the data, in order of first appearance for text
  // NOLINTNEXTLINE(readability-redundant-member-init): without it g++ warns when initialisers leave it out
  std::vector<double> targets = {};  // one a row, where numbers are to be learned and there are no labels
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::string target_name = {};
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<Column> table = {};  // what the features were made of; empty: columns of numbers, a feature each
  std::size_t dropped = 0;         // rows of the table that were left out, for something in them was missing

  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<double> weights = {};  // of the rows in the loss; empty: 1 each

  std::size_t rows() const { return labels.size() + targets.size(); }
  double weight(std::size_t row) const { return weights.empty() ? 1 : weights[row]; }
  bool has_targets() const { return !targets.empty(); }
  std::span<const double> row(std::size_t i) const { return {x.data() + i * columns, columns}; }
};

// Two half circles that reach into each other, as scikit-learn's make_moons: n / 2 rows of the outer, the rest of the
// inner, in random order. Here and below `noise` is the deviation of the normal noise on each number.
GRADWALK_EXPORT Dataset make_moons(std::size_t n, double noise, std::uint64_t seed);
// A circle and one inside it, `factor` times its size, as scikit-learn's make_circles.
GRADWALK_EXPORT Dataset make_circles(std::size_t n, double noise, double factor, std::uint64_t seed);
// Arms from the centre outwards, one a class, each three quarters of a turn long.
GRADWALK_EXPORT Dataset make_spiral(std::size_t n, std::size_t classes, double noise, std::uint64_t seed);

// Labels 0 and 1 as -1 and 1, for hinge(); an Error if there are others.
GRADWALK_EXPORT std::vector<double> signs(std::span<const std::size_t> labels);
// These rows, in this order.
GRADWALK_EXPORT Dataset select_rows(const Dataset& data, std::span<const std::size_t> rows);

struct Split {
  Dataset train, test;
};
// Puts the mean of its column in the training part in the place of each number that is missing (NaN), in both parts,
// and writes it down in their tables.
GRADWALK_EXPORT void fill_missing(Split& data);
// Every row in one of the two, in random order; round(rows * test_fraction) of them for testing, but neither part is
// empty. Stratified: each class gives its share to both, to within a row. (With numbers to learn, rows are one class.)
GRADWALK_EXPORT Split split(const Dataset& data, double test_fraction, std::uint64_t seed);

// So many splits of the same rows, in which each row is tested once: cross-validation. Stratified as split() is.
GRADWALK_EXPORT std::vector<Split> folds(const Dataset& data, std::size_t count, std::uint64_t seed);

// Subtracts each column's mean and divides by its deviation (that of the rows themselves: divided by n).
struct GRADWALK_EXPORT Standardisation {
  std::vector<double> mean, deviation;  // one a column; a constant column's deviation is 1
  static Standardisation fit(const Dataset& data);
  void apply(std::span<double> row) const;
  void apply(Dataset& data) const;
};

// The numbers of the rows 0, ..., rows - 1 in batches without end, each epoch in an order of its own. The last batch of
// an epoch may be smaller; none is empty.
class GRADWALK_EXPORT Batches {
 public:
  struct State {
    Random::State random{};   // as it was before the present epoch's shuffle
    std::uint64_t epoch = 0;  // how many were gone through
    std::uint64_t taken = 0;  // rows of the present one
    bool operator==(const State&) const = default;
  };

  Batches(std::size_t rows, std::size_t size, std::uint64_t seed);
  std::span<const std::size_t> next();  // valid until the next call
  std::size_t in_an_epoch() const { return (order_.size() + size_ - 1) / size_; }
  const State& state() const { return state_; }
  void set_state(const State& state);  // of Batches of as many rows

 private:
  void shuffle();

  std::vector<std::size_t> order_;
  std::size_t size_;
  Random random_;
  State state_;
};

}  // namespace gradwalk
