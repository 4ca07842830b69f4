// SPDX-License-Identifier: MIT
// The leaf region: the upper half of a tape, in batches of one size. A batch holds leaves, or cells for results of
// NoGrad. Free ones, and dead ones that a record may still read, are lists that run through `operands`.
#pragma once

#include "store.hpp"

namespace gradwalk::detail {

// The region starts half a page off the records: the processor holds up a load whose address ends like that of a recent
// store.
inline constexpr Ref leaves_begin = first_leaf + 256;

inline constexpr std::uint32_t leaf_batch = 1024, cell_words = 5, cells_in_batch = 4 * leaf_batch / cell_words;
inline constexpr Ref batch_words = 4 * leaf_batch;

// Makes sure that `free_list` is not empty: by collecting, or by returning an unused batch that the caller fills.
// Returns 0 if the list has an entry. Throws an Error if the region is full.
Ref take_batch(const Ref& free_list);

void free_leaf(Ref ref);
void wait_as_leaf(Ref ref);        // for a dead leaf that records may still read
void free_waiting_leaves();        // frees waiting leaves, except those that collect() has marked
void give_back_leaves() noexcept;  // returns unused memory to the system

inline bool has_cells(Ref batch) {
  const std::size_t index = (batch - leaves_begin) / batch_words;
  return index < tape.store->has_cells.size() && tape.store->has_cells[index];
}

// Clears the head of a free leaf or cell, so that a scan of its batch can tell that it is free.
inline void mark_free(Ref ref) {
  unpoison(ref, 4);
  tape.node(ref)->head = 0;
}

// Calls visit(ref) for each leaf or cell of a batch, used or free.
template <class Visit> void each_in_batch(Ref batch, Visit visit) {
  if (has_cells(batch))
    for (std::uint32_t i = 0; i < cells_in_batch; ++i) visit(batch + i * cell_words + 1);
  else
    for (std::uint32_t i = 0; i < leaf_batch; ++i) visit(batch + i * 4);
}

// Calls visit(ref) for each entry of a list. visit may change the entry.
template <class Visit> void each_in_list(Ref list, Visit visit) {
  for (Ref next = 0; list != 0; list = next) {
    next = static_cast<Ref>(tape.node(list)->operands);
    visit(list);
  }
}

}  // namespace gradwalk::detail
