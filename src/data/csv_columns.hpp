// SPDX-License-Identifier: MIT
// One feature column of a table: reads its fields as numbers, or as indices into the list of its categories.
#pragma once

#include <map>
#include <string>

#include "csv_rows.hpp"

namespace gradwalk::detail {

class FeatureColumn {
 public:
  // Reads the column with the number `at`, counted from 0. `known` is the column of an existing model, or null.
  FeatureColumn(const CsvOptions& options, std::size_t at, std::string name, const Column* known);

  std::size_t at() const { return at_; }
  // Returns the number, or the index of the category. Returns NaN for a missing field that is kept, and for a text that
  // has no feature.
  double code(const Field& field);
  Column finish(std::string name);  // describes the column, after its last field

 private:
  enum class Kind { unknown, number, text };
  double number(const Field& field) const;
  double category(const Field& field);
  double missing(const Field& field) const;
  [[noreturn]] void refuse(const Field& field, std::string_view needs, std::string_view advice) const;

  const CsvOptions* options_;
  std::size_t at_;
  std::string name_;
  const Column* known_;
  Kind kind_;
  std::map<std::string, std::size_t, std::less<>> indices_;  // of the categories
  std::vector<std::string> categories_;
};

}  // namespace gradwalk::detail
