// SPDX-License-Identifier: MIT
// The handler of loop() while a Function calls its function.
#pragma once

#include <functional>
#include <vector>

#include "gradwalk/function.hpp"

namespace gradwalk::paths {

// Runs a loop in place of loop(). While it does, loops inside the body are plain loops.
class LoopHandler {
 public:
  virtual ~LoopHandler() = default;
  virtual std::vector<Value> loop(std::vector<Value> state, const detail::LoopParts& parts) = 0;
};

// While one lives, its handler gets the loops of this thread. nullptr makes them plain loops.
class HandleLoops {
 public:
  explicit HandleLoops(LoopHandler* handler);
  ~HandleLoops();
  HandleLoops(const HandleLoops&) = delete;
  HandleLoops& operator=(const HandleLoops&) = delete;

 private:
  LoopHandler* before_;
};

// Calls the body until the loop ends, like a while statement.
std::vector<Value> plain_loop(std::vector<Value> state, const detail::LoopParts& parts);
// Calls the body once and checks the number of Values that it returns.
std::vector<Value> next_state(const std::vector<Value>& state, const detail::LoopParts& parts);

}  // namespace gradwalk::paths
