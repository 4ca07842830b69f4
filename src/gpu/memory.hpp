// SPDX-License-Identifier: MIT
// Memory that is freed at the end: on a device, and pinned memory of the host, which a device reads and writes fast.
#pragma once

#include <utility>

#include "driver.hpp"

namespace gradwalk::gpu {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const char* call, int device, std::size_t bytes)
      : driver_(&Driver::get(call)), device_(device), bytes_(bytes) {
    driver_->use(call, device);
    address_ = driver_->allocate(call, bytes);
  }
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory() {
    if (driver_ != nullptr && address_ != 0) driver_->free(address_);
  }
  Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  // Replaces it by a larger piece if it is smaller than this. The numbers in it are lost then.
  void grow(const char* call, int device, std::size_t bytes) {
    if (address_ != 0 && bytes <= bytes_) return;
    *this = DeviceMemory();
    *this = DeviceMemory(call, device, bytes);
  }

 private:
  void swap(DeviceMemory& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  Driver* driver_ = nullptr;
  int device_ = 0;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

class PinnedMemory {
 public:
  PinnedMemory(const char* call, int device, std::size_t bytes) : driver_(Driver::get(call)) {
    driver_.use(call, device);
    driver_.check(call, driver_.alloc_host(&data_, bytes), "cuMemAllocHost");
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { driver_.free_host(data_); }
  void* data() const { return data_; }

 private:
  Driver& driver_;
  void* data_ = nullptr;
};

}  // namespace gradwalk::gpu
