// SPDX-License-Identifier: MIT
// Reads the bytes of a session, and compares the engine with the plain evaluator.
#include "session.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <unordered_map>

#include "check.hpp"

namespace fuzz {

std::uint8_t Bytes::next() {
  if (rest.empty()) return 0;
  const std::uint8_t byte = rest.front();
  rest = rest.subspan(1);
  return byte;
}

std::size_t Bytes::up_to(std::size_t most) {
  const std::size_t kind = next(), byte = next();
  return 1 + (kind < 160 ? byte % 16 : kind < 240 ? byte * 8 : kind * byte) % most;
}

double Bytes::number() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr std::array edges{0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             0.1,
                             100.0,
                             1e-8,
                             1e8,
                             1e-300,
                             1e300,
                             infinity,
                             -infinity,
                             std::numeric_limits<double>::quiet_NaN(),
                             5e-324};
  const std::size_t byte = next();
  if (byte < 256 - edges.size()) return (static_cast<double>(byte) - 121) / 32;
  return edges[byte - (256 - edges.size())];
}

Bytes Bytes::take(std::size_t count) {
  const auto taken = rest.first(std::min(count, rest.size()));
  rest = rest.subspan(taken.size());
  return {taken};
}

bool is_traced() {
  static const bool is_set = std::getenv("GRADWALK_FUZZ_TRACE") != nullptr;
  return is_set;
}

void go_on_at_random(std::vector<std::uint8_t>& bytes, std::size_t size) {
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (const std::uint8_t byte : bytes) state = (state ^ byte) * 0x100000001b3;
  while (bytes.size() < size) {
    state = state * 6364136223846793005 + 1442695040888963407;
    bytes.push_back(static_cast<std::uint8_t>(state >> 56));
  }
}

void check(bool holds, const char* what, double got, double expected) {
  if (holds) return;
  std::fprintf(stderr, "the engine and the plain evaluator differ: %s: got %a = %g, expected %a = %g\n", what, got, got,
               expected, expected);
  __builtin_trap();
}

void compare_gradient(double got, double expected, double weight) {
  if (!std::isfinite(weight)) return;  // something overflowed
  check(std::abs(got - expected) <= 1e-11 * weight, "a gradient", got, expected);
}

void Session::compare(const Value& value, Index index) const {
  const plain::Node& node = twin_.at(index);
  check(std::bit_cast<std::uint64_t>(value.data()) == std::bit_cast<std::uint64_t>(node.data) ||
            (std::isnan(value.data()) && std::isnan(node.data)),
        "data", value.data(), node.data);
  check(value.op() == node.op, "op", static_cast<double>(value.op()), static_cast<double>(node.op));
  if (node.op != Op::constant) compare_gradient(value.grad(), node.grad, node.weight);
}

void Session::compare_all() const {
  for (const Slot& slot : slots_)
    if (slot.value) compare(*slot.value, slot.node);
}

std::vector<Value> Session::compare_order(const Slot& root) {
  std::vector<Value> order = topological_order(*root.value);
  const std::vector<Index> expected = twin_.order(root.node);
  check(order.size() == expected.size(), "nodes in topological_order", static_cast<double>(order.size()),
        static_cast<double>(expected.size()));
  std::unordered_map<std::uint64_t, Index> twins;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Value& node = order[i];
    compare(node, expected[i]);
    const auto label = twin_.labels.find(expected[i]);
    check(node.label() == (label == twin_.labels.end() ? "" : label->second), "label");
    check(twins.emplace(node.id(), expected[i]).second, "two nodes of one id");
  }
  for (const Slot& slot : slots_) {
    if (!slot.value) continue;
    const auto found = twins.find(slot.value->id());
    const bool is_below = std::find(expected.begin(), expected.end(), slot.node) != expected.end();
    check(is_below == (found != twins.end()) && (!is_below || found->second == slot.node), "identity");
  }
  return order;
}

Slot& Session::full(Bytes& bytes) {
  Slot& slot = any(bytes);
  if (!slot.value) put(slot, 0.75, twin_.leaf(0.75));
  return slot;
}

// Returns the slot with the newest node.
Slot& Session::newest() {
  return *std::max_element(slots_.begin(), slots_.end(), [](const Slot& x, const Slot& y) {
    return (x.value ? x.node + 1 : 0) < (y.value ? y.node + 1 : 0);
  });
}

Index Session::result_of(Index node) { return no_grad_ == 0 ? node : twin_.leaf(twin_.at(node).data); }

std::vector<Slot*> Session::everything() {
  std::vector<Slot*> all;
  for (Slot& slot : slots_)
    if (slot.value) all.push_back(&slot);
  for (Slot& slot : hoard_) all.push_back(&slot);
  return all;
}

void Session::act(Bytes& bytes) {
  struct Action {
    const char* name;
    void (Session::*run)(Bytes&);
  };
#define ACTION(name) \
  Action { #name, &Session::name }
  static constexpr std::array actions{
      ACTION(leaf),          ACTION(unary),        ACTION(unary),    ACTION(binary),
      ACTION(binary),        ACTION(compound),     ACTION(compound), ACTION(expression),
      ACTION(expression),    ACTION(custom),       ACTION(detach),   ACTION(without_gradients),
      ACTION(copy),          ACTION(move),         ACTION(drop),     ACTION(drop),
      ACTION(label),         ACTION(many_copies),  ACTION(hoard),    ACTION(hoard),
      ACTION(drop_hoard),    ACTION(backward),     ACTION(backward), ACTION(propagate),
      ACTION(propagate_all), ACTION(set_gradient), ACTION(set_data), ACTION(recompute),
      ACTION(derivatives),   ACTION(inputs),       ACTION(order),    ACTION(nonfinite),
      ACTION(choice),        ACTION(compile),      ACTION(branch),   ACTION(layer),
      ACTION(extreme),       ACTION(pick),         ACTION(pick),     ACTION(table)};
  static constexpr std::array programs{
      ACTION(leaf),   ACTION(leaf),     ACTION(unary),   ACTION(unary),    ACTION(binary),     ACTION(binary),
      ACTION(binary), ACTION(compound), ACTION(choice),  ACTION(choice),   ACTION(expression), ACTION(expression),
      ACTION(layer),  ACTION(layer),    ACTION(extreme), ACTION(long_sum), ACTION(drop),       ACTION(backward),
      ACTION(inputs), ACTION(branch),   ACTION(compile), ACTION(compile),  ACTION(compile),    ACTION(compile),
      ACTION(pick),   ACTION(pick),     ACTION(table)};
  static constexpr std::array large{ACTION(chain), ACTION(long_sum), ACTION(lockstep), ACTION(repeat)};
#undef ACTION
  const std::size_t which = bytes.next();
  const Action& action = with_ == Actions::programs ? programs[which % programs.size()]
                         : which < 224              ? actions[which % actions.size()]
                                                    : large[which % large.size()];
  if (is_traced()) std::fprintf(stderr, "%s, %zu nodes\n", action.name, twin_.size());
  (this->*action.run)(bytes);
  ++actions_;
}

void Session::run(Bytes bytes) {
  while (!bytes.empty() && !is_over()) {
    act(bytes);
    if (twin_.has_sign_of_nan() || is_ended_) return;
    compare_all();
  }
}

void Session::run() {
  run(bytes_);
  if (twin_.has_sign_of_nan() || is_ended_) return;
  for (const Slot* slot : everything()) compare(*slot->value, slot->node);
}

}  // namespace fuzz
