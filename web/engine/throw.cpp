// SPDX-License-Identifier: MIT
// Functions that the C++ library for WebAssembly lacks. At a throw, the message goes to JavaScript, which throws an
// error of its own through the engine and drops it. Nothing below is unwound. All that gradwalk throws derives from
// std::exception, as its first base.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <typeinfo>

extern "C" {

[[noreturn]] __attribute__((import_module("gradwalk"), import_name("throw"))) void gradwalk_throw(const char* message,
                                                                                                  std::size_t size);

void* __cxa_allocate_exception(std::size_t size) noexcept { return std::malloc(size); }

[[noreturn]] void __cxa_throw(void* thrown, std::type_info*, void (*)(void*)) {
  const char* message = static_cast<std::exception*>(thrown)->what();
  gradwalk_throw(message, std::strlen(message));
}

// The one thread never ends, so nothing is to be done then.
int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }
}
