// SPDX-License-Identifier: MIT
// The generator and what is made of its words. docs/random.md gives the recipes; tests/python repeats them.
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
  if (n == 0) throw Error("below", "a bound of at least 1", "0", "ask for a number below something");
  // Words under 2^64 mod n would make small remainders likelier by one in 2^64 / n.
  const std::uint64_t first = (0 - n) % n;
  std::uint64_t word = next();
  while (word < first) word = next();
  return word % n;
}

// Charles Karney's way (Sampling Exactly from the Normal Distribution, ACM TOMS 42, 2016), which draws the whole part
// and the fraction of |x| by von Neumann's runs of falling uniforms, so that no logarithm is needed.
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

// True with probability exp(-1/2): uniforms that fall from 1/2 on fall an even number of times.
bool Random::half_exponential() {
  double last = 0.5;
  for (bool even = true;; even = !even) {
    const double u = uniform();
    if (u >= last) return even;
    last = u;
  }
}

// True with probability exp(-part * (2 * whole + part) / (2 * whole + 2)): the same from `part` on, where each fall
// also has to pass a draw of its own.
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
