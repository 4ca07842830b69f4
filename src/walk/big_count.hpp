// SPDX-License-Identifier: MIT
// A count of any size that can be added to and printed, which is all that counting paths needs. It is written here
// because the library has no dependencies.
#pragma once

#include <algorithm>
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
    if (is_zero()) return *this = other;
    if (digits_.size() < other.digits_.size()) digits_.resize(other.digits_.size());
    for (std::size_t i = 0; i < other.digits_.size(); ++i) digits_[i] += other.digits_[i];
    most_ += other.most_;
    if (most_ > carry_limit) carry();
    return *this;
  }

  bool is_zero() const { return digits_.empty(); }

  std::string to_string() const {
    if (is_zero()) return "0";
    BigCount whole = *this;
    whole.carry();
    std::string text = std::to_string(whole.digits_.back());
    for (std::size_t i = whole.digits_.size() - 1; i-- > 0;) {
      const std::string digit = std::to_string(whole.digits_[i]);
      text.append(base_length - digit.size(), '0') += digit;
    }
    return text;
  }

 private:
  // A power of ten, so that printing is fast.
  static constexpr std::uint64_t base = 1'000'000'000'000'000;
  static constexpr std::size_t base_length = 15;
  // Carries are delayed until a digit might overflow. Until then additions are independent, so compilers vectorize
  // them.
  static constexpr std::uint64_t carry_limit = std::uint64_t{1} << 62;

  void carry() {
    std::uint64_t over = 0;
    for (std::uint64_t& digit : digits_) {
      digit += over;
      over = digit / base;
      digit %= base;
    }
    for (; over > 0; over /= base) digits_.push_back(over % base);
    most_ = base - 1;
  }

  std::vector<std::uint64_t> digits_;  // the lowest digit first; the last is not 0
  std::uint64_t most_ = base - 1;      // an upper bound of the digits
};

}  // namespace gradwalk::detail
