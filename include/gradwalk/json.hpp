// SPDX-License-Identifier: MIT
// Writes JSON, as every to_json() here does; for programs that put more beside what those give.
//
// Numbers are the shortest that read back the same; what JSON cannot say, nan, inf and -inf, are strings. Text that is
// not UTF-8 is made so. Written here because the library depends on nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "gradwalk/export.hpp"

namespace gradwalk {

class GRADWALK_EXPORT JsonWriter {
 public:
  // Inside an object: a name, then its value.
  JsonWriter& operator()(std::string_view name) {
    return comma(), string(name), text_ += ':', after_name_ = true, *this;
  }

  JsonWriter& value(double number);
  JsonWriter& value(std::size_t number) { return comma(), text_ += std::to_string(number), *this; }
  JsonWriter& value(bool truth) { return comma(), text_ += truth ? "true" : "false", *this; }
  JsonWriter& value(std::string_view text) { return comma(), string(text), *this; }
  JsonWriter& value(const char*) = delete;  // would be a truth value
  JsonWriter& null() { return comma(), text_ += "null", *this; }

  template <class Fill> JsonWriter& object(Fill fill) { return nested('{', fill, '}'); }
  template <class Range, class Fill> JsonWriter& array(const Range& range, Fill fill) {
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
  template <class Fill> JsonWriter& nested(char open, Fill fill, char close) {
    comma(), text_ += open;
    fill();
    text_ += close;
    return *this;
  }

  std::string text_;
  bool after_name_ = false;
};

}  // namespace gradwalk
