// SPDX-License-Identifier: MIT
// Functions of whole graphs: their order, evaluating them again, nodes with derivatives of one's own, what went wrong.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

// Every node below the root once, inputs before their users: the order micrograd's depth-first search gives.
GRADWALK_EXPORT std::vector<Value> topological_order(const Value& root);
// The same graph evaluated again from its leaves' present data.
GRADWALK_EXPORT void recompute(const Value& root);

// What one pass from a root would deposit, the nodes' own gradients being left as they are.
class GRADWALK_EXPORT Gradients {
 public:
  double of(const Value& node) const;  // 0 for one that the pass did not reach

 private:
  friend GRADWALK_EXPORT Gradients pass(const Value& root, double seed);
  explicit Gradients(const Value& root) : root_(root) {}
  Value root_;  // keeps the nodes, so that no Ref comes to mean another
  std::vector<std::pair<detail::Ref, double>> gradients_;
};
GRADWALK_EXPORT Gradients pass(const Value& root, double seed = 1.0);

// A node with a result and local derivatives of the user's own.
struct CustomInput {
  const Value& input;
  double derivative;
};
GRADWALK_EXPORT Value custom(double result, std::initializer_list<CustomInput> inputs,
                             std::string_view name = "custom");
GRADWALK_EXPORT Value custom(double result, std::span<const Value> inputs, std::span<const double> derivatives,
                             std::string_view name = "custom");
// A node with a step back of the user's own: backward() calls it in the node's turn, when the node's gradient is
// complete, and it adds to its inputs' gradients what it finds. It gets the node; to hold that itself would keep it for
// ever.
using StepBack = std::function<void(const Value& node)>;
GRADWALK_EXPORT Value custom(double result, std::span<const Value> inputs, StepBack step_back,
                             std::string_view name = "custom");

// The first node in topological order whose data is infinite or not a number, and a sentence that says so. Constants
// do not count: max(x, -INFINITY) is well meant.
struct NonFinite {
  Value node;
  std::string message;
};
GRADWALK_EXPORT std::optional<NonFinite> find_nonfinite(const Value& root);

}  // namespace gradwalk
