// SPDX-License-Identifier: MIT
// Tapes as objects, to hand graphs from thread to thread.
//
// Each thread gets a tape with its first Value, and most programs never need more. A tape lives as long as its thread,
// a Tape object that refers to it, or a Value on it.
#pragma once

#include <cstdint>

#include "gradwalk/value.hpp"

namespace gradwalk {

class GRADWALK_EXPORT Tape {
 public:
  // Makes an empty tape that no thread uses. Throws an Error if there is no memory for it.
  Tape();
  // Returns the tape that this thread uses.
  static Tape current();
  // Returns the tape of a Value, even if its thread has ended. Throws an Error for an empty Value.
  static Tape of(const Value& value);
  Tape(const Tape& other) noexcept;  // Copies refer to the same tape.
  Tape& operator=(const Tape& other) noexcept;
  ~Tape();

  // A number that no other living tape of the process has.
  std::uint32_t id() const;
  friend bool operator==(const Tape& x, const Tape& y) { return x.store_ == y.store_; }

 private:
  friend class UseTape;
  friend class SharedTape;
  explicit Tape(detail::Store* store);
  detail::Store* store_;
};

// While a UseTape lives, this thread records on that tape and can use its Values. Guards nest. One thread uses a tape
// at a time: the constructor throws an Error if another thread uses the tape.
class GRADWALK_EXPORT UseTape {
 public:
  explicit UseTape(const Tape& tape);
  ~UseTape();
  UseTape(const UseTape&) = delete;
  UseTape& operator=(const UseTape&) = delete;

 private:
  Tape used_;
  detail::Store* before_ = nullptr;  // the tape that this thread used before, if any
  bool changes_ = false;             // whether this thread used another tape before
};

// A tape that threads use in turn under a lock of their own, as Python's threads do under the interpreter lock. It
// stays mounted on the thread that used it last, so use() there costs one comparison. When another thread calls
// use(), the tape moves there, and the thread that it leaves gets its previous tape back. A SharedTape must outlive the
// threads that used it.
class GRADWALK_EXPORT SharedTape {
 public:
  SharedTape();
  SharedTape(const SharedTape&) = delete;
  SharedTape& operator=(const SharedTape&) = delete;
  ~SharedTape();

  // Returns whether the tape is mounted on this thread. It takes no lock.
  bool is_here() const { return detail::tape.store == tape_.store_; }
  // Mounts the tape on this thread. Call it with the lock held, before this thread uses the Values.
  void use() {
    if (!is_here()) [[unlikely]]
      move_here();
  }
  // Unmounts the tape if it is mounted on this thread. A thread that ends does this by itself.
  void leave() noexcept;

 private:
  void move_here();
  detail::HotTape* take_from_user(detail::HotTape* wanted) noexcept;

  Tape tape_;
  // `detail::tape` of the thread that used it last. All accesses are atomic; <atomic> is slow to compile.
  detail::HotTape* user_ = nullptr;
  detail::Store* before_ = nullptr;  // the tape that this thread had mounted before
};

}  // namespace gradwalk
