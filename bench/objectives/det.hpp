// SPDX-License-Identifier: MIT
// The determinant of an n by n matrix by expansion along the first row, down to minors of one entry:
//   det(A) = sum over columns j of (-1)^j A_0j det(A without row 0 and column j).
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

namespace bench {

// Returns the determinant of the rows from `row` on and the columns that are not in the set `used` (bit j for column
// j).
template <class T> T minor_of(const std::vector<T>& a, std::size_t n, std::size_t row, unsigned used) {
  if (row + 1 == n) return a[row * n + static_cast<std::size_t>(std::countr_one(used))];
  T sum = 0;
  bool positive = true;
  for (std::size_t column = 0; column < n; ++column) {
    const unsigned bit = 1u << column;
    if ((used & bit) != 0) continue;
    const T entry = a[row * n + column];
    const T rest = minor_of(a, n, row + 1, used | bit);
    if (positive) {
      sum = sum + entry * rest;
    } else {
      sum = sum - entry * rest;
    }
    positive = !positive;
  }
  return sum;
}

template <class T> T det(const std::vector<T>& a, std::size_t n) { return minor_of(a, n, 0, 0u); }

}  // namespace bench
