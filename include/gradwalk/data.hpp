// SPDX-License-Identifier: MIT
// Data to learn from: rows of features with a class each.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gradwalk {

// Rows of numbers and, for each row, which class it is of.
struct Dataset {
  std::size_t columns = 0;                 // features in a row
  std::vector<double> x;                   // rows * columns numbers, row after row
  std::vector<std::size_t> labels;         // one a row: an index into label_names
  std::vector<std::string> feature_names;  // one a column
  std::vector<std::string> label_names;    // as they stand in the data, in order of first appearance for text
  std::size_t rows() const { return labels.size(); }
  std::span<const double> row(std::size_t i) const { return {x.data() + i * columns, columns}; }
};

}  // namespace gradwalk
