// SPDX-License-Identifier: MIT
// backward(): the chain rule from one root to every node below it.
//
// Creation order is a topological order, so the usual case is a sweep: one loop over the tape from the root down. A
// sweep is right where all gradients were 0 before it: a record with gradient 0 was not reached, or has nothing to pass
// on, and is skipped. Otherwise the pass first searches for the nodes of the root and sets their gradients to 0. Leaves
// accumulate over passes; any other node has the gradient of the last pass that reached it.
#include <algorithm>
#include <optional>
#include <span>

#include "chain_rule.hpp"
#include "search.hpp"

namespace gradwalk {
namespace detail {
namespace {

// Whether all records below the root lie between clean_from and the root. It stops at the first operand that does not.
// The pass that follows raises clean_from, so records that were checked in vain are checked only once.
// Leaves, `literal` and `nothing` are larger than the Ref of any record, so they are never the lowest.
template <bool older_may_lie_above> [[gnu::noinline]] bool reaches_only_clean_nodes(Ref root) {
  if (root < tape.clean_from || root >= tape.top) return false;
  Word* const base = tape.base;
  const Ref clean_from = tape.clean_from;
  Ref low = root, high = root;
  const auto look = [&](Ref operand) {
    low = std::min(low, operand);
    if constexpr (older_may_lie_above) high = std::max(high, in_leaf_region(operand) ? root : operand);
  };
  for (Ref ref = root; ref >= low;) {
    const Node& node = *reinterpret_cast<const Node*>(base + ref);
    const Ref extra = extra_of(node);
    if (extra == 0) [[likely]] {
      look(first(node.operands));
      look(second(node.operands));
      ref -= 4;  // This does not depend on the head, so the processor need not wait for it to load.
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

// Makes the deposits of one record. A gradient of 0 deposits 0, also where the local derivative is infinite.
[[gnu::noinline]] void deposit(Ref ref) {
  const double gradient = tape.node(ref)->grad;
  if (gradient == 0) return;
  each_local(ref, [&](Ref operand, double local) { tape.node(operand)->grad += gradient * local; });
}

// Makes the deposits of all records from the root down to `bottom`, below which no node of its graph lies. The root
// must not become part of a later sum: the swept range would then end in the middle of a record.
[[gnu::noinline]] void sweep(Ref root, Ref bottom) {
  Word* const base = tape.base;
  Ref begin = root;
  Word heads = 0;
  std::uint32_t held = 0;
  for (Ref ref = root; ref >= bottom; ref = begin - 4) {
    __builtin_prefetch(base + ref - 512);
    const Node& node = *reinterpret_cast<const Node*>(base + ref);
    const double gradient = node.grad;
    const Word head = node.head;
    heads |= head;
    held += without_extra(head) >= one_handle;
    begin = ref;
    if (gradient == 0) {
      const Ref extra = static_cast<Ref>(head >> 32);
      if (extra != 0 && !has_third(static_cast<Op>(head & 0xff))) begin = ref - extra;
      continue;
    }
    const auto add = [=](Ref operand, double local) {
      reinterpret_cast<Node*>(base + operand)->grad += gradient * local;
    };
    begin -= each_local_derivative<true>(base, ref, add, deposit);
  }
  // If only the root has handles, these records can all be freed with it.
  const bool goes_at_once = held == 1 && (heads & (labelled | expanded | exposed)) == 0;
  tape.store->swept_begin = begin;
  tape.store->swept_end = goes_at_once ? root + 4 : 0;
}

// Whether a user has written a gradient where a pass expects 0.
[[gnu::noinline]] bool has_written_gradient() {
  const Store& store = *tape.store;
  return std::any_of(store.exposed_clean.begin(), store.exposed_clean.end(),
                     [&](Ref ref) { return store.exposed_gradients.contains(ref) && tape.node(ref)->grad != 0; });
}

// Notes the gradients that a sweep has left in exposed records.
[[gnu::noinline]] void note_swept_gradients() {
  Store& store = *tape.store;
  for (const Ref ref : store.exposed_clean)
    if (const auto found = store.exposed_gradients.find(ref); found != store.exposed_gradients.end())
      found->second = tape.node(ref)->grad;
  store.exposed_clean.clear();
}

// After a pass no record is clean any more, and the exposed ones that it reached have its gradient.
void end_sweep() {
  tape.clean_from = tape.top;
  if (!tape.store->exposed_clean.empty()) [[unlikely]]
    note_swept_gradients();
}
void end_search(const std::vector<Ref>& reached) {
  Store& store = *tape.store;
  tape.clean_from = tape.top;
  store.exposed_clean.clear();
  if (store.exposed_gradients.empty()) return;
  for (const Ref ref : reached)
    if (!in_leaf_region(ref) && (tape.node(ref)->head & exposed) != 0)
      store.exposed_gradients[ref] = tape.node(ref)->grad;
}

// A pass that calls the functions of custom nodes. They may do anything, so the pass expands every record first and
// works on a copy of the list.
void backward_with_callbacks(Ref root, double seed) {
  const Value held = Handle::share(root);
  const std::vector<Ref> order = search(root, [](Ref ref) {
    expand(ref);
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
  if (!tape.store->callbacks.empty()) return backward_with_callbacks(root, seed);
  // The constants of expanded records start from 0 like inner nodes. Leaves and results of NoGrad accumulate.
  const std::vector<Ref>& order = search(root, [](Ref ref) { return is_recorded(ref) || is_constant(ref); });
  for (const Ref ref : order) tape.node(ref)->grad = 0;
  tape.node(root)->grad = seed;
  for (auto ref = order.rbegin(); ref != order.rend(); ++ref) deposit(*ref);
  end_search(order);
}

// Whether sweeps are not allowed: records were expanded, there are functions to call, or a gradient is not 0.
bool must_search() {
  const Store& store = *tape.store;
  return !store.expanded_parts.empty() || !store.callbacks.empty() ||
         (!store.exposed_clean.empty() && has_written_gradient());
}

// Finds the leaves below a root. Returns false if some of its records do not lie between it and `bottom`.
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
      if (!in_leaf_region(operand)) {
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

// The usual case of gradient(): a function has just recorded its graph on top of the tape. One sweep computes the
// gradients, and only the leaves below (its arguments and what it captured) have to be restored.
std::optional<std::vector<double>> gradients_of_newest(const Value& root, Ref bottom, std::span<const Value> inputs) {
  const Ref ref = Handle::ref(root, "gradient");
  const bool is_newest = !in_leaf_region(ref) && is_recorded(ref) && ref >= bottom && ref < tape.top;
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
                                      [](const auto& entry, Ref wanted) { return entry.first < wanted; });
  return found == gradients_.end() || found->first != ref ? 0 : found->second;
}

void Value::backward(double seed) const {
  using namespace detail;
  node_ref("backward");
  settle();
  release_lost();
  Node* root = tape.node(ref_);
  if (in_leaf_region(ref_) && is_leaf(ref_) && (root->head & unrecorded) != 0)
    throw Error("backward", "a Value that was recorded", "a number made under NoGrad",
                "compute it where no NoGrad guard lives");
  if (!is_recorded(ref_)) {
    root->grad = seed;
    return;
  }
  root->head |= touched;  // Otherwise a later sum could take over the record, and its gradient would be lost.
  if (!must_search() && (tape.clean_from == tape.start || reaches_only_clean_nodes(ref_))) {
    root->grad = seed;
    sweep(ref_, tape.clean_from);
    end_sweep();
  } else {
    tape.clean_from = tape.top;  // Set it now: a user's function may throw, or release the root.
    search_and_sweep(ref_, seed);
  }
}

// Deposits made by hand are not a pass: the gradients of the operands count as written by the user.
void Value::propagate() const {
  using namespace detail;
  const Ref ref = look_into(*this, "propagate");
  tape.store->swept_end = 0;  // An operand without a handle may become exposed.
  each_operand(ref, [](Ref operand) {
    if (!in_leaf_region(operand)) expose_gradient(operand);
  });
  if (const Callback* const callback = callback_of(ref))
    callback->step_back(*this);
  else
    deposit(ref);
}

}  // namespace gradwalk
