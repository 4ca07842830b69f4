// SPDX-License-Identifier: MIT
// gradwalk_code LANGUAGE EXPRESSION: prints the graph of the expression as a program, which tests/python/test_code.py
// runs.
#include <iostream>

#include "gradwalk/code.hpp"
#include "gradwalk/expression.hpp"

int main(int count, char** arguments) {
  using namespace gradwalk;
  if (count != 3) return 1;
  for (const Language language : {Language::cpp, Language::python, Language::pytorch})
    if (name(language) == arguments[1]) std::cout << to_string(to_code(snapshot(parse(arguments[2]).root), language));
}
