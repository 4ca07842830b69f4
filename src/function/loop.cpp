// SPDX-License-Identifier: MIT
#include "loop.hpp"

#include <utility>

#include "gradwalk/error.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace paths {
namespace {

constinit thread_local LoopHandler* handler = nullptr;

}  // namespace

HandleLoops::HandleLoops(LoopHandler* given) : before_(std::exchange(handler, given)) {}
HandleLoops::~HandleLoops() { handler = before_; }

std::vector<Value> next_state(const std::vector<Value>& state, const detail::LoopParts& parts) {
  std::vector<Value> next = parts.body(state);
  if (next.size() != state.size())
    throw Error("loop", "a body that returns a state of " + detail::counted(state.size(), "Value", "Values"),
                std::to_string(next.size()), "return the new state, with as many Values as the old one");
  return next;
}

std::vector<Value> plain_loop(std::vector<Value> state, const detail::LoopParts& parts) {
  while (parts.goes_on(state)) state = next_state(state, parts);
  return state;
}

}  // namespace paths

std::vector<Value> detail::run_loop(std::vector<Value> state, const LoopParts& parts) {
  if (state.empty()) throw Error("loop", "a state", "no Values", "give the Values that the body changes");
  if (paths::handler == nullptr) return paths::plain_loop(std::move(state), parts);
  paths::LoopHandler& own = *paths::handler;
  const paths::HandleLoops inner_loops_are_plain(nullptr);
  return own.loop(std::move(state), parts);
}

}  // namespace gradwalk
