// SPDX-License-Identifier: MIT
// For tests of programs that write machine code: where they can, and the precisions and instruction sets to test.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "gradwalk/compile.hpp"

namespace gradwalk::tests::machine_code {

inline bool may_have_code(const std::string& instruction_set) {
#if defined(__x86_64__) && !defined(_WIN32)
  return instruction_set.starts_with("AVX");
#else
  return (void)instruction_set, false;
#endif
}

inline bool same_bits(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}

inline std::vector<std::tuple<Precision, std::string>> precisions_and_sets() {
  std::vector<std::tuple<Precision, std::string>> all;
  for (const std::string& set : instruction_sets())
    for (const Precision precision : {Precision::float64, Precision::float32}) all.emplace_back(precision, set);
  return all;
}
inline std::string name_of(const testing::TestParamInfo<std::tuple<Precision, std::string>>& set) {
  const auto& [precision, name] = set.param;
  return name + (precision == Precision::float64 ? "_float64" : "_float32");
}

}  // namespace gradwalk::tests::machine_code
