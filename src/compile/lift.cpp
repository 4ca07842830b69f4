// SPDX-License-Identifier: MIT
// lift: what a program unrolled by running it is put side by side again. A node joins the earliest group of nodes that
// do the same and come after all it needs; sums of weights times the same inputs become a layer.
#include <algorithm>
#include <unordered_map>

#include "passes.hpp"

namespace gradwalk::compiler {
namespace {

constexpr std::uint32_t long_sum = 24;  // products; from here on sums of different lengths share a group

class Lifter {
 public:
  explicit Lifter(const Terms& terms) : terms_(terms), group_of_(terms.nodes.size(), 0) {}

  Groups run() {
    for (Id id = terms_.first_computed(); id < terms_.nodes.size(); ++id) join(id);
    return std::move(groups_);
  }

 private:
  // Numbered from 1; 0 is there before the first.
  void meet(Id operand, std::uint32_t& after) const {
    if (operand != none) after = std::max(after, group_of_[operand]);
  }

  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
    hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
  }

  bool is_weighted(const Product& product) const {
    return product.b != none && terms_.nodes[product.b].domain == Domain::varying &&
           (product.a == none || terms_.nodes[product.a].domain == Domain::uniform);
  }
  // So many weighted inputs, and perhaps one uniform number after them.
  bool is_layer(const Node& node, std::span<const Product> products) const {
    if (node.domain != Domain::varying || products.size() < 2) return false;
    const Product& last = products.back();
    const bool has_bias = last.b == none && last.a != none && terms_.nodes[last.a].domain == Domain::uniform;
    const std::size_t weighted = products.size() - (has_bias ? 1 : 0);
    return weighted >= 2 && std::all_of(products.begin(), products.begin() + static_cast<std::ptrdiff_t>(weighted),
                                        [&](const Product& one) { return is_weighted(one); });
  }

  void join(Id id) {
    const Node& node = terms_.nodes[id];
    Group like{Group::Form::function, node.op, node.domain, node.count, {}};
    std::uint64_t key = mixed(static_cast<std::uint64_t>(node.domain), static_cast<std::uint64_t>(node.op));
    std::uint32_t after = 0;
    if (node.kind == Kind::sum) {
      const auto products = std::span(terms_.products).subspan(node.begin, node.count);
      for (const Product& product : products) {
        meet(product.a, after);
        meet(product.b, after);
      }
      if (is_layer(node, products)) {
        like.form = Group::Form::layer;
        key = mixed(key, 1);
        std::uint32_t depth = 0;
        for (const Product& product : products)
          if (product.b != none) {
            key = mixed(key, product.b);
            ++depth;
          }
        key = mixed(key, node.count - depth);  // with a bias, or without
        like.count = depth;
      } else {
        like.form = Group::Form::sum;
        key = mixed(key, 2);
        const bool is_long = node.count >= long_sum;
        key = mixed(key, is_long ? 0 : node.count);
        if (is_long) {
          // Of one kind if all their products are: only then can they share a loop over the products.
          bool pairs = true, singles = true;
          for (const Product& product : products) (product.b == none ? pairs : singles) = false;
          key = mixed(key, (pairs ? 1 : 0) + (singles ? 2 : 0));
        } else {
          for (const Product& product : products) key = mixed(key, kind_of(product.a) * 4 + kind_of(product.b));
        }
      }
    } else {
      like.form = node.kind == Kind::extreme ? Group::Form::extreme : Group::Form::function;
      for (std::uint32_t i = 0; i < node.count; ++i) {
        const Id operand = terms_.operands[node.begin + i];
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
  std::vector<std::uint32_t> group_of_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_key_;
  Groups groups_;
};

}  // namespace

Groups lift(const Terms& terms) { return Lifter(terms).run(); }

}  // namespace gradwalk::compiler
