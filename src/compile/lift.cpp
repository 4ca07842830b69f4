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
  explicit Lifter(const Terms& terms) : terms_(terms), group_of_(terms.nodes.size(), 0) {}

  Groups run() {
    if (terms_.inputs == 0) {  // no layers
      for (Id id = terms_.first_computed(); id < terms_.nodes.size(); ++id) join(id);
      return std::move(groups_);
    }
    count_layers_below();
    for (const Level& level : levels()) {
      if (!level.layers.empty()) join_layers(level.layers);
      for (const Id id : level.others) join(id);
    }
    return std::move(groups_);
  }

 private:
  std::span<const Product> products(Id id) const {
    return std::span(terms_.products).subspan(terms_.nodes[id].begin, terms_.nodes[id].count);
  }
  std::span<const Id> operands(Id id) const {
    return std::span(terms_.operands).subspan(terms_.nodes[id].begin, terms_.nodes[id].count);
  }

  // ---- layers ----

  bool is_weighted(const Product& product) const {
    return product.b != none && terms_.nodes[product.b].domain == Domain::varying &&
           (product.a == none || terms_.nodes[product.a].domain == Domain::uniform);
  }
  // One uniform number after the weighted inputs.
  bool has_bias(std::span<const Product> products) const {
    const Product& last = products.back();
    return last.b == none && last.a != none && terms_.nodes[last.a].domain == Domain::uniform;
  }
  bool is_layer(Id id) const {
    const Node& node = terms_.nodes[id];
    if (node.kind != Kind::sum || node.domain != Domain::varying || node.count < 2) return false;
    const auto all = products(id);
    const auto weighted = all.first(all.size() - (has_bias(all) ? 1 : 0));
    return weighted.size() >= 2 &&
           std::all_of(weighted.begin(), weighted.end(), [&](const Product& one) { return is_weighted(one); });
  }

  // On the longest way down from each node, itself included.
  void count_layers_below() {
    is_layer_.resize(terms_.nodes.size());
    layers_below_.resize(terms_.nodes.size());
    for (Id id = terms_.first_computed(); id < terms_.nodes.size(); ++id) {
      const Node& node = terms_.nodes[id];
      if (node.domain != Domain::varying) continue;
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
    for (Id id = terms_.first_computed(); id < terms_.nodes.size(); ++id)
      (is_layer_[id] ? all[layers_below_[id]].layers : all[layers_below_[id]].others).push_back(id);
    return all;
  }

  // Nodes with the same weights, and what tells whether others are to be done on the same inputs.
  struct Row {
    std::uint64_t inputs = 0;
    std::uint32_t depth = 0;
    std::vector<Id> members;  // a copy each
  };

  // Rows whose copies have the same inputs, one by one, are a layer. Where that would make more layers than there are
  // lists of inputs, each list is a layer by itself.
  void join_layers(std::span<const Id> nodes) {
    std::vector<Row> rows, singles;
    std::unordered_map<std::uint64_t, std::size_t> row_of, lists, layers;
    for (const Id id : nodes) {
      const auto all = products(id);
      const auto depth = static_cast<std::uint32_t>(all.size() - (has_bias(all) ? 1 : 0));
      std::uint64_t weights = mixed(mixed(depth, all.size()), all[0].a == none ? 1 : 0), inputs = weights;
      for (const Product& product : all.first(depth)) {
        weights = mixed(mixed(weights, product.a), std::bit_cast<std::uint64_t>(product.factor));
        inputs = mixed(inputs, product.b);
      }
      singles.push_back({inputs, depth, {id}});
      lists.emplace(inputs, 0);
      const auto [row, is_new] = row_of.try_emplace(weights, rows.size());
      if (is_new) rows.push_back({0, depth, {}});
      rows[row->second].members.push_back(id);
      rows[row->second].inputs = mixed(rows[row->second].inputs, inputs);
    }
    for (const Row& row : rows) layers.emplace(row.inputs, 0);
    add_layers(layers.size() > lists.size() ? singles : rows);
  }

  void add_layers(const std::vector<Row>& rows) {
    std::unordered_map<std::uint64_t, std::uint32_t> groups;
    for (const Row& row : rows) {
      const auto [group, is_new] = groups.try_emplace(row.inputs, static_cast<std::uint32_t>(groups_.groups.size()));
      if (is_new) {
        const auto copies = static_cast<std::uint32_t>(row.members.size());
        groups_.groups.push_back({Group::Form::layer, Op::leaf, Domain::varying, row.depth, copies, {}});
      }
      std::vector<Id>& members = groups_.groups[group->second].members;
      members.insert(members.end(), row.members.begin(), row.members.end());
      for (const Id id : row.members) group_of_[id] = group->second + 1;
    }
  }

  // ---- the others ----

  // Numbered from 1; 0 is there before the first.
  void meet(Id operand, std::uint32_t& after) const {
    if (operand != none) after = std::max(after, group_of_[operand]);
  }

  void join(Id id) {
    const Node& node = terms_.nodes[id];
    Group like{Group::Form::function, node.op, node.domain, node.count, 1, {}};
    std::uint64_t key = mixed(static_cast<std::uint64_t>(node.domain), static_cast<std::uint64_t>(node.op));
    std::uint32_t after = 0;
    if (node.kind == Kind::sum) {
      const auto all = products(id);
      for (const Product& product : all) {
        meet(product.a, after);
        meet(product.b, after);
      }
      like.form = Group::Form::sum;
      key = mixed(key, 2);
      const bool is_long = node.count >= long_sum;
      key = mixed(key, is_long ? 0 : node.count);
      if (is_long) {
        // Of one kind if all their products are: only then can they share a loop over the products.
        bool pairs = true, singles = true;
        for (const Product& product : all) (product.b == none ? pairs : singles) = false;
        key = mixed(key, (pairs ? 1 : 0) + (singles ? 2 : 0));
      } else {
        for (const Product& product : all) key = mixed(key, kind_of(product.a) * 4 + kind_of(product.b));
      }
    } else {
      like.form = node.kind == Kind::extreme ? Group::Form::extreme : Group::Form::function;
      for (const Id operand : operands(id)) {
        meet(operand, after);
        if (node.kind == Kind::function) key = mixed(key, kind_of(operand));
      }
      key = mixed(key, node.kind == Kind::extreme ? 3 : 4);
    }
    group_of_[id] = place(key, after, like);
    groups_.groups[group_of_[id] - 1].members.push_back(id);
  }

  std::uint64_t kind_of(Id id) const { return id == none ? 3 : static_cast<std::uint64_t>(terms_.nodes[id].domain); }

  // The first group with this key after the one given, or a new one.
  std::uint32_t place(std::uint64_t key, std::uint32_t after, const Group& like) {
    std::vector<std::uint32_t>& same = by_key_[key];
    const auto found = std::upper_bound(same.begin(), same.end(), after);
    if (found != same.end()) return *found;
    groups_.groups.push_back(like);
    same.push_back(static_cast<std::uint32_t>(groups_.groups.size()));
    return same.back();
  }

  const Terms& terms_;
  std::vector<bool> is_layer_;
  std::vector<std::uint32_t> layers_below_;
  std::vector<std::uint32_t> group_of_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_key_;
  Groups groups_;
};

}  // namespace

Groups lift(const Terms& terms) { return Lifter(terms).run(); }

}  // namespace gradwalk::compiler
