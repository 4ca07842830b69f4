// SPDX-License-Identifier: MIT
// The network of moons on one row, in scalar Values: 2-16-16-1, relu, weights and bias neuron by neuron.
#pragma once

#include <gradwalk/gradwalk.hpp>
#include <span>
#include <vector>

namespace bench {

inline gradwalk::Value moons_score(std::span<const gradwalk::Value> parameters, std::span<const gradwalk::Value> x) {
  using gradwalk::Value;
  const Value* next = parameters.data();
  const auto layer = [&](std::span<const Value> in, std::size_t outputs) {
    std::vector<Value> out;
    for (std::size_t i = 0; i < outputs; ++i) {
      Value sum = next[in.size()];
      for (std::size_t k = 0; k < in.size(); ++k) sum += next[k] * in[k];
      next += in.size() + 1;
      out.push_back(outputs == 1 ? sum : relu(sum));
    }
    return out;
  };
  return layer(layer(layer(x, 16), 16), 1)[0];
}

}  // namespace bench
