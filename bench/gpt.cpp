// SPDX-License-Identifier: MIT
// gpt: what an op costs in a GPT (examples/gpt.hpp, as examples/07_gpt trains it), against an op of moons. It has more
// small vectors than that, functions that cost more, and twelve times the parameters, which Adam updates.
// One run is a few steps on one name from the same first parameters.
#include "../examples/gpt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cases.hpp"
#include "measure.hpp"

namespace bench {
namespace {

using namespace gradwalk;

constexpr std::array<std::size_t, 8> olivia{26, 14, 11, 8, 21, 8, 0, 26};  // as tokens
// 7 tokens of 16 + 3*51 + 4*496 + 2*16 + 1984 + 64 + 2032 + 837 + 83, their attention, and the mean of the losses.
constexpr double ops_a_step = 52'591;  // 7*7185 + 4*(20*28 - 7*5) + 7

class Engine final : public Task {
 public:
  explicit Engine(int steps) : steps_(steps) {
    for (const Value& p : adam_.parameters()) first_.push_back(p.data());
  }

  void run() override {
    for (std::size_t i = 0; i < first_.size(); ++i) parameters_[i].data() = first_[i];
    adam_.set_state(initial_state(adam_.config(), first_.size()));
    for (int step = 0; step < steps_; ++step) {
      adam_.zero_grad();
      model_.loss(olivia).backward();
      adam_.step();
    }
  }

  // Nothing else computes this model, but the number of its ops is checked.
  std::vector<double> results() const override {
    const std::vector<Value> nodes = topological_order(model_.loss(olivia));
    const auto ops = std::count_if(nodes.begin(), nodes.end(),
                                   [](const Value& v) { return v.op() != Op::leaf && v.op() != Op::constant; });
    if (static_cast<double>(ops) != ops_a_step)
      throw Disagreement(fmt::format("gpt: needs {} ops a step, got {}; nothing was timed", ops_a_step, ops));
    return {};
  }

 private:
  int steps_;
  Random random_{42};
  gpt::Model model_{{}, random_};
  gpt::Vector parameters_ = model_.parameters();
  Optimizer adam_{parameters_, Adam{.lr = 0.01, .beta1 = 0.85, .beta2 = 0.99}};
  std::vector<double> first_;
};

}  // namespace

Case gpt(const Sizes& sizes) {
  return {
      "gpt",
      {moons_op(sizes), {"engine", ops_a_step * sizes.gpt_steps, starting<Engine>(sizes.gpt_steps), {.ratio = 1.3}}}};
}

}  // namespace bench
