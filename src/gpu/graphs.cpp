// SPDX-License-Identifier: MIT
#include "graphs.hpp"

#include <algorithm>

namespace gradwalk::gpu {

Graphs::Entry* Graphs::entry_of(const Key& key) {
  if (!is_on()) return nullptr;
  auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) {
    if (entries_.size() < most_entries) {
      found = entries_.emplace(entries_.end());
    } else {
      found = std::ranges::min_element(entries_, {}, &Entry::last_use);
      if (found->graph != nullptr) driver_.destroy_graph_exec(found->graph);
    }
    *found = {.key = key};
  }
  found->last_use = ++clock_;
  return &*found;
}

bool Graphs::begin(Handle stream) const {
  constexpr int of_this_thread = 1;  // other threads may allocate memory in the meantime
  return driver_.begin_capture(stream, of_this_thread) == 0;
}

Handle Graphs::end(Handle stream, bool is_captured) const {
  Handle graph = nullptr, made = nullptr;
  if (driver_.end_capture(stream, &graph) == 0 && is_captured && driver_.instantiate_graph(&made, graph, 0) != 0)
    made = nullptr;
  if (graph != nullptr) driver_.destroy_graph(graph);
  return made;
}

void Graphs::clear() {
  for (const Entry& entry : entries_)
    if (entry.graph != nullptr) driver_.destroy_graph_exec(entry.graph);
  entries_.clear();
}

}  // namespace gradwalk::gpu
