// SPDX-License-Identifier: MIT
// Tapes as objects: what a thread's Values lie on, to be handed from thread to thread.
//
// Each thread has a tape of its own, made with its first Value; most programs never meet it. A tape lives as long as
// its thread, a Tape that names it, or a Value that lies on it.
#pragma once

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

}  // namespace gradwalk
