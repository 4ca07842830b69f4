// SPDX-License-Identifier: MIT
// linearize: the derivatives of a program without inputs, as a program that is linear in its inputs, the seeds.
//
// Every node is a sum of its operands times local derivatives, to first order. The local derivatives are uniform: they
// are computed once. Tangents (forward mode) and gradients (reverse mode) are sums of local derivatives times varying
// numbers, and each row is another direction. So SIMD vectors run across directions.
//
// Work that is the same for all directions is done once: sums with one user become a part of that user's sum, the
// weights of each seed are added up, and values that no derivative needs are not computed.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <unordered_map>

#include "engine/rule_facts.hpp"
#include "jacobian.hpp"
#include "rule_operands.hpp"

namespace gradwalk::compiler {
namespace {

// The product of factors in this range is exact up to rounding, in either precision.
bool is_in_range(double factor) { return std::abs(factor) >= 0x1p-100 && std::abs(factor) <= 0x1p100; }

class Linearizer {
 public:
  Linearizer(const Terms& terms, Sweep sweep) : sweep_(sweep) {
    seeds_ = sweep == Sweep::forward ? terms.parameters : terms.outputs.size();
    insert_seeds(terms);
    end_ = terms_.backward = static_cast<Id>(terms_.nodes.size());
    derivatives_.resize(end_);
    uses_.resize(end_);
  }

  Linearized run() {
    find_active();
    if (sweep_ == Sweep::forward)
      sweep_forward();
    else
      sweep_in_reverse();
    drop_unused_nodes();
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
    terms_.nodes.insert(terms_.nodes.end(), seeds_, {Kind::input, Op::leaf, Rate::varying, 0, 0, 0, none, 0});
    terms_.nodes.insert(terms_.nodes.end(), terms.nodes.begin() + first, terms.nodes.begin() + computed);
    terms_.nodes.push_back({Kind::constant, Op::leaf, Rate::constant, 0, 0, 0, none, 1});
    terms_.nodes.insert(terms_.nodes.end(), terms.nodes.begin() + computed, forward);
    for (const Id id : terms.operands) terms_.operands.push_back(moved(id));
    for (const Product& product : terms.products)
      terms_.products.push_back({product.factor, moved(product.a), moved(product.b)});
    for (const Id id : terms.outputs) outputs_.push_back(moved(id));
  }

  Id seed(std::size_t i) const { return static_cast<Id>(terms_.parameters + i); }

  Id add(const Node& node) {
    append(terms_.nodes, node);
    return static_cast<Id>(terms_.nodes.size() - 1);
  }
  Id add(Kind kind, std::initializer_list<Id> operands, Op op, std::uint8_t by) {
    const auto begin = static_cast<std::uint32_t>(terms_.operands.size());
    terms_.operands.insert(terms_.operands.end(), operands);
    return add({kind, op, Rate::uniform, by, begin, static_cast<std::uint32_t>(operands.size()), none, 0});
  }

  // ---- edges ----

  // One term of the total differential of a node: factor * weight * (the differential of an operand).
  struct Edge {
    Id operand;
    double factor;
    Id weight = none;            // a node; none for 1, or for a local derivative
    std::uint32_t local = none;  // the operand of a function to differentiate by, or of an extreme
  };

  // Active nodes depend on a parameter, and not only through conditions and the like, which pass on no derivative.
  void find_active() {
    is_active_.assign(end_, false);
    std::fill_n(is_active_.begin(), terms_.parameters, true);
    for (Id id = terms_.first_computed(); id < end_; ++id) is_active_[id] = !edges(id).empty();
  }
  bool is_active(Id id) const { return id != none && is_active_[id]; }

  // The terms with active operands.
  std::span<const Edge> edges(Id id) {
    edges_.clear();
    const Node& node = terms_.nodes[id];
    for (std::uint32_t k = 0; k < node.count; ++k) {
      if (node.kind == Kind::sum) {
        add_edges(terms_.products[node.begin + k]);
      } else if (const Id operand = terms_.operands[node.begin + k];
                 is_active(operand) && (node.kind == Kind::extreme || detail::passes_on(node.op, k))) {
        edges_.push_back({operand, 1, none, k});
      }
    }
    drop_zeros();
    return edges_;
  }
  void add_edges(const Product& product) {
    if (product.a == product.b && is_active(product.a)) {
      edges_.push_back({product.a, 2 * product.factor, product.a});
      return;
    }
    if (is_active(product.a)) edges_.push_back({product.a, product.factor, product.b});
    if (is_active(product.b)) edges_.push_back({product.b, product.factor, product.a});
  }
  // A factor of 0 passes nothing on, unless it meets an infinite derivative. Then another edge of the node meets it,
  // too, and the result is not finite. So one edge has to remain.
  void drop_zeros() {
    const auto is_zero = [](const Edge& edge) { return edge.factor == 0; };
    const auto zeros = static_cast<std::size_t>(std::count_if(edges_.begin(), edges_.end(), is_zero));
    if (zeros == 0 || zeros == edges_.size()) return;
    std::erase_if(edges_, is_zero);
    made_.has_dropped_zeros = true;
  }

  // The node of an edge's weight, or none for 1.
  Id weight_of(Id id, const Edge& edge) {
    if (edge.local == none) return edge.weight;
    const Node node = terms_.nodes[id];
    if (node.kind == Kind::extreme) return shares_of(id) + edge.local;
    const auto by = static_cast<std::uint8_t>(edge.local);
    std::array<Id, 3> in{none, none, none};
    for (std::uint32_t k = 0; k < node.count; ++k)
      if (detail::local_mentions(node.op, by, k)) in[k] = terms_.operands[node.begin + k];
    const Id result = detail::local_mentions_result(node.op, by) ? id : none;
    return add(Kind::local, {in[0], in[1], in[2], result, one_}, node.op, by);
  }
  // The first share of an extreme. The shares of all its operands follow one another.
  Id shares_of(Id extreme) {
    const auto [first, is_new] = shares_.try_emplace(extreme, static_cast<Id>(terms_.nodes.size()));
    const Node node = terms_.nodes[extreme];
    for (std::uint32_t k = node.begin; is_new && k < node.begin + node.count; ++k)
      add(Kind::share, {one_, extreme, terms_.operands[k]}, node.op, 0);
    return first->second;
  }

  // ---- sums of derivatives ----

  // The tangent or gradient of a node: a node, or products whose sum has not been made a node.
  struct Derivative {
    Id node = none;
    std::uint32_t begin = 0, count = 0;  // in products_
  };
  std::span<const Product> products_of(const Derivative& derivative) const {
    return std::span(products_).subspan(derivative.begin, derivative.count);
  }

  // A sum with one user becomes a part of that user's sum. A single product becomes a part of any sum.
  void set_derivative(Id id, std::span<const Product> sum) {
    derivatives_[id] = {none, static_cast<std::uint32_t>(products_.size()), static_cast<std::uint32_t>(sum.size())};
    products_.insert(products_.end(), sum.begin(), sum.end());
    if (sum.size() > 1 && uses_[id] > 1) node_of(id);
  }
  // The node of a derivative; none for a derivative that is 0.
  Id node_of(Id id) {
    Derivative& derivative = derivatives_[id];
    if (derivative.node == none && derivative.count > 0) derivative.node = sum_of(products_of(derivative));
    return derivative.node;
  }

  // Calls visit(product) for products whose sum is factor * weight * (the derivative of the node).
  template <class Visit> void each_multiple(Id id, double factor, Id weight, Visit visit) {
    const auto can_be_multiplied = [&](const Product& product) {
      return (weight == none || product.b == none) && is_in_range(product.factor * factor);
    };
    const auto products = products_of(derivatives_[id]);
    if (derivatives_[id].node != none || !std::all_of(products.begin(), products.end(), can_be_multiplied)) {
      visit({factor, node_of(id), weight});
      return;
    }
    for (const Product& product : products)
      visit({factor * product.factor, product.a, weight == none ? product.b : weight});
  }

  // The node that is the sum of these products.
  Id sum_of(std::span<const Product> products) {
    terms_of_sum_.assign(products.begin(), products.end());
    add_up_seeds(terms_of_sum_);
    const Product& first = terms_of_sum_.front();
    if (terms_of_sum_.size() == 1 && first.factor == 1 && first.b == none) return first.a;
    return add_sum(terms_of_sum_, Rate::varying);
  }
  // Products of two come before single terms.
  Id add_sum(std::span<const Product> products, Rate rate) {
    const auto begin = static_cast<std::uint32_t>(terms_.products.size());
    for (const bool is_pair : {true, false})
      for (const Product& product : products)
        if ((product.b != none) == is_pair) terms_.products.push_back(product);
    return add({Kind::sum, Op::leaf, rate, 0, begin, static_cast<std::uint32_t>(products.size()), none, 0});
  }

  // Adds up the weights of a seed that occurs several times. This takes place once per run, and not once per direction.
  // A seed is 0 or 1, so the result is the same.
  void add_up_seeds(std::vector<Product>& sum) {
    const auto has_seed = [&](const Product& one) {
      return one.a >= terms_.parameters && one.a - terms_.parameters < seeds_ && one.b != none;
    };
    order_.clear();
    for (std::uint32_t i = 0; i < sum.size(); ++i)
      if (has_seed(sum[i])) order_.emplace_back(sum[i].a, i);
    std::sort(order_.begin(), order_.end());
    const auto is_same = [](const auto& x, const auto& y) { return x.first == y.first; };
    if (std::adjacent_find(order_.begin(), order_.end(), is_same) == order_.end()) return;
    added_up_.clear();
    for (auto one = order_.begin(); one != order_.end();) {
      const Product& first = sum[one->second];
      weights_.clear();
      for (; one != order_.end() && one->first == first.a; ++one)
        weights_.push_back({sum[one->second].factor, sum[one->second].b, none});
      added_up_.push_back(weights_.size() == 1 ? first : Product{1, first.a, sum_of_weights()});
    }
    std::copy_if(sum.begin(), sum.end(), std::back_inserter(added_up_), std::not_fn(has_seed));
    sum.swap(added_up_);
  }
  // The node of the sum of weights_. Equal sums are one node.
  Id sum_of_weights() {
    std::uint64_t hash = weights_.size();
    for (const Product& weight : weights_)
      hash = (std::rotl(hash, 23) ^ weight.a ^ std::bit_cast<std::uint64_t>(weight.factor)) * 0x9e3779b97f4a7c15u;
    const auto [first, last] = sums_of_weights_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
      const Node& sum = terms_.nodes[known->second];
      if (std::ranges::equal(std::span(terms_.products).subspan(sum.begin, sum.count), weights_)) return known->second;
    }
    return sums_of_weights_.emplace(hash, add_sum(weights_, Rate::uniform))->second;
  }

  // ---- sweeps ----

  // Only nodes that reach an output by edges get a tangent.
  void sweep_forward() {
    std::vector<bool> is_wanted(end_);
    for (const Id output : outputs_) {
      is_wanted[output] = true;
      uses_[output] += 2;  // never a part of another sum
    }
    for (Id id = end_; id-- > terms_.first_computed();) {
      if (!is_wanted[id]) continue;
      for (const Edge& edge : edges(id)) {
        is_wanted[edge.operand] = true;
        ++uses_[edge.operand];
      }
    }
    for (std::size_t i = 0; i < terms_.parameters; ++i) derivatives_[i].node = seed(i);
    std::vector<Product> sum;
    for (Id id = terms_.first_computed(); id < end_; ++id) {
      if (!is_wanted[id] || !is_active(id)) continue;
      sum.clear();
      for (const Edge& edge : edges(id))
        each_multiple(edge.operand, edge.factor, weight_of(id, edge), [&](const Product& one) { sum.push_back(one); });
      set_derivative(id, sum);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      add_result(i, is_active(outputs_[i]) ? node_of(outputs_[i]) : none);
  }

  // The contributions to each node are a list; the one that was added last comes first.
  void sweep_in_reverse() {
    first_.assign(end_, none);
    for (std::size_t i = outputs_.size(); i-- > 0;)
      if (is_active(outputs_[i])) contribute(outputs_[i], {1, seed(i), none});
    std::vector<Product> sum;
    for (Id id = end_; id-- > 0;) {
      if (first_[id] == none) continue;
      sum.clear();
      for (std::uint32_t i = first_[id]; i != none; i = contributions_[i].next)
        sum.push_back(contributions_[i].product);
      const auto all = id < terms_.parameters ? std::span<const Edge>() : edges(id);
      uses_[id] = static_cast<std::uint32_t>(all.size());
      set_derivative(id, sum);
      for (std::size_t k = all.size(); k-- > 0;) {
        const auto pass_on = [&](const Product& product) { contribute(all[k].operand, product); };
        each_multiple(id, all[k].factor, weight_of(id, all[k]), pass_on);
      }
    }
    for (Id i = 0; i < terms_.parameters; ++i) add_result(i, node_of(i));
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

  // ---- what the results need ----

  // Values that occur in no derivative are not computed, nor shares of weights that were not used.
  void drop_unused_nodes() {
    std::vector<bool> is_used(terms_.nodes.size());
    std::fill_n(is_used.begin(), terms_.first_computed(), true);
    for (const Id output : terms_.outputs) is_used[output] = true;
    for (auto id = static_cast<Id>(terms_.nodes.size()); id-- > terms_.first_computed();)
      if (is_used[id]) each_operand(terms_.nodes[id], [&](Id& operand) { is_used[operand] = true; });
    for (const auto& [extreme, first] : shares_) {
      const auto shares = is_used.begin() + first;
      const std::uint32_t count = terms_.nodes[extreme].count;  // All of them are computed together.
      if (std::find(shares, shares + count, true) != shares + count) std::fill_n(shares, count, true);
    }
    std::vector<Id> moved(terms_.nodes.size(), none);
    Id count = 0;
    for (Id id = 0; id < terms_.nodes.size(); ++id) {
      if (id == end_) terms_.backward = count;
      if (!is_used[id]) continue;
      each_operand(terms_.nodes[id], [&](Id& operand) { operand = moved[operand]; });
      moved[id] = count;
      terms_.nodes[count++] = terms_.nodes[id];
    }
    if (end_ == terms_.nodes.size()) terms_.backward = count;
    terms_.nodes.resize(count);
    for (Id& output : terms_.outputs) output = moved[output];
  }
  template <class Visit> void each_operand(const Node& node, Visit visit) {
    const auto visit_id = [&](Id& id) {
      if (id != none) visit(id);
    };
    for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k) {
      if (node.has_products())
        visit_id(terms_.products[k].a), visit_id(terms_.products[k].b);
      else
        visit_id(terms_.operands[k]);
    }
  }

  Sweep sweep_;
  std::size_t seeds_;
  Id one_ = none, end_ = none;  // the constant 1; the first node that is added
  Terms terms_;
  std::vector<Id> outputs_;  // of the program that is linearized
  std::vector<bool> is_active_;
  std::vector<Derivative> derivatives_;  // of each node
  std::vector<std::uint32_t> uses_;      // for each node: the edges that read its derivative
  std::vector<Product> products_;        // of the derivatives
  std::vector<Edge> edges_;
  std::vector<Product> terms_of_sum_, added_up_, weights_;
  std::vector<std::pair<Id, std::uint32_t>> order_;  // of a sum's seeds
  std::unordered_multimap<std::uint64_t, Id> sums_of_weights_;
  std::unordered_map<Id, Id> shares_;  // the first share of each extreme
  std::vector<Contribution> contributions_;
  std::vector<std::uint32_t> first_;
  Linearized made_;
};

}  // namespace

Linearized linearize(const Terms& terms, Sweep sweep) { return Linearizer(terms, sweep).run(); }

}  // namespace gradwalk::compiler
