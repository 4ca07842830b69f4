// SPDX-License-Identifier: MIT
// Tapes as objects: what a thread's Values lie on, to be handed from thread to thread.
//
// Each thread has a tape of its own, made with its first Value; most programs never meet it. A tape lives as long as
// its thread, a Tape that names it, or a Value that lies on it.
#pragma once

#include <atomic>
#include <cstdint>

#include "gradwalk/value.hpp"

namespace gradwalk {

class GRADWALK_EXPORT Tape {
 public:
  Tape();                              // an empty one, in nobody's use
  static Tape current();               // this thread's
  static Tape of(const Value& value);  // where it lies, also when its thread has ended
  Tape(const Tape& other) noexcept;    // copies name the same tape
  Tape& operator=(const Tape& other) noexcept;
  ~Tape();

  std::uint32_t id() const;  // one number a tape, among those alive in the process
  friend bool operator==(const Tape& x, const Tape& y) { return x.store_ == y.store_; }

 private:
  friend class UseTape;
  friend class SharedTape;
  explicit Tape(detail::Store* store);
  detail::Store* store_;
};

// While one lives, this thread's operations go to that tape and its Values can be used here. Guards nest. A tape is
// in the use of one thread at a time: what another thread uses is an Error.
class GRADWALK_EXPORT UseTape {
 public:
  explicit UseTape(const Tape& tape);
  ~UseTape();
  UseTape(const UseTape&) = delete;
  UseTape& operator=(const UseTape&) = delete;

 private:
  Tape used_;
  detail::Store* before_ = nullptr;  // the tape this thread used so far, if any
  bool changes_ = false;             // false where the thread used this tape already
};

// A tape that threads use in turn under a lock of their own, as Python's threads do under the interpreter's. It stays
// open on the thread that used it last, which therefore pays a comparison; the next thread takes it away from there,
// and gives that thread back what it had open before. It must outlive the threads that used it.
class GRADWALK_EXPORT SharedTape {
 public:
  SharedTape();
  SharedTape(const SharedTape&) = delete;
  SharedTape& operator=(const SharedTape&) = delete;
  ~SharedTape();

  bool is_here() const { return detail::tape.store == tape_.store_; }
  void use() {  // with the lock held, before this thread works with its Values
    if (!is_here()) [[unlikely]]
      move_here();
  }
  void leave() noexcept;  // what a thread that ends does by itself: puts it away if it is here

 private:
  void move_here();
  detail::OpenTape* take_from_user(detail::OpenTape* wanted) noexcept;

  Tape tape_;
  std::atomic<detail::OpenTape*> user_ = nullptr;  // the thread's place for it that used it last
  detail::Store* before_ = nullptr;                // what that thread had open
};

}  // namespace gradwalk
