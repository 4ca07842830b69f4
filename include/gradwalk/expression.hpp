// SPDX-License-Identifier: MIT
// Parses expressions into labelled Values: "a=2; b=-3; c=10; e=a+b; f=e*c".
//
// A text is a list of assignments and expressions, separated by ';' or newlines. They consist of names, numbers,
// + - * / ** and ^, parentheses, and the functions of the op table. Precedence is Python's: -a**2 is -(a**2), and **
// groups to the right. The parser also reads the signs that people paste: · × ÷ − ² ³. Names may contain Greek letters
// and subscripts (θ₁). A number that is assigned to a name becomes a leaf; any other number is a constant, and so are
// pi, π and e unless the text assigns to them. A # starts a comment. The text may be hostile: its size is bounded, and
// the parser does not recurse.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

// The Values of a parsed text.
struct Expression {
  // The Value of the last statement.
  Value root;
  // Each name with the Value it has at the end, in order of first assignment.
  std::vector<std::pair<std::string, Value>> names;
  // The Values that names had before they were assigned again.
  std::vector<std::pair<std::string, Value>> earlier = {};
};

// Reports what the parser expected and where. what() ends with the line of the text and a caret below the place.
class GRADWALK_EXPORT ExpressionError : public Error {
 public:
  // Builds the message for the byte `at` of the text.
  ExpressionError(std::string_view text, std::size_t at, std::string_view needs, std::string_view got,
                  std::string_view advice);
  ExpressionError(const ExpressionError&) = default;
  ExpressionError& operator=(const ExpressionError&) = default;
  ~ExpressionError() override;
  std::size_t line;    // the line of the error, counted from 1
  std::size_t column;  // the column of the error in characters, not bytes, counted from 1
};

inline constexpr std::size_t longest_expression = 4u << 20;   // the largest number of bytes that parse() takes
inline constexpr std::size_t largest_expression = 1'000'000;  // the largest number of operations that parse() takes

// Parses a text and returns its Values. Throws an ExpressionError. Takes time proportional to the length of the text.
GRADWALK_EXPORT Expression parse(std::string_view text);
// The same, but returns the error instead of throwing it: for callers that parse while a person types, or that cannot
// catch exceptions.
GRADWALK_EXPORT std::variant<Expression, ExpressionError> try_parse(std::string_view text);

}  // namespace gradwalk
