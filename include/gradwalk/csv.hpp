// SPDX-License-Identifier: MIT
// Tables as text (CSV) into numbers, and classes or numbers to learn.
//
// Fields between commas, semicolons or tabs; quotes as in RFC 4180; lines ended by LF, CRLF or CR; a UTF-8 byte order
// mark, blank lines and spaces around fields are skipped. Features are finite numbers. Text from outside is hostile:
// sizes are bounded, memory stays below a small multiple of the text, and what is refused is named with its place.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gradwalk/data.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk {

inline constexpr std::size_t longest_csv = 256u << 20;    // bytes
inline constexpr std::size_t most_csv_columns = 100'000;  // in a row
inline constexpr std::size_t most_csv_classes = 1'000;    // more are measurements, not classes
inline constexpr std::size_t most_number_classes = 20;    // whole numbers that are detected as classes
inline constexpr std::size_t most_csv_numbers = std::size_t{1}
                                                << 27;  // rows times features, where texts become features

struct CsvOptions {
  // Detected: the first row is a header if none of its features is a number, if its label is text and the next row's is
  // a number, if it holds all the names in `features`, or if a column is given by name. With columns of texts, a table
  // of nothing but texts may have one or not, and is refused.
  enum class Header { detect, yes, no } header = Header::detect;

  // Detected: the first of tab, semicolon, comma that stands in the first row outside quotes.
  enum class Separator : char { detect = 0, comma = ',', semicolon = ';', tab = '\t' } separator = Separator::detect;

  // The column of what is to be learned: its number, from 1 or from the end as -1, -2, or its name.
  std::variant<int, std::string> label = -1;

  // What that column holds. Detected: numbers, if every field is one and they are not at most most_number_classes
  // different whole ones; else classes.
  enum class Task { classes, numbers, detect } task = Task::classes;

  // A model's names, when the data is for one it has: its features are found by name in any order if there is a header,
  // and other columns are ignored; without one, by place. Labels become indices into `labels`, others are refused.
  // NOLINTNEXTLINE(readability-redundant-member-init): without it g++ warns when designated initialisers leave it out
  std::vector<std::string> features = {}, labels = {};

  // For training: the columns to learn from, by name or number as `label` is, or all but some of them.
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<std::variant<int, std::string>> use = {}, drop = {};
  // Columns whose first field is text become a feature a category, and one for `other` texts if asked for; else a
  // column that is no number is refused.
  bool text_columns = false, other = false;
  // Rows in which something is missing are refused or dropped; or what is missing is NaN, which fill_missing() fills.
  enum class Missing { error, drop, keep } missing = Missing::error;
  // A model's columns, where it learned from more than numbers: what `features` names.
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<Column> table = {};

  std::string name = "csv";  // what messages call the text, such as its file's name
};

// Says what was expected where.
class GRADWALK_EXPORT CsvError : public Error {
 public:
  CsvError(std::string_view name, std::string_view needs, std::string_view got, std::string_view advice,
           std::size_t at_line = 0, std::size_t at_column = 0, std::string_view column_name = {});
  std::size_t line, column;  // from 1, the column in fields; 0 where it is about all of them
};

// Text labels are numbered in order of first appearance. If all are numbers they are numbered in their order, and equal
// numbers are one class however they are written. Without a header the features are called x1, x2, ... and a target y.
GRADWALK_EXPORT Dataset read_csv(std::string_view text, const CsvOptions& options = {});

// Rows without classes.
struct Table {
  std::size_t columns = 0;
  std::vector<double> x;           // rows * columns numbers, row after row
  std::vector<std::string> names;  // one a column
  std::size_t rows() const { return columns == 0 ? 0 : x.size() / columns; }
  std::span<const double> row(std::size_t i) const { return {x.data() + i * columns, columns}; }
};

// The features alone: those in `options.features`, or every column if that is empty. Without a header, one column more
// than there are features is taken for the labels, at options.label, and skipped: what a model learned from can be read
// too.
GRADWALK_EXPORT Table read_csv_features(std::string_view text, const CsvOptions& options = {});

}  // namespace gradwalk
