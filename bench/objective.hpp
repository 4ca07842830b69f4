// SPDX-License-Identifier: MIT
// Any function of a vector of numbers as a case: its value alone ("primal", plain doubles), and its value and gradient
// by the engine and, where CoDiPack's headers were given (GRADWALK_PEERS), by CoDiPack.
//
// The function is written once, generic over the number type: T objective(const std::vector<T>& inputs). Results are
// the value, then the gradient by each input, and a sample of the gradient must agree with central differences.
#pragma once

#ifdef GRADWALK_BENCH_CODIPACK
#include <codi.hpp>
#endif

#include <cstddef>
#include <gradwalk/value.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "counted.hpp"
#include "differences.hpp"

namespace bench {

template <class Objective> class ObjectiveTask : public Task {
 public:
  ObjectiveTask(Objective objective, std::vector<double> inputs)
      : objective_(std::move(objective)), inputs_(std::move(inputs)) {}
  std::vector<double> results() const override { return results_; }

 protected:
  Objective objective_;
  std::vector<double> inputs_, results_;
};

template <class Objective> class Primal final : public ObjectiveTask<Objective> {
 public:
  using ObjectiveTask<Objective>::ObjectiveTask;
  void run() override { this->results_ = {this->objective_(this->inputs_)}; }
};

template <class Objective> class ByEngine final : public ObjectiveTask<Objective> {
 public:
  using ObjectiveTask<Objective>::ObjectiveTask;
  void run() override {
    const std::vector<gradwalk::Value> x(this->inputs_.begin(), this->inputs_.end());
    const gradwalk::Value result = this->objective_(x);
    result.backward();
    this->results_ = {result.data()};
    for (const gradwalk::Value& input : x) this->results_.push_back(input.grad());
  }
};

#ifdef GRADWALK_BENCH_CODIPACK
template <class Objective> class ByCodipack final : public ObjectiveTask<Objective> {
 public:
  using ObjectiveTask<Objective>::ObjectiveTask;
  void run() override {
    using Real = codi::RealReverse;
    Real::Tape& tape = Real::getTape();
    tape.setActive();
    std::vector<Real> x(this->inputs_.begin(), this->inputs_.end());
    for (Real& input : x) tape.registerInput(input);
    Real result = this->objective_(x);
    tape.registerOutput(result);
    tape.setPassive();
    result.setGradient(1.0);
    tape.evaluate();
    this->results_ = {result.getValue()};
    for (const Real& input : x) this->results_.push_back(input.getGradient());
    tape.reset();
  }
};
#endif

// The engine's limits where the project's bar is on its time over CoDiPack's; none without CoDiPack.
inline Limits over_codipack(double bar) { return {.ratio = bar, .goal = 1.2, .to = "codipack"}; }

template <class Objective>
Case objective_case(std::string name, const Objective& objective, const std::vector<double>& inputs, Limits limits) {
  const double ops = count_ops(objective, inputs);
  Case c{.name = std::move(name), .variants = {{"primal", ops, starting<Primal<Objective>>(objective, inputs)}}};
#ifdef GRADWALK_BENCH_CODIPACK
  c.variants.push_back({"codipack", ops, starting<ByCodipack<Objective>>(objective, inputs)});
#endif
  c.variants.push_back({"engine", ops, starting<ByEngine<Objective>>(objective, inputs), std::move(limits)});
  c.known = [=] { return central_differences(objective, inputs); };
  return c;
}

// Numbers for the cases to work on: the same in every run.
class Numbers {
 public:
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_() >> 11) * 0x1p-53;
  }
  double normal() {  // nearly: the sum of twelve uniform numbers
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform(0, 1);
    return sum;
  }
  std::vector<double> uniform(std::size_t count, double low, double high) {
    std::vector<double> numbers(count);
    for (double& number : numbers) number = uniform(low, high);
    return numbers;
  }
  std::vector<double> normal(std::size_t count) {
    std::vector<double> numbers(count);
    for (double& number : numbers) number = normal();
    return numbers;
  }

 private:
  std::mt19937_64 generator_{1};
};

}  // namespace bench
