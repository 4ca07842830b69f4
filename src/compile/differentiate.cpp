// SPDX-License-Identifier: MIT
// differentiate: adds the backward pass to the terms, as nodes like those of the forward pass.
//
// From the last node to the first, the gradient of a node is the sum of what its users pass on to it. A sum of products
// factor * a * b passes factor * gradient * b on to a, so the gradient is a sum of products, too. A function passes on
// its gradient times a local derivative of ops.def: a local node. What the rows pass on to a uniform node is summed
// over all rows (row sums) into one number, its row gradient.
//
// A layer is differentiated as a whole: its weights, transposed, times the gradients of its outputs are the gradients
// of its inputs. Its members have to be complete then, so varying nodes are visited group by group. Uniform nodes come
// after all of them, by their numbers.
#include <algorithm>
#include <bit>
#include <numeric>

#include "engine/rule_facts.hpp"
#include "number_map.hpp"
#include "passes.hpp"
#include "rule_operands.hpp"

namespace gradwalk::compiler {
namespace {

// The largest number of products of a row sum. What it reads is not kept until the end of the backward pass.
constexpr std::size_t row_sum_products = 8;

class Differentiator {
 public:
  Differentiator(Terms& terms, Groups& groups)
      : terms_(terms),
        groups_(groups),
        end_(static_cast<Id>(terms.nodes.size())),
        rates_(end_),
        first_(end_, none),
        rows_(end_),
        has_rows_(end_) {
    for (Id id = 0; id < end_; ++id) rates_[id] = terms_.nodes[id].rate;
    // About as much as is needed. Pages that stay unused are never touched.
    terms_.nodes.reserve(3 * std::size_t{end_});
    terms_.products.reserve(4 * terms_.products.size() + 2 * terms_.operands.size());
    rates_.reserve(3 * std::size_t{end_});
    contributions_.reserve(2 * terms_.products.size() + terms_.operands.size());
  }

  void run() {
    terms_.backward = end_;
    terms_.gradients.assign(terms_.parameters, none);
    terms_.input_gradients.assign(terms_.inputs, none);
    seed_outputs();
    for (std::size_t i = groups_.forward; i-- > 0;)
      if (groups_.groups[i].rate == Rate::varying) visit(static_cast<std::uint32_t>(i));
    for (std::size_t i = 0; i < terms_.inputs; ++i)
      terms_.input_gradients[i] = gradient_of(static_cast<Id>(terms_.parameters + i));
    for (Id id = 0; id < end_; ++id) flush_rows(id);
    for (Id id = end_; id-- > terms_.parameters;) {
      if (!is_uniform(id)) continue;
      if (const Id gradient = gradient_of(id); gradient != none) pass_on(id, gradient);
    }
    sort_contributions_to_parameters();
    for (auto id = static_cast<Id>(terms_.parameters); id-- > 0;) terms_.gradients[id] = gradient_of(id);
    if (terms_.inputs > 0) find_nodes_for_inputs();
  }

 private:
  bool is_uniform(Id id) const { return rates_[id] == Rate::uniform; }
  bool is_varying(Id id) const { return id != none && rates_[id] == Rate::varying; }
  bool is_wanted(Id id) const { return id != none && rates_[id] != Rate::constant; }

  // Of a program with inputs, only the first output is differentiated.
  void seed_outputs() {
    terms_.seeds.assign(terms_.outputs.size(), none);
    const std::size_t count = terms_.inputs == 0 ? terms_.outputs.size() : 1;
    for (std::size_t i = count; i-- > 0;) {
      const Id output = terms_.outputs[i];
      if (!is_wanted(output)) continue;
      terms_.seeds[i] = add(Kind::seed, terms_.nodes[output].rate, {});
      contribute(output, {1, terms_.seeds[i], none});
    }
  }

  Id add(const Node& node) {
    append(terms_.nodes, node);
    rates_.push_back(node.rate);
    return static_cast<Id>(terms_.nodes.size() - 1);
  }
  Id add(Kind kind, Rate rate, std::initializer_list<Id> operands, Op op = Op::leaf, std::uint8_t by = 0) {
    const auto begin = static_cast<std::uint32_t>(terms_.operands.size());
    terms_.operands.insert(terms_.operands.end(), operands);
    return add({kind, op, rate, by, begin, static_cast<std::uint32_t>(operands.size()), none, 0});
  }

  // ---- groups of varying nodes ----

  void visit(std::uint32_t index) {
    if (groups_.groups[index].form == Group::Form::layer) return visit_layer(index);
    const std::vector<Id>& members = groups_.groups[index].members;
    for (std::size_t i = members.size(); i-- > 0;)
      if (const Id gradient = gradient_of(members[i]); gradient != none) pass_on(members[i], gradient);
  }

  void visit_layer(std::uint32_t index) {
    LayerGradients layer{index, {}};
    bool has_gradient = false;
    for (const Id id : groups_.groups[index].members) {
      layer.gradients.push_back(gradient_of(id));
      has_gradient = has_gradient || layer.gradients.back() != none;
    }
    if (!has_gradient) return;
    for (Id& gradient : layer.gradients)
      if (gradient == none) gradient = zero();
    for (const Id id : groups_.groups[index].members)
      for (const Product& product : products(id))
        if (product.a != none && is_uniform(product.a)) has_rows_[product.a] = true;
    groups_.layers.push_back(std::move(layer));
    add_transposed(index);
  }

  // Inputs of the program are apart: few want their gradients.
  void add_transposed(std::uint32_t index) {
    const std::uint32_t depth = groups_.groups[index].count, copies = groups_.groups[index].copies;
    const std::vector<Id> members = groups_.groups[index].members;
    const auto input = [&](std::uint32_t t, std::uint32_t c) { return products(members[c])[t].b; };
    const auto is_of_program = [&](std::uint32_t t) {
      for (std::uint32_t c = 0; c < copies; ++c)
        if (input(t, c) >= terms_.parameters + terms_.inputs) return false;
      return true;
    };
    for (std::uint32_t begin = 0, end = 0; begin < depth; begin = end) {
      while (end < depth && is_of_program(end) == is_of_program(begin)) ++end;
      Group made{Group::Form::layer,
                 Op::leaf,
                 Rate::varying,
                 static_cast<std::uint32_t>(members.size() / copies),
                 copies,
                 {},
                 0};
      made.transposed = static_cast<std::uint32_t>(groups_.layers.size() - 1);
      made.first_input = begin;
      for (std::uint32_t t = begin; t < end; ++t)
        for (std::uint32_t c = 0; c < copies; ++c) {
          made.members.push_back(add(Kind::transposed, Rate::varying, {}));
          contribute(input(t, c), {1, made.members.back(), none});
        }
      groups_.transposed_layers.push_back(std::move(made));
    }
  }

  std::span<const Product> products(Id id) const { return terms_.products_of(id); }

  Id zero() {
    if (zero_ == none) zero_ = add(Kind::zero, Rate::varying, {});
    return zero_;
  }

  // ---- what a node receives ----

  // The contributions to a node are a list; the one that was added last comes first, so users are in ascending order.
  struct Contribution {
    Product product;
    std::uint32_t next;
  };
  // The first factor of the product is a gradient. Gradients of rows are summed for a uniform node.
  void contribute(Id to, const Product& product) {
    if (is_uniform(to) && is_varying(product.a)) {
      rows_of(to).push_back(product);
      if (rows_of(to).size() == row_sum_products) flush_rows(to);
      return;
    }
    if (to < terms_.parameters) {
      append(to_parameters_, {{product.factor, product.a, product.b}, to});
      return;
    }
    append(contributions_, {{product.factor, product.a, product.b}, first_[to]});
    first_[to] = static_cast<std::uint32_t>(contributions_.size() - 1);
  }

  // A parameter may have thousands of contributions, far apart from each other. Sorting them takes less time than
  // following a list of them.
  struct ContributionToParameter {
    Product product;
    Id parameter;
  };
  void sort_contributions_to_parameters() {
    starts_.assign(terms_.parameters + 1, 0);
    for (const ContributionToParameter& one : to_parameters_) ++starts_[one.parameter + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    std::vector<std::uint32_t> next(starts_);
    sorted_.resize(to_parameters_.size());
    for (std::size_t i = to_parameters_.size(); i-- > 0;)
      sorted_[next[to_parameters_[i].parameter]++] = to_parameters_[i].product;
  }

  // Calls visit(product) for the contributions to a node, from the last to the first.
  template <class Visit> void each_contribution(Id id, Visit visit) const {
    if (id < terms_.parameters)
      for (std::uint32_t k = starts_[id]; k < starts_[id + 1]; ++k) visit(sorted_[k]);
    else
      for (std::uint32_t i = first_[id]; i != none; i = contributions_[i].next) visit(contributions_[i].product);
  }

  std::vector<Product>& rows_of(Id id) {
    if (rows_[id] == 0) {
      pending_.emplace_back();
      rows_[id] = static_cast<std::uint32_t>(pending_.size());
    }
    return pending_[rows_[id] - 1];
  }
  void flush_rows(Id id) {
    if (rows_[id] == 0 || rows_of(id).empty()) return;
    std::vector<Product>& products = rows_of(id);
    const auto begin = static_cast<std::uint32_t>(terms_.products.size());
    terms_.products.insert(terms_.products.end(), products.begin(), products.end());
    add({Kind::row_sum, Op::leaf, Rate::uniform, 0, begin, static_cast<std::uint32_t>(products.size()), id, 0});
    products.clear();
    has_rows_[id] = true;
  }

  // The sum of the contributions, or none. Products of two come first, single gradients after them.
  Id gradient_of(Id id) {
    const auto begin = static_cast<std::uint32_t>(terms_.products.size());
    singles_.clear();
    each_contribution(
        id, [&](const Product& product) { (product.b != none ? terms_.products : singles_).push_back(product); });
    terms_.products.insert(terms_.products.end(), singles_.begin(), singles_.end());
    if (has_rows_[id]) append(terms_.products, {1, add(Kind::row_gradient, Rate::uniform, {id}), none});
    const auto count = static_cast<std::uint32_t>(terms_.products.size()) - begin;
    if (count == 0) return none;
    const Product first = terms_.products[begin];
    const Node sum{Kind::sum, Op::leaf, rates_[id], 0, begin, count, none, 0};
    if (count > 1 || first.b != none) return add(sum);
    if (first.factor == 1) {
      terms_.products.pop_back();
      return first.a;
    }
    // All terms of a mean receive the same gradient.
    std::uint32_t& known = scaled_[std::bit_cast<std::uint64_t>(first.factor) ^ first.a * 0x9e3779b97f4a7c15u];
    if (known == NumberMap::absent || terms_.products[terms_.nodes[known].begin] != first) return known = add(sum);
    terms_.products.pop_back();
    return known;
  }

  // ---- what it passes on ----

  void pass_on(Id id, Id gradient) {
    const Node node = terms_.nodes[id];
    switch (node.kind) {
      case Kind::sum: return pass_through_sum(node, gradient);
      case Kind::function: return pass_through_function(id, node, gradient);
      case Kind::extreme: return pass_through_extreme(id, node, gradient);
      case Kind::pick: return pass_through_pick(node, gradient);
      case Kind::parameter:
      case Kind::input:
      case Kind::constant:
      case Kind::seed:
      case Kind::zero:
      case Kind::row_gradient:
      case Kind::row_sum:
      case Kind::local:
      case Kind::scatter:
      case Kind::share:
      case Kind::transposed: return;  // a leaf, or of the backward pass
    }
  }

  void pass_through_sum(const Node& node, Id gradient) {
    for (std::uint32_t k = node.begin + node.count; k-- > node.begin;) {
      const Product product = terms_.products[k];
      if (product.a == product.b && is_wanted(product.a)) {
        contribute(product.a, {2 * product.factor, gradient, product.a});
        continue;
      }
      if (is_wanted(product.b)) contribute(product.b, {product.factor, gradient, product.a});
      if (is_wanted(product.a)) contribute(product.a, {product.factor, gradient, product.b});
    }
  }

  void pass_through_function(Id id, const Node& node, Id gradient) {
    for (std::uint8_t by = 0; by < node.count; ++by) {
      const Id to = terms_.operands[node.begin + by];
      if (!is_wanted(to) || !detail::passes_on(node.op, by)) continue;
      std::array<Id, 3> in{none, none, none};
      for (std::uint32_t k = 0; k < node.count; ++k)
        if (detail::local_mentions(node.op, by, k))
          in[k] = detail::result_stands_for_operand(node.op) ? id : terms_.operands[node.begin + k];
      const Id result = detail::local_mentions_result(node.op, by) ? id : none;
      const Id local = add(Kind::local, node.rate, {in[0], in[1], in[2], result, gradient}, node.op, by);
      contribute(to, {1, local, none});
    }
  }

  void pass_through_extreme(Id id, const Node& node, Id gradient) {
    for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k) {
      const Id operand = terms_.operands[k];
      const Id share = add(Kind::share, Rate::uniform, {gradient, id, operand}, node.op);
      if (is_wanted(operand)) contribute(operand, {1, share, none});
    }
  }

  // The rows add to the gradients of the values that they chose. The index gets nothing.
  void pass_through_pick(const Node& node, Id gradient) {
    const std::vector<Id>& table = terms_.tables[node.target];
    if (std::none_of(table.begin(), table.end(), [&](Id value) { return is_uniform(value); })) return;
    for (const Id value : table)
      if (is_uniform(value)) has_rows_[value] = true;
    const Id scatter = add(Kind::scatter, Rate::uniform, {terms_.operands[node.begin], gradient}, Op::pick);
    terms_.nodes[scatter].target = node.target;
  }

  // ---- gradients of inputs ----

  // Whether weights or biases of the layer are uniform.
  bool has_uniform(const Group& layer) const {
    return std::any_of(layer.members.begin(), layer.members.end(), [&](Id id) {
      return std::ranges::any_of(products(id),
                                 [&](const Product& product) { return product.a != none && is_uniform(product.a); });
    });
  }

  // Nodes that no gradient of a parameter needs.
  void find_nodes_for_inputs() {
    const auto count = static_cast<Id>(terms_.nodes.size());
    terms_.for_inputs.assign(count - end_, true);
    const auto need = [&](Id id) {
      if (id != none && id >= end_) terms_.for_inputs[id - end_] = false;
    };
    for (Id id = end_; id < count; ++id)
      if (is_uniform(id) || terms_.nodes[id].kind == Kind::seed || terms_.nodes[id].kind == Kind::zero) need(id);
    const auto need_gradients_of = [&](const LayerGradients& layer) {
      for (const Id gradient : layer.gradients) need(gradient);
    };
    for (const LayerGradients& layer : groups_.layers)
      if (has_uniform(groups_.groups[layer.layer])) need_gradients_of(layer);
    std::size_t transposed = groups_.transposed_layers.size();
    for (Id id = count; id-- > end_;) {
      const Node& node = terms_.nodes[id];
      if (node.kind == Kind::transposed) {
        Group& layer = groups_.transposed_layers[transposed - 1];
        if (id == layer.members.front()) {
          layer.for_inputs = std::all_of(layer.members.begin(), layer.members.end(),
                                         [&](Id member) { return terms_.for_inputs[member - end_]; });
          for (const Id member : layer.members) terms_.for_inputs[member - end_] = layer.for_inputs;
          if (!layer.for_inputs) need_gradients_of(groups_.layers[layer.transposed]);
          --transposed;
        }
        continue;
      }
      if (terms_.for_inputs[id - end_]) continue;
      terms_.each_operand(id, need);
    }
  }

  Terms& terms_;
  Groups& groups_;
  Id end_;
  Id zero_ = none;
  List<Rate> rates_;           // of each node; they stay in the cache, where the nodes do not
  List<std::uint32_t> first_;  // for each node: its first contribution, or none
  List<std::uint32_t> rows_;   // for each uniform node: which list of pending_ it has, from 1, or 0
  std::vector<std::vector<Product>> pending_;
  std::vector<bool> has_rows_;        // whether rows add to its gradient
  List<Contribution> contributions_;  // to all but parameters
  List<ContributionToParameter> to_parameters_;
  List<Product> sorted_;               // the same, by parameters
  std::vector<std::uint32_t> starts_;  // in sorted_, for each parameter
  List<Product> singles_;              // of gradient_of(), kept for its memory
  NumberMap scaled_;                   // by the hash of a product factor * gradient: the last node that is it
};

}  // namespace

void differentiate(Terms& terms, Groups& groups) { Differentiator(terms, groups).run(); }

void differentiate(Terms& terms) {
  Groups groups;
  differentiate(terms, groups);
}

}  // namespace gradwalk::compiler
