// SPDX-License-Identifier: MIT
// reading: reads a graph of 10,000,000 nodes, against its first backward pass.
#include <gradwalk/gradwalk.hpp>
#include <optional>
#include <utility>

#include "cases.hpp"

namespace bench {
namespace {

using gradwalk::Value;

// Builds x = sin(x) + x * b many times, with three nodes per step. With b = 0 the gradient falls slowly, as a power of
// the number of steps. With b = 0.25 it would be 0 after some thousand steps, and a backward pass would skip the other
// nodes.
Value built(long steps, const Value& b) {
  Value x = 0.5;
  for (long i = 0; i < steps; ++i) x = sin(x) + x * b;
  return x;
}

class Large : public Task {
 public:
  explicit Large(long steps) : steps_(steps) {}
  void prepare() override {
    x_.reset();
    x_.emplace(built(steps_, b_));
  }
  std::vector<double> results() const override { return {std::as_const(*x_).data()}; }

 protected:
  long steps_;
  Value b_ = 0;
  std::optional<Value> x_;
};

class WalkedBack final : public Large {
  using Large::Large;
  void run() override { x_->backward(); }
};

class Read final : public Large {
  using Large::Large;
  void run() override { size_ = gradwalk::Reading(*x_).size(); }
  std::size_t size_ = 0;
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
