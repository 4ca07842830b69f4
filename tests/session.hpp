// SPDX-License-Identifier: MIT
// A random session with two engines: every Value has a twin in the small engine, and every action is done to both. All
// that a user can see must be equal: data exactly, gradients up to the rounding of deposits added in another order.
// Graphs are long enough to cross many chunks of the tape, live and die in any order, and are expanded at any time.
#pragma once

#include <algorithm>
#include <random>
#include <thread>

#include "support.hpp"
#include "twin.hpp"

namespace gradwalk::tests {

class Session {
 public:
  explicit Session(std::uint64_t seed) : random_(seed), customs_(chance(2)), looks_(chance(2)) {
    for (int i = 0; i < 8; ++i) keep(leaf());
  }

  void go_on(std::size_t nodes) {
    const std::size_t end = made_ + nodes;
    while (made_ < end && !testing::Test::HasFatalFailure()) act();
  }

  void run(std::size_t nodes) {
    if (made_ < nodes) go_on(nodes - made_);
    for (const Twin& twin : pool_) {
      if (testing::Test::HasFatalFailure()) return;
      expect_same_graph(twin);
    }
  }

 private:
  using Ref = reference::Ref;

  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  double number() { return std::uniform_real_distribution<double>(-1, 1)(random_); }
  double weight() { return (chance(2) ? 1 : -1) * std::uniform_real_distribution<double>(0.9, 1.1)(random_); }
  Twin& any() { return pool_[below(pool_.size())]; }
  void keep(Twin twin) { pool_.push_back(std::move(twin)); }

  Twin leaf() {
    const double data = number();
    return {Value(data), reference::leaf(data)};
  }

  void act() {
    switch (below(17)) {
      case 16: act_without_recording(); break;
      case 0: keep(leaf()); break;
      case 1:
      case 2: burst(1 + below(3), below(1500)); break;
      case 3:
      case 4: drop(pool_.size() / 2); break;
      case 5: keep(any()); break;
      case 6:
        if (looks_) look();
        break;
      case 7:
        if (looks_) write();
        break;
      case 8: any() = Twin(any()), check(); break;
      case 9:
        if (chance(4)) die_elsewhere();
        break;
      case 10:
        if (!customs_ && chance(4)) change_leaves();
        break;
      case 11:
      case 12: run_backward(); break;
      default: keep(bounded(step(any(), any(), any())));
    }
    if (pool_.size() > 60) drop(20);
  }

  void act_without_recording() {
    const NoGrad guard;
    const reference::NoGrad too;
    for (std::size_t actions = below(20); actions > 0 && !testing::Test::HasFatalFailure(); --actions) act();
  }

  // Builds chains in lockstep and keeps a few inner nodes.
  void burst(std::size_t chains, std::size_t length) {
    std::vector<Twin> heads;
    for (std::size_t i = 0; i < chains; ++i) heads.push_back(chance(3) ? any() : leaf());
    const Twin shared = leaf();
    for (std::size_t i = 0; i < length; ++i) {
      for (Twin& head : heads) {
        head = bounded(step(std::move(head), chance(4) ? shared : leaf(), chance(20) ? any() : leaf()));
        if (chance(300)) keep(head);
      }
      if (chance(10)) heads[0] = half_sum(heads[0], heads[below(chains)]);
    }
    for (Twin& head : heads) keep(std::move(head));
  }

  Twin half_sum(const Twin& x, const Twin& y) {
    made_ += 2;
    return {(x.value + y.value) * 0.5, mul(add(x.node, y.node), reference::constant(0.5))};
  }

  // Returns x, minus an integer if it is large, which keeps data small without changing gradients.
  Twin bounded(Twin x) {
    const double data = std::as_const(x.value).data();
    if (std::abs(data) <= 2) return x;
    return {std::move(x.value) - std::trunc(data), reference::sub(x.node, reference::constant(std::trunc(data)))};
  }

  // Returns a new node made of x. A sum may or may not be able to take over the record of a temporary.
  Twin step(Twin x, const Twin y, const Twin z) {
    const double w = weight(), c = number();
    const Ref n = x.node, constant_w = reference::constant(w), constant_c = reference::constant(c);
    Value& v = x.value;
    made_ += 2;
    switch (below(20)) {
      case 0: return {std::move(v) + y.value * z.value, add(n, mul(y.node, z.node))};
      case 1: return {y.value * z.value + std::move(v), add(mul(y.node, z.node), n)};
      case 2: return {v * w + z.value, add(mul(n, constant_w), z.node)};
      case 3: return {z.value + w * v, add(z.node, mul(constant_w, n))};
      case 4: return {v * w + c, add(mul(n, constant_w), constant_c)};
      case 5: return {c + v * w, add(constant_c, mul(n, constant_w))};
      case 6: return {std::move(v) + y.value, add(n, y.node)};
      case 7: return {y.value + std::move(v), add(y.node, n)};
      case 8: return {-v, neg(n)};
      case 9: return {v - y.value, sub(n, y.node)};
      case 10: return {max(v, y.value), reference::max(n, y.node)};
      case 11: return {relu(v) + c, add(reference::relu(n), constant_c)};
      case 12: return {tanh(v) / w, reference::div(reference::tanh(n), constant_w)};
      case 13:
        return {w * v + y.value * z.value + v * c,
                add(add(mul(constant_w, n), mul(y.node, z.node)), mul(n, constant_c))};
      case 14: {
        v += v * y.value;
        const Ref sum = add(n, mul(n, y.node));
        if (chance(2)) return {std::move(v), sum};
        return {v += z.value, add(sum, z.node)};
      }
      case 15: return half_sum({v, n}, {v, n});
      case 16: {
        const NoGrad guard;
        const reference::NoGrad too;
        return {v * w + y.value, add(mul(n, constant_w), y.node)};
      }
      case 17:
        if (!customs_) return {v.detach(), reference::leaf(n->data)};
        return {custom(c, {{v, w}, {y.value, c}, {v, 0.1}}, "own"),
                reference::custom(c, {n, y.node, n}, {w, c, 0.1}, "own")};
      default: return sum(std::move(x), y, z);
    }
  }

  Twin sum(Twin x, const Twin& y, const Twin& z) {
    for (std::size_t terms = 1 + below(9); terms > 0; --terms, made_ += 2) {
      const double c = number();
      const Ref n = x.node, constant = reference::constant(c);
      Value& v = x.value;
      switch (below(9)) {
        case 0: v += y.value * z.value, x.node = add(n, mul(y.node, z.node)); break;
        case 1: v += y.value * c, x.node = add(n, mul(y.node, constant)); break;
        case 2: v += c * z.value, x.node = add(n, mul(constant, z.node)); break;
        case 3: v += y.value, x.node = add(n, y.node); break;
        case 4: v += c, x.node = add(n, constant); break;
        case 5: v = std::move(v) + z.value, x.node = add(n, z.node); break;
        case 6: v = z.value * y.value + std::move(v), x.node = add(mul(z.node, y.node), n); break;
        case 7:
          if (chance(4)) v.label("held"), n->label = "held";
          break;
        default:
          if (chance(4)) keep(x);
      }
    }
    return x;
  }

  void run_backward() {
    const Twin root = any();
    const double seed = chance(8) ? 0 : number();
    backward_both(root, seed);
    check();
  }

  // For the small engine a result of NoGrad is a leaf; the fast engine throws an Error.
  void backward_both(const Twin& root, double seed) {
    const std::string error = error_of([&] { root.value.backward(seed); });
    if (error == "no error") return reference::backward(root.node, seed);
    ASSERT_TRUE(root.node->inputs.empty() && error.find("made under NoGrad") != std::string::npos) << error;
  }

  void check() {
    for (const Twin& twin : pool_) {
      ASSERT_EQ(twin.value.data(), twin.node->data);
      ASSERT_TRUE(std::isfinite(twin.node->magnitude));
      ASSERT_TRUE(near(twin.value.grad(), *twin.node)) << twin.value.grad() << " is not " << twin.node->grad;
      ASSERT_EQ(twin.value.label(), twin.node->label);
    }
  }

  // Expands a whole graph and keeps some of its nodes, also parts of sums.
  void look() {
    const Twin root = any();
    expect_same_graph(root);
    if (testing::Test::HasFatalFailure()) return;
    const std::vector<Value> values = topological_order(root.value);
    const std::vector<Ref> nodes = reference::topological_order(root.node);
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = below(nodes.size());
      keep({values[at], nodes[at]});
      if (chance(3)) pool_.back().value.label("seen"), pool_.back().node->label = "seen";
    }
    if (nodes.size() > 20000) drop(pool_.size() - 4);
  }

  void write() {
    Twin& twin = any();
    if (chance(2)) return static_cast<void>(twin.value.grad());  // reads through a reference that could be written
    if (chance(3)) {
      twin.value.propagate(), reference::propagate(*twin.node);
      return check();
    }
    twin.value.grad() = twin.node->grad = chance(2) ? 0 : number();
    twin.node->magnitude = std::abs(twin.node->grad);
  }

  // Changes the leaves, and evaluates and differentiates everything again, so that parts expanded later have the new
  // data.
  void change_leaves() {
    for (Twin& twin : pool_)
      if (twin.node->inputs.empty()) twin.value.data() = twin.node->data = number();
    for (const Twin& twin : pool_) recompute(twin.value), reference::recompute(twin.node);
    for (const Twin& twin : pool_) backward_both(twin, 1);
    check();
  }

  void drop(std::size_t count) {
    for (; count > 0 && pool_.size() > 4; --count) {
      std::swap(any(), pool_.back());
      pool_.pop_back();
    }
  }

  void die_elsewhere() {
    std::vector<Value> dying;
    for (std::size_t count = pool_.size() / 2; count > 0 && pool_.size() > 4; --count) {
      std::swap(any(), pool_.back());
      dying.push_back(std::move(pool_.back().value));
      pool_.pop_back();
    }
    std::thread([gone = std::move(dying)] {}).join();
  }

  std::mt19937_64 random_;
  bool customs_;
  bool looks_;  // If false, nothing is expanded until the end.
  std::vector<Twin> pool_;
  std::size_t made_ = 0;
};

}  // namespace gradwalk::tests
