// SPDX-License-Identifier: MIT
#include "driver.hpp"

#include <algorithm>
#include <array>

#include "gradwalk/error.hpp"

namespace gradwalk::gpu {
namespace {

constexpr int major_attribute = 75, minor_attribute = 76, out_of_memory = 2;
// Results after which every later call fails: faults in kernels, and hardware errors.
constexpr std::array unusable{214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719};

}  // namespace

Driver::Driver(const char* call)
    : library_(call, "the driver of an NVIDIA GPU", {"libcuda.so.1", "libcuda.so"},
               "install the driver, or use compile() for the CPU") {
  library_.find(init, "cuInit");
  library_.find(count, "cuDeviceGetCount");
  library_.find(device_at, "cuDeviceGet");
  library_.find(device_name, "cuDeviceGetName");
  library_.find(device_bytes, "cuDeviceTotalMem_v2");
  library_.find(attribute, "cuDeviceGetAttribute");
  library_.find(retain, "cuDevicePrimaryCtxRetain");
  library_.find(set_current, "cuCtxSetCurrent");
  library_.find(wait_for_all, "cuCtxSynchronize");
  library_.find(load, "cuModuleLoadData");
  library_.find(unload, "cuModuleUnload");
  library_.find(function, "cuModuleGetFunction");
  library_.find(alloc, "cuMemAlloc_v2");
  library_.find(free, "cuMemFree_v2");
  library_.find(pointer_attribute, "cuPointerGetAttribute");
  library_.find(memory_info, "cuMemGetInfo_v2");
  library_.find(alloc_host, "cuMemAllocHost_v2");
  library_.find(free_host, "cuMemFreeHost");
  library_.find(to_device, "cuMemcpyHtoD_v2");
  library_.find(to_host, "cuMemcpyDtoH_v2");
  library_.find(to_device_async, "cuMemcpyHtoDAsync_v2");
  library_.find(to_host_async, "cuMemcpyDtoHAsync_v2");
  library_.find(fill, "cuMemsetD32Async");
  library_.find(launch, "cuLaunchKernel");
  library_.find(set_function_attribute, "cuFuncSetAttribute");
  library_.find(create_stream, "cuStreamCreate");
  library_.find(destroy_stream, "cuStreamDestroy_v2");
  library_.find(wait, "cuStreamSynchronize");
  library_.find(create_event, "cuEventCreate");
  library_.find(destroy_event, "cuEventDestroy_v2");
  library_.find(record, "cuEventRecord");
  library_.find(elapsed, "cuEventElapsedTime");
  library_.find(error_text, "cuGetErrorString");
  library_.look_for(begin_capture, "cuStreamBeginCapture_v2");
  library_.look_for(end_capture, "cuStreamEndCapture");
  library_.look_for(instantiate_graph, "cuGraphInstantiateWithFlags");
  library_.look_for(launch_graph, "cuGraphLaunch");
  library_.look_for(destroy_graph, "cuGraphDestroy");
  library_.look_for(destroy_graph_exec, "cuGraphExecDestroy");
  const int result = init(0);
  const char* text = nullptr;
  if (result != 0) {
    error_text(result, &text);
    throw Error(call, "a GPU that the driver can use", text == nullptr ? "error " + std::to_string(result) : text,
                "check the output of nvidia-smi, or use compile() for the CPU");
  }
}

Driver& Driver::get(const char* call) {
  static Driver driver(call);
  return driver;
}

void Driver::check(const char* call, int result, const char* what) {
  if (result == 0) return;
  const char* text = nullptr;
  error_text(result, &text);
  const std::string message = std::string(what) + " failed: " + (text == nullptr ? std::to_string(result) : text);
  if (std::ranges::find(unusable, result) != unusable.end()) {
    const std::scoped_lock lock(mutex_);
    failure_ = message;
  }
  throw Error(call, "a working device", message, "see docs/gpu.md");
}

std::vector<Device> Driver::devices(const char* call) {
  int number = 0;
  check(call, count(&number), "cuDeviceGetCount");
  std::vector<Device> made;
  for (int i = 0; i < number; ++i) {
    int device = 0, major = 0, minor = 0;
    std::array<char, 256> name{};
    std::size_t bytes = 0;
    check(call, device_at(&device, i), "cuDeviceGet");
    check(call, device_name(name.data(), static_cast<int>(name.size()) - 1, device), "cuDeviceGetName");
    check(call, device_bytes(&bytes, device), "cuDeviceTotalMem");
    check(call, attribute(&major, major_attribute, device), "cuDeviceGetAttribute");
    check(call, attribute(&minor, minor_attribute, device), "cuDeviceGetAttribute");
    made.push_back({i, name.data(), "sm_" + std::to_string(major) + std::to_string(minor), bytes});
  }
  return made;
}

void Driver::use(const char* call, int device) {
  Handle context = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_.empty())
      throw Error(call, "a working device", "one that failed before (" + failure_ + ")", "start the process again");
    if (device >= 0 && static_cast<std::size_t>(device) < contexts_.size())
      context = contexts_[static_cast<std::size_t>(device)];
  }
  if (context == nullptr) {
    int number = 0, handle = 0;
    check(call, count(&number), "cuDeviceGetCount");
    if (device < 0 || device >= number)
      throw Error(call, "a device of this machine", std::to_string(device) + " of " + std::to_string(number),
                  "choose one of gpu::devices()");
    check(call, device_at(&handle, device), "cuDeviceGet");
    check(call, retain(&context, handle), "cuDevicePrimaryCtxRetain");
    const std::scoped_lock lock(mutex_);
    if (contexts_.size() <= static_cast<std::size_t>(device)) contexts_.resize(static_cast<std::size_t>(device) + 1);
    contexts_[static_cast<std::size_t>(device)] = context;
  }
  check(call, set_current(context), "cuCtxSetCurrent");
}

Address Driver::allocate(const char* call, std::size_t bytes) {
  Address made = 0;
  const int result = alloc(&made, std::max<std::size_t>(bytes, 1));
  if (result == out_of_memory) {
    std::size_t free_bytes = 0, all = 0;
    memory_info(&free_bytes, &all);
    throw Error(call, std::to_string(bytes) + " bytes of the device's memory",
                std::to_string(free_bytes) + " free of " + std::to_string(all), "use fewer rows at a time");
  }
  check(call, result, "cuMemAlloc");
  return made;
}

std::vector<Device> devices() {
  try {
    return Driver::get("gpu::devices").devices("gpu::devices");
  } catch (const Error&) {
    return {};
  }
}

}  // namespace gradwalk::gpu
