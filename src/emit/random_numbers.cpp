// SPDX-License-Identifier: MIT
// The numbers of random inputs, on the host.
#include <bit>
#include <cmath>

#include "gradwalk/emit_cuda.hpp"
#include "random_words.hpp"

namespace gradwalk {
namespace {

using std::fma, std::sqrt;  // those of gradwalk take Values

float gw_float(unsigned bits) { return std::bit_cast<float>(bits); }
unsigned gw_bits_of(float number) { return std::bit_cast<unsigned>(number); }
double gw_double(long long bits) { return std::bit_cast<double>(bits); }
long long gw_bits_of(double number) { return std::bit_cast<long long>(number); }

#define GRADWALK_COMMON(...) __VA_ARGS__
#define GRADWALK_FLOAT(...) __VA_ARGS__
#define GRADWALK_DOUBLE(...) __VA_ARGS__
#include "shared_functions.def"
#undef GRADWALK_COMMON
#undef GRADWALK_FLOAT
#undef GRADWALK_DOUBLE

template <class Real>
void fill(Distribution distribution, std::uint64_t seed, std::uint64_t row, std::span<double> numbers) {
  constexpr std::size_t each = emit::numbers_per_block(sizeof(Real) == sizeof(float));
  Real block[each];
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i % each == 0) {
      const GwWords words = gw_philox(row, static_cast<unsigned>(i / each), emit::stream_of(distribution), seed);
      distribution == Distribution::normal ? gw_normals(words, block) : gw_uniforms(words, block);
    }
    numbers[i] = static_cast<double>(block[i % each]);
  }
}

}  // namespace

void random_numbers(Distribution distribution, Precision precision, std::uint64_t seed, std::uint64_t row,
                    std::span<double> numbers) {
  precision == Precision::float32 ? fill<float>(distribution, seed, row, numbers)
                                  : fill<double>(distribution, seed, row, numbers);
}

}  // namespace gradwalk
