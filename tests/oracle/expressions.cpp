// SPDX-License-Identifier: MIT
// One function per expression, each compiled like a user's code.
#include "expressions.hpp"

#include <iterator>

namespace oracle {

namespace {

using Argument = const Value&;

constexpr Expression all[] = {
#define EXPRESSION(...)                                                                                          \
  {#__VA_ARGS__, [](Argument a, Argument b, [[maybe_unused]] Argument c, [[maybe_unused]] Argument d) -> Value { \
     return __VA_ARGS__;                                                                                         \
   }},
#include "expressions.def"
#undef EXPRESSION
};

}  // namespace

std::span<const Expression> expressions() { return {std::begin(all), std::end(all)}; }

}  // namespace oracle
