// SPDX-License-Identifier: MIT
// Reads a CSV text row by row. The fields of a row are views into the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/csv.hpp"

namespace gradwalk::detail {

struct Field {
  std::string_view raw;  // without spaces and quotes around it; doubled quotes inside it are still doubled
  bool is_quoted = false;
  std::size_t line = 0;  // the line in which it starts

  std::string text() const;  // without doubled quotes
  bool is_missing() const { return raw.empty() || (!is_quoted && (raw == "NA" || raw == "?")); }
};

class CsvRows {
 public:
  // Throws a CsvError if the text is too long or obviously not UTF-8.
  CsvRows(std::string_view text, const CsvOptions& options);

  bool next(std::vector<Field>& row);  // reads the next row; returns false at the end
  std::size_t bytes_left() const { return text_.size() - at_; }
  std::size_t lines_left() const;

 private:
  Field field();
  Field quoted_field();
  bool is_blank(char c) const { return c == ' ' || (c == '\t' && separator_ != '\t'); }
  void skip_blanks();
  bool at_line_end() const { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  void take_line_end();
  char detected_separator();

  std::string_view text_;
  const CsvOptions* options_;
  std::size_t at_ = 0, line_ = 1, column_ = 0;
  char separator_;
};

}  // namespace gradwalk::detail
