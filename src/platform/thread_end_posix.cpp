// SPDX-License-Identifier: MIT
// The end of a thread, by the destructor of a thread-local object.
#include "thread_end.hpp"

#include "thread_end_calls.hpp"

namespace gradwalk::platform {
namespace {

constinit thread_local bool calls_are_over = false;

struct Calls : ThreadEndCalls {
  ~Calls() {
    make();
    calls_are_over = true;
  }
};

}  // namespace

void at_thread_end(void (*work)(void*) noexcept, void* data) {
  if (!calls_are_over) {
    thread_local Calls calls;
    calls.add(work, data);
  } else {  // A destructor of another thread-local object has called this.
    thread_local Calls late_calls;
    late_calls.add(work, data);
  }
}

}  // namespace gradwalk::platform
