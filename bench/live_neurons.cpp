// SPDX-License-Identifier: MIT
// live-neurons: does a backward pass of one graph cost more if thousands of other graphs are alive?
// One run is one backward pass per neuron: always of the same neuron ("lone" if there is no other, "one" among others),
// or of "each" in turn, whose memory is not in the cache. "lockstep" neurons were built in parallel, node k of each
// before node k+1 of any. The results are the mean gradients of a pass.
#include <array>
#include <cstddef>
#include <gradwalk/gradwalk.hpp>

#include "cases.hpp"

namespace bench {
namespace {

using gradwalk::Value;

enum class Built { one_by_one, in_lockstep };
enum class Walked { one, each };

struct Neuron {
  Value x1{2.0}, x2{0.5}, w1{-0.3}, w2{0.7}, b{0.25};
  Value out;
};

void build_one_by_one(std::vector<Neuron>& neurons) {
  for (Neuron& n : neurons) n.out = tanh(n.x1 * n.w1 + n.x2 * n.w2 + n.b);
}

void build_in_lockstep(std::vector<Neuron>& neurons) {
  std::vector<Value> products1, products2, sums, biased;
  for (const Neuron& n : neurons) products1.push_back(n.x1 * n.w1);
  for (const Neuron& n : neurons) products2.push_back(n.x2 * n.w2);
  for (std::size_t i = 0; i < neurons.size(); ++i) sums.push_back(products1[i] + products2[i]);
  for (std::size_t i = 0; i < neurons.size(); ++i) biased.push_back(sums[i] + neurons[i].b);
  for (std::size_t i = 0; i < neurons.size(); ++i) neurons[i].out = tanh(biased[i]);
}

class Walks final : public Task {
 public:
  Walks(long neurons, long walks, Built built, Walked walked)
      : neurons_(static_cast<std::size_t>(neurons)), walks_(walks), walked_(walked) {
    built == Built::in_lockstep ? build_in_lockstep(neurons_) : build_one_by_one(neurons_);
  }

  void run() override {
    if (walked_ == Walked::each) {
      for (const Neuron& n : neurons_) n.out.backward();
    } else {
      const Neuron& middle = neurons_[neurons_.size() / 2];
      for (long i = 0; i < walks_; ++i) middle.out.backward();
    }
    ++runs_;
  }

  std::vector<double> results() const override {
    std::array<double, 5> sums{};
    for (const Neuron& n : neurons_) {
      sums[0] += n.x1.grad();
      sums[1] += n.x2.grad();
      sums[2] += n.w1.grad();
      sums[3] += n.w2.grad();
      sums[4] += n.b.grad();
    }
    for (double& sum : sums) sum /= static_cast<double>(runs_ * walks_);
    return {sums.begin(), sums.end()};
  }

 private:
  std::vector<Neuron> neurons_;
  long walks_;
  Walked walked_;
  long runs_ = 0;
};

}  // namespace

Case live_neurons(const Sizes& sizes) {
  const long many = sizes.live_neurons;
  const double ops = 5.0 * static_cast<double>(many);
  const auto walks = [&](long neurons, Built built, Walked walked) {
    return starting<Walks>(neurons, many, built, walked);
  };
  return {.name = "live-neurons",
          .variants = {{"lone", ops, walks(1, Built::one_by_one, Walked::one)},
                       {"one", ops, walks(many, Built::one_by_one, Walked::one), {.ratio = 1.5}},
                       {"each", ops, walks(many, Built::one_by_one, Walked::each), {.ratio = 1.5}},
                       {"lockstep-one", ops, walks(many, Built::in_lockstep, Walked::one), {.ratio = 3}},
                       {"lockstep-each", ops, walks(many, Built::in_lockstep, Walked::each), {.ratio = 3}}},
          .alone = true,
          .measure_memory = false};
}

}  // namespace bench
