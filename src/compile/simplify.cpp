// SPDX-License-Identifier: MIT
// simplify: trees of additions, subtractions, negations and products become one sum of products each, and nested maxima
// one extreme. From the outputs down, so that what nobody needs is never met.
#include <algorithm>
#include <cmath>

#include "passes.hpp"

namespace gradwalk::compiler {
namespace {

constexpr bool is_linear(Op op) { return op == Op::add || op == Op::sub || op == Op::neg || op == Op::mul; }
constexpr std::size_t least_extreme = 8;  // operands; fewer stay as they were written

class Simplifier {
 public:
  explicit Simplifier(const Scalars& scalars)
      : scalars_(scalars),
        uses_(scalars.nodes.size()),
        has_factor_(scalars.nodes.size()),
        made_as_(scalars.nodes.size(), none) {
    terms_.parameters = scalars.parameters;
    terms_.inputs = scalars.inputs;
    terms_.tables.resize(scalars.tables.size());
  }

  Terms run() {
    count_uses();
    terms_.nodes.reserve(scalars_.nodes.size());  // Pages that stay unused are never touched.
    terms_.products.reserve(scalars_.nodes.size());
    for (const Id output : scalars_.outputs) need(output);
    const auto leaves = static_cast<Id>(scalars_.parameters + scalars_.inputs);
    for (auto id = static_cast<Id>(scalars_.nodes.size()); id-- > leaves;)
      if (made_as_[id] == needed) make(id);
    return finished();
  }

 private:
  static constexpr Id needed = none - 1;
  // Other marks in made_as_: the place of a constant among the constants, and of another node in stands_for_.
  static constexpr Id constant_mark = 0x80000000, other_mark = 0xc0000000, place_mask = 0x3fffffff;
  struct Part {
    Id id;
    double factor;
    bool alone;  // nobody else needs it, or what led here
  };

  const Scalar& scalar(Id id) const { return scalars_.nodes[id]; }
  bool is_constant(Id id) const { return scalar(id).op == Op::constant; }
  double number(Id id) const { return scalars_.numbers[scalar(id).operands[0]]; }
  // Multiplying by such a factor in another order than the written one loses nothing but rounding: it overflows or
  // underflows only where the written order comes as close to it as this factor. That holds for float32, too.
  static bool is_moderate(double factor) { return std::abs(factor) >= 1.0 / 256 && std::abs(factor) <= 256; }
  // Multiplying by a power of two is exact, so such a factor may be distributed over the terms of a sum. Any other
  // would round each term by itself: (x - 1) * 3e5 would lose the digits that x - 1 has near x = 1.
  static bool is_distributive(double factor) {
    int exponent = 0;
    return std::abs(factor) == 1 || (is_moderate(factor) && std::abs(std::frexp(factor, &exponent)) == 0.5);
  }
  // Whether a constant may be taken out as a factor beside the one that has been taken out before.
  static bool may_join(double with, double factor) {
    if (std::abs(with) == 1) return std::isfinite(factor) && (std::isnormal(factor) || factor == 0);
    return is_moderate(with) && is_moderate(factor) && is_moderate(with * factor);
  }
  bool is_factor(Id id, double with = 1) const { return is_constant(id) && may_join(with, number(id)); }
  bool is_divisor(Id id, double with = 1) const {
    return is_constant(id) && std::isnormal(1 / number(id)) && may_join(with, 1 / number(id));
  }
  Rate rate(Id id) const { return scalar(id).rate; }

  void need(Id id) {
    if (id != none && id < own && made_as_[id] == none) made_as_[id] = needed;
  }

  void count_uses() {
    for (const Id output : scalars_.outputs) uses_[output] += 2;  // never part of another's sum
    for (auto id = static_cast<Id>(scalars_.nodes.size()); id-- > 0;) {
      if (uses_[id] == 0 || is_constant(id)) continue;
      if (scalar(id).op == Op::leaf) continue;
      if (scalar(id).op == Op::pick) {
        ++uses_[scalar(id).operands[0]];
        for (const Id value : scalars_.tables[scalar(id).operands[1]])
          uses_[value] = std::max(uses_[value], 2u);  // never part of another's sum
        continue;
      }
      for (const Id operand : scalar(id).operands)
        if (operand != none) ++uses_[operand];
      has_factor_[id] = may_have_factor(scalar(id));
    }
  }
  bool may_have_factor(const Scalar& node) const {
    if (node.op == Op::mul) return is_constant(node.operands[0]) || is_constant(node.operands[1]);
    return node.op == Op::neg || (node.op == Op::div && is_constant(node.operands[1]));
  }

  // What is a finite constant times something is that something, and a factor. Where several need the product, and
  // nobody else the sum it is of, that sum is not computed for the sake of its factor.
  // Only a few are looked at: in a long chain of such products, each of which somebody needs, every node would walk to
  // the end of the chain.
  Part without_factors(Part part, Id root) const { return has_factor_[part.id] ? factors_taken_out(part, root) : part; }
  Part factors_taken_out(Part part, Id root) const {
    constexpr int few = 8;
    for (int i = 0; i < few && has_factor_[part.id]; ++i) {
      const Part before = part;
      const Scalar& node = scalar(part.id);
      const auto [x, y, z] = node.operands;
      Id next = none;
      if (node.op == Op::neg) {
        part.factor = -part.factor;
        next = x;
      } else if (node.op == Op::mul && is_factor(x, part.factor)) {
        part.factor *= number(x);
        next = y;
      } else if (node.op == Op::mul && is_factor(y, part.factor)) {
        part.factor *= number(y);
        next = x;
      } else if (node.op == Op::div && is_divisor(y, part.factor)) {
        part.factor /= number(y);
        next = x;
      } else {
        return part;
      }
      if (part.id != root && uses_[part.id] > 1 && uses_[next] == 1 && is_linear(scalar(next).op)) return before;
      part.alone = part.alone && (part.id == root || uses_[part.id] == 1);
      part.id = next;
    }
    return part;
  }

  void make(Id id) {
    const Scalar& node = scalar(id);
    if (node.op == Op::constant) {
      made_as_[id] = constant_mark | static_cast<Id>(constants_.size());
      constants_.push_back(id);
    } else if (is_linear(node.op) || (node.op == Op::div && is_divisor(node.operands[1]))) {
      make_sum(id);
    } else if ((node.op == Op::max || node.op == Op::min) && node.rate == Rate::uniform && make_extreme(id)) {
    } else if (node.op == Op::pick) {
      const auto begin = static_cast<std::uint32_t>(terms_.operands.size());
      add_operand(node.operands[0]);
      std::vector<Id>& table = terms_.tables[node.operands[1]];
      if (table.empty()) table = scalars_.tables[node.operands[1]];
      for (const Id value : table) need(value);
      add_node(id, {Kind::pick, node.op, node.rate, 0, begin, 1, node.operands[1], 0});
    } else {
      const auto begin = static_cast<std::uint32_t>(terms_.operands.size());
      for (const Id operand : node.operands)
        if (operand != none) add_operand(operand);
      add_node(id, {Kind::function, node.op, node.rate, 0, begin, size() - begin, none, 0});
    }
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(terms_.operands.size()); }
  void add_operand(Id id) {
    need(id);
    terms_.operands.push_back(id);
  }
  Id add_node(Id id, const Node& node) {
    const auto place = static_cast<Id>(terms_.nodes.size());
    if (id != none) made_as_[id] = place;
    append(terms_.nodes, node);
    return own + place;
  }

  void make_sum(Id root) {
    const Rate of_root = scalar(root).rate;
    if (const Id left = long_left(root); left != none) {
      const Part right = without_factors({scalar(root).operands[1], -1, true}, root);
      found_.assign({{1, own + static_cast<Id>(terms_.nodes.size()) + 1, none}, {right.factor, right.id, none}});
      add_sum(root, of_root, 0, found_);
      const double start = expand(left, of_root);
      add_flat(none, of_root, start);
      return;
    }
    const double start = expand(root, of_root);
    if (found_.size() == 1 && found_[0].factor == 1 && found_[0].b == none && start == 0) {
      need(found_[0].a);
      made_as_[root] = other_mark | static_cast<Id>(stands_for_.size());
      stands_for_.push_back(found_[0].a);
      return;
    }
    add_flat(root, of_root, start);
  }

  void add_flat(Id id, Rate rate, double start) {
    if (rate == Rate::varying)
      add_varying(id, start);
    else
      add_sum(id, rate, start, found_);
  }

  // A long sum less something others need as well, as x - largest in a softmax: which of them that is differs from sum
  // to sum, so the long ones are left by themselves, all of a kind.
  Id long_left(Id root) {
    const Scalar& node = scalar(root);
    if (node.op != Op::sub) return none;
    const auto [left, right, third] = node.operands;
    if (uses_[left] != 1 || !(scalar(left).op == Op::add || scalar(left).op == Op::sub)) return none;
    const Id shared = without_factors({right, 1, true}, root).id;
    if (scalar(left).rate != node.rate || scalar(shared).rate != node.rate) return none;
    if (uses_[shared] < 2 || scalar(shared).op == Op::leaf || is_constant(shared)) return none;
    expand(left, node.rate);
    return found_.size() >= 8 ? left : none;
  }

  // A factor of a product without its constant factors, as long as they are moderate together.
  Part of_product(Part part, Id root) const {
    const Part found = without_factors(part, root);
    return is_moderate(found.factor) ? found : part;
  }

  // The products that the node is a sum of, into found_; gives what is left, a number.
  double expand(Id root, Rate of_root) {
    double start = 0;
    found_.clear();
    parts_.assign(1, {root, 1, true});
    while (!parts_.empty()) {
      const Part& last = parts_.back();
      Part part = without_factors({last.id, last.factor, last.alone}, root);
      parts_.pop_back();
      part.alone = part.alone && (part.id == root || uses_[part.id] == 1);
      if (is_constant(part.id)) {
        start += part.factor * number(part.id);
        continue;
      }
      const Scalar& node = scalar(part.id);
      const bool inside = part.alone && node.rate == of_root;
      if (inside && (node.op == Op::add || node.op == Op::sub) && is_distributive(part.factor)) {
        append(parts_, {node.operands[1], node.op == Op::sub ? -part.factor : part.factor, true});
        append(parts_, {node.operands[0], part.factor, true});
      } else if (inside && node.op == Op::mul && is_moderate(part.factor)) {
        const Part a = of_product({node.operands[0], part.factor, true}, root);
        const Part b = of_product({node.operands[1], a.factor, true}, root);
        append(found_, {b.factor, a.id, b.id});
      } else {
        append(found_, {part.factor, part.id, none});
      }
    }
    return start;
  }

  Id add_sum(Id id, Rate rate, double start, const List<Product>& products) {
    const auto begin = static_cast<std::uint32_t>(terms_.products.size());
    for (const Product& product : products) {
      need(product.a);
      need(product.b);
      append(terms_.products, {product.factor, product.a, product.b});
    }
    return add_node(id,
                    {Kind::sum, Op::leaf, rate, 0, begin, static_cast<std::uint32_t>(products.size()), none, start});
  }

  // Weights times inputs are kept apart from what else is added, so that a layer can be made of them.
  void add_varying(Id root, double start) {
    weighted_.clear(), rest_.clear(), uniform_.clear();
    for (Product& product : found_) {
      if (product.b != none && rate(product.b) == Rate::uniform) std::swap(product.a, product.b);
      if (product.b != none && rate(product.a) == Rate::uniform)
        weighted_.push_back(product);
      else if (product.b == none && rate(product.a) == Rate::uniform)
        uniform_.push_back(product);
      else
        rest_.push_back(product);
    }
    const auto is_plain = [](const Product& one) { return one.b == none && std::abs(one.factor) == 1; };
    const auto is_single = [](const Product& one) { return one.b == none; };
    if (weighted_.empty() && rest_.size() >= 4 && std::all_of(rest_.begin(), rest_.end(), is_single) &&
        !std::all_of(rest_.begin(), rest_.end(), is_plain) &&
        std::none_of(rest_.begin(), rest_.end(), [](const Product& term) { return term.factor == 0; })) {
      for (const Product& one : rest_) weighted_.push_back({one.factor, none, one.a});
      rest_.clear();
    }
    if (weighted_.size() < 2) {
      add_sum(root, Rate::varying, start, found_);
      return;
    }
    std::sort(weighted_.begin(), weighted_.end(),
              [](const Product& x, const Product& y) { return x.b != y.b ? x.b < y.b : x.a < y.a; });
    if (rest_.empty()) {
      // What is added later comes before in the end: the root first, then the sum of what is uniform.
      const bool several = uniform_.size() > 1 || (uniform_.size() == 1 && (start != 0 || uniform_[0].factor != 1));
      const Id bias = own + static_cast<Id>(terms_.nodes.size()) + 1;
      if (several)
        weighted_.push_back({1, bias, none});
      else
        weighted_.insert(weighted_.end(), uniform_.begin(), uniform_.end());
      add_sum(root, Rate::varying, several ? 0 : start, weighted_);
      if (several) add_sum(none, Rate::uniform, start, uniform_);
    } else {
      rest_.insert(rest_.end(), uniform_.begin(), uniform_.end());
      rest_.push_back({1, own + static_cast<Id>(terms_.nodes.size()) + 1, none});
      add_sum(root, Rate::varying, start, rest_);
      add_sum(none, Rate::varying, 0, weighted_);
    }
  }

  // max(max(max(a, b), c), d), nested on one side at each level, with nobody else in need of what is inside.
  bool make_extreme(Id root) {
    const Op op = scalar(root).op;
    const auto inside = [&](Id id) { return scalar(id).op == op && uses_[id] == 1; };
    std::vector<Id> operands;  // the outermost first
    Id id = root;
    for (;;) {
      const auto [x, y, z] = scalar(id).operands;
      const bool left = inside(x);
      operands.push_back(left ? y : x);
      if (!left && !inside(y)) {
        operands.push_back(y);
        break;
      }
      id = left ? x : y;
    }
    if (operands.size() < least_extreme) return false;
    const std::uint32_t begin = size();
    for (std::size_t i = operands.size(); i-- > 0;) add_operand(operands[i]);
    add_node(root, {Kind::extreme, op, scalar(root).rate, 0, begin, size() - begin, none, 0});
    return true;
  }

  // The nodes were made from the last to the first.
  Terms finished() {
    terms_.constants = constants_.size();
    List<Node>& nodes = terms_.nodes;
    for (std::size_t i = constants_.size(); i-- > 0;)
      nodes.push_back({Kind::constant, Op::leaf, Rate::constant, 0, 0, 0, none, number(constants_[i])});
    nodes.insert(nodes.end(), terms_.inputs, {Kind::input, Op::leaf, Rate::varying, 0, 0, 0, none, 0});
    nodes.insert(nodes.end(), terms_.parameters, {Kind::parameter, Op::leaf, Rate::uniform, 0, 0, 0, none, 0});
    std::reverse(nodes.begin(), nodes.end());

    const auto leaves = static_cast<Id>(terms_.parameters + terms_.inputs);
    const auto last = static_cast<Id>(nodes.size() - 1);
    const auto resolved = [&](Id id) {
      while (id != none && id >= leaves) {
        if (id >= own) return last - (id - own);
        const Id made = made_as_[id];
        if (made < constant_mark) return last - made;
        if (made < other_mark) return leaves + (made & place_mask);
        id = stands_for_[made & place_mask];
      }
      return id;
    };
    for (Id& operand : terms_.operands) operand = resolved(operand);
    for (std::vector<Id>& table : terms_.tables)
      for (Id& value : table) value = resolved(value);
    for (Product& product : terms_.products) {
      product.a = resolved(product.a);
      product.b = resolved(product.b);
    }
    for (const Id output : scalars_.outputs) terms_.outputs.push_back(resolved(output));
    return std::move(terms_);
  }

  static constexpr Id own = 0x80000000;  // from here on: nodes by their place in terms_, the last made first in the end

  const Scalars& scalars_;
  List<std::uint32_t> uses_;
  std::vector<bool> has_factor_;  // whether a node is another one times a constant, or the negative of it
  List<Id> made_as_;              // none, needed, a mark, or the place in terms_.nodes
  std::vector<Id> constants_;
  std::vector<Id> stands_for_;  // for what became nothing but another node, as -(-x): that node
  List<Part> parts_;
  List<Product> found_, weighted_, rest_, uniform_;
  Terms terms_;
};

}  // namespace

Terms simplify(const Scalars& scalars) { return Simplifier(scalars).run(); }

}  // namespace gradwalk::compiler
