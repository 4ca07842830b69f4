// SPDX-License-Identifier: MIT
// A Dataset is a plain struct that anyone may fill: whoever reads its rows first sees that they are all there.
#pragma once

#include <string>
#include <string_view>

#include "gradwalk/data.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::detail {

inline void check_shape(std::string_view call, const Dataset& data) {
  const std::size_t rows = data.rows(), columns = data.columns;
  if (!data.labels.empty() && !data.targets.empty())
    throw Error(call, "labels or targets", "both", "give rows classes, or numbers to learn");
  if (!data.weights.empty() && data.weights.size() != rows)
    throw Error(call, "a weight a row, or none", std::to_string(data.weights.size()), "give each row one");
  // By division, for a product may wrap around.
  const bool fits = columns == 0 ? data.x.empty() : data.x.size() / columns == rows && data.x.size() % columns == 0;
  if (!fits)
    throw Error(call, std::to_string(rows * columns) + " numbers: rows times columns", std::to_string(data.x.size()),
                "give each row its features");
}

}  // namespace gradwalk::detail
