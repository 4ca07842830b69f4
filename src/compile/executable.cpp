// SPDX-License-Identifier: MIT
#include "executable.hpp"

#include <utility>

#if GRADWALK_WRITES_MACHINE_CODE
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#endif

namespace gradwalk::compiler {

#if GRADWALK_WRITES_MACHINE_CODE

Executable::Executable(std::span<const std::uint8_t> code) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (code.size() + page - 1) / page * page;
  if (bytes == 0) return;
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  std::memcpy(pages, code.data(), code.size());
  if (mprotect(pages, bytes, PROT_READ | PROT_EXEC) != 0) {
    munmap(pages, bytes);
    return;
  }
  pages_ = pages;
  bytes_ = bytes;
}

Executable::~Executable() {
  if (pages_ != nullptr) munmap(pages_, bytes_);
}

#else

Executable::Executable(std::span<const std::uint8_t>) {}
Executable::~Executable() = default;

#endif

Executable::Executable(Executable&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Executable& Executable::operator=(Executable&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace gradwalk::compiler
