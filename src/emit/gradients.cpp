// SPDX-License-Identifier: MIT
#include "gradients.hpp"

#include "compile/passes.hpp"

namespace gradwalk::emit {

using compiler::Id, compiler::none, compiler::Terms;

std::vector<Id> add_backward(Terms& all, const Terms& forward, Id output) {
  Terms own = forward;
  own.outputs = {output};
  compiler::differentiate(own);
  const auto first = own.backward, shift = static_cast<Id>(all.nodes.size()) - first;
  const auto moved = [&](Id id) { return id == none || id < first ? id : id + shift; };
  const auto operands = static_cast<std::uint32_t>(all.operands.size() - forward.operands.size());
  const auto products = static_cast<std::uint32_t>(all.products.size() - forward.products.size());
  for (std::size_t i = forward.operands.size(); i < own.operands.size(); ++i)
    all.operands.push_back(moved(own.operands[i]));
  for (std::size_t i = forward.products.size(); i < own.products.size(); ++i)
    all.products.push_back({own.products[i].factor, moved(own.products[i].a), moved(own.products[i].b)});
  for (std::size_t i = first; i < own.nodes.size(); ++i) {
    compiler::Node node = own.nodes[i];
    node.begin += node.kind == compiler::Kind::sum ? products : operands;
    all.nodes.push_back(node);
  }
  std::vector<Id> gradients;
  for (const Id id : own.gradients) gradients.push_back(moved(id));
  return gradients;
}

}  // namespace gradwalk::emit
