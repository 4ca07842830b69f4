// SPDX-License-Identifier: MIT
// The driver's API: devices, memory, kernels. Its functions are declared here, so that no header of CUDA is needed.
#pragma once

#include <cstddef>
#include <mutex>

#include "gradwalk/gpu.hpp"
#include "library.hpp"

namespace gradwalk::gpu {

using Address = unsigned long long;
using Handle = void*;

class Driver {
 public:
  // The one of this process. Throws an Error that says what was tried if there is none.
  static Driver& get(const char* call);

  std::vector<Device> devices(const char* call);
  // Makes a device the one of this thread. Throws an Error if there is no such device, or if it has failed.
  void use(const char* call, int device);
  // Throws an Error for a result other than 0. After some results, the device cannot be used any more.
  void check(const char* call, int result, const char* what);
  // Allocates memory. Throws an Error that says how much is free if there is too little.
  Address allocate(const char* call, std::size_t bytes);

  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*device_at)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_bytes)(std::size_t*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*retain)(Handle*, int) = nullptr;
  int (*set_current)(Handle) = nullptr;
  int (*wait_for_all)() = nullptr;
  int (*load)(Handle*, const void*) = nullptr;
  int (*unload)(Handle) = nullptr;
  int (*function)(Handle*, Handle, const char*) = nullptr;
  int (*alloc)(Address*, std::size_t) = nullptr;
  int (*free)(Address) = nullptr;
  int (*pointer_attribute)(void*, int, Address) = nullptr;
  int (*memory_info)(std::size_t*, std::size_t*) = nullptr;
  int (*alloc_host)(void**, std::size_t) = nullptr;
  int (*free_host)(void*) = nullptr;
  int (*to_device)(Address, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, Address, std::size_t) = nullptr;
  int (*to_device_async)(Address, const void*, std::size_t, Handle) = nullptr;
  int (*to_host_async)(void*, Address, std::size_t, Handle) = nullptr;
  int (*fill)(Address, unsigned, std::size_t, Handle) = nullptr;
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**,
                void**) = nullptr;
  int (*set_function_attribute)(Handle, int, int) = nullptr;
  int (*create_stream)(Handle*, unsigned) = nullptr;
  int (*destroy_stream)(Handle) = nullptr;
  int (*wait)(Handle) = nullptr;
  int (*create_event)(Handle*, unsigned) = nullptr;
  int (*destroy_event)(Handle) = nullptr;
  int (*record)(Handle, Handle) = nullptr;
  int (*elapsed)(float*, Handle, Handle) = nullptr;
  int (*error_text)(int, const char**) = nullptr;
  // CUDA graphs; null if the driver is older than CUDA 11.4.
  int (*begin_capture)(Handle, int) = nullptr;
  int (*end_capture)(Handle, Handle*) = nullptr;
  int (*instantiate_graph)(Handle*, Handle, unsigned long long) = nullptr;
  int (*launch_graph)(Handle, Handle) = nullptr;
  int (*destroy_graph)(Handle) = nullptr;
  int (*destroy_graph_exec)(Handle) = nullptr;
  bool has_graphs() const {
    return begin_capture != nullptr && end_capture != nullptr && instantiate_graph != nullptr &&
           launch_graph != nullptr && destroy_graph != nullptr && destroy_graph_exec != nullptr;
  }

 private:
  explicit Driver(const char* call);
  Library library_;
  std::mutex mutex_;
  std::vector<Handle> contexts_;
  std::string failure_;  // of a device that cannot be used any more
};

}  // namespace gradwalk::gpu
