// SPDX-License-Identifier: MIT
// Makes a case of any function of a vector of numbers: its value in plain doubles ("primal"), and its value and
// gradient by the engine, by a compiled program and, if CoDiPack's headers are given (GRADWALK_PEERS), by CoDiPack.
//
// The function is written once, for any number type: T objective(const std::vector<T>& inputs). The results are the
// value and the gradient with respect to each input. A sample of the gradient must agree with central differences.
#pragma once

#ifdef GRADWALK_BENCH_CODIPACK
#include <codi.hpp>
#endif

#include <cstddef>
#include <gradwalk/compile.hpp>
#include <gradwalk/value.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "counted.hpp"
#include "differences.hpp"
#include "numbers.hpp"

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

// Some objectives look for the largest number before a sum of exponentials, and do not depend on the outcome.
inline gradwalk::CompileOptions options(const std::vector<gradwalk::Value>& x) {
  return {.parameters = x, .ignore_comparisons = true};
}

// Recorded and compiled once; each run has new parameters. The first runs, after which a program writes machine code,
// are not timed.
template <class Objective> class Compiled final : public ObjectiveTask<Objective> {
 public:
  Compiled(Objective objective, std::vector<double> inputs)
      : ObjectiveTask<Objective>(std::move(objective), std::move(inputs)),
        x_(this->inputs_.begin(), this->inputs_.end()),
        program_(gradwalk::compile(this->objective_(x_), options(x_))) {
    this->results_.resize(1 + x_.size());
    for (int i = 0; i < runs_before_machine_code; ++i) run();
  }
  void run() final { this->results_[0] = program_.gradient_at(this->inputs_, std::span(this->results_).subspan(1)); }

 private:
  static constexpr int runs_before_machine_code = 32;

  std::vector<gradwalk::Value> x_;
  gradwalk::Program program_;
};

// Times compile(), with the recording of the objective.
template <class Objective> class Compiling final : public ObjectiveTask<Objective> {
 public:
  Compiling(Objective objective, std::vector<double> inputs)
      : ObjectiveTask<Objective>(std::move(objective), std::move(inputs)),
        x_(this->inputs_.begin(), this->inputs_.end()),
        result_(this->objective_(x_)) {}
  void run() override { gradwalk::compile(result_, options(x_)); }

 private:
  std::vector<gradwalk::Value> x_;
  gradwalk::Value result_;
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

// Returns the limits of the engine as a ratio to CoDiPack's time. Without CoDiPack there is no limit.
inline Limits over_codipack(double bar) { return {.ratio = bar, .goal = 1.2, .to = "codipack"}; }

template <class Objective> Case objective_case(std::string name, const Objective& objective,
                                               const std::vector<double>& inputs, Limits limits, Limits compiled = {}) {
  const double ops = count_ops(objective, inputs);
  Case c{.name = std::move(name), .variants = {{"primal", ops, starting<Primal<Objective>>(objective, inputs)}}};
#ifdef GRADWALK_BENCH_CODIPACK
  c.variants.push_back({"codipack", ops, starting<ByCodipack<Objective>>(objective, inputs)});
#endif
  c.variants.push_back({"engine", ops, starting<ByEngine<Objective>>(objective, inputs), std::move(limits)});
  c.variants.push_back({"compiled", ops, starting<Compiled<Objective>>(objective, inputs), std::move(compiled)});
  c.variants.push_back(
      {"compiling", ops, starting<Compiling<Objective>>(objective, inputs), {.ratio = 10, .to = "engine"}});
  c.known = [=] { return central_differences(objective, inputs); };
  c.alone = true;  // a graph of another variant would occupy the tape
  return c;
}

}  // namespace bench
