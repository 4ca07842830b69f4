// SPDX-License-Identifier: MIT
// Finds the header, the features and the label column, then reads row after row.
#include "gradwalk/csv.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>

#include "csv_labels.hpp"
#include "csv_number.hpp"
#include "csv_rows.hpp"
#include "names.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace detail {
namespace {

using Header = CsvOptions::Header;

constexpr std::size_t none = static_cast<std::size_t>(-1);  // no column

std::string numbered(const char* name, std::size_t number) { return std::string(name).append(std::to_string(number)); }

bool is_number(const Field& field) { return as_number(field.raw).has_value(); }

class Reader {
 public:
  Reader(std::string_view text, const CsvOptions& options, bool is_labelled)
      : options_(options), is_labelled_(is_labelled), rows_(text, options) {
    if (!rows_.next(row_))
      throw CsvError(options.name, "rows of numbers", text.empty() ? "an empty text" : "blank lines alone", "add some");
    width_ = row_.size();
    first_line_ = row_.front().line;
    if (has_header()) {
      read_header();
      if (!rows_.next(row_))
        throw CsvError(options.name, "rows below its header", "none",
                       "add some, or say that it has no header if the first line is data");
    }
    choose_columns();
  }

  std::size_t columns() const { return features_.size(); }
  std::vector<std::string> feature_names() {
    if (!options_.features.empty()) return options_.features;
    std::vector<std::string> names;
    names.reserve(features_.size());
    for (const std::size_t column : features_)
      names.push_back(names_.empty() ? numbered("x", names.size() + 1) : std::move(names_[column]));
    return names;
  }

  void read(std::vector<double>& x, Targets* targets) {
    // The least bytes a row takes bound how many there are, and so the memory, whatever the text holds.
    const std::size_t rows = std::min(rows_.lines_left(), rows_.bytes_left() / (width_ + columns())) + 2;
    x.reserve(rows * columns());
    if (targets != nullptr) targets->reserve(rows);
    do {
      if (row_.size() != width_)
        throw CsvError(options_.name, std::to_string(width_) + " fields, as in line " + std::to_string(first_line_),
                       std::to_string(row_.size()), "make rows equally long, and quote fields that hold a separator",
                       row_.front().line);
      for (const std::size_t column : features_) x.push_back(number(column));
      if (targets != nullptr) targets->add(row_[label_]);
    } while (rows_.next(row_));
  }

  Targets targets() const { return {options_, label_ + 1, name_of(label_)}; }

 private:
  std::string name_of(std::size_t column) const { return names_.empty() ? "" : names_[column]; }

  std::size_t numbered_label() const {
    const int* number = std::get_if<int>(&options_.label);
    const auto width = static_cast<std::int64_t>(width_);
    const std::int64_t column = number == nullptr ? 0 : *number < 0 ? width + *number + 1 : *number;
    return column >= 1 && column <= width ? static_cast<std::size_t>(column - 1) : none;
  }

  bool has_header() {
    if (options_.header != Header::detect) return options_.header == Header::yes;
    if (is_labelled_ && std::holds_alternative<std::string>(options_.label)) return true;
    const std::size_t label = is_labelled_ ? numbered_label() : none;
    bool has_numbers = false;
    for (std::size_t i = 0; i < width_; ++i) has_numbers = has_numbers || (i != label && is_number(row_[i]));
    if (!has_numbers && width_ > (label == none ? 0 : 1)) return true;
    if (label != none && !is_number(row_[label]) && !row_[label].is_missing()) {
      std::vector<Field> second;
      CsvRows ahead = rows_;
      if (ahead.next(second) && second.size() == width_ && is_number(second[label])) return true;
    }
    return !options_.features.empty() && holds_every_feature();
  }

  bool holds_every_feature() const {
    std::vector<std::string> names;
    names.reserve(width_);
    for (const Field& field : row_) names.push_back(field.text());
    std::sort(names.begin(), names.end());
    return std::all_of(options_.features.begin(), options_.features.end(), [&](const std::string& feature) {
      return std::binary_search(names.begin(), names.end(), feature);
    });
  }

  void read_header() {
    names_.reserve(width_);
    for (std::size_t i = 0; i < width_; ++i) {
      names_.push_back(row_[i].text());
      if (names_[i].empty()) names_[i] = numbered("column ", i + 1);
      if (!is_name(names_[i]))
        throw CsvError(options_.name, name_rule, shown(names_[i]), name_advice, row_[i].line, i + 1);
    }
    by_name_.resize(width_);
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::sort(by_name_.begin(), by_name_.end(),
              [this](std::size_t a, std::size_t b) { return std::tie(names_[a], a) < std::tie(names_[b], b); });
    const auto twice = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                          [this](std::size_t a, std::size_t b) { return names_[a] == names_[b]; });
    if (twice != by_name_.end())
      throw CsvError(options_.name, "columns of different names", shown(names_[*twice]) + " twice", "rename one",
                     row_[twice[1]].line, twice[1] + 1);
  }

  std::size_t named(const std::string& name) const {
    const auto found =
        std::lower_bound(by_name_.begin(), by_name_.end(), name,
                         [this](std::size_t column, const std::string& n) { return names_[column] < n; });
    return found != by_name_.end() && names_[*found] == name ? *found : none;
  }

  std::size_t label_column() const {
    const std::string* name = std::get_if<std::string>(&options_.label);
    if (name != nullptr && names_.empty())
      throw CsvError(options_.name, "a header to find the label column " + shown(*name) + " in", "none",
                     "give the column's number, or add a header");
    const std::size_t column = name != nullptr ? named(*name) : numbered_label();
    if (column != none) return column;
    const std::string width = std::to_string(width_);
    if (name == nullptr)
      throw CsvError(options_.name, "a label column from 1 to " + width + ", or from -1 to -" + width + " from the end",
                     std::to_string(std::get<int>(options_.label)), "choose one of them");
    throw CsvError(options_.name, "a label column of its header (" + listed(names_) + ")", shown(*name),
                   "choose one of them");
  }

  void choose_columns() {
    if (is_labelled_) label_ = label_column();
    if (options_.features.empty() || names_.empty()) {
      choose_by_place();
    } else {
      for (const std::string& feature : options_.features) choose_named(feature);
    }
    if (features_.empty())
      throw CsvError(options_.name, "a feature beside the label", "1 column", "add one, or check the separator");
  }

  void choose_by_place() {
    const std::size_t wanted = options_.features.size();
    if (!is_labelled_ && wanted > 0 && width_ == wanted + 1) label_ = std::min(numbered_label(), width_ - 1);
    if (wanted > 0 && width_ != wanted + (label_ == none ? 0 : 1))
      throw CsvError(options_.name,
                     "the model's " + std::to_string(wanted) + (is_labelled_ ? " features and a label" : " features"),
                     counted(width_, "column", "columns"),
                     "use a file of the same columns, or add a header that names them", first_line_);
    for (std::size_t i = 0; i < width_; ++i)
      if (i != label_) features_.push_back(i);
  }

  void choose_named(const std::string& feature) {
    const std::size_t column = named(feature);
    if (column == none)
      throw CsvError(options_.name, "the column " + shown(feature) + ", which the model has learned from",
                     "only " + listed(names_), "add it or rename one", first_line_);
    if (column == label_)
      throw CsvError(options_.name, "a label column that is no feature of the model", shown(feature),
                     "say which column holds the labels", first_line_, column + 1);
    features_.push_back(column);
  }

  double number(std::size_t column) const {
    const Field& field = row_[column];
    const std::optional<double> number = as_number(field.raw);
    if (number && std::isfinite(*number)) return *number;
    refuse_number(field, column, number.has_value());
  }

  [[noreturn]] void refuse_number(const Field& field, std::size_t column, bool is_not_finite) const {
    std::string_view needs = "a number", advice = "correct it or drop the row";
    double number = 0;
    const char* last = field.raw.data() + field.raw.size();
    const auto [end, error] = std::from_chars(field.raw.data(), last, number);
    std::string with_point(field.raw);
    std::replace(with_point.begin(), with_point.end(), ',', '.');
    if (field.is_missing()) {
      advice = "fill it in or drop the row";
    } else if (is_not_finite) {
      needs = "a finite number";
    } else if (error == std::errc::result_out_of_range && end == last) {
      needs = "a number between 5e-324 and 1.8e308";
    } else if (as_number(with_point)) {
      advice = "write decimals with a point";
    }
    throw CsvError(options_.name, needs, field.raw.empty() ? "an empty field" : shown(field.raw), advice, field.line,
                   column + 1, name_of(column));
  }

  const CsvOptions& options_;
  bool is_labelled_;
  CsvRows rows_;
  std::vector<Field> row_;  // the one to read next
  std::size_t width_ = 0, first_line_ = 0;
  std::vector<std::string> names_;     // of the header; none without
  std::vector<std::size_t> by_name_;   // columns, sorted
  std::vector<std::size_t> features_;  // their columns
  std::size_t label_ = none;           // its column
};

}  // namespace
}  // namespace detail

Dataset read_csv(std::string_view text, const CsvOptions& options) {
  detail::Reader reader(text, options, true);
  Dataset data;
  data.columns = reader.columns();
  detail::Targets targets = reader.targets();
  reader.read(data.x, &targets);
  targets.finish(data);
  data.feature_names = reader.feature_names();
  return data;
}

Table read_csv_features(std::string_view text, const CsvOptions& options) {
  detail::Reader reader(text, options, false);
  Table table;
  table.columns = reader.columns();
  reader.read(table.x, nullptr);
  table.names = reader.feature_names();
  return table;
}

}  // namespace gradwalk
