// SPDX-License-Identifier: MIT
// NoGrad. While a guard lives, the tape looks full, so every operation calls make_room(). It gets a cell of the leaf
// region and writes its record there as usual; before anything else happens, the record becomes a leaf. So a result
// costs what a leaf costs, and the records of graphs stay without gaps.
//
// A cell is a node and the word below it, for a constant operand. Cells are reused.
#include "leaf_region.hpp"

namespace gradwalk {

using namespace detail;

namespace {

Ref take_cell() {
  Store& store = *tape.store;
  if (store.free_cell == 0) {
    if (const Ref batch = take_batch(store.free_cell); batch != 0) {
      store.has_cells[(batch - leaves_begin) / batch_words] = true;
      each_in_batch(batch, [&](Ref ref) { tape.node(ref)->operands = std::exchange(store.free_cell, ref); });
    }
  }
  return std::exchange(store.free_cell, static_cast<Ref>(tape.node(store.free_cell)->operands));
}

}  // namespace

void detail::make_cell_the_top(Ref words) {
  const Ref cell = take_cell();
  tape.store->recorded_top = tape.top;
  tape.top = cell - (words - 4);
}

void detail::finish_result() {
  const Ref ref = tape.top - 4;
  tape.top = tape.store->recorded_top;
  Node& node = *tape.node(ref);
  constexpr Word kept = labelled | spilled | most_handles;
  const bool is_needed = is_held(node) || (node.head & spilled) != 0;
  node.head = (node.head & kept) | unrecorded | unheld(Op::leaf, tape.store->guard);
  if (!is_needed)
    free_leaf(ref);
  else if (watch != nullptr)
    report_left(Handle::share(ref));
}

Value detail::no_grad_result(double data) {
  const Ref ref = take_cell();
  unpoison(ref, 4);
  write_node(ref, pair(nothing, nothing), fresh(Op::leaf, tape.store->guard) | unrecorded, data);
  Value made = Handle::adopt(ref);
  report_left(made);
  return made;
}

NoGrad::NoGrad() {
  if (tape.store == nullptr) start_tape();
  Store& store = *tape.store;
  if (store.no_grad++ > 0) return;
  store.recorded_limit = std::exchange(tape.limit, 0);
  ++store.guard;
  keep_newest();
}

NoGrad::~NoGrad() {
  if (tape.store == nullptr || tape.store->no_grad == 0) return;  // The guard outlived its thread's tape.
  settle();
  if (--tape.store->no_grad > 0) return;
  tape.limit = tape.store->recorded_limit;
}

}  // namespace gradwalk
