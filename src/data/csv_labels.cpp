// SPDX-License-Identifier: MIT
// Numbers the classes of a label column, or reads its numbers.
#include "csv_labels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>

#include "csv_number.hpp"
#include "names.hpp"
#include "text/shown.hpp"

namespace gradwalk::detail {

void Labels::refuse(const Field& field, std::string_view needs, std::string_view got, std::string_view advice) {
  throw CsvError(options_->name, needs, got, advice, field.line, column_, column_name_);
}

std::size_t Labels::of(const Field& field) {
  if (field.is_missing())
    refuse(field, "a label", field.raw.empty() ? "an empty field" : shown(field.raw), "fill it in or delete the row");
  // The usual case: a known label without quotes.
  if (const auto found = known_.find(field.raw); found != known_.end() && !field.is_quoted) return found->second;
  const std::string name = field.text();
  const auto found = known_.find(name);
  return found != known_.end() ? found->second : known_.emplace(name, of_new(field, name)).first->second;
}

std::size_t Labels::of_new(const Field& field, const std::string& name) {
  if (known_.size() == most_csv_classes)
    refuse(field, "at most " + std::to_string(most_csv_classes) + " classes", "one more, " + shown(name),
           "choose another label column, or predict its numbers");
  if (!is_name(name)) refuse(field, name_rule, shown(name), name_advice);
  if (options_->labels.empty()) {
    names_.push_back(name);
    return names_.size() - 1;
  }
  const auto number = as_number(name);
  for (std::size_t i = 0; i < options_->labels.size(); ++i)
    if (options_->labels[i] == name || (number && as_number(options_->labels[i]) == number)) return i;
  refuse(field, "a label that the model knows (" + listed(options_->labels) + ")", shown(name),
         "correct it or delete the row");
}

std::vector<std::string> Labels::finish(std::vector<std::size_t>& labels) {
  if (!options_->labels.empty()) return options_->labels;
  std::vector<double> numbers;
  for (const std::string& name : names_) {
    const auto number = as_number(name);
    if (!number || !std::isfinite(*number)) return std::move(names_);
    numbers.push_back(*number);
  }
  std::vector<std::size_t> order(names_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(numbers[a], a) < std::tie(numbers[b], b);  // of equal numbers, the name that came first
  });
  std::vector<std::size_t> index_of(names_.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || numbers[order[i]] != numbers[order[i - 1]]) names.push_back(std::move(names_[order[i]]));
    index_of[order[i]] = names.size() - 1;
  }
  for (std::size_t& label : labels) label = index_of[label];
  return names;
}

void Targets::reserve(std::size_t rows) {
  if (task_ != CsvOptions::Task::numbers) labels_.reserve(rows);
  if (task_ != CsvOptions::Task::classes) numbers_.reserve(rows);
}

double Targets::number(const Field& field) {
  const std::optional<double> number = as_number(field.raw);
  if (number && std::isfinite(*number)) return *number;
  names_.refuse(field, "a number", field.raw.empty() ? "an empty field" : shown(field.raw),
                options_->task == CsvOptions::Task::detect ? "correct it, delete the row, or use the column as classes"
                                                           : "correct it or delete the row");
}

void Targets::add(const Field& field) {
  using enum CsvOptions::Task;
  if (task_ == detect) {
    const std::optional<double> value = as_number(field.raw);
    if (!field.is_missing() && (!value || !std::isfinite(*value))) {
      task_ = classes;
    } else if (value && *value != std::floor(*value)) {
      task_ = numbers;
    }
  }
  if (task_ != numbers) labels_.push_back(names_.of(field));
  if (task_ != classes) numbers_.push_back(number(field));
  if (task_ == detect && names_.count() > most_number_classes) task_ = numbers;
}

void Targets::finish(Dataset& data) {
  if (task_ == CsvOptions::Task::numbers) {
    data.targets = std::move(numbers_);
    data.target_name = names_.column_name_.empty() ? "y" : names_.column_name_;
    return;
  }
  data.labels = std::move(labels_);
  data.label_names = names_.finish(data.labels);
}

}  // namespace gradwalk::detail
