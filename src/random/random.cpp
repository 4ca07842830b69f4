// SPDX-License-Identifier: MIT
// The generator and its distributions. docs/random.md describes them, and tests/python has them once more in Python.
#include "gradwalk/random.hpp"

#include <bit>

#include "gradwalk/error.hpp"

namespace gradwalk {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t word = state;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) : state_() {
  for (std::uint64_t& word : state_) word = splitmix64(seed);
}

Random Random::from_state(const State& state) {
  if (state == State{})
    throw Error("Random", "a state with a bit set", "four zeros", "give a state that state() returned, or a seed");
  return Random(state);
}

std::uint64_t Random::next() {
  auto& [a, b, c, d] = state_;
  const std::uint64_t result = std::rotl(b * 5, 7) * 9, shifted = b << 17;
  c ^= a;
  d ^= b;
  b ^= c;
  a ^= d;
  c ^= shifted;
  d = std::rotl(d, 45);
  return result;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

std::uint64_t Random::below(std::uint64_t n) {
  if (n == 0) throw Error("below", "a bound of at least 1", "0", "give a larger bound");
  // Skip the words below 2^64 mod n. With them, small remainders would be slightly more likely.
  const std::uint64_t first = (0 - n) % n;
  std::uint64_t word = next();
  while (word < first) word = next();
  return word % n;
}

// Charles Karney's algorithm (Sampling Exactly from the Normal Distribution, ACM TOMS 42, 2016). It draws the integer
// part and the fraction of |x| with von Neumann's method, which counts descending runs of uniforms, so it needs no
// logarithm.
double Random::normal() {
  for (;;) {
    std::uint64_t whole = 0;
    while (half_exponential()) ++whole;
    std::uint64_t left = whole == 0 ? 0 : whole * (whole - 1);
    while (left > 0 && half_exponential()) --left;
    if (left > 0) continue;

    const double part = uniform();
    std::uint64_t kept = 0;
    while (kept <= whole && keeps(whole, part)) ++kept;
    if (kept <= whole) continue;

    const double size = static_cast<double>(whole) + part;
    return next() >> 63 != 0 ? -size : size;
  }
}

double Random::normal(double mean, double deviation) { return mean + deviation * normal(); }

// Returns true with probability exp(-1/2): the length of a descending run of uniforms that starts at 1/2 is even.
bool Random::half_exponential() {
  double last = 0.5;
  for (bool even = true;; even = !even) {
    const double u = uniform();
    if (u >= last) return even;
    last = u;
  }
}

// Returns true with probability exp(-part * (2 * whole + part) / (2 * whole + 2)): the same for a run that starts at
// `part`, in which each element also has to pass a random test.
bool Random::keeps(std::uint64_t whole, double part) {
  const double twice = 2 * static_cast<double>(whole), pass = (twice + part) / (twice + 2);
  double last = part;
  for (bool even = true;; even = !even) {
    const double u = uniform();
    if (u >= last || uniform() >= pass) return even;
    last = u;
  }
}

}  // namespace gradwalk
