// SPDX-License-Identifier: MIT
// Rows: the numbers of fit() and minimize() over rows.
#include "gradwalk/error.hpp"
#include "gradwalk/solve.hpp"
#include "text/numbers.hpp"

namespace gradwalk {

Rows::Rows(const std::vector<Numbers>& rows) : columns_(rows.empty() ? 0 : rows.front().size()) {
  own_.reserve(rows.size() * columns_);
  for (const Numbers& row : rows) {
    if (row.size() != columns_)
      throw Error("Rows", "rows of " + detail::counted(columns_, "number", "numbers"),
                  "one of " + std::to_string(row.size()), "give as many numbers in each row");
    own_.insert(own_.end(), row.begin(), row.end());
  }
  numbers_ = own_;
  check();
}

Rows::Rows(std::span<const double> numbers, std::size_t columns) : numbers_(numbers), columns_(columns) { check(); }

void Rows::check() const {
  if (columns_ == 0 && numbers_.empty()) return;
  if (columns_ == 0 || numbers_.size() % columns_ != 0)
    throw Error("Rows", "a multiple of the number of columns, " + std::to_string(columns_),
                detail::counted(numbers_.size(), "number", "numbers"), "give one number per row and column");
}

}  // namespace gradwalk
