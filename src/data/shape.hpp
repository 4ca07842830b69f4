// SPDX-License-Identifier: MIT
// A Dataset is a plain struct that anyone may fill, so every reader of its rows first checks that its arrays fit.
#pragma once

#include <string>
#include <string_view>

#include "gradwalk/data.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::detail {

inline void check_shape(std::string_view call, const Dataset& data) {
  const std::size_t rows = data.rows(), columns = data.columns;
  if (!data.labels.empty() && !data.targets.empty())
    throw Error(call, "labels or targets", "both", "leave out one of them");
  if (!data.weights.empty() && data.weights.size() != rows)
    throw Error(call, "one weight per row, or none", std::to_string(data.weights.size()), "give every row a weight");
  // Divide, because the product could overflow.
  const bool fits = columns == 0 ? data.x.empty() : data.x.size() / columns == rows && data.x.size() % columns == 0;
  if (!fits)
    throw Error(call, std::to_string(rows * columns) + " numbers: rows times columns", std::to_string(data.x.size()),
                "give each row its features");
}

}  // namespace gradwalk::detail
