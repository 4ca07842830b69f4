// SPDX-License-Identifier: MIT
// A Value and its twin in the small engine, and the comparison of the graphs below them: the data must be equal, and
// the gradients may differ only by the rounding of deposits that are added in another order.
#pragma once

#include <gtest/gtest.h>

#include <unordered_map>

#include "../examples/small_engine.hpp"
#include "gradwalk/gradwalk.hpp"

namespace gradwalk::tests {

namespace reference = small_engine;

struct Twin {
  Value value;
  reference::Ref node;
};

inline bool near(double gradient, const reference::Node& node) {
  return std::abs(gradient - node.grad) <= 1e-11 * node.magnitude + 1e-290;
}

// Compares every node below the twins: data, gradient, label, op and inputs.
inline void expect_same_graph(const Twin& twin) {
  const std::vector<Value> values = topological_order(twin.value);
  const std::vector<reference::Ref> nodes = reference::topological_order(twin.node);
  ASSERT_EQ(values.size(), nodes.size());
  std::unordered_map<const reference::Node*, std::uint64_t> ids;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Value& value = values[i];
    const reference::Node& node = *nodes[i];
    ids[&node] = value.id();
    ASSERT_EQ(value.data(), node.data) << "node " << i << " of " << nodes.size() << ", op " << node.op;
    ASSERT_TRUE(near(value.grad(), node))
        << value.grad() << " is not " << node.grad << " in node " << i << " of " << nodes.size() << ", op " << node.op;
    ASSERT_EQ(value.op_name(), node.op);
    ASSERT_EQ(value.label(), node.label);
    const std::vector<Value> inputs = value.inputs();
    ASSERT_EQ(inputs.size(), node.inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) ASSERT_EQ(inputs[k].id(), ids.at(node.inputs[k].get()));
  }
}

}  // namespace gradwalk::tests
