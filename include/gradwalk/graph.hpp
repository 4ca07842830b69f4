// SPDX-License-Identifier: MIT
// Functions of whole graphs: the order of their nodes, evaluating them again, backward passes that change no gradient,
// nodes with your own derivatives, and finding the node where a NaN began.
//
// Each function takes time proportional to the number of nodes below its root.
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

// Returns the root and every node below it, each once and after its inputs, in the order of micrograd's depth-first
// search. Fused records are expanded.
GRADWALK_EXPORT std::vector<Value> topological_order(const Value& root);
// Evaluates the graph again from the present data of its leaves. Throws an Error if it has a custom node.
GRADWALK_EXPORT void recompute(const Value& root);

// The gradients of one backward pass, stored beside the graph: the gradients of the nodes themselves do not change.
class GRADWALK_EXPORT Gradients {
 public:
  // The gradient of a node; 0 if the pass did not reach it. Takes time logarithmic in the number of nodes.
  double of(const Value& node) const;

 private:
  friend GRADWALK_EXPORT Gradients pass(const Value& root, double seed);
  explicit Gradients(const Value& root) : root_(root) {}
  Value root_;  // keeps the nodes alive, so that no Ref is used for another node
  std::vector<std::pair<detail::Ref, double>> gradients_;
};
// Runs a backward pass and returns its gradients. The gradients of the nodes do not change. Throws an Error if the
// graph has a custom node with a function.
GRADWALK_EXPORT Gradients pass(const Value& root, double seed = 1.0);

// An input of a custom node, and the local derivative with respect to it.
struct CustomInput {
  const Value& input;
  double derivative;
};
// Returns a new node with your own result and local derivatives, one per input. Throws an Error if their numbers differ
// or if there are more than 4088 inputs. Without inputs the result is a leaf.
GRADWALK_EXPORT Value custom(double result, std::initializer_list<CustomInput> inputs,
                             std::string_view name = "custom");
GRADWALK_EXPORT Value custom(double result, std::span<const Value> inputs, std::span<const double> derivatives,
                             std::string_view name = "custom");
// The backward function of a custom node. It receives the node and adds to the gradients of the inputs. It must not
// capture the node: the node would then keep itself alive for ever.
using StepBack = std::function<void(const Value& node)>;
// Returns a new node with your own backward function. backward() calls it when the gradient of the node is complete.
// Throws an Error if the function is empty or if there are more than 4088 inputs.
GRADWALK_EXPORT Value custom(double result, std::span<const Value> inputs, StepBack step_back,
                             std::string_view name = "custom");

// A node whose data is infinite or NaN.
struct NonFinite {
  Value node;
  std::string message;  // names the node, its operation and its inputs
};
// Returns the first node in topological order whose data is infinite or NaN, or nothing. Constants do not count:
// max(x, -INFINITY) is legitimate.
GRADWALK_EXPORT std::optional<NonFinite> find_nonfinite(const Value& root);

}  // namespace gradwalk
