// SPDX-License-Identifier: MIT
// products: a wide graph, the sum of a[i] * b[i] over very many leaves, which are made once and get new data in each
// run. The results are the sum, and a weighted sum of the gradients of a and of b, as in the hand-written code.
#include <cstddef>
#include <gradwalk/gradwalk.hpp>

#include "cases.hpp"
#include "differences.hpp"
#include "reference/hand.hpp"

namespace bench {
namespace {

using gradwalk::Value;

struct Inputs {
  explicit Inputs(long count) : a(static_cast<std::size_t>(count)), b(static_cast<std::size_t>(count)) {
    hand::fill_products(count, a.data(), b.data());
  }
  std::vector<double> a, b;
};

// Returns the sum if each a is shifted by by[0] times the weight of its gradient in the results, and each b by by[1].
double sum_of_moved(const std::vector<double>& by, const Inputs& inputs) {
  double sum = 0;
  for (std::size_t i = 0; i < inputs.a.size(); ++i) {
    sum +=
        (inputs.a[i] + by[0] * static_cast<double>(1 + i % 7)) * (inputs.b[i] + by[1] * static_cast<double>(1 + i % 5));
  }
  return sum;
}

class Engine final : public Task {
 public:
  explicit Engine(std::shared_ptr<const Inputs> inputs) : inputs_(std::move(inputs)) {
    a_.assign(inputs_->a.begin(), inputs_->a.end());
    b_.assign(inputs_->b.begin(), inputs_->b.end());
  }

  void run() override {
    const std::size_t count = a_.size();
    for (std::size_t i = 0; i < count; ++i) {
      a_[i].data() = inputs_->a[i];
      a_[i].grad() = 0;
      b_[i].data() = inputs_->b[i];
      b_[i].grad() = 0;
    }
    Value sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) sum += a_[i] * b_[i];
    sum.backward();

    double a_gradients = 0, b_gradients = 0;
    for (std::size_t i = 0; i < count; ++i) {
      a_gradients += a_[i].grad() * static_cast<double>(1 + i % 7);
      b_gradients += b_[i].grad() * static_cast<double>(1 + i % 5);
    }
    results_ = {sum.data(), a_gradients, b_gradients};
  }
  std::vector<double> results() const override { return results_; }

 private:
  std::shared_ptr<const Inputs> inputs_;
  std::vector<Value> a_, b_;
  std::vector<double> results_;
};

class Hand final : public Task {
 public:
  explicit Hand(std::shared_ptr<const Inputs> inputs) : inputs_(std::move(inputs)), results_(3) {}

  void run() override {
    const long count = static_cast<long>(inputs_->a.size());
    results_[0] = hand::products(count, inputs_->a.data(), inputs_->b.data(), &results_[1]);
  }
  std::vector<double> results() const override { return results_; }

 private:
  std::shared_ptr<const Inputs> inputs_;
  std::vector<double> results_;
};

}  // namespace

Case products(const Sizes& sizes) {
  const auto inputs = std::make_shared<const Inputs>(sizes.products);
  const double ops = 2.0 * static_cast<double>(sizes.products);
  return {
      "products",
      {{"hand", ops, starting<Hand>(inputs)}, {"engine", ops, starting<Engine>(inputs), {.ratio = 7.0, .goal = 5.8}}},
      [inputs] {
        const auto sum = [&](const std::vector<double>& by) { return sum_of_moved(by, *inputs); };
        return central_differences(sum, {0, 0});
      }};
}

}  // namespace bench
