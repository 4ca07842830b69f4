// SPDX-License-Identifier: MIT
// A copy of machine code in pages that can be run and not written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The systems for which machine_code.cpp writes code: x86-64 with the calling convention of Unix systems.
#if defined(__x86_64__) && !defined(__ILP32__) && !defined(_WIN32)
#define GRADWALK_WRITES_MACHINE_CODE 1
#else
#define GRADWALK_WRITES_MACHINE_CODE 0
#endif

namespace gradwalk::compiler {

class Executable {
 public:
  Executable() = default;
  // Without pages if the system refuses memory that can be run: is_there() is false then.
  explicit Executable(std::span<const std::uint8_t> code);
  Executable(Executable&& other) noexcept;
  Executable& operator=(Executable&& other) noexcept;
  ~Executable();

  bool is_there() const { return pages_ != nullptr; }
  const void* begin() const { return pages_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* pages_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gradwalk::compiler
