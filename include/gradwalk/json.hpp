// SPDX-License-Identifier: MIT
// JsonWriter writes JSON. Every to_json() of the library uses it, and programs can use it to add their own fields.
//
// A number is written as the shortest text that reads back as the same double. JSON has no nan and no infinity, so
// these become the strings "nan", "inf" and "-inf". Bytes that are not UTF-8 are replaced by U+FFFD. The class is part
// of libgradwalk because the library has no dependencies.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "gradwalk/export.hpp"

namespace gradwalk {

// Builds one JSON text from left to right. The caller nests objects and arrays; the writer adds commas and quotes.
class GRADWALK_EXPORT JsonWriter {
 public:
  // Writes the name of a member of an object. The next call must write its value.
  JsonWriter& operator()(std::string_view name) {
    return comma(), string(name), text_ += ':', after_name_ = true, *this;
  }

  // Writes a number. nan and the infinities are written as strings.
  JsonWriter& value(double number);
  // Writes a count.
  JsonWriter& value(std::size_t number) { return comma(), text_ += std::to_string(number), *this; }
  // Writes true or false.
  JsonWriter& value(bool truth) { return comma(), text_ += truth ? "true" : "false", *this; }
  // Writes a string, with quotes and escapes.
  JsonWriter& value(std::string_view text) { return comma(), string(text), *this; }
  // Deleted, because a const char* would convert to bool. Pass a std::string_view.
  JsonWriter& value(const char*) = delete;
  // Writes null.
  JsonWriter& null() { return comma(), text_ += "null", *this; }

  // Writes an object; fill() writes its members.
  template <class Fill> JsonWriter& object(Fill fill) { return nested('{', fill, '}'); }
  // Writes an array; fill(element) writes each element of the range.
  template <class Range, class Fill> JsonWriter& array(const Range& range, Fill fill) {
    return nested(
        '[',
        [&] {
          for (const auto& element : range) fill(element);
        },
        ']');
  }

  // Returns the text and leaves the writer empty.
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
