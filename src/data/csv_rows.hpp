// SPDX-License-Identifier: MIT
// A CSV text row by row. A row's fields look into the text; the vector that holds them is used again for the next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/csv.hpp"

namespace gradwalk::detail {

struct Field {
  std::string_view raw;  // without the spaces around it and without its quotes, but with doubled quotes doubled
  bool is_quoted = false;
  std::size_t line = 0;  // where it starts

  std::string text() const;  // without the doubling
  bool is_missing() const { return raw.empty() || (!is_quoted && (raw == "NA" || raw == "?")); }
};

class CsvRows {
 public:
  CsvRows(std::string_view text, const CsvOptions& options);  // refuses what is too long or no UTF-8 at first sight

  bool next(std::vector<Field>& row);  // false at the end
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
