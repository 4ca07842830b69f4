// SPDX-License-Identifier: MIT
// Functions of fake_cuda.cpp that tests call.
#pragma once

#include <dlfcn.h>

#include "gradwalk/gpu.hpp"

namespace gradwalk::tests {

// Returns a function of the driver of the tests, or null on a GPU.
template <class F> F* of_fake_driver(const char* name) {
  if (gpu::devices()[0].name != "fake GPU") return nullptr;
  return reinterpret_cast<F*>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
}

}  // namespace gradwalk::tests
