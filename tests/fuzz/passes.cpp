// SPDX-License-Identifier: MIT
// The actions of a session that run backward passes, recompute graphs and read them, on the engine and on the plain
// evaluator.
#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "session.hpp"

namespace fuzz {

// The engine refuses a root that was made under NoGrad; the plain evaluator takes it for a leaf.
void Session::backward_from(Slot& root, double seed) {
  if (is_refused([&] { root.value->backward(seed); })) {
    check(twin_.at(root.node).op == Op::leaf, "backward() of a recorded node");
  } else {
    twin_.backward(root.node, seed);
  }
}

void Session::backward(Bytes& bytes) {
  Slot& root = full(bytes);
  const double seed = bytes.next() % 4 != 0 ? 1.0 : bytes.number();
  backward_from(root, seed);
}

void Session::propagate(Bytes& bytes) {
  Slot& x = full(bytes);
  x.value->propagate();
  twin_.propagate(x.node);
}

// Runs micrograd's backward() by hand: seeds the root and calls propagate() on every node. The root may be seeded
// before or after the graph is expanded.
void Session::propagate_all(Bytes& bytes) {
  Slot& root = full(bytes);
  const bool early = bytes.next() % 2 == 0;
  const auto seed = [&] {
    root.value->grad() = 1;
    twin_.at(root.node).grad = twin_.at(root.node).weight = 1;
  };
  if (early) seed();
  const std::vector<Value> order = compare_order(root);
  const std::vector<Index> twins = twin_.order(root.node);
  if (!early) seed();
  for (auto node = order.rbegin(); node != order.rend(); ++node) node->propagate();
  for (auto node = twins.rbegin(); node != twins.rend(); ++node) twin_.propagate(*node);
  for (std::size_t i = 0; i < order.size(); ++i) compare(order[i], twins[i]);
}

void Session::set_gradient(Bytes& bytes) {
  Slot& x = full(bytes);
  const double gradient = bytes.number();
  x.value->grad() = gradient;
  twin_.at(x.node).grad = gradient;
  twin_.at(x.node).weight = std::abs(gradient);
}

// Changes the data of one node, runs a backward pass, and then recomputes everything. In between, the inner nodes of
// fused records have no data.
void Session::set_data(Bytes& bytes) {
  Slot &x = full(bytes), &root = full(bytes);
  const double data = bytes.number();
  const std::vector<Slot*> all = everything();
  actions_ += all.size() / 64;
  if (all.size() > 60) return;
  for (const Slot* slot : all)
    if (!twin_.can_recompute(twin_.order_with_choices(slot->node))) return;
  x.value->data() = data;
  twin_.at(x.node).data = data;
  backward_from(root, 1);
  compare_all();
  for (const Slot* slot : all)
    if (!recompute(*slot)) return;
}

// A graph that was recomputed in part is not compared any more, so it ends the session.
bool Session::recompute(const Slot& root) {
  const plain::Recomputed result = twin_.recompute(root.node);
  const bool refused = is_refused([&] { gradwalk::recompute(*root.value); });
  check(refused == (result != plain::Recomputed::all), "which graphs recompute() refuses");
  is_ended_ |= result == plain::Recomputed::part;
  return !is_ended_;
}

void Session::recompute(Bytes& bytes) { recompute(std::as_const(full(bytes))); }

void Session::derivatives(Bytes& bytes) {
  const Slot &root = full(bytes), &x = full(bytes), &y = full(bytes);
  if (no_grad_ > 0 || twin_.size() > 20'000 || twin_.order(root.node).size() > 2'000) return;
  plain::Graph twin = twin_;
  for (const Slot* input : {&x, &y}) twin.at(input->node).grad = twin.at(input->node).weight = 0;
  twin.backward(root.node, 1);
  const bool can_record = twin.can_recompute(twin.order_with_choices(root.node));
  actions_ += twin_.size() / 16;
  const std::vector<Value> by{*x.value, *y.value};
  std::vector<Value> result;
  const bool refused = is_refused([&] { result = gradwalk::derivatives(*root.value, by); });
  check(!refused || !can_record, "derivatives() refused a graph of the table's ops");
  if (refused) return;
  const std::array inputs{&x, &y};
  for (std::size_t i = 0; i < 2; ++i) {
    const plain::Node& node = twin.at(inputs[i]->node);
    if (node.op != Op::constant) compare_gradient(std::as_const(result[i]).data(), node.grad, node.weight);
  }
}

void Session::inputs(Bytes& bytes) {
  Slot &x = full(bytes), &to = any(bytes);
  const unsigned which = bytes.next();
  const std::vector<Value> found = x.value->inputs();
  const auto expected = twin_.inputs(x.node);
  check(found.size() == expected.size(), "number of inputs");
  for (std::size_t i = 0; i < found.size(); ++i) compare(found[i], expected[i].input);
  if (!found.empty()) put(to, found[which % found.size()], expected[which % found.size()].input);
}

void Session::order(Bytes& bytes) {
  Slot &root = full(bytes), &to = any(bytes);
  const unsigned which = bytes.next();
  const std::vector<Index> expected = twin_.order(root.node);
  const std::vector<Value> order = compare_order(root);
  if (which % 2 == 0) put(to, order[which % order.size()], expected[which % order.size()]);
}

void Session::nonfinite(Bytes& bytes) {
  const Slot& root = full(bytes);
  const std::vector<Index> expected = twin_.order(root.node);
  const auto bad = [&](Index node) { return twin_.at(node).op != Op::constant && !std::isfinite(twin_.at(node).data); };
  const auto first = std::find_if(expected.begin(), expected.end(), bad);
  const std::optional<gradwalk::NonFinite> found = find_nonfinite(*root.value);
  check(found.has_value() == (first != expected.end()), "whether find_nonfinite() finds one");
  if (!found) return;
  const std::vector<Value> order = topological_order(*root.value);
  check(same_node(found->node, order[static_cast<std::size_t>(first - expected.begin())]),
        "which find_nonfinite() finds");
}

}  // namespace fuzz
