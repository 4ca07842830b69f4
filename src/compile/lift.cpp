// SPDX-License-Identifier: MIT
// lift: what a program unrolled by running it is put side by side again. Nodes that do the same join a group
// (join.hpp); sums of weights times the same inputs become a layer, and where the same weights meet other inputs, as at
// each place of a text or picture, another copy of it.
//
// Nodes are taken by how many layers lie below them. So all that could be copies of one layer are met together, however
// much else was recorded between them.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "join.hpp"
#include "number_map.hpp"
#include "passes.hpp"

namespace gradwalk::compiler {
namespace {

class Lifter {
 public:
  Lifter(const Terms& terms, Groups& groups, std::uint64_t hash_mask)
      : terms_(terms), groups_(groups), hash_mask_(hash_mask), joiner_(terms, groups, hash_mask) {}

  void run() {
    if (terms_.inputs == 0) {  // no layers
      joiner_.join_by_levels(terms_.first_computed(), terms_.end_of_forward());
    } else {
      count_layers_below();
      for (const Level& level : levels()) {
        if (!level.layers.empty()) join_layers(level.layers);
        for (const Id id : level.others) joiner_.join(id);
      }
    }
    groups_.forward = groups_.groups.size();
  }

  // Nodes of the forward pass come before all of these.
  void run_backward() {
    if (terms_.inputs == 0)
      return joiner_.join_by_levels(terms_.end_of_forward(), static_cast<Id>(terms_.nodes.size()));
    auto transposed = groups_.transposed_layers.begin();
    for (Id id = terms_.end_of_forward(); id < terms_.nodes.size(); ++id) {
      switch (terms_.nodes[id].kind) {
        case Kind::seed:
        case Kind::zero:
        case Kind::row_gradient: break;
        case Kind::transposed:
          if (!joiner_.is_in_group(id)) add_transposed(std::move(*transposed++));
          break;
        default: joiner_.join(id);
      }
    }
    groups_.transposed_layers.clear();
  }

 private:
  void add_transposed(Group&& layer) {
    const auto index = static_cast<std::uint32_t>(groups_.groups.size());
    groups_.groups.push_back(std::move(layer));
    for (const Id id : groups_.groups.back().members) joiner_.put_in(index, id);
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
    const auto all = terms_.products_of(id);
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
      terms_.each_operand(id, [&](Id operand) { most = std::max(most, layers_below_[operand]); });
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
    const auto all = terms_.products_of(id);
    return all.first(all.size() - (has_bias(all) ? 1 : 0));
  }
  bool have_same_weights(Id x, Id y) const {
    return terms_.products_of(x).size() == terms_.products_of(y).size() &&
           std::ranges::equal(weighted(x), weighted(y),
                              [](const Product& p, const Product& q) { return p.a == q.a && p.factor == q.factor; });
  }
  // A layer's members also agree on whether they have a bias, and on whether their weights are constants.
  bool have_same_inputs(Id x, Id y) const {
    return terms_.products_of(x).size() == terms_.products_of(y).size() &&
           (terms_.products_of(x)[0].a == none) == (terms_.products_of(y)[0].a == none) &&
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
      std::uint64_t weights =
          mixed(mixed(depth, terms_.products_of(id).size()), inputs_and_weights[0].a == none ? 1 : 0);
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
      for (const Id id : rows[i].members) joiner_.put_in(layer[i], id);
    }
  }

  const Terms& terms_;
  Groups& groups_;
  std::uint64_t hash_mask_;
  Joiner joiner_;
  std::vector<bool> is_layer_;
  std::vector<std::uint32_t> layers_below_;
};

}  // namespace

Groups lift(const Terms& terms, std::uint64_t hash_mask) {
  Groups groups;
  Lifter(terms, groups, hash_mask).run();
  return groups;
}

void lift_backward(const Terms& terms, Groups& groups, std::uint64_t hash_mask) {
  Lifter(terms, groups, hash_mask).run_backward();
}

}  // namespace gradwalk::compiler
