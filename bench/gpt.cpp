// SPDX-License-Identifier: MIT
// gpt: the cost of an op in a GPT (examples/gpt.hpp, trained as in examples/07_gpt), against an op of moons. A GPT has
// smaller vectors, more expensive functions, and twelve times as many parameters, which Adam updates.
// One run is a few steps on one name from the same first parameters.
//
// The file also has the engine's steps on a batch of names, which compiled_gpt.cpp compares with.
#include "gpt.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "measure.hpp"

namespace bench {
namespace {

using namespace gradwalk;

class Engine final : public GptTask {
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

  // No other variant computes this model, but the number of its ops is checked.
  std::vector<double> results() const override {
    const std::vector<Value> nodes = topological_order(model_.loss(olivia_));
    const auto ops = static_cast<std::size_t>(std::count_if(
        nodes.begin(), nodes.end(), [](const Value& v) { return v.op() != Op::leaf && v.op() != Op::constant; }));
    if (ops != gpt_ops(positions))
      throw Disagreement(fmt::format("gpt: needs {} ops per step, got {}; nothing was timed", gpt_ops(positions), ops));
    return {};
  }

  static constexpr std::size_t positions = 7;

 private:
  int steps_;
  const GptTokens olivia_{26, 14, 11, 8, 21, 8, 0, 26};
  Optimizer adam_{parameters_, gpt_adam};
};

class Eager final : public GptBatch {
 public:
  explicit Eager(int steps) : GptBatch(steps) {}

  void prepare() override {
    GptBatch::prepare();
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
    for (const GptTokens& name : batch_) {
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

  std::vector<GptTokens> batch_ = batch();
  Optimizer adam_{parameters_, gpt_adam};
};

}  // namespace

std::function<std::unique_ptr<Task>()> starting_eager_gpt(int steps) { return starting<Eager>(steps); }

Case gpt(const Sizes& sizes) {
  const double ops = static_cast<double>(gpt_ops(Engine::positions)) * sizes.gpt_steps;
  return {"gpt", {moons_op(sizes), {"engine", ops, starting<Engine>(sizes.gpt_steps), {.ratio = 1.3}}}};
}

}  // namespace bench
