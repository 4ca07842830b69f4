// SPDX-License-Identifier: MIT
// linearize: the derivatives of a program without inputs, as a program that is linear in its inputs, the seeds.
//
// Every node is a sum of its operands times local derivatives, to first order. The local derivatives are uniform: they
// are computed once. Tangents (forward mode) and gradients (reverse mode) are sums of local derivatives times varying
// numbers, and each row is another direction. So SIMD vectors run across directions.
#include <algorithm>

#include "engine/rule_facts.hpp"
#include "jacobian.hpp"
#include "rule_operands.hpp"

namespace gradwalk::compiler {
namespace {

class Linearizer {
 public:
  Linearizer(const Terms& terms, Sweep sweep) : sweep_(sweep) {
    seeds_ = sweep == Sweep::forward ? terms.parameters : terms.outputs.size();
    insert_seeds(terms);
  }

  Linearized run() {
    const auto end = static_cast<Id>(terms_.nodes.size());
    terms_.backward = end;
    derivative_.assign(end, none);
    if (sweep_ == Sweep::forward)
      sweep_forward(end);
    else
      sweep_in_reverse(end);
    made_.terms = std::move(terms_);
    return std::move(made_);
  }

 private:
  // The terms with the seeds as inputs, and with 1 as the last constant.
  void insert_seeds(const Terms& terms) {
    const auto first = static_cast<Id>(terms.parameters), computed = terms.first_computed();
    const auto inputs = static_cast<Id>(seeds_);
    one_ = computed + inputs;
    const auto moved = [=](Id id) { return id == none || id < first ? id : id + inputs + (id < computed ? 0 : 1); };
    terms_.parameters = terms.parameters;
    terms_.inputs = seeds_;
    terms_.constants = terms.constants + 1;
    const auto forward = terms.nodes.begin() + terms.end_of_forward();
    terms_.nodes.assign(terms.nodes.begin(), terms.nodes.begin() + first);
    terms_.nodes.insert(terms_.nodes.end(), seeds_, {Kind::input, Op::leaf, Domain::varying, 0, 0, 0, none, 0});
    terms_.nodes.insert(terms_.nodes.end(), terms.nodes.begin() + first, terms.nodes.begin() + computed);
    terms_.nodes.push_back({Kind::constant, Op::leaf, Domain::constant, 0, 0, 0, none, 1});
    terms_.nodes.insert(terms_.nodes.end(), terms.nodes.begin() + computed, forward);
    for (const Id id : terms.operands) terms_.operands.push_back(moved(id));
    for (const Product& product : terms.products)
      terms_.products.push_back({product.factor, moved(product.a), moved(product.b)});
    for (const Id id : terms.outputs) outputs_.push_back(moved(id));
  }

  Id seed(std::size_t i) const { return static_cast<Id>(terms_.parameters + i); }
  bool depends(Id id) const { return id != none && terms_.nodes[id].domain == Domain::uniform; }

  // ---- edges ----

  // One term of the total differential of a node: factor * weight * (the differential of an operand).
  struct Edge {
    Id operand;
    double factor;
    Id weight;  // a uniform node, or none for 1
  };

  Id add(const Node& node) {
    terms_.nodes.push_back(node);
    return static_cast<Id>(terms_.nodes.size() - 1);
  }
  Id add(Kind kind, std::initializer_list<Id> operands, Op op, std::uint8_t by) {
    const auto begin = static_cast<std::uint32_t>(terms_.operands.size());
    terms_.operands.insert(terms_.operands.end(), operands);
    return add({kind, op, Domain::uniform, by, begin, static_cast<std::uint32_t>(operands.size()), none, 0});
  }

  std::span<const Edge> edges(Id id) {
    edges_.clear();
    const Node node = terms_.nodes[id];
    if (node.kind == Kind::sum) {
      for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k) {
        const Product product = terms_.products[k];
        if (product.a == product.b && depends(product.a)) {
          edges_.push_back({product.a, 2 * product.factor, product.a});
          continue;
        }
        if (depends(product.a)) edges_.push_back({product.a, product.factor, product.b});
        if (depends(product.b)) edges_.push_back({product.b, product.factor, product.a});
      }
    } else if (node.kind == Kind::function) {
      for (std::uint8_t by = 0; by < node.count; ++by) {
        const Id operand = terms_.operands[node.begin + by];
        if (!depends(operand) || !detail::passes_on(node.op, by)) continue;
        std::array<Id, 3> in{none, none, none};
        for (std::uint32_t k = 0; k < node.count; ++k)
          if (detail::local_mentions(node.op, by, k)) in[k] = terms_.operands[node.begin + k];
        const Id result = detail::local_mentions_result(node.op, by) ? id : none;
        edges_.push_back({operand, 1, add(Kind::local, {in[0], in[1], in[2], result, one_}, node.op, by)});
      }
    } else if (node.kind == Kind::extreme) {
      for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k) {
        const Id operand = terms_.operands[k], share = add(Kind::share, {one_, id, operand}, node.op, 0);
        if (depends(operand)) edges_.push_back({operand, 1, share});
      }
    }
    return edges_;
  }

  // ---- sums of derivatives ----

  // The node that is the sum of these products; none if there are none.
  Id sum_of(std::span<const Product> products) {
    if (products.empty()) return none;
    if (products.size() == 1 && products[0].factor == 1 && products[0].b == none) return products[0].a;
    const auto begin = static_cast<std::uint32_t>(terms_.products.size());
    for (const bool is_pair : {true, false})
      for (const Product& product : products)
        if ((product.b != none) == is_pair) terms_.products.push_back(product);
    return add({Kind::sum, Op::leaf, Domain::varying, 0, begin, static_cast<std::uint32_t>(products.size()), none, 0});
  }

  void sweep_forward(Id end) {
    for (std::size_t i = 0; i < terms_.parameters; ++i) derivative_[i] = seed(i);
    for (Id id = terms_.first_computed(); id < end; ++id) {
      if (!depends(id)) continue;
      products_.clear();
      for (const Edge& edge : edges(id))
        if (derivative_[edge.operand] != none)
          products_.push_back({edge.factor, derivative_[edge.operand], edge.weight});
      derivative_[id] = sum_of(products_);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      add_result(i, depends(outputs_[i]) ? derivative_[outputs_[i]] : none);
  }

  // The contributions to each node are a list; the one that was added last comes first.
  void sweep_in_reverse(Id end) {
    first_.assign(end, none);
    for (std::size_t i = outputs_.size(); i-- > 0;)
      if (depends(outputs_[i])) contribute(outputs_[i], {1, seed(i), none});
    for (Id id = end; id-- > 0;) {
      if (!depends(id) || first_[id] == none) continue;
      products_.clear();
      for (std::uint32_t i = first_[id]; i != none; i = contributions_[i].next)
        products_.push_back(contributions_[i].product);
      const Id gradient = derivative_[id] = sum_of(products_);
      if (id < terms_.parameters) continue;
      const auto all = edges(id);
      for (std::size_t k = all.size(); k-- > 0;) contribute(all[k].operand, {all[k].factor, gradient, all[k].weight});
    }
    for (std::size_t i = 0; i < terms_.parameters; ++i) add_result(i, derivative_[i]);
  }

  struct Contribution {
    Product product;
    std::uint32_t next;
  };
  void contribute(Id to, const Product& product) {
    contributions_.push_back({product, first_[to]});
    first_[to] = static_cast<std::uint32_t>(contributions_.size() - 1);
  }

  void add_result(std::size_t number, Id id) {
    if (id == none) return;
    terms_.outputs.push_back(id);
    made_.results.push_back(static_cast<std::uint32_t>(number));
  }

  Sweep sweep_;
  std::size_t seeds_;
  Id one_ = none;
  Terms terms_;
  std::vector<Id> outputs_;     // of the program that is linearized
  std::vector<Id> derivative_;  // the tangent or gradient of each of its nodes, or none
  std::vector<Edge> edges_;
  std::vector<Product> products_;
  std::vector<Contribution> contributions_;
  std::vector<std::uint32_t> first_;
  Linearized made_;
};

}  // namespace

Linearized linearize(const Terms& terms, Sweep sweep) { return Linearizer(terms, sweep).run(); }

}  // namespace gradwalk::compiler
