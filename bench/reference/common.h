// SPDX-License-Identifier: MIT
// The data of the reference workloads: moons rows, targets and first parameters, and their generator.
// Copied unchanged from the yardstick that bars are ratios to; only hand.cpp uses it. Everything is in an unnamed
// namespace, because that file has its own flags, and none of its inline functions may replace those of another file.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "hand.hpp"

namespace {
namespace bm {
constexpr int NS = bench::hand::rows, NP = bench::hand::parameters;
using Data = bench::hand::Moons;
inline uint64_t sm(uint64_t& s) {
  uint64_t z = (s += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
inline double u01(uint64_t& s) { return (sm(s) >> 11) * 0x1.0p-53; }
inline const Data& data() {
  static Data d = [] {
    Data d;
    uint64_t s = 1337;
    for (int i = 0; i < NS; i++) {
      d.X[i][0] = u01(s) * 3 - 1;
      d.X[i][1] = u01(s) * 2 - 0.75;
      d.y[i] = (std::sin(2.2 * d.X[i][0]) * 0.6 + 0.15 > d.X[i][1]) ? 1.0 : -1.0;
    }
    int k = 0;
    auto nb = [&](int nin, int nout) {
      for (int j = 0; j < nout; j++) {
        for (int i = 0; i < nin; i++) d.p0[k++] = u01(s) * 2 - 1;
        d.p0[k++] = 0.0;
      }
    };
    nb(2, 16);
    nb(16, 16);
    nb(16, 1);
    return d;
  }();
  return d;
}

// The part of std::vector<double> that the kernels need. The code of std::vector would be shared with files that have
// other flags.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }
  void resize(long size) {
    if (size == size_) return;
    std::free(data_);
    data_ = static_cast<double*>(std::malloc(size * sizeof(double)));
    if (data_ == nullptr) std::abort();
    size_ = size;
  }
  double& operator[](long i) { return data_[i]; }

 private:
  double* data_ = nullptr;
  long size_ = 0;
};
}  // namespace bm
}  // namespace
