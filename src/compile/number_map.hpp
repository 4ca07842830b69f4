// SPDX-License-Identifier: MIT
// From 64-bit keys to 32-bit numbers, open-addressed: a look is a cache line, where std::unordered_map takes several
// and an allocation a key. Measured: a third of the time of recording a graph with many constants.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace gradwalk::compiler {

// Adds a number to a hash. Most of what is mixed are small numbers: they must not cancel each other, nor one stand for
// two.
inline std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
  hash = (std::rotl(hash, 23) ^ (more + 0x632be59bd9b4e019u)) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

class NumberMap {
 public:
  static constexpr std::uint32_t absent = 0xffffffff;

  // The number of the key, absent if it is new. The reference is good until the next call.
  std::uint32_t& operator[](std::uint64_t key) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = find(slots_, key);
    if (!slot.used) {
      slot.used = true;
      slot.key = key;
      ++used_;
    }
    return slot.number;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t number = absent;
    bool used = false;
  };

  static Slot& find(std::vector<Slot>& slots, std::uint64_t key) {
    std::uint64_t at = key * 0x9e3779b97f4a7c15u;
    at ^= at >> 32;
    for (;; ++at) {
      Slot& slot = slots[at & (slots.size() - 1)];
      if (!slot.used || slot.key == key) return slot;
    }
  }

  void grow() {
    std::vector<Slot> larger(slots_.empty() ? 64 : 4 * slots_.size());
    for (const Slot& slot : slots_)
      if (slot.used) find(larger, slot.key) = slot;
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace gradwalk::compiler
