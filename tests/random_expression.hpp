// SPDX-License-Identifier: MIT
// Random expressions for parse(), with finite numbers and shared nodes.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace gradwalk {

// Returns the text of a few leaves and `statements` assignments, each of one or two operations on earlier names. The
// last expression uses several names.
inline std::string random_expression(std::mt19937_64& random, int statements) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const auto number = [&] { return std::to_string(std::uniform_real_distribution<>(-2, 2)(random)); };
  std::string text;
  std::vector<std::string> names;
  for (const char* leaf : {"a", "b", "c"}) {
    text += std::string(leaf) + "=" + number() + ";";
    names.emplace_back(leaf);
  }
  const auto any = [&] { return names[names.size() - 1 - below(std::min<std::size_t>(names.size(), 6))]; };
  for (int i = 0; i < statements; ++i) {
    const std::string x = any(), y = any();
    std::string right;
    switch (below(12)) {
      case 0: right = x + "+" + y; break;
      case 1: right = x + "-" + y; break;
      case 2: right = x + "*" + y; break;
      case 3: right = x + "/(2+" + y + "*" + y + ")"; break;
      case 4: right = "tanh(" + x + ")"; break;
      case 5: right = "sin(" + x + ")*" + number(); break;
      case 6: right = "exp(-abs(" + x + "))"; break;
      case 7: right = "max(" + x + "," + y + ")"; break;
      case 8: right = "relu(" + x + ")+" + y; break;
      case 9: right = "sigmoid(" + x + ")-" + number(); break;
      case 10: right = "tanh(" + x + "*" + x + "+" + y + "*" + x + ")"; break;
      default: right = "cos(" + x + ")**2"; break;
    }
    names.push_back("n" + std::to_string(i));
    text += names.back() + "=" + right + ";";
  }
  return text + "r=" + any() + "*" + any() + "+" + any() + "-a*b*c";
}

}  // namespace gradwalk
