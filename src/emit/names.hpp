// SPDX-License-Identifier: MIT
// Identifiers from labels, which may be any text.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace gradwalk::emit {

// Gives out C identifiers, each once.
class Names {
 public:
  // Takes the names that emitted code uses itself: keywords of C and C++, functions and macros of the headers.
  Names();
  void take(std::string name) { taken_.insert(std::move(name)); }
  // Returns an identifier like the label, or like `otherwise` if nothing is left of the label.
  std::string unique(std::string_view label, const std::string& otherwise);
  // Returns the first part of longer names, such as of NAME_value: a keyword or another name that is taken serves, too.
  static std::string prefix(std::string_view label, const std::string& otherwise);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace gradwalk::emit
