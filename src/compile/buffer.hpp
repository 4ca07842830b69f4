// SPDX-License-Identifier: MIT
// An array of numbers that begins where a cache line does.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace gradwalk::compiler {

inline constexpr std::size_t cache_line = 64;  // bytes
constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// What these vectors have on the heap.
std::size_t heap_bytes(const auto&... vectors) { return ((vectors.capacity() * sizeof(vectors[0])) + ...); }

template <class T> class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) { resize(size); }

  // Zeros at first. Where there was room for as many before, what lies there stays, whatever it is.
  void resize(std::size_t size) {
    if (at_ != nullptr && size <= room_) {
      size_ = size;
      return;
    }
    const std::size_t bytes = round_up((size + 1) * sizeof(T), cache_line);
    at_.reset(static_cast<T*>(::operator new(bytes, std::align_val_t{cache_line})));
    std::memset(static_cast<void*>(at_.get()), 0, bytes);
    size_ = room_ = size;
  }
  T* data() { return at_.get(); }
  const T* data() const { return at_.get(); }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return at_ == nullptr ? 0 : round_up((room_ + 1) * sizeof(T), cache_line); }

 private:
  struct Free {
    void operator()(T* at) const { ::operator delete(at, std::align_val_t{cache_line}); }
  };
  std::unique_ptr<T[], Free> at_;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace gradwalk::compiler
