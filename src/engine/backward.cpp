// SPDX-License-Identifier: MIT
// backward(): the chain rule from one root to everything below it.
//
// Creation order is a topological order, so the usual case is one loop over the tape from the root down. It may run
// where no gradient has been written since the nodes were made, for then a gradient of zero means "not reached, or
// nothing to pass on" and the node can be skipped. Anywhere else the root's nodes are searched for first.
// Leaves accumulate between passes; every other node's gradient is that of the last pass that reached it.
#include <algorithm>
#include <optional>
#include <span>

#include "search.hpp"
#include "store.hpp"

namespace gradwalk {
namespace detail {
namespace {

// Whether everything the root needs lies between clean_from and the root. Stops at the first sign that it does not,
// so nodes passed over in vain are passed over once: the pass that follows raises clean_from above them.
// Leaves, and what stands for no operand, have the largest Refs: they are never the lowest.
template <bool older_may_lie_above> [[gnu::noinline]] bool reaches_only_clean_nodes(Ref root) {
  if (root < tape.clean_from || root >= tape.top) return false;
  Word* const base = tape.base;
  const Ref clean_from = tape.clean_from;
  Ref low = root, high = root;
  const auto look = [&](Ref operand) {
    low = std::min(low, operand);
    if constexpr (older_may_lie_above) high = std::max(high, apart(operand) ? root : operand);
  };
  for (Ref ref = root; ref >= low;) {
    const Node& node = *reinterpret_cast<const Node*>(base + ref);
    const Ref extra = extra_of(node);
    if (extra == 0) [[likely]] {
      look(first(node.operands));
      look(second(node.operands));
      ref -= 4;  // known before the head is there: the next record need not wait for it
    } else {
      each_operand(ref, look);
      ref = older(ref);
    }
    if (low < clean_from || high > root) return false;
  }
  return true;
}
bool reaches_only_clean_nodes(Ref root) {
  return tape.store->went_round ? reaches_only_clean_nodes<true>(root) : reaches_only_clean_nodes<false>(root);
}

// Whether a rule is computed without calling a function: the pass then keeps its gradient in a register.
constexpr bool is_plain(std::string_view rule) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (std::size_t end = rule.find('('); end != rule.npos; end = rule.find('(', end + 1)) {
    std::size_t begin = end;
    while (begin > 0 && is_letter(rule[begin - 1])) --begin;
    const std::string_view name = rule.substr(begin, end - begin);
    if (!name.empty() && name != "select" && name != "abs") return false;
  }
  return true;
}
constexpr bool is_plain(Op op) { return is_plain(info(op).dx) && is_plain(info(op).dy); }

[[gnu::noinline]] void deposit_by_call(Ref ref) {
  const double gradient = tape.node(ref)->grad;
  each_local(ref, [&](Ref operand, double local) { tape.node(operand)->grad += gradient * local; });
}

// From the root down to `bottom`, below which nothing of its graph lies. The root must stay a node of its own: as part
// of a later sum it would leave what was swept ending in the middle of that.
[[gnu::noinline]] void sweep(Ref root, Ref bottom) {
  using rules::Rule;
  Word* const base = tape.base;
  const auto at = [base](Ref ref) { return reinterpret_cast<Node*>(base + ref); };
  Ref begin = root;
  Word heads = 0;
  std::uint32_t held = 0;
  for (Ref ref = root; ref >= bottom; ref = begin - 4) {
    __builtin_prefetch(base + ref - 512);
    const Node& node = *at(ref);
    const double gradient = node.grad;
    const Word head = node.head, operands = node.operands;
    const Ref extra = static_cast<Ref>(head >> 32), a = first(operands), b = second(operands);
    const Op op = static_cast<Op>(head & 0xff);
    heads |= head;
    held += without_extra(head) >= one_handle;
    begin = ref;
    if (gradient == 0) {
      if (extra != 0 && !has_third(op)) begin = ref - extra;
      continue;
    }
    const auto pay = [&](Ref operand, double local) { at(operand)->grad += gradient * local; };
    const auto product = [&](Word factors) {
      const double x = at(first(factors))->data, y = at(second(factors))->data;
      pay(first(factors), Rule<Op::mul>::dx(x, y, 0.0));
      pay(second(factors), Rule<Op::mul>::dy(x, y, 0.0));
    };
    switch (code(op)) {
#define GRADWALK_UNARY(name, ...)                         \
  case code(Op::name):                                    \
    if constexpr (!passes_on(Op::name))                   \
      break;                                              \
    else if constexpr (is_plain(Op::name))                \
      pay(a, Rule<Op::name>::dx(at(a)->data, node.data)); \
    else                                                  \
      deposit_by_call(ref);                               \
    break;
#define GRADWALK_BINARY(name, ...)                                              \
  case code(Op::name):                                                          \
    if constexpr (!passes_on(Op::name)) {                                       \
      begin = ref - extra;                                                      \
    } else if constexpr (!is_plain(Op::name) || !passes_on(Op::name, 1)) {      \
      begin = ref - extra;                                                      \
      deposit_by_call(ref);                                                     \
    } else if (extra == 0) {                                                    \
      const double x = at(a)->data, y = at(b)->data;                            \
      pay(a, Rule<Op::name>::dx(x, y, node.data));                              \
      pay(b, Rule<Op::name>::dy(x, y, node.data));                              \
    } else if (b == literal) {                                                  \
      begin = ref - 1;                                                          \
      pay(a, Rule<Op::name>::dx(at(a)->data, tape.number(ref - 1), node.data)); \
    } else {                                                                    \
      begin = ref - 1;                                                          \
      pay(b, Rule<Op::name>::dy(tape.number(ref - 1), at(b)->data, node.data)); \
    }                                                                           \
    break;
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
      case code(multiply_add):
        pay(extra, Rule<Op::add>::dx(0.0, 0.0, 0.0));
        product(operands);
        break;
      case code(minus_product): {
        const double x = at(a)->data, y = at(b)->data, minus = Rule<Op::sub>::dy(0.0, 0.0, 0.0);
        pay(extra, Rule<Op::sub>::dx(0.0, 0.0, 0.0));
        pay(a, minus * Rule<Op::mul>::dx(x, y, 0.0));
        pay(b, minus * Rule<Op::mul>::dy(x, y, 0.0));
        break;
      }
      case code(product_minus):
        pay(extra, Rule<Op::sub>::dy(0.0, 0.0, 0.0));
        product(operands);
        break;
      case code(sum_of_products):
        begin = ref - extra;
        for (Ref where = ref; where >= begin; --where) {
          const Word term = base[where];
          if (are_nodes(term)) [[likely]]
            product(term);
          else
            each_local_of_term(term, where, pay), where -= has_literal(term);
        }
        break;
      case code(Op::select):
      case code(Op::custom): deposit_by_call(ref); [[fallthrough]];
      default: begin = ref - extra; break;
    }
  }
  // If only the root has a handle, all of this goes with it.
  const bool goes_at_once = held == 1 && (heads & (labelled | opened | exposed)) == 0;
  tape.store->swept_begin = begin;
  tape.store->swept_end = goes_at_once ? root + 4 : 0;
}

// Whether a user has written a gradient where a pass expects 0.
bool has_written_gradient() {
  const Store& store = *tape.store;
  return std::any_of(store.exposed_clean.begin(), store.exposed_clean.end(), [&](Ref ref) {
    return store.exposed_gradients.contains(ref) && tape.node(ref)->grad != 0;
  });
}

// After a pass: no node is clean any more, and the exposed ones that it reached have its gradient.
void end_sweep() {
  Store& store = *tape.store;
  tape.clean_from = tape.top;
  for (const Ref ref : store.exposed_clean)
    if (const auto found = store.exposed_gradients.find(ref); found != store.exposed_gradients.end())
      found->second = tape.node(ref)->grad;
  store.exposed_clean.clear();
}
void end_search(const std::vector<Ref>& reached) {
  Store& store = *tape.store;
  tape.clean_from = tape.top;
  store.exposed_clean.clear();
  if (store.exposed_gradients.empty()) return;
  for (const Ref ref : reached)
    if (!apart(ref) && (tape.node(ref)->head & exposed) != 0) store.exposed_gradients[ref] = tape.node(ref)->grad;
}

void deposit(Ref ref) {
  const double gradient = tape.node(ref)->grad;
  if (gradient == 0) return;  // times a local derivative without bounds, it is still nothing
  each_local(ref, [&](Ref operand, double local) { tape.node(operand)->grad += gradient * local; });
}

// With steps back of users' own, which may do what they like: every record is opened first, so that none is split
// while the pass is under way, and the list is the pass's own.
void walk_back_with_callbacks(Ref root, double seed) {
  const Value held = Handle::share(root);
  const std::vector<Ref> order = search(root, [](Ref ref) {
    open(ref);
    return is_recorded(ref) || is_constant(ref);
  });
  for (const Ref ref : order) tape.node(ref)->grad = 0;
  tape.node(root)->grad = seed;
  for (auto ref = order.rbegin(); ref != order.rend(); ++ref) {
    if (const Callback* const callback = callback_of(*ref))
      callback->step_back(Handle::share(*ref));
    else
      deposit(*ref);
  }
  end_search(order);
}

void search_and_sweep(Ref root, double seed) {
  if (!tape.store->callbacks.empty()) return walk_back_with_callbacks(root, seed);
  // Constants that were looked at are the pass's own; leaves, and numbers made under NoGrad, accumulate.
  const std::vector<Ref>& order = search(root, [](Ref ref) { return is_recorded(ref) || is_constant(ref); });
  for (const Ref ref : order) tape.node(ref)->grad = 0;
  tape.node(root)->grad = seed;
  for (auto ref = order.rbegin(); ref != order.rend(); ++ref) deposit(*ref);
  end_search(order);
}

// A sweep is only right where the graph lies as it was recorded, and its gradients are 0.
bool must_search() {
  return !tape.store->kept_apart.empty() || !tape.store->callbacks.empty() || has_written_gradient();
}

// Finds the leaves below a root. False where not all of its records lie between it and `bottom`.
bool find_leaves(Ref root, Ref bottom, std::vector<Ref>& leaves) {
  struct ClearMarks {
    const std::vector<Ref>& marked;
    ~ClearMarks() {
      for (const Ref ref : marked) tape.node(ref)->head &= ~entered;
    }
  } const at_the_end{leaves};
  bool is_within = true;
  for (Ref ref = root; is_within && ref >= bottom; ref = older(ref)) {
    each_operand(ref, [&](Ref operand) {
      if (!apart(operand)) {
        is_within &= operand >= bottom && operand < ref;
      } else if ((tape.node(operand)->head & entered) == 0) {
        leaves.push_back(operand);
        tape.node(operand)->head |= entered;
      }
    });
  }
  return is_within;
}

}  // namespace

// The usual case: a function has recorded its graph on top of the tape. One sweep does it, and only the leaves below,
// its arguments and what it captured, are put back as they were.
std::optional<std::vector<double>> gradients_of_newest(const Value& root, Ref bottom, std::span<const Value> inputs) {
  const Ref ref = Handle::ref(root, "gradient");
  const bool is_newest = !apart(ref) && is_recorded(ref) && ref >= bottom && ref < tape.top;
  if (!is_newest || tape.clean_from > bottom || must_search()) return std::nullopt;
  std::vector<Ref> leaves;
  if (!find_leaves(ref, bottom, leaves)) return std::nullopt;
  std::vector<Ref> refs;
  for (const Value& input : inputs) refs.push_back(Handle::ref(input, "gradient"));
  std::vector<double> result(refs.size()), saved(leaves.size());
  for (std::size_t i = 0; i < saved.size(); ++i) saved[i] = std::exchange(tape.node(leaves[i])->grad, 0);
  for (const Ref input : refs) tape.node(input)->grad = 0;
  tape.node(ref)->grad = 1;
  tape.node(ref)->head |= touched;
  sweep(ref, bottom);
  end_sweep();
  for (std::size_t i = 0; i < refs.size(); ++i) result[i] = tape.node(refs[i])->grad;
  for (std::size_t i = 0; i < saved.size(); ++i) tape.node(leaves[i])->grad = saved[i];
  return result;
}

}  // namespace detail

Gradients pass(const Value& root, double seed) {
  using namespace detail;
  const Ref top = Handle::ref(root, "pass");
  release_lost();
  const std::vector<Ref>& order = search(top, [](Ref ref) {
    need_derivatives("pass", ref);
    return true;
  });
  Gradients result(root);
  result.gradients_.reserve(order.size());
  for (const Ref ref : order) result.gradients_.emplace_back(ref, std::exchange(tape.node(ref)->grad, 0));
  tape.node(top)->grad = seed;
  for (auto ref = order.rbegin(); ref != order.rend(); ++ref)
    if (is_recorded(*ref)) deposit(*ref);
  for (auto& [ref, gradient] : result.gradients_) std::swap(tape.node(ref)->grad, gradient);
  std::sort(result.gradients_.begin(), result.gradients_.end());
  return result;
}

double Gradients::of(const Value& node) const {
  using namespace detail;
  Handle::ref(root_, "Gradients::of");
  const Ref ref = Handle::ref(node, "Gradients::of");
  const auto found = std::lower_bound(gradients_.begin(), gradients_.end(), ref,
                                      [](const auto& one, Ref wanted) { return one.first < wanted; });
  return found == gradients_.end() || found->first != ref ? 0 : found->second;
}

void Value::backward(double seed) const {
  using namespace detail;
  node_ref("backward");
  settle();
  release_lost();
  Node* root = tape.node(ref_);
  if (apart(ref_) && is_leaf(ref_) && (root->head & unrecorded) != 0)
    throw Error("backward", "a Value that was recorded", "a number made under NoGrad",
                "compute it where no NoGrad guard lives");
  if (!is_recorded(ref_)) {
    root->grad = seed;
    return;
  }
  root->head |= touched;  // or a later sum could take over its record, and the gradient would be lost
  if (!must_search() && (tape.clean_from == tape.start || reaches_only_clean_nodes(ref_))) {
    root->grad = seed;
    sweep(ref_, tape.clean_from);
    end_sweep();
  } else {
    tape.clean_from = tape.top;  // also where a step back of a user's own throws, or lets go of the root
    search_and_sweep(ref_, seed);
  }
}

// Deposits made by hand are not a pass: the operands' gradients count as written by their user.
void Value::propagate() const {
  using namespace detail;
  const Ref ref = look_into(*this, "propagate");
  tape.store->swept_end = 0;  // an operand without a handle may become exposed
  each_operand(ref, [](Ref operand) {
    if (!apart(operand)) expose_gradient(operand);
  });
  if (const Callback* const callback = callback_of(ref))
    callback->step_back(*this);
  else
    deposit(ref);
}

}  // namespace gradwalk
