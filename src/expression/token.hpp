// SPDX-License-Identifier: MIT
// Splits the text of an expression into tokens, one at a time, each with its place.
#pragma once

#include <optional>
#include <string_view>

#include "gradwalk/expression.hpp"

namespace gradwalk::detail {

enum class Kind { number, name, sign, open, close, comma, assign, separator, end, error };

struct Token {
  Kind kind = Kind::end;
  std::size_t at = 0;     // the place in the text
  std::string_view text;  // the token as written
  char sign = 0;          // + - * / ^, or 2 and 3 for a raised digit
  double number = 0;
};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}
  // Returns the next token. At the first text that is not a token it returns Kind::error, and Kind::end after that.
  Token next();
  // Returns the error. Call it only after next() has returned Kind::error.
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access)
  const ExpressionError& failure() const { return *failure_; }

 private:
  Token number_at(std::size_t at);
  Token fail(std::size_t at, std::string_view needs, std::string_view got, std::string_view advice);

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<ExpressionError> failure_;
};

}  // namespace gradwalk::detail
