// SPDX-License-Identifier: MIT
// List: a vector for as many elements as a graph has nodes. A large one is in large pages: without them, page faults
// are a fifth of the time that compiling a million nodes takes.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "platform/large_pages.hpp"

namespace gradwalk::compiler {

template <class T> struct LargePages {
  using value_type = T;
  LargePages() = default;
  template <class Other> LargePages(const LargePages<Other>&) {}  // NOLINT(google-explicit-constructor): an allocator

  T* allocate(std::size_t count) {
    if (!is_large(count)) return std::allocator<T>().allocate(count);
    void* const begin = ::operator new(count * sizeof(T), std::align_val_t{platform::large_page});
    platform::prefer_large_pages(begin, count * sizeof(T));
    return static_cast<T*>(begin);
  }
  void deallocate(T* begin, std::size_t count) {
    if (!is_large(count)) return std::allocator<T>().deallocate(begin, count);
    ::operator delete(begin, std::align_val_t{platform::large_page});
  }
  template <class Other> bool operator==(const LargePages<Other>&) const { return true; }

 private:
  static bool is_large(std::size_t count) { return count >= 2 * platform::large_page / sizeof(T); }
};

template <class T> using List = std::vector<T, LargePages<T>>;

// Appends an element, field by field. push_back() would write the fields to the stack and copy them from there by wider
// loads, which wait for these stores: simplify took twice as long.
template <class T> inline void append(List<T>& list, const T& element) { list.emplace_back() = element; }

}  // namespace gradwalk::compiler
