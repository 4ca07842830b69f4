// SPDX-License-Identifier: MIT
// A count without bounds: it can be added to and written down, which is all that counting paths needs. Written here
// because the library depends on nothing.
#pragma once

#include <cstddef>
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
    std::size_t i = 0;
    const auto add = [&](std::uint64_t more) {
      const std::uint64_t sum = digits_[i] + more + carry;
      carry = sum >= base ? 1 : 0;
      digits_[i] = sum - carry * base;
    };
    for (; i < other.digits_.size(); ++i) add(other.digits_[i]);
    for (; i < digits_.size() && carry > 0; ++i) add(0);
    if (carry > 0) digits_.push_back(carry);
    return *this;
  }

  bool is_zero() const { return digits_.empty(); }

  std::string to_string() const {
    if (is_zero()) return "0";
    std::string text = std::to_string(digits_.back());
    for (std::size_t i = digits_.size() - 1; i-- > 0;) {
      const std::string digit = std::to_string(digits_[i]);
      text.append(base_length - digit.size(), '0') += digit;
    }
    return text;
  }

 private:
  // As it is written, so that writing takes no time beside counting.
  static constexpr std::uint64_t base = 1'000'000'000'000'000'000;
  static constexpr std::size_t base_length = 18;
  std::vector<std::uint64_t> digits_;  // lowest first; the last is not 0
};

}  // namespace gradwalk::detail
