// SPDX-License-Identifier: MIT
// chain: x = x * b + c, a graph that is as deep as possible. scaling: the same chain at larger and larger sizes.
// The results are the end of the chain and the gradients of its three leaves.
#include <fmt/format.h>

#include <gradwalk/gradwalk.hpp>

#include "cases.hpp"
#include "differences.hpp"
#include "reference/hand.hpp"

namespace bench {
namespace {

using gradwalk::Value;

constexpr double start = 0.5, factor = 0.999999, addend = 1e-7;

template <class T> T chain_of(const T& a, const T& b, const T& c, long links) {
  T x = a;
  for (long i = 0; i < links; ++i) x = x * b + c;
  return x;
}

class Engine final : public Task {
 public:
  explicit Engine(long links) : links_(links) {}

  void run() override {
    Value a{start}, b{factor}, c{addend};
    const Value x = chain_of(a, b, c, links_);
    x.backward();
    results_ = {x.data(), a.grad(), b.grad(), c.grad()};
  }
  std::vector<double> results() const override { return results_; }

 private:
  long links_;
  std::vector<double> results_;
};

class Hand final : public Task {
 public:
  explicit Hand(long links) : links_(links), results_(4) {}

  void run() override { results_[0] = hand::chain(links_, start, factor, addend, &results_[1]); }
  std::vector<double> results() const override { return results_; }

 private:
  long links_;
  std::vector<double> results_;
};

// A chain of one size, forward and backward. Its results depend on the size, so they are not compared.
class Sized final : public Task {
 public:
  explicit Sized(long links) : chain_(links) {}
  void run() override { chain_.run(); }
  std::vector<double> results() const override { return {}; }

 private:
  Engine chain_;
};

double ops(long links) { return 2.0 * static_cast<double>(links); }

}  // namespace

Case chain(const Sizes& sizes) {
  const long links = sizes.links;
  return {"chain",
          {{"hand", ops(links), starting<Hand>(links)},
           {"engine", ops(links), starting<Engine>(links), {.ratio = 4.2, .goal = 3.8, .bytes = 32}}},
          [links] {
            const auto end = [links](const std::vector<double>& x) { return chain_of(x[0], x[1], x[2], links); };
            const double step_of_b = 1e-3 / static_cast<double>(links);  // b is raised to the number of links
            return central_differences(end, {start, factor, addend}, 1, {1e-5, step_of_b, 1e-5});
          }};
}

Case scaling(const Sizes& sizes) {
  Case scaling{"scaling", {}};
  long links = 1;
  for (int power = 1; power <= sizes.last_power; ++power) {
    links *= 10;
    if (power < sizes.first_power) continue;
    const Limits limits = power == sizes.first_power ? Limits{} : Limits{.ratio = 1.5};
    scaling.variants.push_back({fmt::format("chain-1e{}", power), ops(links), starting<Sized>(links), limits});
  }
  return scaling;
}

}  // namespace bench
