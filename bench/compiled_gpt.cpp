// SPDX-License-Identifier: MIT
// gpt-float64 and gpt-float32: compiled training steps on a batch of 64 names of 8 positions, against the same steps of
// the engine in doubles. A step computes the mean loss and its gradient and makes Adam's update.
#include <algorithm>
#include <gradwalk/compile.hpp>
#include <type_traits>

#include "gpt.hpp"

namespace bench {
namespace {

using namespace gradwalk;

template <class Number> class Compiled final : public GptBatch {
 public:
  explicit Compiled(int steps) : GptBatch(steps) {
    for (const GptTokens& name : batch()) gpt::append_one_hot(rows_, name, vocabulary);
  }

  // Adam's state is kept from run to run, which does not change the time of a step. The results are those of the first
  // run.
  void prepare() override {
    GptBatch::prepare();
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
  Trainer trainer_{program_, gpt_adam};
};

// The tolerance for numbers that should be 0: the rounding of terms of size 1.
template <class Number> Case batch_case(std::string name, const Sizes& sizes, double most, const Tolerance& tolerance) {
  const int steps = std::max(sizes.gpt_steps / 5, 1);
  const double ops = static_cast<double>(GptBatch::names * gpt_ops(GptBatch::positions)) * steps;
  return {.name = std::move(name),
          .variants = {{"eager", ops, starting_eager_gpt(steps)},
                       {"compiled", ops, starting<Compiled<Number>>(steps), {.ratio = most}}},
          .tolerance = tolerance,
          .steps = steps};
}

}  // namespace

Case gpt_float64(const Sizes& sizes) {
  return batch_case<double>("gpt-float64", sizes, 1.0 / 20, {.relative = 1e-9, .absolute = 1e-12});
}
Case gpt_float32(const Sizes& sizes) {
  return batch_case<float>("gpt-float32", sizes, 1.0 / 40, {.relative = 1e-4, .absolute = 1e-6});
}

}  // namespace bench
