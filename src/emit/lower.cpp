// SPDX-License-Identifier: MIT
#include "lower.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "compile/rule_operands.hpp"
#include "engine/by_op.hpp"
#include "gradwalk/error.hpp"
#include "rule_text.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Id, compiler::Kind, compiler::Node, compiler::none, compiler::Product, compiler::Terms;

constexpr Operand number(double value) { return {Array::number, 0, value}; }
constexpr bool is_number(const Operand& operand, double value) {
  return operand.array == Array::number && operand.number == value;
}
// Functions that cost no more than an addition are computed where they are needed.
constexpr bool is_cheap(std::string_view function) { return function == "abs" || function == "copysign"; }

// An expression in the making.
struct Text {
  std::string pattern;
  std::vector<Operand> operands;
  std::string add(const Operand& operand) {
    operands.push_back(operand);
    return hole(operands.size() - 1);
  }
};

// How many statements and stores use each node of the terms, of those that are needed.
std::vector<std::uint32_t> uses_of(const Terms& terms, std::span<const Store> stores) {
  std::vector<std::uint32_t> uses(terms.nodes.size());
  for (const Store& store : stores)
    if (store.node != none) ++uses[store.node];
  for (auto id = static_cast<Id>(terms.nodes.size()); id-- > 0;) {
    if (uses[id] == 0) continue;
    const Node& node = terms.nodes[id];
    const auto use = [&](Id operand) {
      if (operand != none) ++uses[operand];
    };
    for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k) {
      if (node.kind == Kind::sum)
        use(terms.products[k].a), use(terms.products[k].b);
      else
        use(terms.operands[k]);
    }
  }
  return uses;
}

class Lowerer {
 public:
  Lowerer(const Terms& terms, const Dialect& dialect, const LowerOptions& options)
      : terms_(terms), dialect_(dialect), options_(options), values_(terms.nodes.size()) {}

  Code run(std::span<const Store> stores) {
    const std::vector<std::uint32_t> uses = uses_of(terms_, stores);
    std::vector<bool> is_stored(terms_.nodes.size());
    for (const Store& store : stores)
      if (store.node != none) is_stored[store.node] = true;
    for (Id id = 0; id < terms_.nodes.size(); ++id) {
      // A node that only one store needs is computed there.
      const bool waits = is_stored[id] && uses[id] == 1 && terms_.nodes[id].kind != Kind::share;
      if (uses[id] > 0 && !waits) values_[id] = value_of(id);
    }
    for (const Store& store : stores) {
      if (store.node != none && !values_[store.node]) {
        target_ = store.target;
        const Operand value = value_of(store.node);
        if (!target_) continue;  // a statement has taken it
        target_.reset();
        values_[store.node] = value;
      }
      copy(store.target, store.node == none ? number(0) : *values_[store.node]);
    }
    drop_unused();
    return std::move(code_);
  }

 private:
  // ---- statements ----

  // A share of an operand that is a constant is computed on the way to the others, and used by nobody.
  void drop_unused() {
    std::vector<bool> is_used(code_.nodes);
    const auto use = [&](const Expression& expression) {
      for (const Operands& operands : expression.operands)
        for (const Operand& operand : operands)
          if (operand.array == Array::node) is_used[operand.index] = true;
    };
    std::vector<bool> is_dropped(code_.items.size());
    for (std::size_t i = code_.items.size(); i-- > 0;) {
      const Statement& statement = code_.items[i].statement;
      is_dropped[i] = statement.target[0].array == Array::node && !is_used[statement.target[0].index];
      if (is_dropped[i]) continue;
      use(statement.value);
      for (const Run& run : statement.runs) use(run.term);
    }
    std::size_t i = 0;
    std::erase_if(code_.items, [&](const Item&) { return is_dropped[i++]; });
  }

  Expression expression(Text text) {
    Expression made{code_.pattern(text.pattern), {}};
    for (const Operand& operand : text.operands) made.operands.push_back({operand});
    return made;
  }
  // Adds a statement, whose target is the store at hand or a new node.
  Operand assign(Text text, std::vector<Run> runs = {}, bool is_hoisted = false) {
    Operand target{Array::node, code_.nodes, 0};
    if (target_ && !is_hoisted) {
      target = *target_;
      target_.reset();
    } else {
      ++code_.nodes;
    }
    Item item;
    item.statement = {{target}, expression(std::move(text)), std::move(runs)};
    code_.items.push_back(std::move(item));
    return target;
  }
  void copy(const Operand& target, const Operand& value) {
    Text text;
    text.pattern = text.add(value);
    target_ = target;
    assign(std::move(text));
  }

  // ---- nodes ----

  Operand operand(Id id) { return id == none ? number(1) : *values_[id]; }

  Operand value_of(Id id) {
    const Node& node = terms_.nodes[id];
    switch (node.kind) {
      case Kind::parameter: {
        const bool is_input = id >= options_.parameters;
        return {is_input ? Array::input : Array::parameter,
                is_input ? static_cast<std::uint32_t>(id - options_.parameters) : id, 0};
      }
      case Kind::constant: return number(node.number);
      case Kind::seed: return seed(id);
      case Kind::sum: return sum(id, node);
      case Kind::function: return function(node);
      case Kind::extreme: return extreme(id, node);
      case Kind::local: return local(node);
      case Kind::share: return share(id, node);
      case Kind::input:  // Only programs with rows have these nodes.
      case Kind::pick:
      case Kind::zero:
      case Kind::row_gradient:
      case Kind::row_sum:
      case Kind::scatter:
      case Kind::transposed: break;
    }
    return number(0);
  }

  Operand seed(Id id) const {
    if (!options_.has_seeds) return number(1);
    const auto output = std::find(terms_.seeds.begin(), terms_.seeds.end(), id) - terms_.seeds.begin();
    return {Array::seed, static_cast<std::uint32_t>(output), 0};
  }

  Operand function(const Node& node) {
    Slots slots{};
    for (std::uint32_t k = 0; k < node.count; ++k) slots[k] = operand(terms_.operands[node.begin + k]);
    if (node.count == 3 && slots[0].array == Array::number) return slots[slots[0].number != 0 ? 1 : 2];
    return rule_value(node.op, slots);
  }

  Operand local(const Node& node) {
    Slots slots{};
    for (std::size_t k = 0; k < 4; ++k) {
      const Id id = terms_.operands[node.begin + k];
      if (id != none) slots[k] = operand(id);
    }
    return rule_local(node.op, node.by, slots, operand(terms_.operands[node.begin + 4]));
  }

  // max(max(a, b), c) step by step; roll() makes a loop of the steps.
  Operand extreme(Id id, const Node& node) {
    std::vector<Operand>& steps = extremes_[id];
    steps.push_back(operand(terms_.operands[node.begin]));
    const std::optional<Operand> target = target_;
    target_.reset();
    for (std::uint32_t k = 1; k < node.count; ++k) {
      if (k + 1 == node.count) target_ = target;
      steps.push_back(rule_value(node.op, {steps.back(), operand(terms_.operands[node.begin + k])}));
    }
    return steps.back();
  }
  // The shares of an extreme follow one another, in the order of its operands; the last step passes on first.
  Operand share(Id id, const Node& node) {
    const Id of = terms_.operands[node.begin + 1];
    const Node& whole = terms_.nodes[of];
    const std::vector<Operand>& steps = extremes_.at(of);
    if (const auto known = shares_.find(id); known != shares_.end()) return known->second;
    // This is the first share that is needed; find the first of all.
    Id first = id;
    while (first > 0 && terms_.nodes[first - 1].kind == Kind::share &&
           terms_.operands[terms_.nodes[first - 1].begin + 1] == of && id - (first - 1) < whole.count)
      --first;
    Operand gradient = operand(terms_.operands[node.begin]);
    for (std::uint32_t k = whole.count - 1; k > 0; --k) {
      const Slots slots{steps[k - 1], operand(terms_.operands[whole.begin + k]), {}, steps[k]};
      shares_[first + k] = rule_local(node.op, 1, slots, gradient);
      gradient = rule_local(node.op, 0, slots, gradient);
    }
    shares_[first] = gradient;
    return shares_.at(id);
  }

  // ---- rules ----

  using Slots = std::array<Operand, 4>;  // the operands of an op, and its result

  const RuleTree& tree(Op op, std::string_view rule) {
    const auto known = trees_.find(rule.data());
    return known != trees_.end() ? known->second : trees_.emplace(rule.data(), parse_rule(op, rule)).first->second;
  }

  Operand rule_value(Op op, const Slots& slots) {
    const RuleTree& rule = tree(op, info(op).value);
    if (rule.root().kind == RuleTree::Kind::operand) return slots[rule.root().operand];  // stop(x) is x
    Text text;
    Rule print{rule, slots, text, op, false, {}};
    if (rule.root().kind == RuleTree::Kind::call && is_function(rule.root().name))
      return call(print, rule.nodes.size() - 1, false);
    text.pattern = printed(print, rule.nodes.size() - 1).text;
    return assign(std::move(text));
  }

  // gradient * (the local derivative); without the factor if the gradient is 1.
  Operand rule_local(Op op, std::size_t by, const Slots& slots, const Operand& gradient) {
    const RuleTree& rule = tree(op, detail::local_rule(op, by));
    Text text;
    if (is_number(gradient, 0)) return gradient;
    if (info(op).operands == 3 && slots[0].array == Array::number)
      return (slots[0].number != 0) == (by == 1) ? gradient : number(0);
    if (info(op).operands == 3) {  // what is not chosen receives nothing: c != 0 ? gradient : 0
      Rule print{rule, slots, text, op, true, {}};
      const auto& root = rule.root();
      const std::string condition = printed(print, root.children[0]).text;
      const auto branch = [&](std::size_t k) {
        return rule.nodes[root.children[k]].number == 0 ? dialect_.literal(0) : text.add(gradient);
      };
      const std::string x = branch(1), y = branch(2);
      text.pattern = dialect_.choice(condition, x, y);
      return assign(std::move(text));
    }
    const bool is_one = is_number(gradient, 1);
    const std::string factor = is_one ? "" : text.add(gradient);
    Rule print{rule, slots, text, op, true, {}};
    if (rule.root().kind == RuleTree::Kind::number && rule.root().number == 1) return gradient;
    const Printed local = printed(print, rule.nodes.size() - 1);
    if (is_one)
      text.pattern = local.text;
    else if (options_.is_careful)
      text.pattern = times(factor, local.text);
    else
      text.pattern = factor + " * " + (local.level < product_level + 1 ? "(" + local.text + ")" : local.text);
    return assign(std::move(text));
  }
  std::string times(const std::string& gradient, const std::string& derivative) {
    code_.calls_times = true;
    return dialect_.times(gradient, derivative);
  }

  // ---- expressions of rules ----

  struct Rule {
    const RuleTree& tree;
    const Slots& slots;
    Text& text;
    Op op;
    bool is_local;
    std::array<std::string, 4> holes;  // of the slots that the text has already
  };
  struct Printed {
    std::string text;
    int level;  // how tightly it binds
  };
  static constexpr int comparison_level = 1, sum_level = 2, product_level = 3, minus_level = 4, whole_level = 5;

  // Functions of the C library and our own, rather than rules of the table that are expressions.
  static bool is_function(std::string_view name) {
    for (const OpInfo& row : op_table)
      if (row.name == name) return row.value.substr(0, name.size()) == name && row.value[name.size()] == '(';
    return true;  // trigamma
  }

  Printed printed(Rule& rule, std::size_t at) {
    const RuleTree::Node& node = rule.tree.nodes[at];
    const auto child = [&](std::size_t k, int level) {
      const Printed inside = printed(rule, node.children[k]);
      return inside.level < level ? "(" + inside.text + ")" : inside.text;
    };
    switch (node.kind) {
      case RuleTree::Kind::number: return {dialect_.literal(node.number), whole_level};
      case RuleTree::Kind::operand: return {slot(rule, node.operand), whole_level};
      case RuleTree::Kind::negative: return {"-" + child(0, minus_level + 1), minus_level};
      case RuleTree::Kind::select: {
        const std::string condition = child(0, comparison_level), x = child(1, sum_level), y = child(2, sum_level);
        return {dialect_.choice(condition, x, y), whole_level};
      }
      case RuleTree::Kind::binary: {
        if (node.name == "/" && is_inverse(rule, at)) return inverse(rule, at);
        if (node.name == "/" && fuses() && is_half(rule.tree.nodes[node.children[0]]))
          return {dialect_.literal(0.5) + " * (" + dialect_.literal(1) + " / " + child(1, product_level + 1) + ")",
                  product_level};
        const int level = node.name == "+" || node.name == "-"   ? sum_level
                          : node.name == "*" || node.name == "/" ? product_level
                                                                 : comparison_level;
        if (level == sum_level)
          if (const std::string fused = fused_sum(rule, node); !fused.empty()) return {fused, whole_level};
        const bool is_symmetric = node.name == "+" || node.name == "*";
        const std::string left = child(0, level), right = child(1, is_symmetric ? level : level + 1);
        return {left + " " + std::string(node.name) + " " + right, level};
      }
      case RuleTree::Kind::call: break;
    }
    if (!is_function(node.name)) return inlined(rule, at);
    if (is_cheap(node.name)) {
      std::string text = dialect_.function(node.name) + "(";
      for (std::size_t k = 0; k < node.children.size(); ++k) text += (k == 0 ? "" : ", ") + child(k, comparison_level);
      return {text + ")", whole_level};
    }
    return {rule.text.add(call(rule, at, true)), whole_level};
  }

  bool fuses() const { return !dialect_.fused("", "", "").empty(); }
  // 0.5 / r is half of 1 / r, with the same bits. GPUs have a fast reciprocal.
  static bool is_half(const RuleTree::Node& node) { return node.kind == RuleTree::Kind::number && node.number == 0.5; }

  // A sum with a product in it, in a language that fuses both. Empty if it is not one.
  std::string fused_sum(Rule& rule, const RuleTree::Node& node) {
    if (!fuses()) return {};
    const auto is_product = [&](std::size_t k) {
      const RuleTree::Node& child = rule.tree.nodes[node.children[k]];
      return child.kind == RuleTree::Kind::binary && child.name == "*";
    };
    if (!is_product(0) && !is_product(1)) return {};
    const std::size_t product = is_product(1) ? 1 : 0;
    const RuleTree::Node& inside = rule.tree.nodes[node.children[product]];
    const auto factor = [&](std::size_t k) {
      const Printed one = printed(rule, inside.children[k]);
      return one.level < product_level ? "(" + one.text + ")" : one.text;
    };
    const std::string x = factor(0), y = factor(1), rest = printed(rule, node.children[1 - product]).text;
    if (node.name == "+") return dialect_.fused(x, y, rest);
    return product == 1 ? dialect_.fused("-(" + x + ")", y, rest) : dialect_.fused(x, y, "-(" + rest + ")");
  }

  std::string slot(Rule& rule, std::size_t k) {
    if (rule.holes[k].empty()) rule.holes[k] = rule.text.add(rule.slots[k]);
    return rule.holes[k];
  }

  // A call as a statement of its own, or an earlier statement with the same call.
  Operand call(Rule& rule, std::size_t at, bool is_hoisted) {
    const RuleTree::Node& node = rule.tree.nodes[at];
    code_.calls_digamma |= node.name == "digamma";
    code_.calls_trigamma |= node.name == "trigamma";
    Text text;
    Rule inside{rule.tree, rule.slots, text, rule.op, rule.is_local, {}};
    text.pattern = dialect_.function(node.name) + "(";
    for (std::size_t k = 0; k < node.children.size(); ++k)
      text.pattern += (k == 0 ? "" : ", ") + printed(inside, node.children[k]).text;
    text.pattern += ")";
    return shared(std::move(text), is_hoisted);
  }
  Operand shared(Text text, bool is_hoisted) {
    std::string key = text.pattern;
    for (const Operand& operand : text.operands) {
      key += " " + std::to_string(static_cast<int>(operand.array)) + "." + std::to_string(operand.index);
      if (operand.array == Array::number) key += "=" + dialect_.literal(operand.number);
    }
    if (const auto known = calls_.find(key); known != calls_.end()) return known->second;
    const Operand made = assign(std::move(text), {}, is_hoisted);
    if (made.array == Array::node) calls_.emplace(std::move(key), made);
    return made;
  }

  // In derivatives, 1 / y is computed once for all quotients by y, if the op has the derivative 1 / y itself: then no
  // other derivative can overflow sooner.
  bool is_inverse(const Rule& rule, std::size_t at) const {
    const RuleTree::Node& node = rule.tree.nodes[at];
    const RuleTree::Node& divisor = rule.tree.nodes[node.children[1]];
    if (!rule.is_local || options_.is_careful || divisor.kind != RuleTree::Kind::operand) return false;
    return info(rule.op).dx == "1 / " + std::string(divisor.name);
  }
  Printed inverse(Rule& rule, std::size_t at) {
    const RuleTree::Node& node = rule.tree.nodes[at];
    Text text;
    const Operand divisor = rule.slots[rule.tree.nodes[node.children[1]].operand];
    text.pattern = dialect_.literal(1) + " / " + text.add(divisor);
    const std::string inverse = rule.text.add(shared(std::move(text), true));
    const Printed left = printed(rule, node.children[0]);
    if (left.text == dialect_.literal(1)) return {inverse, whole_level};
    return {(left.level < product_level ? "(" + left.text + ")" : left.text) + " * " + inverse, product_level};
  }

  // A rule that another rule calls, as max in softplus, with the arguments in place of its operands.
  Printed inlined(Rule& rule, std::size_t at) {
    const RuleTree::Node& node = rule.tree.nodes[at];
    const auto row =
        std::find_if(op_table.begin(), op_table.end(), [&](const OpInfo& one) { return one.name == node.name; });
    const Op op = static_cast<Op>(row - op_table.begin());
    Rule inside{tree(op, row->value), rule.slots, rule.text, op, rule.is_local, {}};
    for (const RuleTree::Node& one : inside.tree.nodes)
      if (one.kind == RuleTree::Kind::call)
        throw Error("emit", "rules that call only functions and rules without calls", std::string(node.name),
                    "write the rule with functions of the C library");
    for (std::size_t k = 0; k < node.children.size(); ++k) {
      const Printed argument = printed(rule, node.children[k]);
      inside.holes[k] = argument.level < whole_level ? "(" + argument.text + ")" : argument.text;
    }
    return printed(inside, inside.tree.nodes.size() - 1);
  }

  // ---- sums ----

  struct Term {
    double factor;
    Operand a, b;
    bool has_b;
  };

  Operand sum(Id id, const Node& node) {
    std::vector<Term> terms;
    double start = node.number;
    const bool is_backward = id >= terms_.backward;
    for (std::uint32_t k = node.begin; k < node.begin + node.count; ++k) {
      const Product& product = terms_.products[k];
      Term term{product.factor, operand(product.a), operand(product.b), product.b != none};
      // The gradient of an output is 1, so a product with it is the other factor.
      // Other gradients may be constant, too.
      if (is_backward && is_number(term.a, 0)) continue;
      if (is_backward && term.has_b && term.a.array == Array::number && std::isfinite(term.factor * term.a.number))
        term = {term.factor * term.a.number, term.b, {}, false};
      if (is_backward && !term.has_b && term.a.array == Array::number)
        start += term.factor * term.a.number;
      else
        terms.push_back(term);
    }
    if (terms.empty()) return number(start);
    if (start == 0 && terms.size() == 1 && terms[0].factor == 1 && !terms[0].has_b) return terms[0].a;
    const bool is_gradient = options_.is_careful && is_backward;
    if (fuses() && start == 0) {  // a product is fused with what was added before it, so begin with a single number
      const auto single = std::ranges::find_if(terms, [](const Term& one) { return !one.has_b && one.factor == 1; });
      if (single != terms.end()) std::rotate(terms.begin(), single, single + 1);
    }
    Text text;
    std::vector<Run> runs;
    if (start != 0) text.pattern = text.add(number(start));
    for (std::size_t k = 0; k < terms.size();) {
      const Repeat repeat = options_.is_straight ? Repeat{} : repeat_at(terms, k);
      if (repeat.count > 0) {
        runs.push_back(run(std::span(terms).subspan(k, repeat.length * repeat.count), repeat.length, is_gradient));
        k += repeat.length * repeat.count;
      } else {
        add_term(text, terms[k++], is_gradient);
        constexpr std::size_t most_fused = 8;  // calls in calls
        if (!fuses() || k % most_fused != 0 || k == terms.size()) continue;
        const Operand sum_so_far = assign(std::move(text), {}, true);
        text = {};
        text.pattern = text.add(sum_so_far);
      }
    }
    if (text.pattern.empty()) text.pattern = dialect_.literal(0);
    return assign(std::move(text), std::move(runs));
  }

  // Several terms that follow each other several times, with operands that grow evenly.
  struct Repeat {
    std::size_t length = 0, count = 0;
  };
  static Repeat repeat_at(const std::vector<Term>& terms, std::size_t k) {
    constexpr std::size_t longest = 8, least = 4, least_terms = 8;  // shorter sums are faster as they are
    const auto is_alike = [](const Operand& x, const Operand& y) {
      return x.array == y.array && x.array != Array::number;
    };
    const auto follows = [&](std::size_t at, std::size_t length, bool is_first) {
      const Term &x = terms[at - length], &y = terms[at];
      if (x.factor != y.factor || x.has_b != y.has_b || !is_alike(x.a, y.a) || (x.has_b && !is_alike(x.b, y.b)))
        return false;
      if (is_first) return true;
      const Term& w = terms[at - 2 * length];
      return y.a.index - x.a.index == x.a.index - w.a.index && y.b.index - x.b.index == x.b.index - w.b.index;
    };
    Repeat best;
    for (std::size_t length = 1; length <= longest && k + least * length <= terms.size(); ++length) {
      std::size_t end = k + length;
      while (end < terms.size() && follows(end, length, end < k + 2 * length)) ++end;
      const std::size_t count = (end - k) / length;
      if (count >= least && count * length >= least_terms && count * length > best.count * best.length)
        best = {length, count};
    }
    return best;
  }

  Run run(std::span<const Term> terms, std::size_t length, bool is_gradient) {
    Run made{static_cast<std::uint32_t>(terms.size() / length), {}};
    for (std::size_t k = 0; k < terms.size(); k += length) {
      Text text;
      for (const Term& term : terms.subspan(k, length)) add_term(text, term, is_gradient);
      if (k == 0) {
        made.term = expression(text);
        continue;
      }
      for (std::size_t i = 0; i < text.operands.size(); ++i) made.term.operands[i].push_back(text.operands[i]);
    }
    return made;
  }

  void add_term(Text& text, const Term& term, bool is_gradient) {
    if (!text.pattern.empty() && fuses() && add_fused(text, term, is_gradient)) return;
    std::string sign = std::signbit(term.factor) ? "-" : "";
    if (!text.pattern.empty()) sign = std::signbit(term.factor) ? " - " : " + ";
    const double size = std::abs(term.factor);
    std::string product = size == 1 ? "" : text.add(number(size)) + " * ";
    product += text.add(term.a);
    if (term.has_b && is_gradient)
      product = times(product, text.add(term.b));
    else if (term.has_b)
      product += " * " + text.add(term.b);
    text.pattern += sign + product;
  }

  // Fuses a product with the sum so far. Returns false if the term has no product.
  bool add_fused(Text& text, const Term& term, bool is_gradient) {
    const double size = std::abs(term.factor);
    if (is_gradient || (!term.has_b && size == 1)) return false;
    const std::string sign = std::signbit(term.factor) ? "-" : "";
    if (term.has_b) {
      const std::string a = size == 1 ? text.add(term.a) : text.add(number(size)) + " * " + text.add(term.a);
      text.pattern = dialect_.fused(sign + a, text.add(term.b), text.pattern);
    } else {
      text.pattern = dialect_.fused(sign + text.add(number(size)), text.add(term.a), text.pattern);
    }
    return true;
  }

  const Terms& terms_;
  const Dialect& dialect_;
  const LowerOptions& options_;
  std::vector<std::optional<Operand>> values_;  // of the nodes of the terms
  std::optional<Operand> target_;               // of the next statement that is not hoisted, if it is a store
  std::unordered_map<Id, std::vector<Operand>> extremes_;
  std::unordered_map<Id, Operand> shares_;
  std::map<const char*, RuleTree> trees_;  // by the address of the rule's text
  std::map<std::string, Operand> calls_;
  Code code_;
};

}  // namespace

Code lower(const Terms& terms, std::span<const Store> stores, const Dialect& dialect, const LowerOptions& options) {
  return Lowerer(terms, dialect, options).run(stores);
}

std::size_t size_of(const Terms& terms, std::span<const Store> stores) {
  const std::vector<std::uint32_t> uses = uses_of(terms, stores);
  std::size_t size = 0;
  for (Id id = terms.first_computed(); id < terms.nodes.size(); ++id)
    if (uses[id] > 0)
      size +=
          1 + (terms.nodes[id].kind == Kind::sum || terms.nodes[id].kind == Kind::extreme ? terms.nodes[id].count : 0);
  return size;
}

bool has_singular_rules(const Terms& terms) {
  constexpr std::array probes{0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0};
  std::array<std::optional<bool>, op_table.size()> known{};
  const auto is_singular = [&](Op op) {
    for (const double x : probes)
      for (const double y : probes) {
        const std::array in{x, y, 0.0};
        const double r = detail::rule_value(op, in);
        if (!std::isfinite(r)) return true;
        for (std::size_t by = 0; by < static_cast<std::size_t>(info(op).operands); ++by)
          if (!std::isfinite(detail::rule_local(op, by, in, r))) return true;
      }
    return false;
  };
  for (Id id = terms.end_of_forward(); id < terms.nodes.size(); ++id) {
    const Node& node = terms.nodes[id];
    if (node.kind != Kind::local) continue;
    auto& answer = known[static_cast<std::size_t>(node.op)];
    if (!answer) answer = is_singular(node.op);
    if (*answer) return true;
  }
  return false;
}

}  // namespace gradwalk::emit
