// SPDX-License-Identifier: MIT
// One feature column of a table: its fields as numbers, or as places in the list of its categories.
#pragma once

#include <map>
#include <string>

#include "csv_rows.hpp"

namespace gradwalk::detail {

class FeatureColumn {
 public:
  // Of the column `at`, from 0; `known` is a model's, or none.
  FeatureColumn(const CsvOptions& options, std::size_t at, std::string name, const Column* known);

  std::size_t at() const { return at_; }
  // The number or the category's place; NaN for a missing one that is kept or, of text, for one that is no category and
  // has no feature of its own.
  double code(const Field& field);
  Column finish(std::string name);  // the column as it was found to be

 private:
  enum class Kind { open, number, text };
  double number(const Field& field) const;
  double category(const Field& field);
  double missing(const Field& field) const;
  [[noreturn]] void refuse(const Field& field, std::string_view needs, std::string_view advice) const;

  const CsvOptions* options_;
  std::size_t at_;
  std::string name_;
  const Column* known_;
  Kind kind_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::string> categories_;
};

}  // namespace gradwalk::detail
