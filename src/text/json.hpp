// SPDX-License-Identifier: MIT
// Writes JSON. Numbers are the shortest that read back the same; what JSON cannot say, nan, inf and -inf, are strings.
// Text that is not UTF-8 is made so. Written here because the library depends on nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradwalk::detail {

class Json {
 public:
  // Inside an object: a name, then its value.
  Json& operator()(std::string_view name) { return comma(), string(name), text_ += ':', after_name_ = true, *this; }

  Json& value(double number);
  Json& value(std::size_t number) { return comma(), text_ += std::to_string(number), *this; }
  Json& value(bool truth) { return comma(), text_ += truth ? "true" : "false", *this; }
  Json& value(std::string_view text) { return comma(), string(text), *this; }
  Json& value(const char*) = delete;  // would be a truth value
  Json& null() { return comma(), text_ += "null", *this; }

  template <class Fill> Json& object(Fill fill) { return nested('{', fill, '}'); }
  template <class Range, class Fill> Json& array(const Range& range, Fill fill) {
    return nested(
        '[',
        [&] {
          for (const auto& one : range) fill(one);
        },
        ']');
  }

  std::string take() { return std::move(text_); }

 private:
  void comma() {
    if (!after_name_ && !text_.empty() && text_.back() != '{' && text_.back() != '[') text_ += ',';
    after_name_ = false;
  }
  void string(std::string_view text);
  template <class Fill> Json& nested(char open, Fill fill, char close) {
    comma(), text_ += open;
    fill();
    text_ += close;
    return *this;
  }

  std::string text_;
  bool after_name_ = false;
};

// The text with each byte that is no UTF-8 replaced by U+FFFD.
std::string as_utf8(std::string_view text);

}  // namespace gradwalk::detail
