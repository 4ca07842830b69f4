// SPDX-License-Identifier: MIT
// reading: a graph of 10,000,000 nodes built and read, against the same graph built and walked back.
#include <gradwalk/gradwalk.hpp>

#include "cases.hpp"

namespace bench {
namespace {

using gradwalk::Value;

// x = sin(x) + x * b, which is two records and three nodes.
Value built(long steps, const Value& b) {
  Value x = 0.5;
  for (long i = 0; i < steps; ++i) x = sin(x) + x * b;
  return x;
}

class WalkedBack final : public Task {
 public:
  explicit WalkedBack(long steps) : steps_(steps) {}
  void run() override {
    const Value b = 0.25, x = built(steps_, b);
    x.backward();
    result_ = x.data();
  }
  std::vector<double> results() const override { return {result_}; }

 private:
  long steps_;
  double result_ = 0;
};

class Read final : public Task {
 public:
  explicit Read(long steps) : steps_(steps) {}
  void run() override {
    const Value b = 0.25, x = built(steps_, b);
    const gradwalk::Reading graph(x);
    result_ = graph.data(graph.size() - 1);
  }
  std::vector<double> results() const override { return {result_}; }

 private:
  long steps_;
  double result_ = 0;
};

}  // namespace

Case reading(const Sizes& sizes) {
  const long steps = sizes.tiny ? 100 : 3'333'333;
  const double ops = 3.0 * static_cast<double>(steps);
  return {"reading",
          {{"walked-back", ops, starting<WalkedBack>(steps)}, {"read", ops, starting<Read>(steps), {.ratio = 1.0}}},
          {},
          true};
}

}  // namespace bench
