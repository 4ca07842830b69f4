// SPDX-License-Identifier: MIT
// Expressions as text, parsed into labelled Values: "a=2; b=-3; c=10; e=a+b; f=e*c".
//
// Assignments and expressions, separated by ';' or newlines; names, numbers, + - * / ** and ^, parentheses, and every
// function of the op table by its name. Precedence is Python's: -a**2 is -(a**2), and ** groups to the right. The signs
// people paste are understood too: · × ÷ − ² ³. Names may have Greek letters and subscripts (θ₁). A name given to a
// number is a leaf; numbers elsewhere are constants, and so are pi, π and e where they have been given nothing else.
// What follows # on a line is a comment. Text from outside is hostile: sizes are bounded and nothing recurses.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

struct Expression {
  Value root;                                        // the last statement's value
  std::vector<std::pair<std::string, Value>> names;  // in the order they first appear, with what each names at the end
  std::vector<std::pair<std::string, Value>> earlier = {};  // what names were given before they were given another
};

// Says what was expected where; what() ends with the line in question and a caret below the place.
class GRADWALK_EXPORT ExpressionError : public Error {
 public:
  ExpressionError(std::string_view text, std::size_t at, std::string_view needs, std::string_view got,
                  std::string_view advice);
  std::size_t line, column;  // from 1; the column in characters, not bytes
};

inline constexpr std::size_t longest_expression = 4u << 20;   // bytes
inline constexpr std::size_t largest_expression = 1'000'000;  // operations

GRADWALK_EXPORT Expression parse(std::string_view text);
// The same with the error as a value: for those who read as people type, or who cannot catch.
GRADWALK_EXPORT std::variant<Expression, ExpressionError> try_parse(std::string_view text);

}  // namespace gradwalk
