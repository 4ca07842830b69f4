// SPDX-License-Identifier: MIT
// Machine code on a device: compiled from a text by NVRTC, or taken from the cache.
#pragma once

#include <string>
#include <vector>

#include "driver.hpp"

namespace gradwalk::gpu {

class LoadedCode {
 public:
  // An empty folder: nothing is kept from run to run.
  LoadedCode(const char* call, const std::string& text, const std::vector<std::string>& flags, int device,
             const std::string& cache);
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;
  ~LoadedCode();

  // Returns the kernel of this name.
  Handle find(const char* call, const std::string& name) const;

 private:
  Driver& driver_;
  Handle module_ = nullptr;
};

// Returns the architecture of a device: "sm_90".
std::string architecture_of(const char* call, int device);

}  // namespace gradwalk::gpu
