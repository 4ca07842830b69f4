// SPDX-License-Identifier: MIT
// A copy of machine code in pages that can be run and not written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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
