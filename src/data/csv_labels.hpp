// SPDX-License-Identifier: MIT
// What a label column holds: classes by their names, numbered as they come or as a model has them, or numbers to learn.
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
  std::size_t count() const { return names_.size(); }
  // Puts the classes in their last order, changes the indices given out accordingly, and gives the names.
  std::vector<std::string> finish(std::vector<std::size_t>& labels);

 private:
  std::size_t of_new(const Field& field, const std::string& name);
  [[noreturn]] void refuse(const Field& field, std::string_view needs, std::string_view got, std::string_view advice);
  friend class Targets;

  const CsvOptions* options_;
  std::size_t column_;  // from 1
  std::string column_name_;
  std::map<std::string, std::size_t, std::less<>> known_;  // every spelling met
  std::vector<std::string> names_;
};

// Classes or numbers, as the options say or the fields show.
class Targets {
 public:
  Targets(const CsvOptions& options, std::size_t column, std::string column_name)
      : options_(&options), task_(options.task), names_(options, column, std::move(column_name)) {}

  void reserve(std::size_t rows);
  void add(const Field& field);
  void finish(Dataset& data);  // gives it labels and their names, or targets and theirs

 private:
  double number(const Field& field);

  const CsvOptions* options_;
  CsvOptions::Task task_;  // detect: not known yet
  Labels names_;
  std::vector<std::size_t> labels_;
  std::vector<double> numbers_;
};

}  // namespace gradwalk::detail
