// SPDX-License-Identifier: MIT
// Random: numbers that follow from their seed alone, the same bits with every compiler, C library and processor.
//
// xoshiro256** seeded by splitmix64, both by David Blackman and Sebastiano Vigna (prng.di.unimi.it). Everything made of
// its words uses integers, + - * / and comparisons only; docs/random.md tells each recipe.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <utility>

#include "gradwalk/export.hpp"

namespace gradwalk {

class GRADWALK_EXPORT Random {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit Random(std::uint64_t seed);
  static Random from_state(const State& state);  // goes on where state() was taken
  const State& state() const { return state_; }

  std::uint64_t next();                          // 64 random bits
  double uniform();                              // in [0, 1), a multiple of 2^-53
  double uniform(double low, double high);       // low + (high - low) * uniform()
  std::uint64_t below(std::uint64_t n);          // 0, ..., n - 1, each as likely
  double normal();                               // mean 0, deviation 1
  double normal(double mean, double deviation);  // mean + deviation * normal()

  template <std::ranges::random_access_range Range> void shuffle(Range&& range) {
    const auto begin = std::ranges::begin(range);
    using Distance = std::ranges::range_difference_t<Range>;
    for (auto left = static_cast<std::uint64_t>(std::ranges::distance(range)); left > 1; --left)
      std::ranges::iter_swap(begin + static_cast<Distance>(left - 1), begin + static_cast<Distance>(below(left)));
  }

 private:
  explicit Random(const State& state) : state_(state) {}
  bool half_exponential();
  bool keeps(std::uint64_t whole, double part);

  State state_;
};

}  // namespace gradwalk
