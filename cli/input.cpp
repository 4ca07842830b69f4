// SPDX-License-Identifier: MIT
// Reads an expression, up to the longest text that the parser accepts.
#include "input.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "gradwalk/expression.hpp"

namespace gradwalk::cli {
namespace {

std::string read(std::istream& in) {
  std::string text(longest_expression + 1, '\0');  // one byte too many, so that the parser reports the limit
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace

void Input::add_file_to(CLI::App& command) {
  command.add_option("-f,--file", file_, "Read the expression from a file")->option_text("FILE");
}

void Input::add_to(CLI::App& command) {
  auto* expression = command.add_option("EXPR", expression_, "The expression, or - to read it from standard input");
  add_file_to(command);
  expression->excludes(command.get_option("--file"))->option_text(" ");
}

void Input::add_to_with_name(CLI::App& command) {
  add_file_to(command);
  command.add_option("EXPR", expression_, "The expression, or - to read it from standard input")->option_text(" ");
  command.add_option("NAME", name_, "The name to explain. With --file it is the only argument")->option_text(" ");
  command.parse_complete_callback([this] {
    if (!file_.empty() && name_.empty()) std::swap(expression_, name_);
    if (name_.empty() || expression_.empty() == file_.empty())
      throw CLI::ValidationError("explain", file_.empty() ? "needs an expression and a name in it, such as 'a=3; a*a' a"
                                                          : "with --file needs a name and no other argument");
  });
}

std::string Input::text() const {
  if (!file_.empty()) {
    std::ifstream in(std::filesystem::path(file_), std::ios::binary);
    std::string text = in ? read(in) : "";
    if (!in.is_open() || in.bad())
      throw Error("gradwalk", "a file that can be read", "'" + file_ + "' (" + std::strerror(errno) + ")",
                  "check its name");
    return text;
  }
  if (expression_.empty())
    throw Error("gradwalk", "an expression", "none",
                "give one, such as 'a=2; b=-3; a*b', or use --file, or - for standard input");
  return expression_ == "-" ? read(std::cin) : expression_;
}

}  // namespace gradwalk::cli
