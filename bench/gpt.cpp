// SPDX-License-Identifier: MIT
// gpt: what an op costs in a GPT (examples/gpt.hpp, as examples/07_gpt trains it), against an op of moons. It has more
// small vectors than that, functions that cost more, and twelve times the parameters, which Adam updates.
// One run is a few steps on one name from the same first parameters.
//
// gpt-float64 and gpt-float32: steps on a batch of names of 8 positions, each the mean loss, its gradient and Adam's
// update, compiled, against the engine taking the same steps in doubles. Results are the losses of the steps and the
// gradient at the first parameters.
#include "../examples/gpt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <gradwalk/compile.hpp>
#include <type_traits>

#include "cases.hpp"
#include "measure.hpp"
#include "numbers.hpp"

namespace bench {
namespace {

using namespace gradwalk;
using Tokens = std::vector<std::size_t>;

// For each token 16 + 3*51 + 4*496 + 2*16 + 1984 + 64 + 2032 + 837 + 110, and attention to those so far, 21 ops a head
// and token attended to, less 5; then the mean of the losses.
constexpr std::size_t ops_of_name(std::size_t positions) {
  return 7212 * positions + 4 * (21 * positions * (positions + 1) / 2 - 5 * positions) + positions;
}
constexpr Adam adam{.lr = 0.01, .beta1 = 0.85, .beta2 = 0.99};

class Trained : public Task {
 public:
  void prepare() override {
    for (std::size_t i = 0; i < first_.size(); ++i) parameters_[i].data() = first_[i];
  }

 protected:
  Trained() {
    for (const Value& p : parameters_) first_.push_back(p.data());
  }

  Random random_{42};
  gpt::Model model_{{}, random_};
  gpt::Vector parameters_ = model_.parameters();
  std::vector<double> first_;
};

class Engine final : public Trained {
 public:
  explicit Engine(int steps) : steps_(steps) {}

  void run() override {
    prepare();
    adam_.set_state(initial_state(adam_.config(), first_.size()));
    for (int step = 0; step < steps_; ++step) {
      adam_.zero_grad();
      model_.loss(olivia_).backward();
      adam_.step();
    }
  }

  // Nothing else computes this model, but the number of its ops is checked.
  std::vector<double> results() const override {
    const std::vector<Value> nodes = topological_order(model_.loss(olivia_));
    const auto ops = static_cast<std::size_t>(std::count_if(
        nodes.begin(), nodes.end(), [](const Value& v) { return v.op() != Op::leaf && v.op() != Op::constant; }));
    if (ops != ops_of_name(positions))
      throw Disagreement(
          fmt::format("gpt: needs {} ops a step, got {}; nothing was timed", ops_of_name(positions), ops));
    return {};
  }

  static constexpr std::size_t positions = 7;

 private:
  int steps_;
  const Tokens olivia_{26, 14, 11, 8, 21, 8, 0, 26};
  Optimizer adam_{parameters_, adam};
};

constexpr std::size_t names = 64, positions = 8, vocabulary = 27;

std::vector<Tokens> batch() {
  Numbers numbers;
  std::vector<Tokens> made(names, Tokens(positions + 1, vocabulary - 1));
  for (Tokens& name : made)
    for (std::size_t i = 1; i < positions; ++i) name[i] = static_cast<std::size_t>(numbers.uniform(0, vocabulary - 1));
  return made;
}

class Batch : public Trained {
 public:
  std::vector<double> results() const override {
    std::vector<double> all = losses_, gradient = first_gradient();
    all.insert(all.end(), gradient.begin(), gradient.end());
    return all;
  }

 protected:
  explicit Batch(int steps) : losses_(static_cast<std::size_t>(steps)) {}
  virtual std::vector<double> first_gradient() const = 0;

  std::vector<double> losses_;  // one a step
};

class Eager final : public Batch {
 public:
  explicit Eager(int steps) : Batch(steps) {}

  void prepare() override {
    Batch::prepare();
    adam_.set_state(initial_state(adam_.config(), first_.size()));
  }
  void run() override {
    for (double& loss : losses_) {
      adam_.zero_grad();
      loss = walk_back();
      adam_.step();
    }
  }

 private:
  double walk_back() const {
    double mean = 0;
    for (const Tokens& name : batch_) {
      const Value loss = model_.loss(name);
      loss.backward(1.0 / names);
      mean += loss.data() / names;
    }
    return mean;
  }
  std::vector<double> first_gradient() const override {
    Eager fresh(1);
    fresh.walk_back();
    std::vector<double> gradient;
    for (const Value& p : fresh.parameters_) gradient.push_back(p.grad());
    return gradient;
  }

  std::vector<Tokens> batch_ = batch();
  Optimizer adam_{parameters_, adam};
};

template <class Number> class Compiled final : public Batch {
 public:
  explicit Compiled(int steps) : Batch(steps) {
    for (const Tokens& name : batch()) gpt::append_one_hot(rows_, name, vocabulary);
  }

  // What Adam remembers is kept from run to run: a step takes as long, and results are those of the first.
  void prepare() override {
    Batch::prepare();
    trainer_.read_again();
  }
  void run() override {
    for (double& loss : losses_) loss = trainer_.step(rows_, mean);
  }

 private:
  static constexpr RunOptions mean{.result = RunOptions::Result::mean};

  Program compiled() const {
    const gpt::OneHot any(positions + 1, vocabulary);
    return compile(model_.loss(any.tokens),
                   {.inputs = any.inputs(),
                    .parameters = parameters_,
                    .precision = std::is_same_v<Number, float> ? Precision::float32 : Precision::float64});
  }
  std::vector<double> first_gradient() const override {
    Compiled fresh(1);
    std::vector<double> gradient(parameters_.size());
    fresh.program_.gradients(std::vector<double>(rows_.begin(), rows_.end()), gradient, mean);
    return gradient;
  }

  std::vector<Number> rows_;
  Program program_ = compiled();
  Trainer trainer_{program_, adam};
};

// Numbers that should be 0 may be off by as much as rounding leaves of terms of size 1.
template <class Number> Case batch_case(std::string name, const Sizes& sizes, double most, const Tolerance& tolerance) {
  const int steps = std::max(sizes.gpt_steps / 5, 1);
  const double ops = static_cast<double>(names * ops_of_name(positions)) * steps;
  return {.name = std::move(name),
          .variants = {{"eager", ops, starting<Eager>(steps)},
                       {"compiled", ops, starting<Compiled<Number>>(steps), {.ratio = most}}},
          .tolerance = tolerance,
          .steps = steps};
}

}  // namespace

Case gpt(const Sizes& sizes) {
  const double ops = static_cast<double>(ops_of_name(Engine::positions)) * sizes.gpt_steps;
  return {"gpt", {moons_op(sizes), {"engine", ops, starting<Engine>(sizes.gpt_steps), {.ratio = 1.3}}}};
}
Case gpt_float64(const Sizes& sizes) {
  return batch_case<double>("gpt-float64", sizes, 1.0 / 20, {.relative = 1e-9, .absolute = 1e-12});
}
Case gpt_float32(const Sizes& sizes) {
  return batch_case<float>("gpt-float32", sizes, 1.0 / 40, {.relative = 1e-4, .absolute = 1e-6});
}

}  // namespace bench
