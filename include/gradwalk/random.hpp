// SPDX-License-Identifier: MIT
// Random: a generator whose numbers depend on the seed alone, the same bits with every compiler, C library and
// processor.
//
// It is xoshiro256** seeded by splitmix64, both by David Blackman and Sebastiano Vigna (prng.di.unimi.it). All
// distributions use only integers, + - * / and comparisons; docs/random.md describes each of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "gradwalk/export.hpp"

namespace gradwalk {

// A random generator. Copies continue independently, with the same numbers.
class GRADWALK_EXPORT Random {
 public:
  // The whole memory of the generator. Two generators with the same State give the same numbers from there on.
  using State = std::array<std::uint64_t, 4>;

  explicit Random(std::uint64_t seed);
  static Random from_state(const State& state);  // continues from a state(); throws an Error for all zeros
  const State& state() const { return state_; }  // the state before the next number; from_state() takes it

  std::uint64_t next();                          // 64 random bits
  double uniform();                              // uniform in [0, 1), a multiple of 2^-53
  double uniform(double low, double high);       // low + (high - low) * uniform()
  std::uint64_t below(std::uint64_t n);          // uniform in 0, ..., n - 1; throws an Error for n = 0
  double normal();                               // normal with mean 0 and standard deviation 1
  double normal(double mean, double deviation);  // mean + deviation * normal()

  // Puts the elements of a container, a span or an array into a random order; all orders are equally likely.
  // (A concept of <ranges> would say what a Range is, but that header is slow to compile.)
  template <class Range>
    requires requires(Range& range) { std::begin(range)[std::end(range) - std::begin(range)]; }
  void shuffle(Range&& range) {
    using std::swap;
    const auto begin = std::begin(range);
    using Distance = decltype(std::end(range) - begin);
    for (auto left = static_cast<std::uint64_t>(std::end(range) - begin); left > 1; --left)
      swap(begin[static_cast<Distance>(left - 1)], begin[static_cast<Distance>(below(left))]);
  }

 private:
  explicit Random(const State& state) : state_(state) {}
  bool half_exponential();
  bool keeps(std::uint64_t whole, double part);

  State state_;
};

}  // namespace gradwalk
