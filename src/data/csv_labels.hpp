// SPDX-License-Identifier: MIT
// Classes by their names: numbers them as they come, or as a model has them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "csv_rows.hpp"

namespace gradwalk::detail {

class Labels {
 public:
  Labels(const CsvOptions& options, std::size_t column, std::string column_name)
      : options_(&options), column_(column), column_name_(std::move(column_name)) {}

  std::size_t of(const Field& field);
  // Puts the classes in their last order, changes the indices given out accordingly, and gives the names.
  std::vector<std::string> finish(std::vector<std::size_t>& labels);

 private:
  std::size_t of_new(const Field& field, const std::string& name);
  [[noreturn]] void refuse(const Field& field, std::string_view needs, std::string_view got, std::string_view advice);

  const CsvOptions* options_;
  std::size_t column_;  // from 1
  std::string column_name_;
  std::map<std::string, std::size_t, std::less<>> known_;  // every spelling met
  std::vector<std::string> names_;
};

}  // namespace gradwalk::detail
