// SPDX-License-Identifier: MIT
// The model and the batch of names that the GPT cases of the engine and of compile() use.
//
// Each of the two has its own file, because a compiler that inlines much for one would inline less for the other.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "../examples/gpt.hpp"
#include "cases.hpp"
#include "numbers.hpp"

namespace bench {

using GptTokens = std::vector<std::size_t>;
inline constexpr gradwalk::Adam gpt_adam{.lr = 0.01, .beta1 = 0.85, .beta2 = 0.99};

// Returns the number of ops of a step: 16 + 3*51 + 4*496 + 2*16 + 1984 + 64 + 2032 + 837 + 110 per token; for
// attention, 21 per head and earlier token, minus 5 per head; and the mean of the losses.
constexpr std::size_t gpt_ops(std::size_t positions) {
  return 7212 * positions + 4 * (21 * positions * (positions + 1) / 2 - 5 * positions) + positions;
}

class GptTask : public Task {
 public:
  void prepare() override {
    for (std::size_t i = 0; i < first_.size(); ++i) parameters_[i].data() = first_[i];
  }

 protected:
  GptTask() {
    for (const gradwalk::Value& p : parameters_) first_.push_back(p.data());
  }

  gradwalk::Random random_{42};
  gpt::Model model_{{}, random_};
  gpt::Vector parameters_ = model_.parameters();
  std::vector<double> first_;
};

// Steps on the mean loss of a batch. The results are the losses and the gradient at the first parameters.
class GptBatch : public GptTask {
 public:
  static constexpr std::size_t names = 64, positions = 8, vocabulary = 27;

  std::vector<double> results() const override {
    std::vector<double> all = losses_, gradient = first_gradient();
    all.insert(all.end(), gradient.begin(), gradient.end());
    return all;
  }

 protected:
  explicit GptBatch(int steps) : losses_(static_cast<std::size_t>(steps)) {}
  virtual std::vector<double> first_gradient() const = 0;

  static std::vector<GptTokens> batch() {
    Numbers numbers;
    std::vector<GptTokens> made(names, GptTokens(positions + 1, vocabulary - 1));
    for (GptTokens& name : made)
      for (std::size_t i = 1; i < positions; ++i)
        name[i] = static_cast<std::size_t>(numbers.uniform(0, vocabulary - 1));
    return made;
  }

  std::vector<double> losses_;  // one per step
};

std::function<std::unique_ptr<Task>()> starting_eager_gpt(int steps);

}  // namespace bench
