// SPDX-License-Identifier: MIT
// Reads a table: finds the header, the features and the label column, and then reads row after row.
#include "gradwalk/csv.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>

#include "csv_columns.hpp"
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
    check_choices();
    if (!rows_.next(row_))
      throw CsvError(options.name, "rows", text.empty() ? "an empty text" : "only blank lines", "add some");
    width_ = row_.size();
    first_line_ = row_.front().line;
    if (has_header()) {
      read_header();
      if (!rows_.next(row_))
        throw CsvError(options.name, "rows below its header", "none",
                       "add some, or say that there is no header if the first line is data");
    }
    choose_columns();
  }

  std::size_t columns() const { return features_.size(); }
  std::vector<std::string> feature_names() {
    if (!options_.features.empty()) return options_.features;
    std::vector<std::string> names;
    names.reserve(features_.size());
    for (const FeatureColumn& column : features_)
      names.push_back(names_.empty() ? numbered("x", names.size() + 1) : names_[column.at()]);
    return names;
  }

  // Returns the columns; nothing if all are plain numbers.
  std::vector<Column> table() {
    std::vector<Column> columns;
    const std::vector<std::string> names = feature_names();
    for (std::size_t i = 0; i < features_.size(); ++i) columns.push_back(features_[i].finish(names[i]));
    const bool is_plain = std::all_of(columns.begin(), columns.end(),
                                      [](const Column& column) { return column.categories.empty() && !column.fill; });
    if (is_plain && options_.missing != CsvOptions::Missing::keep) columns.clear();
    return columns;
  }

  std::size_t dropped() const { return dropped_; }

  void read(std::vector<double>& x, Targets* targets) {
    // A row takes a minimum number of bytes. This bounds the number of rows, and so the memory, for any text.
    const std::size_t rows = std::min(rows_.lines_left(), rows_.bytes_left() / (width_ + columns())) + 2;
    x.reserve(rows * columns());
    if (targets != nullptr) targets->reserve(rows);
    do {
      if (row_.size() != width_)
        throw CsvError(options_.name, std::to_string(width_) + " fields, as in line " + std::to_string(first_line_),
                       std::to_string(row_.size()),
                       "make all rows equally long, and quote fields that contain a separator", row_.front().line);
      if (options_.missing == CsvOptions::Missing::drop && lacks_something(targets != nullptr)) {
        ++dropped_;
        continue;
      }
      for (FeatureColumn& column : features_) x.push_back(column.code(row_[column.at()]));
      if (targets != nullptr) targets->add(row_[label_]);
    } while (rows_.next(row_));
    if (x.empty())
      throw CsvError(options_.name, "a row without missing fields", "none", "fill in some, or drop columns");
  }

  Targets targets() const { return {options_, label_ + 1, name_of(label_)}; }

 private:
  void check_choices() const {
    if (!options_.features.empty() && (!options_.use.empty() || !options_.drop.empty()))
      throw CsvError(options_.name, "the features of a model, or columns to use or drop", "both",
                     "leave out one of them");
    if (!options_.table.empty() && options_.table.size() != options_.features.size())
      throw CsvError(options_.name, "one name in `features` per column of `table`",
                     std::to_string(options_.features.size()) + " for " + std::to_string(options_.table.size()),
                     "give those of the model");
  }

  bool lacks_something(bool with_label) const {
    return (with_label && row_[label_].is_missing()) ||
           std::any_of(features_.begin(), features_.end(),
                       [&](const FeatureColumn& column) { return row_[column.at()].is_missing(); });
  }

  std::string name_of(std::size_t column) const { return names_.empty() ? "" : names_[column]; }

  std::size_t numbered_label() const { return numbered_column(options_.label); }

  std::size_t numbered_column(const std::variant<int, std::string>& wanted) const {
    const int* number = std::get_if<int>(&wanted);
    const auto width = static_cast<std::int64_t>(width_);
    const std::int64_t column = number == nullptr ? 0 : *number < 0 ? width + *number + 1 : *number;
    return column >= 1 && column <= width ? static_cast<std::size_t>(column - 1) : none;
  }

  bool has_header() {
    if (options_.header != Header::detect) return options_.header == Header::yes;
    if (is_labelled_ && std::holds_alternative<std::string>(options_.label)) return true;
    const auto is_name_of_column = [](const auto& column) { return std::holds_alternative<std::string>(column); };
    if (std::any_of(options_.use.begin(), options_.use.end(), is_name_of_column) ||
        std::any_of(options_.drop.begin(), options_.drop.end(), is_name_of_column))
      return true;
    if (options_.text_columns) return has_header_above_texts();
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

  // Decides for a table that may have text columns. A text above a number means a header; a number in the first row
  // means data. If there are only texts, nobody can tell, and this throws an Error.
  bool has_header_above_texts() {
    if (!options_.features.empty() && holds_every_feature()) return true;
    std::vector<bool> is_text(width_);
    bool has_number = false;
    for (std::size_t i = 0; i < width_; ++i) {
      is_text[i] = !row_[i].is_missing() && !is_number(row_[i]);
      has_number = has_number || is_number(row_[i]);
    }
    constexpr int looked_at = 20;
    std::vector<Field> below;
    CsvRows ahead = rows_;
    bool has_below = false;
    for (int i = 0; i < looked_at && ahead.next(below); ++i) {
      if (below.size() != width_) break;  // reading the row will throw
      has_below = true;
      for (std::size_t k = 0; k < width_; ++k)
        if (is_text[k] && is_number(below[k])) return true;
    }
    if (has_number || !options_.features.empty()) return false;
    if (has_below)
      throw CsvError(options_.name, "to know whether the first line is a header", "only texts",
                     "give --header yes or --no-header", first_line_);
    return true;
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
      throw CsvError(options_.name, "columns with different names", shown(names_[*twice]) + " twice", "rename one",
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
    throw CsvError(options_.name, "the name of a column in its header (" + listed(names_) + ") as the label",
                   shown(*name), "choose one of them");
  }

  void choose_columns() {
    if (is_labelled_) label_ = label_column();
    if (!options_.use.empty()) {
      for (const auto& column : options_.use) use(wanted_column(column));
    } else if (options_.features.empty() || names_.empty()) {
      choose_by_position();
    } else {
      for (const std::string& feature : options_.features) choose_named(feature);
    }
    if (features_.empty())
      throw CsvError(options_.name, "features besides the label", "1 column", "add one, or check the separator");
  }

  void choose_by_position() {
    const std::size_t wanted = options_.features.size();
    if (!is_labelled_ && wanted > 0 && width_ == wanted + 1) label_ = std::min(numbered_label(), width_ - 1);
    if (wanted > 0 && width_ != wanted + (label_ == none ? 0 : 1))
      throw CsvError(options_.name,
                     "the model's " + std::to_string(wanted) + (is_labelled_ ? " features and a label" : " features"),
                     counted(width_, "column", "columns"),
                     "use a file with the same columns, or add a header that names them", first_line_);
    std::vector<std::size_t> dropped;
    for (const auto& column : options_.drop) dropped.push_back(wanted_column(column));
    for (std::size_t i = 0; i < width_; ++i)
      if (i != label_ && std::find(dropped.begin(), dropped.end(), i) == dropped.end()) use(i);
  }

  void use(std::size_t column) {
    if (column == label_)
      throw CsvError(options_.name, "features besides the label", "the label column as a feature",
                     "choose another label column", first_line_, column + 1);
    const Column* known = options_.table.empty() ? nullptr : &options_.table[features_.size()];
    features_.emplace_back(options_, column, name_of(column), known);
  }

  std::size_t wanted_column(const std::variant<int, std::string>& wanted) const {
    const std::string* name = std::get_if<std::string>(&wanted);
    const std::size_t column = name != nullptr ? named(*name) : numbered_column(wanted);
    if (column != none) return column;
    throw CsvError(options_.name,
                   names_.empty() ? "columns from 1 to " + std::to_string(width_)
                                  : "names of columns in its header (" + listed(names_) + ")",
                   name != nullptr ? shown(*name) : std::to_string(std::get<int>(wanted)), "choose some of them");
  }

  void choose_named(const std::string& feature) {
    const std::size_t column = named(feature);
    if (column == none)
      throw CsvError(options_.name, "the column " + shown(feature) + ", which the model was trained with",
                     "only " + listed(names_), "add it, or rename a column", first_line_);
    if (column == label_)
      throw CsvError(options_.name, "a label column that is not a feature of the model", shown(feature),
                     "choose another label column", first_line_, column + 1);
    use(column);
  }

  const CsvOptions& options_;
  bool is_labelled_;
  CsvRows rows_;
  std::vector<Field> row_;  // the next row
  std::size_t width_ = 0, first_line_ = 0;
  std::vector<std::string> names_;    // of the columns; empty without a header
  std::vector<std::size_t> by_name_;  // the columns, sorted by name
  std::vector<FeatureColumn> features_;
  std::size_t label_ = none;  // the label column
  std::size_t dropped_ = 0;   // the number of rows that were dropped
};

// Expands text columns to one feature per category. In x, a text is the index of its category, or NaN if it has none.
std::vector<double> expanded(std::span<const double> x, const std::vector<Column>& table, const std::string& name) {
  std::size_t features = 0;
  for (const Column& column : table) features += column.features();
  const std::size_t rows = x.size() / table.size();
  if (features > most_csv_numbers / rows)
    throw CsvError(name, "a table of at most " + std::to_string(most_csv_numbers) + " numbers",
                   std::to_string(rows) + " rows of " + std::to_string(features) + " features",
                   "drop columns with many different texts");
  std::vector<double> result;
  result.reserve(rows * features);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Column& column = table[i % table.size()];
    if (column.categories.empty()) {
      result.push_back(x[i]);
      continue;
    }
    const std::size_t at = result.size();
    result.resize(at + column.features());
    if (!std::isnan(x[i])) result[at + static_cast<std::size_t>(x[i])] = 1;
  }
  return result;
}

// Expands the columns to features, and names these. A table of plain numbers has no columns, and stays as it is.
template <class Data>
void finish(Data& data, std::vector<std::string>& names, const std::vector<Column>& table, const std::string& name) {
  if (table.empty()) return;
  data.x = expanded(data.x, table, name);
  names.clear();
  for (const Column& column : table)
    for (std::size_t i = 0; i < column.features(); ++i) names.push_back(column.feature_name(i));
  data.columns = names.size();
}

}  // namespace
}  // namespace detail

Dataset read_csv(std::string_view text, const CsvOptions& options) {
  detail::Reader reader(text, options, true);
  Dataset data;
  data.columns = reader.columns();
  detail::Targets targets = reader.targets();
  reader.read(data.x, &targets);
  targets.finish(data);
  data.dropped = reader.dropped();
  data.table = reader.table();
  if (data.table.empty()) data.feature_names = reader.feature_names();
  detail::finish(data, data.feature_names, data.table, options.name);
  return data;
}

Table read_csv_features(std::string_view text, const CsvOptions& options) {
  detail::Reader reader(text, options, false);
  Table table;
  table.columns = reader.columns();
  reader.read(table.x, nullptr);
  const std::vector<Column> columns = reader.table();
  if (columns.empty()) table.names = reader.feature_names();
  detail::finish(table, table.names, columns, options.name);
  return table;
}

}  // namespace gradwalk
