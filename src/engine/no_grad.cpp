// SPDX-License-Identifier: MIT
// NoGrad. Operations record under it as ever, which costs them nothing; what they made becomes plain numbers when the
// guard ends, or when someone looks. A chunk of their own keeps them from becoming part of an older record.
#include "store.hpp"

namespace gradwalk {

void detail::freeze() {
  const Store& store = *tape.store;
  Ref top = tape.top;
  for (std::uint32_t place = store.current;; place = store.chunks[place].previous) {
    for (Ref ref = top - 4; ref > chunk_at(place); ref = older(ref)) {
      Node* node = tape.node(ref);
      if (op_of(*node) == frozen) return;  // and so is what lies below
      node->head = (without_extra(node->head) & ~Word{0xff}) | unheld(frozen, words_below(*node));
      node->operands = pair(nothing, nothing);
    }
    top = store.chunks[place].end;
    if (place == store.no_grad_chunk) return;
  }
}

NoGrad::NoGrad() {
  using namespace detail;
  if (tape.store == nullptr) start_tape();
  if (tape.store->no_grad == 0) {
    if (tape.top != tape.start) enter_chunk(next_place());
    tape.store->no_grad_chunk = tape.store->current;
  }
  ++tape.store->no_grad;
}

NoGrad::~NoGrad() {
  using namespace detail;
  if (tape.store == nullptr || tape.store->no_grad == 0) return;  // it outlived its thread's tape
  freeze();
  if (--tape.store->no_grad > 0) return;
  tape.store->no_grad_chunk = no_chunk;
  trim();
}

}  // namespace gradwalk
