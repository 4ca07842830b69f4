// SPDX-License-Identifier: MIT
#include "names.hpp"

#include <algorithm>

#include "gradwalk/ops.hpp"

namespace gradwalk::emit {
namespace {

constexpr std::size_t longest = 40;  // C99 promises 63 significant characters, and 31 of names in other files

bool is_kept(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// Letters and digits, with single underscores for everything else.
std::string cleaned(std::string_view label) {
  std::string name;
  for (const char c : label.substr(0, 4 * longest)) {
    if (is_kept(c))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
    if (name.size() == longest) break;
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (!name.empty() && name[0] >= '0' && name[0] <= '9') name = "v" + name;
  // Names in capitals may be macros.
  if (std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

// Returns whether emitted code has variables or counters of this name: t0, s0, i0.
bool is_variable(std::string_view name) {
  return name.size() > 1 && (name[0] == 't' || name[0] == 's' || name[0] == 'i') &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Names::Names()
    : taken_{// C99 and C++20
             "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "compl",
             "concept", "const", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete",
             "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
             "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr", "operator",
             "or", "private", "protected", "public", "register", "requires", "restrict", "return", "short", "signed",
             "sizeof", "static", "struct", "switch", "template", "this", "thread_local", "throw", "true", "try",
             "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using", "virtual", "void", "volatile",
             "while", "xor", "bitand", "bitor",
             // macros of compilers
             "linux", "unix", "i386", "main",
             // <math.h>, <stddef.h>, <stdio.h>
             "fabs", "trigamma", "lgammaf", "size_t", "printf", "double_t", "float_t", "isnan", "isinf", "isfinite",
             "signbit", "fpclassify", "isnormal",
             // names in emitted functions
             "parameters", "inputs", "outputs", "gradient", "input_gradient", "jacobian", "hessian", "work", "i", "j",
             "k", "l", "m", "n"} {
  for (const OpInfo& row : op_table) {
    taken_.insert(std::string(row.name));
    taken_.insert(std::string(row.name) + "f");
  }
}

std::string Names::unique(std::string_view label, const std::string& otherwise) {
  std::string base = prefix(label, otherwise);
  if (is_variable(base)) base += "_";
  std::string name = base;
  for (std::size_t k = 2; taken_.contains(name); ++k) name = base + "_" + std::to_string(k);
  taken_.insert(name);
  return name;
}

std::string Names::prefix(std::string_view label, const std::string& otherwise) {
  const std::string clean = cleaned(label);
  return clean.empty() ? otherwise : clean;
}

}  // namespace gradwalk::emit
