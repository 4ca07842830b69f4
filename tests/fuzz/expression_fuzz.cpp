// SPDX-License-Identifier: MIT
// Any bytes as an expression: either an ExpressionError that points into the text, or a graph that can be walked back.
#include <cstdint>
#include <cstdlib>

#include "gradwalk/expression.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const gradwalk::Expression expression = gradwalk::parse(text);
    expression.root.backward();
    for (const auto& [name, value] : expression.names)
      if (name.empty() || value.label().empty()) std::abort();
  } catch (const gradwalk::ExpressionError& error) {
    if (error.line == 0 || error.column == 0 || error.column > size + 1) std::abort();
  }
  return 0;
}
