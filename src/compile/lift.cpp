// SPDX-License-Identifier: MIT
// lift: what a program unrolled by running it is put side by side again. A node joins the earliest group of nodes that
// do the same and come after all it needs; sums of weights times the same inputs become a layer, and where the same
// weights meet other inputs, as at each place of a text or picture, another copy of it.
//
// Nodes are taken by how many layers lie below them. So all that could be copies of one layer are met together, however
// much else was recorded between them.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "number_map.hpp"
#include "passes.hpp"

namespace gradwalk::compiler {
namespace {

constexpr std::uint32_t long_sum = 24;  // products; from here on sums of different lengths share a group

// Most of what is mixed are small numbers: they must not cancel each other, nor one stand for two.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
  hash = (std::rotl(hash, 23) ^ (more + 0x632be59bd9b4e019u)) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

class Lifter {
 public:
  Lifter(const Terms& terms, std::uint64_t hash_mask)
      : terms_(terms), hash_mask_(hash_mask), group_of_(terms.nodes.size(), 0) {}

  Groups run() {
    join_forward();
    groups_.forward = groups_.groups.size();
    return std::move(groups_);
  }

  // Nodes of the forward pass come before all of these.
  void run_backward(Groups& groups) {
    groups_ = std::move(groups);
    for (std::uint32_t g = 0; g < groups_.groups.size(); ++g)
      if (groups_.groups[g].form == Group::Form::extreme)
        for (const Id id : groups_.groups[g].members) group_of_extreme_[id] = g;
    auto transposed = groups_.transposed_layers.begin();
    for (Id id = terms_.end_of_forward(); id < terms_.nodes.size(); ++id) {
      switch (terms_.nodes[id].kind) {
        case Kind::seed:
        case Kind::zero:
        case Kind::row_gradient: break;
        case Kind::transposed:
          if (group_of_[id] == 0) add_transposed(std::move(*transposed++));
          break;
        default: join(id);
      }
    }
    groups_.transposed_layers.clear();
    groups = std::move(groups_);
  }

 private:
  void join_forward() {
    if (terms_.inputs == 0) {  // no layers
      for (Id id = terms_.first_computed(); id < terms_.end_of_forward(); ++id) join(id);
    } else {
      count_layers_below();
      for (const Level& level : levels()) {
        if (!level.layers.empty()) join_layers(level.layers);
        for (const Id id : level.others) join(id);
      }
    }
  }

  void add_transposed(Group&& layer) {
    groups_.groups.push_back(std::move(layer));
    for (const Id id : groups_.groups.back().members) group_of_[id] = static_cast<std::uint32_t>(groups_.groups.size());
  }

  std::span<const Product> products(Id id) const {
    return std::span(terms_.products).subspan(terms_.nodes[id].begin, terms_.nodes[id].count);
  }
  std::span<const Id> operands(Id id) const {
    return std::span(terms_.operands).subspan(terms_.nodes[id].begin, terms_.nodes[id].count);
  }

  // ---- layers ----

  bool is_weighted(const Product& product) const {
    return product.b != none && terms_.nodes[product.b].rate == Rate::varying &&
           (product.a == none || terms_.nodes[product.a].rate == Rate::uniform);
  }
  // One uniform number after the weighted inputs.
  bool has_bias(std::span<const Product> products) const {
    const Product& last = products.back();
    return last.b == none && last.a != none && terms_.nodes[last.a].rate == Rate::uniform;
  }
  bool is_layer(Id id) const {
    const Node& node = terms_.nodes[id];
    if (node.kind != Kind::sum || node.rate != Rate::varying || node.count < 2) return false;
    const auto all = products(id);
    const auto weighted = all.first(all.size() - (has_bias(all) ? 1 : 0));
    return weighted.size() >= 2 &&
           std::all_of(weighted.begin(), weighted.end(), [&](const Product& one) { return is_weighted(one); });
  }

  // On the longest way down from each node, itself included.
  void count_layers_below() {
    is_layer_.resize(terms_.nodes.size());
    layers_below_.resize(terms_.nodes.size());
    for (Id id = terms_.first_computed(); id < terms_.end_of_forward(); ++id) {
      const Node& node = terms_.nodes[id];
      if (node.rate != Rate::varying) continue;
      std::uint32_t most = 0;
      const auto meet = [&](Id operand) { most = operand == none ? most : std::max(most, layers_below_[operand]); };
      if (node.kind == Kind::sum) {
        for (const Product& product : products(id)) meet(product.a), meet(product.b);
      } else {
        for (const Id operand : operands(id)) meet(operand);
      }
      is_layer_[id] = is_layer(id);
      layers_below_[id] = most + (is_layer_[id] ? 1 : 0);
    }
  }

  struct Level {
    std::vector<Id> layers, others;
  };
  std::vector<Level> levels() const {
    std::vector<Level> all(1 + *std::max_element(layers_below_.begin(), layers_below_.end()));
    for (Id id = terms_.first_computed(); id < terms_.end_of_forward(); ++id)
      (is_layer_[id] ? all[layers_below_[id]].layers : all[layers_below_[id]].others).push_back(id);
    return all;
  }

  // Nodes with the same weights, one per copy of the layer, and the hash of their inputs.
  struct Row {
    std::uint64_t inputs = 0;
    std::uint32_t depth = 0;
    std::vector<Id> members;
  };

  std::span<const Product> weighted(Id id) const {
    const auto all = products(id);
    return all.first(all.size() - (has_bias(all) ? 1 : 0));
  }
  bool have_same_weights(Id x, Id y) const {
    return products(x).size() == products(y).size() &&
           std::ranges::equal(weighted(x), weighted(y),
                              [](const Product& p, const Product& q) { return p.a == q.a && p.factor == q.factor; });
  }
  // A layer's members also agree on whether they have a bias, and on whether their weights are constants.
  bool have_same_inputs(Id x, Id y) const {
    return products(x).size() == products(y).size() && (products(x)[0].a == none) == (products(y)[0].a == none) &&
           std::ranges::equal(weighted(x), weighted(y), [](const Product& p, const Product& q) { return p.b == q.b; });
  }
  bool have_same_inputs(const Row& x, const Row& y) const {
    return std::ranges::equal(x.members, y.members, [&](Id p, Id q) { return have_same_inputs(p, q); });
  }

  // The entry of the map that `is_same` accepts, looked for from the hash on, or a new one with the number given.
  template <class Number, class IsSame>
  std::pair<Number, bool> find_or_add(std::unordered_map<std::uint64_t, Number>& map, std::uint64_t hash, Number number,
                                      IsSame is_same) const {
    for (hash &= hash_mask_;; ++hash) {
      const auto [entry, is_new] = map.try_emplace(hash, number);
      if (is_new || is_same(entry->second)) return {entry->second, is_new};
    }
  }

  // Rows whose copies have the same inputs, one by one, are a layer. Where that would make more layers than there are
  // lists of inputs, each list is a layer by itself.
  void join_layers(std::span<const Id> nodes) {
    std::vector<Row> rows, singles;
    std::unordered_map<std::uint64_t, std::size_t> row_of;
    for (const Id id : nodes) {
      const auto inputs_and_weights = weighted(id);
      const auto depth = static_cast<std::uint32_t>(inputs_and_weights.size());
      std::uint64_t weights = mixed(mixed(depth, products(id).size()), inputs_and_weights[0].a == none ? 1 : 0);
      std::uint64_t inputs = weights;
      for (const Product& product : inputs_and_weights) {
        weights = mixed(mixed(weights, product.a), std::bit_cast<std::uint64_t>(product.factor));
        inputs = mixed(inputs, product.b);
      }
      singles.push_back({inputs, depth, {id}});
      const auto [row, is_new] = find_or_add(row_of, weights, rows.size(), [&](std::size_t known) {
        return have_same_weights(rows[known].members[0], id);
      });
      if (is_new) rows.push_back({0, depth, {}});
      rows[row].members.push_back(id);
      rows[row].inputs = mixed(rows[row].inputs, inputs);
    }
    const std::vector<std::size_t> layers = with_same_inputs(rows), lists = with_same_inputs(singles);
    const bool by_rows = count_of(layers) <= count_of(lists);
    add_layers(by_rows ? rows : singles, by_rows ? layers : lists);
  }

  // For each row the first one that has the same inputs.
  std::vector<std::size_t> with_same_inputs(const std::vector<Row>& rows) const {
    std::unordered_map<std::uint64_t, std::size_t> known;
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < rows.size(); ++i)
      first.push_back(find_or_add(known, rows[i].inputs, i, [&](std::size_t other) {
                        return have_same_inputs(rows[other], rows[i]);
                      }).first);
    return first;
  }
  static std::size_t count_of(const std::vector<std::size_t>& first) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < first.size(); ++i) count += first[i] == i ? 1 : 0;
    return count;
  }

  // A layer for each row that is the first with its inputs, and in it all rows with the same.
  void add_layers(const std::vector<Row>& rows, const std::vector<std::size_t>& first) {
    std::vector<std::uint32_t> layer(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (first[i] == i) {
        const auto copies = static_cast<std::uint32_t>(rows[i].members.size());
        layer[i] = static_cast<std::uint32_t>(groups_.groups.size());
        groups_.groups.push_back({Group::Form::layer, Op::leaf, Rate::varying, rows[i].depth, copies, {}});
      } else {
        layer[i] = layer[first[i]];
      }
      std::vector<Id>& members = groups_.groups[layer[i]].members;
      members.insert(members.end(), rows[i].members.begin(), rows[i].members.end());
      for (const Id id : rows[i].members) group_of_[id] = layer[i] + 1;
    }
  }

  // ---- the others ----

  // Numbered from 1; 0 is there before the first.
  void meet(Id operand, std::uint32_t& after) const {
    if (operand != none) after = std::max(after, group_of_[operand]);
  }

  void join(Id id) {
    const Node& node = terms_.nodes[id];
    const bool is_for_inputs = terms_.is_for_inputs(id);
    std::uint64_t key = mixed(static_cast<std::uint64_t>(node.kind), static_cast<std::uint64_t>(node.rate));
    key = mixed(mixed(key, static_cast<std::uint64_t>(node.op)), std::uint64_t{node.by} * 2 + (is_for_inputs ? 1 : 0));
    std::uint32_t after = 0;
    if (node.has_products()) {
      const auto all = products(id);
      for (const Product& product : all) {
        meet(product.a, after);
        meet(product.b, after);
      }
      const bool is_long = node.count >= long_sum;
      key = mixed(key, is_long ? 0 : node.count);
      if (is_long) {
        // Of one kind if all their products are: only then can they share a loop over the products.
        key = mixed(key, pairs_and_singles(id));
      } else {
        for (const Product& product : all) key = mixed(key, kind_of(product.a) * 8 + kind_of(product.b));
      }
    } else {
      for (const Id operand : operands(id)) {
        meet(operand, after);
        if (node.kind == Kind::function || node.kind == Kind::local) key = mixed(key, kind_of(operand));
      }
      if (node.kind == Kind::share) {
        const Extreme extreme = extreme_of(id);
        key = mixed(mixed(mixed(key, extreme.group), extreme.count), extreme.kind_of_gradient);
      }
      if (picks(node)) key = mixed(key, terms_.tables[node.target].size());
    }
    group_of_[id] = place(id, key, after);
    groups_.groups[group_of_[id] - 1].members.push_back(id);
  }

  static bool picks(const Node& node) { return node.kind == Kind::pick || node.kind == Kind::scatter; }

  static Group::Form form_of(Kind kind) {
    switch (kind) {
      case Kind::pick: return Group::Form::pick;
      case Kind::scatter: return Group::Form::scatter;
      case Kind::sum: return Group::Form::sum;
      case Kind::row_sum: return Group::Form::row_sum;
      case Kind::extreme: return Group::Form::extreme;
      case Kind::local: return Group::Form::local;
      case Kind::share: return Group::Form::shares;
      default: return Group::Form::function;
    }
  }

  // Shares in extremes of one group, with as many operands and gradients of one kind, are computed together. All those
  // in one extreme join the same group, one after another.
  struct Extreme {
    std::uint32_t group, count;
    std::uint64_t kind_of_gradient;
    bool operator==(const Extreme&) const = default;
  };
  Extreme extreme_of(Id share) const {
    const Id extreme = operands(share)[1];
    return {group_of_extreme_.at(extreme), terms_.nodes[extreme].count, kind_of(operands(share)[0])};
  }

  std::uint64_t kind_of(Id id) const {
    if (id == none) return 3;
    return terms_.nodes[id].kind == Kind::row_gradient ? 4 : static_cast<std::uint64_t>(terms_.nodes[id].rate);
  }

  // Whether two nodes may be members of one group: what the key is a hash of.
  bool are_of_one_kind(Id x, Id y) const {
    const Node &p = terms_.nodes[x], &q = terms_.nodes[y];
    if (p.kind != q.kind || p.op != q.op || p.rate != q.rate || p.by != q.by ||
        terms_.is_for_inputs(x) != terms_.is_for_inputs(y))
      return false;
    if (p.kind == Kind::extreme) return true;
    if (p.kind == Kind::share) return extreme_of(x) == extreme_of(y);
    if (picks(p) && terms_.tables[p.target].size() != terms_.tables[q.target].size()) return false;
    if (!p.has_products())
      return std::ranges::equal(operands(x), operands(y), [&](Id a, Id b) { return kind_of(a) == kind_of(b); });
    if (p.count >= long_sum && q.count >= long_sum) return pairs_and_singles(x) == pairs_and_singles(y);
    return std::ranges::equal(products(x), products(y), [&](const Product& a, const Product& b) {
      return kind_of(a.a) == kind_of(b.a) && kind_of(a.b) == kind_of(b.b);
    });
  }

  // 1 for a sum of products of two, 2 for a sum of single terms, 0 for a sum of both.
  std::uint64_t pairs_and_singles(Id id) const {
    bool pairs = true, singles = true;
    for (const Product& product : products(id)) (product.b == none ? pairs : singles) = false;
    return (pairs ? 1 : 0) + (singles ? 2 : 0);
  }

  // The first group of this kind after the one given, or a new one.
  std::uint32_t place(Id id, std::uint64_t key, std::uint32_t after) {
    std::vector<std::uint32_t>& same = groups_of_kind(id, key & hash_mask_);
    const auto found = std::upper_bound(same.begin(), same.end(), after);
    if (found != same.end()) return *found;
    const Node& node = terms_.nodes[id];
    groups_.groups.push_back(
        {form_of(node.kind), node.op, node.rate, node.count, 1, {}, node.by, terms_.is_for_inputs(id)});
    same.push_back(static_cast<std::uint32_t>(groups_.groups.size()));
    return same.back();
  }
  std::vector<std::uint32_t>& groups_of_kind(Id id, std::uint64_t key) {
    for (;; ++key) {
      std::uint32_t& known = kind_of_key_[key];
      if (known == NumberMap::absent) {
        known = static_cast<std::uint32_t>(groups_of_kind_.size());
        return groups_of_kind_.emplace_back();
      }
      std::vector<std::uint32_t>& same = groups_of_kind_[known];
      if (are_of_one_kind(groups_.groups[same.back() - 1].members.back(), id)) return same;
    }
  }

  const Terms& terms_;
  std::uint64_t hash_mask_;
  std::vector<bool> is_layer_;
  std::vector<std::uint32_t> layers_below_;
  std::vector<std::uint32_t> group_of_;
  std::unordered_map<Id, std::uint32_t> group_of_extreme_;
  NumberMap kind_of_key_;                                   // the place in groups_of_kind_
  std::vector<std::vector<std::uint32_t>> groups_of_kind_;  // in ascending order
  Groups groups_;
};

}  // namespace

Groups lift(const Terms& terms, std::uint64_t hash_mask) { return Lifter(terms, hash_mask).run(); }

void lift_backward(const Terms& terms, Groups& groups, std::uint64_t hash_mask) {
  Lifter(terms, hash_mask).run_backward(groups);
}

}  // namespace gradwalk::compiler
