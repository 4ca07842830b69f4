// SPDX-License-Identifier: MIT
// Work that a stream gets again and again. After some times, it is captured as a CUDA graph, and then one call of the
// driver launches all of its kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "driver.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::gpu {

class Graphs {
 public:
  // Everything that the work depends on: the arguments of its kernels, which a graph keeps, and their grids.
  using Key = std::vector<std::uint64_t>;

  explicit Graphs(Driver& driver) : driver_(driver) {}
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;
  ~Graphs() { clear(); }

  // Returns whether run() captures work.
  bool is_on() const { return !is_off_ && driver_.has_graphs(); }

  // Puts work on the stream: work() does so, and must neither wait nor allocate memory. If the driver cannot capture
  // it, work() is called each time.
  template <class Work> void run(const char* call, Handle stream, const Key& key, Work work) {
    Entry* const entry = entry_of(key);
    if (entry == nullptr) return work();
    if (entry->graph == nullptr && entry->uses++ == uses_before_capture) {
      bool is_captured = begin(stream);
      if (is_captured) {
        try {
          work();
        } catch (const Error&) {
          is_captured = false;  // the work is done again below
        }
        entry->graph = end(stream, is_captured);
      }
      if (entry->graph == nullptr) is_off_ = true;
    }
    if (entry->graph == nullptr) return work();
    driver_.check(call, driver_.launch_graph(entry->graph, stream), "cuGraphLaunch");
  }

 private:
  struct Entry {
    Key key;
    std::uint64_t last_use = 0;
    unsigned uses = 0;
    Handle graph = nullptr;
  };
  static constexpr unsigned uses_before_capture = 4;
  static constexpr std::size_t most_entries = 16;

  // Returns the entry of the key, which may be a new one in place of the one that was not used for longest; null if
  // nothing is captured.
  Entry* entry_of(const Key& key);
  bool begin(Handle stream) const;
  // Ends a capture. Returns null if it failed.
  Handle end(Handle stream, bool is_captured) const;
  void clear();

  Driver& driver_;
  std::vector<Entry> entries_;
  std::uint64_t clock_ = 0;
  bool is_off_ = false;
};

}  // namespace gradwalk::gpu
