// SPDX-License-Identifier: MIT
// A count without bounds: it can be added to and written down, which is all that counting paths needs. Written here
// because the library depends on nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace gradwalk::detail {

class BigCount {
 public:
  explicit BigCount(std::uint32_t count = 0) {
    if (count > 0) digits_.push_back(count);
  }

  BigCount& operator+=(const BigCount& other) {
    if (digits_.size() < other.digits_.size()) digits_.resize(other.digits_.size());
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < digits_.size() && (carry > 0 || i < other.digits_.size()); ++i) {
      carry += std::uint64_t{digits_[i]} + (i < other.digits_.size() ? other.digits_[i] : 0);
      digits_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry > 0) digits_.push_back(static_cast<std::uint32_t>(carry));
    return *this;
  }

  bool is_zero() const { return digits_.empty(); }

  std::string to_string() const {
    std::string text;
    std::vector<std::uint32_t> rest = digits_;
    while (!rest.empty()) {
      std::uint64_t remainder = 0;
      for (auto digit = rest.rbegin(); digit != rest.rend(); ++digit) {
        remainder = remainder << 32 | *digit;
        *digit = static_cast<std::uint32_t>(remainder / 1'000'000'000);
        remainder %= 1'000'000'000;
      }
      while (!rest.empty() && rest.back() == 0) rest.pop_back();
      for (int i = 0; i < 9 && (!rest.empty() || remainder > 0); ++i, remainder /= 10)
        text += static_cast<char>('0' + remainder % 10);
    }
    std::reverse(text.begin(), text.end());
    return text.empty() ? "0" : text;
  }

 private:
  std::vector<std::uint32_t> digits_;  // of base 2^32, lowest first; the last is not 0
};

}  // namespace gradwalk::detail
