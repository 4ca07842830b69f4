// SPDX-License-Identifier: MIT
// The label column of a table: names of classes, which are numbered, or numbers to predict.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "csv_rows.hpp"

namespace gradwalk::detail {

// Numbers the classes, in the order in which they occur or as an existing model does.
class Labels {
 public:
  Labels(const CsvOptions& options, std::size_t column, std::string column_name)
      : options_(&options), column_(column), column_name_(std::move(column_name)) {}

  std::size_t of(const Field& field);
  std::size_t count() const { return names_.size(); }
  // Puts the classes into their final order, adapts the labels to it, and returns the names of the classes.
  std::vector<std::string> finish(std::vector<std::size_t>& labels);

 private:
  std::size_t of_new(const Field& field, const std::string& name);
  [[noreturn]] void refuse(const Field& field, std::string_view needs, std::string_view got, std::string_view advice);
  friend class Targets;

  const CsvOptions* options_;
  std::size_t column_;  // from 1
  std::string column_name_;
  std::map<std::string, std::size_t, std::less<>> known_;  // all spellings so far
  std::vector<std::string> names_;
};

// Reads a label column as classes or as numbers, as the options say. Task::detect decides by the fields.
class Targets {
 public:
  Targets(const CsvOptions& options, std::size_t column, std::string column_name)
      : options_(&options), task_(options.task), names_(options, column, std::move(column_name)) {}

  void reserve(std::size_t rows);
  void add(const Field& field);
  void finish(Dataset& data);  // stores the labels or the targets, with their names

 private:
  double number(const Field& field);

  const CsvOptions* options_;
  CsvOptions::Task task_;  // detect as long as it is not known
  Labels names_;
  std::vector<std::size_t> labels_;
  std::vector<double> numbers_;
};

}  // namespace gradwalk::detail
