// SPDX-License-Identifier: MIT
// The instructions of layers. Weights with a constant stride in memory are used in place; others are packed once per
// run.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "placement.hpp"

namespace gradwalk::compiler {

class LayerWriter {
 public:
  LayerWriter(const Terms& terms, const Groups& groups, const Placement& place, Instructions& program,
              OperandWriter& operands, std::uint64_t hash_mask)
      : terms_(terms),
        groups_(groups),
        place_(place),
        program_(program),
        operands_(operands),
        hash_mask_(hash_mask),
        layers_(groups.forward) {}

  // The layer of a group of the forward pass, whose first result is at `out`.
  Instruction layer(std::size_t number, std::uint32_t out) {
    const Group& group = groups_.groups[number];
    std::vector<std::uint32_t> inputs;
    for (std::uint32_t c = 0; c < group.copies; ++c)
      for (const Product& product : products(group.members[c]).first(group.count))
        inputs.push_back(place_[product.b].at);
    Instruction& layer = layers_[number] = layer_of(group, out, inputs);
    layer.relu = !place_.has_relu.empty() && place_.has_relu[number];
    set_weights(group, layer);
    set_bias(group, layer);
    return layer;
  }

  // The gradients of a layer's outputs, copy by copy, times its weights.
  Instruction transposed(const Group& group, std::uint32_t out) {
    const LayerGradients& from = groups_.layers[group.transposed];
    std::vector<std::uint32_t> inputs;
    for (std::uint32_t c = 0; c < group.copies; ++c)
      for (std::uint32_t i = 0; i < group.count; ++i) inputs.push_back(place_[from.gradients[i * group.copies + c]].at);
    Instruction transposed = layer_of(group, out, inputs);
    const Instruction& layer = layers_[from.layer];
    transposed.in[0] = layer.in[0];
    transposed.in[0].place += group.first_input * layer.column;
    transposed.row = layer.column;
    transposed.column = layer.row;
    return transposed;
  }

  // Adds the outer product of a layer, the number of which is its place in groups.layers.
  void add_outer(std::size_t number) {
    const LayerGradients& from = groups_.layers[number];
    Instruction outer = layers_[from.layer];
    const auto is_uniform = [](const Operand& operand) { return operand.exists() && operand.rate == Rate::uniform; };
    if (!is_uniform(outer.in[0]) && !is_uniform(outer.in[2])) return;
    const std::uint32_t gradients = place_.gradients[number];
    if (place_.are_gradients_copied[number]) {
      Column column;
      for (const Id gradient : from.gradients) column.push_back(place_[gradient]);
      program_.varying_backward.push_back(operands_.scaled_copy(Rate::varying, gradients, {}, column));
    }
    outer.form = Instruction::Form::outer;
    outer.relu = false;
    outer.in[3] = {Rate::varying, gradients, 1, none};
    program_.outers.push_back(outer);
  }

  // Instructions that come after all others of the uniform part.
  const std::vector<Instruction>& packs() const { return packs_; }

 private:
  std::span<const Product> products(Id id) const { return terms_.products_of(id); }

  // A layer without weights. If its inputs are evenly spaced and those of the copies lie side by side, they have a
  // stride; otherwise a table lists them, copy by copy.
  Instruction layer_of(const Group& group, std::uint32_t out, const std::vector<std::uint32_t>& inputs) {
    Instruction layer = instruction_of(group, Instruction::Form::layer, out, group.members.size() / group.copies);
    layer.depth = group.count;
    layer.copies = group.copies;
    const std::uint32_t stride = layer.depth > 1 ? inputs[1] - inputs[0] : layer.copies;
    bool is_even = stride - 1 < 0x80000000;
    for (std::uint32_t i = 0; is_even && i < inputs.size(); ++i)
      is_even = inputs[i] == inputs[0] + i % layer.depth * stride + i / layer.depth;
    layer.in[1] = {Rate::varying, inputs[0], is_even ? stride : 0, none};
    if (is_even) return layer;
    layer.in[1].table = static_cast<std::uint32_t>(program_.tables.size());
    program_.tables.insert(program_.tables.end(), inputs.begin(), inputs.end());
    return layer;
  }

  // Uses the weights in place if they are evenly spaced at different places; otherwise packs them.
  void set_weights(const Group& group, Instruction& layer) {
    layer.row = layer.depth;
    layer.column = 1;
    Column column;
    factors_.clear();
    for (std::size_t i = 0; i < group.members.size(); i += layer.copies)
      for (const Product& product : products(group.members[i]).first(layer.depth)) {
        column.push_back(place_[product.a]);
        factors_.push_back(product.factor);
      }
    if (column[0].at == none) {  // constants alone
      layer.in[0] = {Rate::constant, static_cast<std::uint32_t>(program_.constants.size()), 1, none};
      program_.constants.insert(program_.constants.end(), factors_.begin(), factors_.end());
      return;
    }
    const std::uint32_t first = column[0].at;
    const std::uint32_t along = layer.depth > 1 ? column[1].at - first : 1;
    const std::uint32_t across = layer.count > 1 ? column[layer.depth].at - first : 0;
    bool is_even = std::all_of(factors_.begin(), factors_.end(), [](double factor) { return factor == 1; });
    for (std::uint32_t i = 0; is_even && i < column.size(); ++i)
      is_even = column[i].at == first + i / layer.depth * across + i % layer.depth * along;
    if (is_even && along < 0x80000000 && across < 0x80000000 && are_apart(layer.count, across, layer.depth, along)) {
      layer.in[0] = {Rate::uniform, first, 1, none};
      layer.row = across;
      layer.column = along;
      return;
    }
    layer.in[0] = {Rate::uniform, packed(column), 1, none};
  }

  // Uses one bias for all copies if they have the same, otherwise one for each copy.
  void set_bias(const Group& group, Instruction& layer) {
    const std::vector<Id>& members = group.members;
    if (products(members[0]).size() == group.count) {  // constants
      factors_.clear();
      for (const Id id : members) factors_.push_back(terms_.nodes[id].number);
      layer.in[2] = operands_.start(factors_);
      layer.bias_copy = layer.in[2].stride;
      layer.in[2].stride *= layer.copies;
      return;
    }
    const auto product = [&](std::size_t i) { return products(members[i]).back(); };
    bool is_shared = true;
    for (std::size_t i = 0; is_shared && i < members.size(); ++i)
      is_shared = product(i) == product(i - i % layer.copies);
    const std::uint32_t copies = is_shared ? 1 : layer.copies;
    Column column;
    factors_.clear();
    for (std::size_t i = 0; i < members.size(); i += layer.copies / copies) {
      column.push_back(place_[product(i).a]);
      factors_.push_back(product(i).factor);
    }
    const std::uint32_t step = column.size() > copies ? column[copies].at - column[0].at : 0;
    const std::uint32_t copy = copies > 1 ? column[1].at - column[0].at : 0;
    bool is_even = step < 0x80000000 && copy < 0x80000000 && are_apart(layer.count, step, copies, copy);
    for (std::uint32_t i = 0; is_even && i < column.size(); ++i)
      is_even = column[i].at == column[0].at + i / copies * step + i % copies * copy && factors_[i] == 1;
    layer.in[2] = {Rate::uniform, is_even ? column[0].at : packed(column), is_even ? step : copies, none};
    layer.bias_copy = is_even ? copy : is_shared ? 0 : 1;
  }

  // Returns uniform places for factors_[i] * column[i]: new ones, or those of an equal pack.
  std::uint32_t packed(const Column& column) {
    std::uint64_t hash = 1;
    for (std::size_t i = 0; i < column.size(); ++i) {
      hash = (hash ^ column[i].at) * 0x9e3779b97f4a7c15u;
      hash = (hash ^ hash >> 29 ^ std::bit_cast<std::uint64_t>(factors_[i])) * 0x9e3779b97f4a7c15u;
    }
    hash &= hash_mask_;
    while (packed_[hash] != none && !is_pack_of(packs_[packed_[hash]], column)) ++hash;
    std::uint32_t& known = packed_[hash];
    if (known != none) return packs_[known].out;
    known = static_cast<std::uint32_t>(packs_.size());
    const std::uint32_t out = operands_.uniform_places(static_cast<std::uint32_t>(column.size()), true);
    const Operand factor = operands_.factor(factors_);
    packs_.push_back(operands_.scaled_copy(Rate::uniform, out, factor, column));
    program_.packs.push_back({out, packs_.back().count, factor, program_.factors.back().a});
    return out;
  }

  // Whether the pack holds factors_[i] * column[i].
  bool is_pack_of(const Instruction& pack, const Column& column) const {
    if (pack.count != column.size()) return false;
    const Factors& factors = program_.factors[pack.begin];
    for (std::uint32_t i = 0; i < pack.count; ++i) {
      const double factor = factors.factor.exists() ? program_.constants[program_.place(factors.factor, i)] : 1;
      if (factor != factors_[i] || factors.a.rate != column[i].rate || program_.place(factors.a, i) != column[i].at)
        return false;
    }
    return true;
  }

  // Whether rows x columns numbers with these strides are at different places.
  static bool are_apart(std::uint64_t rows, std::uint64_t across, std::uint64_t columns, std::uint64_t along) {
    if (rows == 1 || columns == 1) return (rows == 1 || across > 0) && (columns == 1 || along > 0);
    return (along > 0 && across >= along * columns) || (across > 0 && along >= across * rows);
  }

  const Terms& terms_;
  const Groups& groups_;
  const Placement& place_;
  Instructions& program_;
  OperandWriter& operands_;
  std::uint64_t hash_mask_;
  std::vector<Instruction> layers_;  // for each group of the forward pass
  std::vector<Instruction> packs_;
  NumberMap packed_;             // hashes of packs
  std::vector<double> factors_;  // of the weights at hand
};

}  // namespace gradwalk::compiler
