// SPDX-License-Identifier: MIT
// Counted: a number type that counts scalar operations as micrograd counts nodes. An objective that runs with it counts
// its operations. Constants, copies and comparisons do not count.
#pragma once

#include <cmath>
#include <compare>
#include <type_traits>
#include <vector>

namespace bench {

class Counted {
 public:
  Counted() = default;
  template <class N>
    requires std::is_arithmetic_v<N>
  Counted(N number) : number_(static_cast<double>(number)) {}  // NOLINT(google-explicit-constructor)

  static inline double ops = 0;

#define COUNTED_OPERATOR(sign)                                                                                   \
  friend Counted operator sign(const Counted& x, const Counted& y) { return counted(x.number_ sign y.number_); } \
  Counted& operator sign##=(const Counted & y) { return *this = *this sign y; }
  COUNTED_OPERATOR(+)
  COUNTED_OPERATOR(-)
  COUNTED_OPERATOR(*)
  COUNTED_OPERATOR(/)
#undef COUNTED_OPERATOR
  friend Counted operator-(const Counted& x) { return counted(-x.number_); }

#define COUNTED_FUNCTION(name) \
  friend Counted name(const Counted& x) { return counted(std::name(x.number_)); }
  COUNTED_FUNCTION(abs)
  COUNTED_FUNCTION(cos)
  COUNTED_FUNCTION(erf)
  COUNTED_FUNCTION(exp)
  COUNTED_FUNCTION(log)
  COUNTED_FUNCTION(sin)
  COUNTED_FUNCTION(sqrt)
  COUNTED_FUNCTION(tanh)
#undef COUNTED_FUNCTION
  friend Counted pow(const Counted& x, const Counted& y) { return counted(std::pow(x.number_, y.number_)); }
  friend Counted max(const Counted& x, const Counted& y) { return counted(std::fmax(x.number_, y.number_)); }
  friend Counted min(const Counted& x, const Counted& y) { return counted(std::fmin(x.number_, y.number_)); }

  friend auto operator<=>(const Counted& x, const Counted& y) { return x.number_ <=> y.number_; }
  friend bool operator==(const Counted& x, const Counted& y) { return x.number_ == y.number_; }

 private:
  static Counted counted(double number) {
    ++ops;
    return number;
  }
  double number_ = 0;
};

template <class Objective> double count_ops(const Objective& objective, const std::vector<double>& inputs) {
  Counted::ops = 0;
  objective(std::vector<Counted>(inputs.begin(), inputs.end()));
  return Counted::ops;
}

}  // namespace bench
