// SPDX-License-Identifier: MIT
// Compiles and runs emitted C files in tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "temporary_folder.hpp"

namespace gradwalk::tests {

// A folder of its own, in which commands run.
class Folder : public TemporaryFolder {
 public:
  void write(const std::string& name, const std::string& text) const { std::ofstream(*this / name) << text; }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(*this / name).rdbuf();
    return text.str();
  }
  // Runs a command in the folder and returns what it prints. Fails the test if the command fails.
  std::string run(const std::string& command) const {
    const int status = std::system(("cd '" + path() + "' && " + command + " >out.txt 2>&1").c_str());
    const std::string printed = read("out.txt");
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << printed.substr(0, 4000);
    return printed;
  }
};

// clang, where it is installed; otherwise gcc again.
inline std::string clang() {
  static const std::string name = std::system("command -v clang-19 >/dev/null 2>&1") == 0 ? "clang-19" : "gcc";
  return name;
}
inline const std::string sanitized_gcc = "gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=all ";

inline const std::string c_flags = "-std=c99 -Wall -Wextra -Werror -pedantic";

// The numbers that a program prints, one per line, as %a.
inline std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) numbers.push_back(std::strtod(line.c_str(), nullptr));
  return numbers;
}

// Text of C: a table of numbers, and a loop that prints an array.
inline std::string c_table(const std::string& type, const std::string& name, const std::vector<double>& numbers) {
  std::string text = "  const " + type + " " + name + "[] = {";
  for (const double number : numbers) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%a", number);
    text += std::string(digits) + ",";
  }
  return text + (numbers.empty() ? "0" : "") + "};\n";
}
inline std::string c_print(const std::string& array, std::size_t count) {
  return "  for (int i = 0; i < " + std::to_string(count) + "; ++i) printf(\"%a\\n\", (double)" + array + "[i]);\n";
}

}  // namespace gradwalk::tests
