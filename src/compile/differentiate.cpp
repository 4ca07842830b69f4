// SPDX-License-Identifier: MIT
// differentiate: adds the backward pass to the terms, as nodes like those of the forward pass.
//
// From the last node to the first, the gradient of a node is the sum of what its users pass on to it. A sum of products
// factor * a * b passes factor * gradient * b on to a, so the gradient is a sum of products, too. A function passes on
// its gradient times a local derivative of ops.def: a local node. Only uniform nodes have such gradients; what all rows
// pass on to a uniform node is one number, its row gradient, which the executor of the rows adds up.
#include <algorithm>
#include <unordered_map>

#include "engine/rule_facts.hpp"
#include "passes.hpp"
#include "rule_operands.hpp"

namespace gradwalk::compiler {
namespace {

class Differentiator {
 public:
  explicit Differentiator(Terms& terms)
      : terms_(terms), end_(static_cast<Id>(terms.nodes.size())), first_(end_, none), has_rows_(end_) {}

  void run() {
    terms_.backward = end_;
    find_row_gradients();
    seed_outputs();
    terms_.gradients.assign(terms_.parameters, none);
    for (Id id = end_; id-- > 0;) {
      if (!is_wanted(id) || (first_[id] == none && !has_rows_[id])) continue;
      const Id gradient = gradient_of(id);
      if (id < terms_.parameters)
        terms_.gradients[id] = gradient;
      else
        pass_on(id, gradient);
    }
  }

 private:
  bool is_wanted(Id id) const { return id != none && terms_.nodes[id].domain == Domain::uniform; }

  void find_row_gradients() {
    for (Id id = terms_.first_computed(); id < end_; ++id) {
      const Node& node = terms_.nodes[id];
      if (node.domain != Domain::varying) continue;
      const auto meet = [&](Id operand) {
        if (is_wanted(operand)) has_rows_[operand] = true;
      };
      for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k) {
        if (node.kind == Kind::sum)
          meet(terms_.products[k].a), meet(terms_.products[k].b);
        else
          meet(terms_.operands[k]);
      }
    }
  }

  // Of a program with inputs, only the first output is differentiated.
  void seed_outputs() {
    terms_.seeds.assign(terms_.outputs.size(), none);
    const std::size_t count = terms_.inputs == 0 ? terms_.outputs.size() : 1;
    for (std::size_t i = count; i-- > 0;) {
      if (!is_wanted(terms_.outputs[i])) continue;
      terms_.seeds[i] = add(Kind::seed, {});
      contribute(terms_.outputs[i], {1, terms_.seeds[i], none});
    }
  }

  Id add(const Node& node) {
    terms_.nodes.push_back(node);
    return static_cast<Id>(terms_.nodes.size() - 1);
  }
  Id add(Kind kind, std::initializer_list<Id> operands, Op op = Op::leaf, std::uint8_t by = 0) {
    const auto begin = static_cast<std::uint32_t>(terms_.operands.size());
    terms_.operands.insert(terms_.operands.end(), operands);
    return add({kind, op, Domain::uniform, by, begin, static_cast<std::uint32_t>(operands.size()), 0});
  }

  // ---- what a node receives ----

  // The contributions to a node are a list; the one that was added last comes first, so users are in ascending order.
  struct Contribution {
    Product product;
    std::uint32_t next;
  };
  void contribute(Id to, const Product& product) {
    contributions_.push_back({product, first_[to]});
    first_[to] = static_cast<std::uint32_t>(contributions_.size() - 1);
  }

  Id gradient_of(Id id) {
    const auto begin = static_cast<std::uint32_t>(terms_.products.size());
    for (std::uint32_t i = first_[id]; i != none; i = contributions_[i].next)
      if (contributions_[i].product.b != none) terms_.products.push_back(contributions_[i].product);
    for (std::uint32_t i = first_[id]; i != none; i = contributions_[i].next)
      if (contributions_[i].product.b == none) terms_.products.push_back(contributions_[i].product);
    if (has_rows_[id]) terms_.products.push_back({1, add(Kind::row_gradient, {id}), none});
    const auto count = static_cast<std::uint32_t>(terms_.products.size()) - begin;
    const Product first = terms_.products[begin];
    if (count > 1 || first.b != none) return add({Kind::sum, Op::leaf, Domain::uniform, 0, begin, count, 0});
    if (first.factor == 1) {
      terms_.products.pop_back();
      return first.a;
    }
    // All terms of a mean receive the same gradient.
    const auto [known, is_new] = scaled_.try_emplace({first.a, first.factor}, none);
    if (is_new)
      known->second = add({Kind::sum, Op::leaf, Domain::uniform, 0, begin, count, 0});
    else
      terms_.products.pop_back();
    return known->second;
  }

  // ---- what it passes on ----

  void pass_on(Id id, Id gradient) {
    const Node node = terms_.nodes[id];
    switch (node.kind) {
      case Kind::sum: return pass_through_sum(node, gradient);
      case Kind::function: return pass_through_function(id, node, gradient);
      case Kind::extreme: return pass_through_extreme(id, node, gradient);
      default: return;
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
        if (detail::local_mentions(node.op, by, k)) in[k] = terms_.operands[node.begin + k];
      const Id result = detail::local_mentions_result(node.op, by) ? id : none;
      contribute(to, {1, add(Kind::local, {in[0], in[1], in[2], result, gradient}, node.op, by), none});
    }
  }

  void pass_through_extreme(Id id, const Node& node, Id gradient) {
    for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k) {
      const Id operand = terms_.operands[k];
      const Id share = add(Kind::share, {gradient, id, operand}, node.op);
      if (is_wanted(operand)) contribute(operand, {1, share, none});
    }
  }

  struct Scaled {
    Id gradient;
    double factor;
    bool operator==(const Scaled&) const = default;
  };
  struct HashOfScaled {
    std::size_t operator()(const Scaled& one) const {
      return std::hash<double>()(one.factor) ^ static_cast<std::size_t>(one.gradient * 0x9e3779b97f4a7c15u);
    }
  };

  Terms& terms_;
  Id end_;
  std::vector<std::uint32_t> first_;  // for each node: its first contribution, or none
  std::vector<bool> has_rows_;        // whether varying nodes use it
  std::vector<Contribution> contributions_;
  std::unordered_map<Scaled, Id, HashOfScaled> scaled_;
};

}  // namespace

void differentiate(Terms& terms) { Differentiator(terms).run(); }

}  // namespace gradwalk::compiler
