// SPDX-License-Identifier: MIT
// Scans fields, quotes and line ends. The bytes may be anything.
#include "csv_rows.hpp"

#include <algorithm>

#include "text/shown.hpp"

namespace gradwalk {
namespace {

std::string with_place(std::string_view got, std::size_t line, std::size_t column, std::string_view column_name) {
  std::string text(got);
  if (line > 0) text += " in line " + std::to_string(line);
  if (column > 0) text += ", column " + std::to_string(column);
  if (!column_name.empty()) text += " (" + detail::printable(column_name, 40) + ")";
  return text;
}

}  // namespace

CsvError::CsvError(std::string_view name, std::string_view needs, std::string_view got, std::string_view advice,
                   std::size_t at_line, std::size_t at_column, std::string_view column_name)
    : Error(detail::printable(name), needs, with_place(got, at_line, at_column, column_name), advice),
      line(at_line),
      column(at_column) {}
CsvError::~CsvError() = default;

namespace detail {

std::string Field::text() const {
  std::string result;
  result.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    result += raw[i];
    if (is_quoted && raw[i] == '"') ++i;
  }
  return result;
}

CsvRows::CsvRows(std::string_view text, const CsvOptions& options)
    : text_(text), options_(&options), separator_(static_cast<char>(options.separator)) {
  if (text.size() > longest_csv)
    throw CsvError(options.name, "at most " + std::to_string(longest_csv) + " bytes", std::to_string(text.size()),
                   "use fewer rows");
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    throw CsvError(options.name, "text in UTF-8", "UTF-16", "save it as UTF-8");
  if (text.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  if (separator_ == 0) separator_ = detected_separator();
}

char CsvRows::detected_separator() {
  bool is_quoted = false, has_semicolon = false;
  for (const char c : text_.substr(std::min(text_.find_first_not_of(" \r\n"), text_.size()))) {
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (c == '\t') return c;
    has_semicolon = has_semicolon || c == ';';
    if (c == '\n' || c == '\r') break;
  }
  return has_semicolon ? ';' : ',';
}

std::size_t CsvRows::lines_left() const {
  const auto is_end = [](char c) { return c == '\n' || c == '\r'; };
  return static_cast<std::size_t>(std::count_if(text_.begin() + static_cast<std::ptrdiff_t>(at_), text_.end(), is_end));
}

void CsvRows::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

void CsvRows::take_line_end() {
  if (at_ == text_.size()) return;
  at_ += text_.substr(at_).starts_with("\r\n") ? 2 : 1;
  ++line_;
}

bool CsvRows::next(std::vector<Field>& row) {
  row.clear();
  for (skip_blanks(); at_line_end(); skip_blanks()) {
    if (at_ == text_.size()) return false;
    take_line_end();
  }
  for (column_ = 1;; ++column_, ++at_) {
    if (column_ > most_csv_columns)
      throw CsvError(options_->name, "at most " + std::to_string(most_csv_columns) + " columns", "more",
                     "check the separator, or use fewer", line_);
    row.push_back(field());
    if (at_line_end()) break;
  }
  take_line_end();
  return true;
}

// Reads a field, and leaves at_ at the separator or line end after it.
Field CsvRows::field() {
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == '"') return quoted_field();
  const std::size_t start = at_;
  while (!at_line_end() && text_[at_] != separator_) ++at_;
  std::size_t end = at_;
  while (end > start && is_blank(text_[end - 1])) --end;
  return {text_.substr(start, end - start), false, line_};
}

Field CsvRows::quoted_field() {
  const std::size_t start = ++at_, line = line_;
  for (;; ++at_) {
    at_ = text_.find('"', at_);
    if (at_ == std::string_view::npos) {
      at_ = text_.size();
      throw CsvError(options_->name, "a closing quote", "the end of the text after a quote", "close it", line, column_);
    }
    if (!text_.substr(at_ + 1).starts_with('"')) break;
    ++at_;
  }
  const std::string_view raw = text_.substr(start, at_ - start);
  for (std::size_t i = 0; i < raw.size(); ++i)
    line_ += raw[i] == '\n' || (raw[i] == '\r' && !raw.substr(i + 1).starts_with('\n'));
  ++at_;
  skip_blanks();
  if (!at_line_end() && text_[at_] != separator_)
    throw CsvError(options_->name, "a separator or the line's end after a closing quote",
                   shown(text_.substr(at_, std::max<std::size_t>(utf8_size(text_.substr(at_)), 1))),
                   "double the quotes inside a quoted field", line_, column_);
  return {raw, true, line};
}

}  // namespace detail
}  // namespace gradwalk
