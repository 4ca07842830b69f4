// SPDX-License-Identifier: MIT
#include "left.hpp"

#include <algorithm>

#include "gradwalk/error.hpp"
#include "gradwalk/reading.hpp"
#include "text/numbers.hpp"

namespace gradwalk::compiler {

void refuse_left(const char* call, std::span<const Value> left, std::span<const Value> inputs,
                 std::span<const Value> parameters, const char* advice) {
  for (const Value& value : left) {
    const Reading reading({&value, 1}, call);
    const auto is_below = [&](const Value& leaf) { return reading.find(leaf).has_value(); };
    if (!std::any_of(inputs.begin(), inputs.end(), is_below) &&
        !std::any_of(parameters.begin(), parameters.end(), is_below))
      continue;
    std::string which = value.label().empty() ? "" : " \"" + value.label() + "\"";
    which = value.op() == Op::leaf ? "leaf" + which : "result of " + std::string(value.op_name()) + which;
    throw Error(call, "a function whose numbers stay in the graph",
                "the " + which + " with data " + detail::format_number(value.data()) +
                    ", which was detached, cast to a number or computed under NoGrad",
                advice);
  }
}

}  // namespace gradwalk::compiler
