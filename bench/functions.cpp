// SPDX-License-Identifier: MIT
// function-pow and its like: one function of each number, with its derivative, compiled and by the C library.
// A row has 8 numbers, and its output is the sum of the function's values. The results are the sum over the rows and
// the derivatives by the numbers of the first row.
#include <cmath>
#include <gradwalk/compile.hpp>
#include <gradwalk/gradwalk.hpp>
#include <random>

#include "cases.hpp"

namespace bench {
namespace {

using gradwalk::Value;

constexpr std::size_t rows = 10'000, width = 8;

// The functions, with their derivative by x, for plain doubles.
struct Pow {
  static constexpr double low = 0.1, high = 4;
  static Value of(const Value& x) { return pow(x, 1.7); }
  static double of(double x, double& derivative) { return derivative = 1.7 * std::pow(x, 0.7), std::pow(x, 1.7); }
};
struct Erf {
  static constexpr double low = -3, high = 3;
  static Value of(const Value& x) { return erf(x); }
  static double of(double x, double& derivative) {
    return derivative = 1.1283791670955126 * std::exp(-x * x), std::erf(x);
  }
};
struct Erfc {
  static constexpr double low = -3, high = 6;
  static Value of(const Value& x) { return erfc(x); }
  static double of(double x, double& derivative) {
    return derivative = -1.1283791670955126 * std::exp(-x * x), std::erfc(x);
  }
};
struct Gelu {
  static constexpr double low = -4, high = 4;
  static Value of(const Value& x) { return gelu(x); }
  static double of(double x, double& derivative) {
    const double half = 0.5 * std::erfc(-0.7071067811865476 * x);
    return derivative = half + 0.3989422804014327 * x * std::exp(-0.5 * x * x), x * half;
  }
};
struct Cbrt {
  static constexpr double low = 0.1, high = 100;
  static Value of(const Value& x) { return cbrt(x); }
  static double of(double x, double& derivative) {
    const double r = std::cbrt(x);
    return derivative = 1 / (3 * r * r), r;
  }
};
struct Atan2 {
  static constexpr double low = -4, high = 4;
  static Value of(const Value& x) { return atan2(x, 1.5); }
  static double of(double x, double& derivative) { return derivative = 1.5 / (x * x + 2.25), std::atan2(x, 1.5); }
};

template <class Function> std::vector<double> draw_rows() {
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> between(Function::low, Function::high);
  std::vector<double> numbers(rows * width);
  for (double& number : numbers) number = between(generator);
  return numbers;
}

template <class Function> class OfNumbers : public Task {
 public:
  std::vector<double> results() const override {
    std::vector<double> numbers{sum_};
    numbers.insert(numbers.end(), derivatives_.begin(), derivatives_.begin() + width);
    return numbers;
  }

 protected:
  double sum_ = 0;
  std::vector<double> numbers_ = draw_rows<Function>(), derivatives_ = std::vector<double>(numbers_.size());
};

template <class Function> class Library final : public OfNumbers<Function> {
  void run() override {
    this->sum_ = 0;
    for (std::size_t i = 0; i < this->numbers_.size(); ++i)
      this->sum_ += Function::of(this->numbers_[i], this->derivatives_[i]);
  }
};

template <class Function> class CompiledFunction final : public OfNumbers<Function> {
  void run() override { this->sum_ = program_.gradients(this->numbers_, {}, {.input_gradients = this->derivatives_}); }
  static gradwalk::Program program() {
    std::vector<Value> inputs;
    Value sum = 0.0;
    for (std::size_t i = 0; i < width; ++i) {
      inputs.emplace_back(1.0);
      sum += Function::of(inputs.back());
    }
    return gradwalk::compile(sum, {.inputs = inputs});
  }
  gradwalk::Program program_ = program();
};

template <class Function> Case function_case(std::string name, double most_ns) {
  constexpr double ops = rows * width;
  return {.name = std::move(name),
          .variants =
              {{"library", ops, starting<Library<Function>>()},
               {"compiled", ops, starting<CompiledFunction<Function>>(), {.ratio = 0.5, .ms = 1e-6 * most_ns * ops}}},
          .measure_memory = false};
}

}  // namespace

// pow and gelu compute their slow function again for the derivative.
Case function_pow(const Sizes&) { return function_case<Pow>("function-pow", 8); }
Case function_erf(const Sizes&) { return function_case<Erf>("function-erf", 6); }
Case function_erfc(const Sizes&) { return function_case<Erfc>("function-erfc", 6); }
Case function_gelu(const Sizes&) { return function_case<Gelu>("function-gelu", 10); }
Case function_cbrt(const Sizes&) { return function_case<Cbrt>("function-cbrt", 6); }
Case function_atan2(const Sizes&) { return function_case<Atan2>("function-atan2", 6); }

}  // namespace bench
