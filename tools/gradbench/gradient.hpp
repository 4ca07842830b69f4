// SPDX-License-Identifier: MIT
// Tasks for evals of a number and its gradient. Such an eval is an Objective:
//   explicit Objective(const Input&);
//   Numbers x;                                             // the point
//   template <class T> T operator()(const std::vector<T>& x) const;
//   Numbers gradient_by_hand() const;                      // at x, without any library
//   void write_gradient(JsonWriter&, const Numbers&) const;
#pragma once

#ifdef GRADBENCH_CODIPACK
#include <codi.hpp>
#else
#include <gradwalk/compile.hpp>
#include <gradwalk/derivatives.hpp>
#include <gradwalk/graph.hpp>
#endif

#include <optional>
#include <stdexcept>

#include "task.hpp"

namespace gradbench {

template <class Objective> class Primal final : public Task {
 public:
  explicit Primal(const Input& input) : objective_(input) {}
  void run() override { value_ = objective_(objective_.x); }
  void write(gradwalk::JsonWriter& json) const override { json.value(value_); }

 private:
  Objective objective_;
  double value_ = 0;
};

#ifdef GRADBENCH_CODIPACK

// Computes a gradient with CoDiPack, recording it anew, as in CoDiPack's documentation.
template <class Objective> Numbers gradient_by_codipack(const Objective& objective) {
  using Real = codi::RealReverse;
  Real::Tape& tape = Real::getTape();
  std::vector<Real> x(objective.x.begin(), objective.x.end());
  tape.setActive();
  for (Real& input : x) tape.registerInput(input);
  Real result = objective(x);
  tape.registerOutput(result);
  tape.setPassive();
  result.setGradient(1.0);
  tape.evaluate();
  Numbers gradient;
  for (const Real& input : x) gradient.push_back(input.getGradient());
  tape.reset();
  return gradient;
}

template <class Objective> class Gradient final : public Task {
 public:
  explicit Gradient(const Input& input) : objective_(input) {}
  void run() override { gradient_ = gradient_by_codipack(objective_); }
  void write(gradwalk::JsonWriter& json) const override { objective_.write_gradient(json, gradient_); }

 private:
  Objective objective_;
  Numbers gradient_;
};

#else

// Computes the gradient of an objective. In the mode `compiled`, the constructor compiles the program, which then runs
// with the numbers of the input.
template <class Objective> class Gradient final : public Task {
 public:
  explicit Gradient(const Input& input) : objective_(input), gradient_(objective_.x.size()) {
    if (mode != Mode::compiled) return;
    const std::vector<gradwalk::Value> x(objective_.x.begin(), objective_.x.end());
    program_.emplace(gradwalk::compile(objective_(x), {.parameters = x, .ignore_comparisons = true}));
  }
  void run() override {
    switch (mode) {
      case Mode::eager: gradient_ = gradwalk::gradient(objective_, objective_.x); return;
      case Mode::compiled: program_->gradient_at(objective_.x, gradient_); return;
      case Mode::by_hand: gradient_ = objective_.gradient_by_hand(); return;
      case Mode::codipack: throw std::logic_error("gradient: needs its file compiled for CoDiPack");
    }
  }
  void write(gradwalk::JsonWriter& json) const override { objective_.write_gradient(json, gradient_); }

 private:
  Objective objective_;
  Numbers gradient_;
  std::optional<gradwalk::Program> program_;
};

#endif

// Throws the error of an eval without hand-written derivatives.
[[noreturn]] inline void not_by_hand(const char* eval) {
  throw std::invalid_argument(std::string(eval) + ": has no derivatives by hand");
}

}  // namespace gradbench
