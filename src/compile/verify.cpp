// SPDX-License-Identifier: MIT
// What each pass promises the next. A broken promise is our mistake, never a user's; it is found here and not as a
// number that is wrong.
#include <algorithm>

#include "gradwalk/error.hpp"
#include "passes.hpp"
#include "steps.hpp"

namespace gradwalk::compiler {
namespace {

// Demands what must hold after a pass for the node, group or the like that was named last.
class Demand {
 public:
  explicit Demand(const char* pass) : pass_(pass) {}

  void at(const char* what, std::size_t number) {
    what_ = what;
    number_ = number;
  }
  void operator()(bool holds, const char* wanted) const {
    if (!holds)
      throw Error(std::string("compile, after ") + pass_, wanted, std::string(what_) + " " + std::to_string(number_),
                  "report this: it is a mistake of gradwalk's");
  }

 private:
  const char* pass_;
  const char* what_ = "";
  std::size_t number_ = 0;
};

}  // namespace

void verify(const Scalars& scalars) {
  Demand demand("record");
  const std::size_t leaves = scalars.parameters + scalars.inputs;
  demand.at("only", scalars.nodes.size());
  demand(scalars.nodes.size() >= leaves, "all leaves");
  for (std::size_t i = 0; i < scalars.nodes.size(); ++i) {
    const Scalar& node = scalars.nodes[i];
    demand.at("node", i);
    demand((node.op == Op::leaf) == (i < leaves), "leaves first, and no others");
    if (node.op == Op::leaf) continue;
    if (node.op == Op::constant) {
      demand(node.operands[0] < scalars.numbers.size(), "a number for each constant");
      continue;
    }
    if (node.op == Op::pick) {
      demand(node.operands[0] < i && scalars.nodes[node.operands[0]].rate == Rate::varying &&
                 node.operands[1] < scalars.tables.size() && node.rate == Rate::varying,
             "a varying index and a table a pick");
      for (const Id value : scalars.tables[node.operands[1]])
        demand(value < i && scalars.nodes[value].rate != Rate::varying, "values to pick from that are uniform");
      continue;
    }
    Rate rate = Rate::constant;
    for (std::size_t k = 0; k < 3; ++k) {
      const bool has_one = k < static_cast<std::size_t>(info(node.op).operands);
      demand((node.operands[k] != none) == has_one, "as many operands as the op has");
      if (!has_one) continue;
      demand(node.operands[k] < i, "operands before their users");
      rate = std::max(rate, scalars.nodes[node.operands[k]].rate);
    }
    demand(rate == node.rate, "the rate of its operands");
  }
  for (const Id output : scalars.outputs) {
    demand.at("output", output);
    demand(output < scalars.nodes.size(), "outputs among the nodes");
  }
}

void verify(const Terms& terms) {
  Demand demand("simplify");
  for (std::size_t i = 0; i < terms.nodes.size(); ++i) {
    const Node& node = terms.nodes[i];
    demand.at("node", i);
    const bool is_leaf = node.kind == Kind::parameter || node.kind == Kind::input || node.kind == Kind::constant;
    demand(is_leaf == (i < terms.first_computed()), "leaves and constants first");
    const bool is_forward =
        is_leaf || node.kind == Kind::function || node.kind == Kind::extreme || node.kind == Kind::pick;
    demand(node.kind == Kind::sum || is_forward == (i < terms.end_of_forward()), "the forward pass first");
    if (is_leaf || node.kind == Kind::seed || node.kind == Kind::zero || node.kind == Kind::transposed) continue;
    Rate rate = Rate::constant;
    const auto meet = [&](Id id) {
      demand(id < i, "operands before their users");
      rate = std::max(rate, terms.nodes[id].rate);
    };
    if (node.has_products()) {
      demand(node.begin + node.count <= terms.products.size(), "products in their list");
      for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k) {
        const Product& product = terms.products[k];
        demand(product.a != none || product.b != none, "a product of something");
        if (product.a != none) meet(product.a);
        if (product.b != none) meet(product.b);
      }
    } else {
      demand(node.begin + node.count <= terms.operands.size(), "operands in their list");
      if (node.kind == Kind::function)
        demand(node.count == static_cast<std::uint32_t>(info(node.op).operands), "as many operands as the op has");
      if (node.kind == Kind::local)
        demand(node.count == local_operands && terms.operands[node.begin + 4] != none,
               "a local derivative times a gradient");
      for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k)
        if (node.kind != Kind::local || terms.operands[k] != none) meet(terms.operands[k]);
    }
    if (node.kind == Kind::pick || node.kind == Kind::scatter) {
      demand(rate == Rate::varying && node.target < terms.tables.size() && !terms.tables[node.target].empty(),
             "a varying index and a table a pick");
      for (const Id value : terms.tables[node.target])
        demand(value < std::min<std::size_t>(i, terms.end_of_forward()) && terms.nodes[value].rate != Rate::varying,
               "values to pick from that are uniform");
      demand(node.rate == (node.kind == Kind::pick ? Rate::varying : Rate::uniform), "the rate of a pick or scatter");
      continue;
    }
    // A local derivative times 1 is computed once per run, even if all its operands are constants.
    const bool is_derivative = node.kind == Kind::local && rate == Rate::constant && node.rate == Rate::uniform;
    if (node.kind == Kind::row_sum) {
      demand(rate == Rate::varying && node.target < terms.end_of_forward() &&
                 terms.nodes[node.target].rate == Rate::uniform,
             "row sums of varying numbers for uniform ones");
      continue;
    }
    demand(rate == node.rate || is_derivative, "the rate of its operands");
  }
  for (const Id output : terms.outputs) {
    demand.at("output", output);
    demand(output < terms.nodes.size(), "outputs among the nodes");
  }
}

namespace {

void verify_layer(const Terms& terms, const Groups& groups, const Group& layer, const Demand& demand) {
  demand(layer.copies > 0 && layer.members.size() % layer.copies == 0, "an output of each copy of a layer");
  if (layer.transposed != none) {
    demand(layer.transposed < groups.layers.size() &&
               groups.layers[layer.transposed].gradients.size() == std::size_t{layer.count} * layer.copies,
           "a gradient for each output of the layer that is transposed");
    return;
  }
  const auto product = [&](std::size_t member, std::uint32_t k) {
    return terms.products[terms.nodes[layer.members[member]].begin + k];
  };
  for (std::size_t i = 0; i < layer.members.size(); ++i)
    for (std::uint32_t k = 0; k < layer.count; ++k) {
      const Product one = product(i, k), of_copy = product(i % layer.copies, k),
                    of_output = product(i - i % layer.copies, k);
      demand(one.b == of_copy.b, "the same inputs for all outputs of a layer's copy");
      demand(one.a == of_output.a && one.factor == of_output.factor, "the same weights for all copies of a layer");
    }
}

}  // namespace

void verify(const Terms& terms, const Groups& groups) {
  Demand demand("lift");
  std::vector<std::uint32_t> group_of(terms.nodes.size(), 0);  // from 1 on
  for (std::uint32_t g = 0; g < groups.groups.size(); ++g)
    for (const Id id : groups.groups[g].members) {
      demand.at("node", id);
      demand(id >= terms.first_computed() && id < terms.nodes.size(), "computed nodes in groups");
      demand(group_of[id] == 0, "a node in one group");
      group_of[id] = g + 1;
    }
  for (std::uint32_t g = 0; g < groups.groups.size(); ++g) {
    const Group& group = groups.groups[g];
    demand.at("group", g);
    demand(!group.members.empty(), "groups of something");
    if (group.form == Group::Form::layer) verify_layer(terms, groups, group, demand);
    const Node& first = terms.nodes[group.members.front()];
    for (const Id id : group.members) {
      const Node& node = terms.nodes[id];
      demand(node.rate == group.rate && node.kind == first.kind && node.op == first.op, "members that do the same");
      const auto meet = [&](Id operand) { demand(group_of[operand] <= g, "groups after those they need"); };
      if (group.transposed != none)
        for (const Id gradient : groups.layers[group.transposed].gradients) meet(gradient);
      else
        terms.each_operand(id, meet);
    }
  }
  for (Id id = terms.first_computed(); id < terms.nodes.size(); ++id) {
    const Kind kind = terms.nodes[id].kind;
    demand.at("node", id);
    demand((group_of[id] == 0) == (kind == Kind::seed || kind == Kind::zero || kind == Kind::row_gradient),
           "every node in a group");
  }
}

void verify(const Instructions& all) {
  Demand demand("schedule");
  // Places that have been written. Varying ones are used again; schedule itself checks what they have.
  std::vector<bool> uniform(all.uniform_places), varying(all.varying_places + all.input_places);
  std::fill_n(uniform.begin(), all.parameters, true);
  std::fill_n(varying.begin(), all.inputs, true);
  std::size_t number = 0;
  const auto begin_next = [&] { demand.at("instruction", number++); };
  const auto check = [&](const Operand& operand, std::uint64_t count) {
    if (!operand.exists()) return;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (operand.table != none) demand(operand.table + i < all.tables.size(), "tables in their list");
      const std::uint64_t place = all.place(operand, static_cast<std::uint32_t>(i));
      const bool known = operand.rate == Rate::constant  ? place < all.constants.size()
                         : operand.rate == Rate::varying ? place < varying.size() && varying[place]
                                                         : place < uniform.size() && uniform[place];
      demand(known, "operands that were computed before");
      if (operand.table == none && operand.stride == 0) break;
    }
  };
  const Addresses addresses(all);
  const auto steps = [&](const Instruction& one) {
    demand.at("instruction", number);
    demand(one.begin + one.count <= all.steps.size(), "steps in their list");
    for (std::size_t head = one.begin; head < one.begin + one.count;) {
      begin_next();
      const std::size_t end = head + 1 + StepHead(all.steps[head]).words();
      demand(end <= one.begin + one.count, "whole steps");
      const auto is_known = [&](std::uint32_t address) {
        return address < all.uniform_places ? uniform[address]
               : address < addresses.gradients()
                   ? address < addresses.zero()
                   : address - addresses.gradients() < uniform.size() && uniform[address - addresses.gradients()];
      };
      for (std::size_t i = head + 2; i < end; ++i) demand(is_known(all.steps[i]), "operands that were computed before");
      const std::uint32_t out = all.steps[head + 1];
      demand(out < all.uniform_places && !uniform[out], "each uniform place written once");
      uniform[out] = true;
      head = end;
    }
  };
  const auto instruction = [&](const Instruction& one) {
    if (one.form == Instruction::Form::steps) return steps(one);
    begin_next();
    const bool is_dot = one.form == Instruction::Form::dot;
    check(one.start, one.count);
    check(one.targets, one.count);
    if (one.form == Instruction::Form::outer) check(one.in[3], one.count * one.copies);
    if (one.form == Instruction::Form::pick || one.form == Instruction::Form::scatter) {
      check(one.in[0], one.count);
      check(one.in[3], one.count);
      for (std::uint32_t i = 0; i < one.count; ++i)
        for (std::uint32_t k = 0; k < one.depth; ++k) check({one.in[1].rate, all.entry(one, i, k), 0, none}, 1);
    } else if (one.form == Instruction::Form::layer || one.form == Instruction::Form::outer) {
      for (std::uint32_t i = 0; i < one.count; ++i)
        for (std::uint32_t t = 0; t < one.depth; ++t)
          check({one.in[0].rate, one.in[0].place + i * one.row + t * one.column, 0, none}, 1);
      demand(one.in[1].table == none || one.in[1].table + one.depth * one.copies <= all.tables.size(),
             "tables in their list");
      for (std::uint32_t c = 0; c < one.copies; ++c) {
        for (std::uint32_t t = 0; t < one.depth; ++t) check({Rate::varying, all.input(one, t, c), 0, none}, 1);
        for (std::uint32_t i = 0; one.in[2].exists() && i < one.count; ++i)
          check({one.in[2].rate, Instructions::bias(one, i, c), 0, none}, 1);
      }
    } else {
      for (const Operand& operand : one.in) check(operand, one.count);
    }
    demand(one.begin + one.terms <= all.factors.size(), "terms in their list");
    for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
      const Factors& factors = all.factors[t];
      const std::uint32_t count = is_dot ? factors.count : one.count;
      demand(factors.factor.rate == Rate::constant, "constant factors");
      check(factors.factor, count);
      check(factors.a, count);
      check(factors.b, count);
    }
    std::vector<bool>& written = one.rate == Rate::varying ? varying : uniform;
    for (std::uint32_t i = 0; i < one.outputs(); ++i) {
      demand(one.out + i < written.size() && (one.rate == Rate::varying || !written[one.out + i]),
             "each uniform place written once");
      written[one.out + i] = true;
    }
  };
  for (const Instruction& one : all.uniform) instruction(one);
  for (const Instruction& one : all.varying) instruction(one);
  for (const std::uint32_t seed : all.seeds)
    if (seed != none) uniform[seed] = true;
  for (const std::uint32_t place : {all.row_seed, all.zero})
    if (place != none) varying[place] = true;
  for (const auto* list : {&all.varying_backward, &all.outers, &all.scatters, &all.uniform_backward})
    for (const Instruction& one : *list) instruction(one);
  demand.at("the results after instruction", number);
  for (const Instructions::Output& output : all.outputs) check({output.rate, output.place, 0, none}, 1);
  for (const Instructions::Gradient& gradient : all.gradients) {
    demand.at("gradient", gradient.parameter);
    demand(gradient.parameter < all.parameters, "gradients of parameters");
    check({gradient.at.rate, gradient.at.place, 0, none}, 1);
  }
}

}  // namespace gradwalk::compiler
