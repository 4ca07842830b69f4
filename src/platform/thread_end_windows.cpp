// SPDX-License-Identifier: MIT
// The end of a thread on Windows. Destructors of thread-local objects would run too late.
//
// With native thread-local storage (clang), Windows calls the callback of a fiber-local slot while thread-local
// variables exist. g++ emulates thread-local storage by a key of its thread library, whose destructors run before that,
// in the order in which the keys were made. So our key is made first, before anything uses a thread-local variable.
#include <memory>

#include "thread_end.hpp"
#include "thread_end_calls.hpp"

#if defined(__MINGW32__) && !defined(__clang__)
#include <pthread.h>
#else
#include "windows_api.hpp"
#endif

namespace gradwalk::platform {
namespace {

void make_calls(void* calls) {
  const std::unique_ptr<ThreadEndCalls> owned(static_cast<ThreadEndCalls*>(calls));
  if (owned != nullptr) owned->make();
}

#if defined(__MINGW32__) && !defined(__clang__)

pthread_key_t key;
[[gnu::constructor(101)]] void make_key() { pthread_key_create(&key, make_calls); }

ThreadEndCalls* calls_of_thread() { return static_cast<ThreadEndCalls*>(pthread_getspecific(key)); }
void set_calls_of_thread(ThreadEndCalls* calls) { pthread_setspecific(key, calls); }

#else

void WINAPI make_calls_of_slot(void* calls) { make_calls(calls); }
DWORD slot() {
  static const DWORD number = FlsAlloc(make_calls_of_slot);
  return number;
}

ThreadEndCalls* calls_of_thread() { return static_cast<ThreadEndCalls*>(FlsGetValue(slot())); }
void set_calls_of_thread(ThreadEndCalls* calls) { FlsSetValue(slot(), calls); }

#endif

}  // namespace

void at_thread_end(void (*work)(void*) noexcept, void* data) {
  ThreadEndCalls* calls = calls_of_thread();
  if (calls == nullptr) {
    calls = new ThreadEndCalls;
    set_calls_of_thread(calls);
  }
  calls->add(work, data);
}

}  // namespace gradwalk::platform
