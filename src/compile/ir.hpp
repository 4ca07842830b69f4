// SPDX-License-Identifier: MIT
// What the passes of compile() hand on to each other. Each is plain data, written by one pass and read by the next:
//
//   record         Scalars       the graph as it was recorded, each node once, equal ones shared
//   simplify       Terms         sums of products as one node each; everything else as it was
//   lift           Groups        equal nodes side by side; dots over the same inputs are a layer
//   differentiate                adds the nodes of the backward pass to the Terms, and its layers to the Groups
//   lift_backward                puts the other nodes of the backward pass into Groups
//   schedule       Instructions  where numbers lie, and what is done to them in which order
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/value.hpp"
#include "list.hpp"

namespace gradwalk::compiler {

using Id = std::uint32_t;
inline constexpr Id none = 0xffffffff;

// What a number depends on: nothing, parameters, or inputs, which differ from row to row.
// The last is for operands of instructions alone: the gradient of a uniform number, as far as rows have added it up.
enum class Rate : std::uint8_t { constant, uniform, varying, row_gradient };

// ---- record ----

// Parameters come first, then inputs, then everything else, operands before their users.
struct Scalar {
  Op op = Op::leaf;
  Rate rate = Rate::constant;
  // Of a constant, the first is its place in numbers. Of a pick, the first is its index and the second its table.
  std::array<Id, 3> operands{none, none, none};
};
struct Frozen {  // a leaf that is neither input nor parameter
  Value leaf;
  double data;
};
struct Scalars {
  std::size_t parameters = 0, inputs = 0;
  List<Scalar> nodes;
  std::vector<double> numbers;
  std::vector<Id> outputs;
  std::size_t recorded = 0;  // nodes of the graph
  // The values that picks with a varying index choose from: constant and uniform nodes. Other picks are recorded as
  // choices and sums.
  std::vector<std::vector<Id>> tables;
  // The last outputs are the indices of picks, which every run checks. This is how many values each one chooses from.
  std::vector<std::size_t> index_sizes;
};

// ---- simplify ----

// Parameters, inputs and constants come first, then what is computed: a function of the table, the largest or smallest
// of several, or start + the sum of factor * a * b.
//
// The nodes of the backward pass come last (differentiate). They compute gradients of uniform and varying nodes. In
// their sums, a is a gradient in every product. A product whose factor * a is 0 is 0, even if b is infinite; so is a
// local node whose gradient is 0.
enum class Kind : std::uint8_t {
  parameter,
  input,
  constant,
  function,
  extreme,
  pick,  // the value of a table with an index that varies from row to row: its operand
  sum,
  seed,          // the gradient of an output, which the caller gives
  zero,          // a varying number that is 0: the gradient of an output of a layer on which the result does not depend
  row_gradient,  // what all rows add to the gradient of its operand, a uniform node
  row_sum,       // adds the sum over all rows of its products to the row gradient of its target
  local,         // gradient * (the local derivative of op with respect to operand `by`): operands x, y, z, r, gradient,
                 // or none for an operand that the rule does not mention
  scatter,       // adds a gradient to the row gradient of the value that a pick chose: operands index, gradient
  share,         // what an extreme passes on to one of its operands: gradient, the extreme, the operand
  transposed,    // what a layer passes on to one of its inputs; Groups has the layer and the gradients of its outputs
};
struct Product {
  double factor = 1;
  Id a = none, b = none;  // b may be none
  bool operator==(const Product&) const = default;
};
struct Node {
  Kind kind = Kind::constant;
  Op op = Op::leaf;  // of a function or extreme
  Rate rate = Rate::constant;
  std::uint8_t by = 0;                 // of a local node: the operand to differentiate by
  std::uint32_t begin = 0, count = 0;  // its operands, or the products of a sum or row sum
  Id target = none;                    // of a row sum: a uniform node; of a pick or scatter: its table
  double number = 0;                   // a constant's, or where a sum starts
  bool has_products() const { return kind == Kind::sum || kind == Kind::row_sum; }
};
struct Terms {
  std::size_t parameters = 0, inputs = 0, constants = 0;
  List<Node> nodes;
  List<Id> operands;
  List<Product> products;
  std::vector<Id> outputs;
  std::vector<std::vector<Id>> tables;  // constant and uniform nodes
  Id backward = none;                   // the first node of the backward pass, or none before differentiate
  std::vector<Id> seeds;                // for each output: its seed, or none
  std::vector<Id> gradients;            // for each parameter: its gradient, or none if that is 0
  std::vector<Id> input_gradients;      // for each input: its gradient, or none if that is 0
  std::vector<bool> for_inputs;         // for each node of the backward pass: only gradients of inputs need it
  Id first_computed() const { return static_cast<Id>(parameters + inputs + constants); }
  Id end_of_forward() const { return std::min(backward, static_cast<Id>(nodes.size())); }
  bool is_for_inputs(Id id) const {
    return id >= backward && id - backward < for_inputs.size() && for_inputs[id - backward];
  }
  std::span<const Product> products_of(Id id) const {
    return std::span(products).subspan(nodes[id].begin, nodes[id].count);
  }
  std::span<const Id> operands_of(Id id) const { return std::span(operands).subspan(nodes[id].begin, nodes[id].count); }
  // Calls meet(operand) for each node that this one is computed from.
  template <class Meet> void each_operand(Id id, Meet meet) const {
    if (nodes[id].has_products()) {
      for (const Product& product : products_of(id)) {
        if (product.a != none) meet(product.a);
        if (product.b != none) meet(product.b);
      }
      return;
    }
    for (const Id operand : operands_of(id))
      if (operand != none) meet(operand);
  }
  std::size_t bytes() const {
    return nodes.capacity() * sizeof(Node) + operands.capacity() * sizeof(Id) + products.capacity() * sizeof(Product);
  }
};
inline constexpr std::size_t local_operands = 5;  // of a local node: x, y, z, r, gradient

// ---- lift ----

// Nodes that do the same in the same place of the order. In a layer every member is a sum of so many uniform weights
// times the same inputs, in the same order, and perhaps one uniform number more. A layer may have several copies: the
// same weights on other inputs. Its members are output by output, copy by copy.
struct Group {
  enum class Form : std::uint8_t {
    function,
    extreme,
    sum,
    layer,
    local,
    shares,
    row_sum,
    pick,
    scatter
  } form = Form::function;
  Op op = Op::leaf;
  Rate rate = Rate::uniform;
  std::uint32_t count = 0;   // operands or products a node; of long sums and extremes it may differ
  std::uint32_t copies = 1;  // of a layer
  std::vector<Id> members;
  std::uint8_t by = 0;      // of local nodes
  bool for_inputs = false;  // only gradients of inputs need it
  // Of a layer of the backward pass, which computes what another layer passes on to its inputs: whose gradients it
  // reads, and the first input it computes.
  std::uint32_t transposed = none, first_input = 0;
};
struct LayerGradients {
  std::uint32_t layer = 0;    // a group of the forward pass
  std::vector<Id> gradients;  // of its members
};
struct Groups {
  std::vector<Group> groups;             // each after those it needs
  std::size_t forward = 0;               // groups of the forward pass, which come first
  std::vector<LayerGradients> layers;    // of the layers with a backward pass, from the last to the first
  std::vector<Group> transposed_layers;  // between differentiate and lift_backward: groups of transposed nodes
};

// ---- schedule ----

struct Range {
  std::size_t begin, count;
};

// Numbers are at places: constants and uniform ones one each, varying ones one for each row of a block.
struct Operand {
  Rate rate = Rate::constant;
  std::uint32_t place = none;  // none: there is no operand, count it as 1
  std::uint32_t stride = 0;    // from one number of the vector to the next
  std::uint32_t table = none;  // or: where they lie, from this place of the tables on
  bool exists() const { return place != none || table != none; }
};
struct Factors {
  Operand factor, a, b;     // the factor is constant
  std::uint32_t count = 0;  // of a dot: so many terms
};
struct Instruction {
  enum class Form : std::uint8_t {
    function,  // out[i] = op(in[0][i], in[1][i], in[2][i])
    sums,      // out[i] = start[i] + sum over terms of factor[i] * a[i] * b[i]
    dot,       // out = start + sum over terms and their numbers of factor[i] * a[i] * b[i]
    extreme,   // out = the largest or smallest in[0][i]; with terms, out[i] = that of the terms' a[i]
    layer,     // out[i][c] = bias[i][c] + sum over t of weight[i][t] * input[t][c], for each copy c
    local,     // out[i] = in[4][i] * (local derivative of op by operand `by` of in[0..2][i] and the result in[3][i])
    shares,    // out[i] = what the extreme of in[0] passes on to its i-th operand of the gradient in[1]; with terms,
               // out[t][i] = what the extreme of their a[i] passes on to a of term t of the gradient in[1][i]
    row_sums,  // the sum over all rows of the terms' factor[i] * a[i] * b[i] is added to the row gradient targets[i]
    outer,     // the sum over all rows and copies of in[3][i][c] * input[t][c] is added to the row gradient of the
               // layer's weight[i][t], and that of in[3][i][c] to its bias
    steps,     // uniform numbers, `terms` of them, one by one: the words begin ... begin + count (steps.hpp)
    pick,  // out[i] = entry k of table i, where k = in[0][i]. A table has `depth` entries: its first one is in[1][i],
           // and each is `row` places after the one before; if in[1] is a table of one pick, that says where they are
    scatter,  // in[3][i] of each row is added to the row gradient of the entry that the pick of in[0] and in[1] reads
  } form = Form::function;
  Op op = Op::leaf;
  std::uint8_t by = 0;
  Rate rate = Rate::uniform;
  std::uint32_t count = 0;  // numbers in the vector; of one extreme, operands; of a layer, outputs of a copy
  std::uint32_t out = 0;    // its first place
  std::array<Operand, local_operands> in{};  // of a layer: weights, inputs, bias
  Operand start{};                           // not there: 0
  std::uint32_t begin = 0, terms = 0;        // in factors
  std::uint32_t depth = 0, copies = 1;       // of a layer: inputs of a copy, and copies
  std::uint32_t row = 0, column = 0;         // of a layer: from weight to weight
  std::uint32_t bias_copy = 0;               // of a layer: from a copy's bias to the next one's
  bool relu = false;                         // of a layer: then relu
  bool for_inputs = false;                   // only gradients of inputs need it
  Operand targets{};                         // of row sums: uniform places

  std::uint32_t outputs() const {  // numbers it makes
    if (form == Form::row_sums || form == Form::outer || form == Form::scatter || form == Form::steps) return 0;
    if (form == Form::shares && terms > 0) return count * terms;
    return form == Form::dot || (form == Form::extreme && terms == 0) ? 1 : count * copies;
  }
};
// A run computes `uniform` once. Then it computes, for each block of rows, `varying`, `varying_backward`, `outers` and
// `scatters`, and at last `uniform_backward`.
struct Instructions {
  std::size_t parameters = 0, inputs = 0;  // their places come first
  std::vector<Instruction> uniform, varying, varying_backward, outers, scatters, uniform_backward;
  std::vector<Factors> factors;
  std::vector<std::uint32_t> tables;
  std::vector<std::uint32_t> steps;
  std::vector<double> constants;
  std::uint32_t uniform_places = 0, varying_places = 0;
  std::uint32_t input_places = 0;  // varying places after varying_places that only gradients of inputs need
  struct Output {
    Rate rate;
    std::uint32_t place;
  };
  std::vector<Output> outputs;
  std::vector<std::uint32_t> seeds;            // for each output: the uniform place of its seed, or none
  std::uint32_t row_seed = none, zero = none;  // varying places that a block sets before varying_backward
  std::vector<std::uint32_t> input_gradients;  // for each input: the varying place of its gradient, or none
  struct Gradient {                            // of a parameter, where it is not what the rows have added up
    std::uint32_t parameter;
    Output at;
  };
  std::vector<Gradient> gradients;
  struct Pack {  // uniform numbers copied to where a layer needs them: factor * a
    std::uint32_t out, count;
    Operand factor, a;
  };
  std::vector<Pack> packs;
  // The last outputs but for indices are comparisons that the recording went by, and what each was.
  std::vector<bool> guards;
  std::vector<std::size_t> index_sizes;  // as in Scalars
  // Parameters that only picks read, by an index that is an input: a run uses those that its rows look up.
  std::vector<Range> looked_up;

  std::size_t wanted_outputs() const { return outputs.size() - guards.size() - index_sizes.size(); }
  // Of entry k of the i-th table of a pick or scatter.
  std::uint32_t entry(const Instruction& pick, std::uint32_t i, std::uint32_t k) const {
    return pick.row == none ? tables[pick.in[1].table + k] : place(pick.in[1], i) + pick.row * k;
  }

  std::uint32_t place(const Operand& operand, std::uint32_t i) const {  // of its i-th number
    return operand.table != none ? tables[operand.table + i] : operand.place + operand.stride * i;
  }
  // Of a layer's input t for copy c. Without a table, the copies' inputs lie side by side.
  std::uint32_t input(const Instruction& layer, std::uint32_t t, std::uint32_t c) const {
    const Operand& in = layer.in[1];
    return in.table != none ? tables[in.table + c * layer.depth + t] : in.place + in.stride * t + c;
  }
  static std::uint32_t bias(const Instruction& layer, std::uint32_t i, std::uint32_t c) {
    return layer.in[2].place + layer.in[2].stride * i + layer.bias_copy * c;
  }
};

}  // namespace gradwalk::compiler
