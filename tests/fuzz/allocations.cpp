// SPDX-License-Identifier: MIT
// Counts allocations through the hooks of the address sanitizer, which see every allocation of the process.
#include "allocations.hpp"

#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstdio>

namespace fuzz {
namespace {

thread_local bool is_counting = false;
thread_local std::ptrdiff_t now = 0, highest = 0;

void on_malloc(const volatile void*, std::size_t size) {
  if (!is_counting) return;
  now += static_cast<std::ptrdiff_t>(size);
  highest = std::max(highest, now);
}
void on_free(const volatile void* at) {
  if (is_counting && at != nullptr)
    now -= static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(const_cast<const void*>(at)));
}

}  // namespace

Allocations::Allocations() {
  static const bool is_installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
  if (!is_installed) __builtin_trap();
  now = highest = 0;
  is_counting = true;
}
Allocations::~Allocations() { is_counting = false; }

void Allocations::check(std::size_t most) const {
  if (highest <= static_cast<std::ptrdiff_t>(most)) return;
  is_counting = false;
  std::fprintf(stderr, "%td bytes in use at once, at most %zu were promised\n", highest, most);
  __builtin_trap();
}

}  // namespace fuzz
