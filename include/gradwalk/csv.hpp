// SPDX-License-Identifier: MIT
// Reads tables (CSV) as data for training or prediction.
//
// Fields are separated by commas, semicolons or tabs, and quoted as in RFC 4180. Lines end with LF, CRLF or CR. A UTF-8
// byte order mark, blank lines and spaces around fields are skipped. Numbers must be finite.
//
// Texts may be hostile: sizes are bounded, memory stays below a small multiple of the text, and an Error names the line
// and the column of the problem.
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
inline constexpr std::size_t most_csv_columns = 100'000;  // the largest number of columns
inline constexpr std::size_t most_csv_classes = 1'000;    // a label column with more probably has measurements
inline constexpr std::size_t most_number_classes = 20;    // see Task::detect
inline constexpr std::size_t most_csv_numbers = std::size_t{1} << 27;  // rows times features, text columns expanded

// How to read a table.
struct CsvOptions {
  // Whether the first row is a header. `detect` says yes if none of its features is a number, if its label is a text
  // and that of the next row is a number, if it contains all names in `features`, or if an option gives a column by
  // name. With text columns, a table without any number is an Error, because it may have a header or not.
  enum class Header { detect, yes, no } header = Header::detect;

  // `detect` takes a tab if the first row has one outside quotes, otherwise a semicolon, otherwise a comma.
  enum class Separator : char { detect = 0, comma = ',', semicolon = ';', tab = '\t' } separator = Separator::detect;

  // The column to predict: its name, or its number, counted from 1, or from the end as -1, -2.
  std::variant<int, std::string> label = -1;

  // Whether the label column contains classes or numbers to predict. `detect` decides by its fields: texts are classes,
  // and so are whole numbers if there are at most most_number_classes different ones.
  enum class Task { classes, numbers, detect } task = Task::classes;

  // The features and classes of an existing model, when the table is for it. With a header, features are found by name,
  // in any order, and other columns are ignored; without a header, by position. Labels become indices into `labels`;
  // other labels are an Error.
  // NOLINTNEXTLINE(readability-redundant-member-init): without it g++ warns when designated initialisers leave it out
  std::vector<std::string> features = {}, labels = {};

  // For training: the columns to use as features, or the columns to leave out, given like `label`.
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<std::variant<int, std::string>> use = {}, drop = {};
  // Whether columns whose first field is a text become one feature per category; otherwise they are an Error. `other`
  // adds one feature for texts that occur only later, in other tables.
  bool text_columns = false, other = false;
  // The treatment of rows with a missing field: throw an Error, drop the row, or keep it with NaN in place of the
  // field, for fill_missing().
  enum class Missing { error, drop, keep } missing = Missing::error;
  // The columns of an existing model (Model::table) that has text columns or fills missing numbers, in the order of
  // `features`.
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::vector<Column> table = {};

  std::string name = "csv";  // the name of the table in messages, such as its file name
};

// An Error with the line and the column of the table that it is about.
class GRADWALK_EXPORT CsvError : public Error {
 public:
  CsvError(std::string_view name, std::string_view needs, std::string_view got, std::string_view advice,
           std::size_t at_line = 0, std::size_t at_column = 0, std::string_view column_name = {});
  std::size_t line, column;  // counted from 1; 0 if the Error is not about one line or one column
};

// Reads rows with labels. Classes are numbered in the order in which they first occur. If all labels are numbers, the
// classes are in ascending order instead, and equal numbers such as 1 and 1.0 are one class. Without a header the
// features are called x1, x2, ... and a target y. Throws a CsvError for anything invalid.
GRADWALK_EXPORT Dataset read_csv(std::string_view text, const CsvOptions& options = {});

// Rows of features without labels.
struct Table {
  std::size_t columns = 0;         // the number of features in each row
  std::vector<double> x;           // rows * columns numbers, row after row
  std::vector<std::string> names;  // one name per column
  // Returns the number of rows; a table without columns has none.
  std::size_t rows() const { return columns == 0 ? 0 : x.size() / columns; }
  // Returns a view of row i, counted from 0, without a check of i. It is valid while `x` stays unchanged.
  std::span<const double> row(std::size_t i) const { return {x.data() + i * columns, columns}; }
};

// Reads the features only: those in `options.features`, or every column if that is empty. A table without a header may
// have one column more than options.features, as the table for training does: the column at options.label is then
// skipped. Throws a CsvError for anything invalid.
GRADWALK_EXPORT Table read_csv_features(std::string_view text, const CsvOptions& options = {});

}  // namespace gradwalk
