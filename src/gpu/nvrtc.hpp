// SPDX-License-Identifier: MIT
// NVRTC, NVIDIA's run-time compiler: CUDA text to machine code. It needs no GPU.
#pragma once

#include "gradwalk/emit_cuda.hpp"
#include "library.hpp"

namespace gradwalk::gpu {

class Nvrtc {
 public:
  // The one of this process. Throws an Error if there is none.
  static const Nvrtc& get(const char* call);

  // "13.0"
  std::string version() const;
  std::string compile(const char* call, const std::string& text, const std::vector<std::string>& flags) const;

 private:
  explicit Nvrtc(const char* call);
  using Handle = void*;
  Library library_;
  int (*create_)(Handle*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile_)(Handle, int, const char* const*) = nullptr;
  int (*log_size_)(Handle, std::size_t*) = nullptr;
  int (*log_)(Handle, char*) = nullptr;
  int (*ptx_size_)(Handle, std::size_t*) = nullptr;
  int (*ptx_)(Handle, char*) = nullptr;
  int (*cubin_size_)(Handle, std::size_t*) = nullptr;
  int (*cubin_)(Handle, char*) = nullptr;
  int (*destroy_)(Handle*) = nullptr;
  int (*version_)(int*, int*) = nullptr;
};

// The flags for a text in one of the two modes.
std::vector<std::string> flags_for(const CudaSource& source, const std::string& architecture, bool exact);

}  // namespace gradwalk::gpu
