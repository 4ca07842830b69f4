// SPDX-License-Identifier: MIT
// A session: a few named Values (slots), a hoard of many, and actions on them read from bytes. Every Value has its twin
// in the plain evaluator, and after every action the two are compared: data bit for bit, gradients to rounding.
// A difference prints what it is and traps, so libFuzzer keeps the bytes; GRADWALK_FUZZ_TRACE=1 prints every action.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gradwalk/gradwalk.hpp"
#include "plain_graph.hpp"

namespace fuzz {

using gradwalk::Op, gradwalk::Value;
using plain::Index;

struct Bytes {
  std::span<const std::uint8_t> rest;

  bool empty() const { return rest.empty(); }
  std::uint8_t next();
  std::size_t up_to(std::size_t most);  // 1 ... most, small ones more often
  double number();                      // mostly between -4 and 4, sometimes an edge
  Bytes take(std::size_t count);
};

struct Slot {
  std::optional<Value> value;
  Index node = 0;
};

// Few bytes begin a long session, so that much is reached from the first second on.
void go_on_at_random(std::vector<std::uint8_t>& bytes, std::size_t size);

// What a session does: all there is, or mostly programs, of graphs that are small.
enum class Actions : std::uint8_t { all, programs };

class Session {
 public:
  explicit Session(std::span<const std::uint8_t> bytes, Actions actions = Actions::all)
      : bytes_{bytes}, with_(actions) {}
  void run();

 private:
  void run(Bytes bytes);
  void act(Bytes& bytes);
  bool is_over() const { return actions_ * 16 + twin_.size() + twin_.visited() > 200'000; }

  Slot& any(Bytes& bytes) { return slots_[bytes.next() % (with_ == Actions::all ? slots_.size() : 10)]; }
  Slot& full(Bytes& bytes);  // one that holds a Value
  Slot& newest();
  void put(Slot& slot, Value value, Index node) { slot = {std::move(value), node}; }
  void put_made(Slot& slot, Value value, Index node) { put(slot, std::move(value), made(node)); }
  Index made(Index node);  // what an op gives: the node, or a plain leaf under NoGrad
  Index constant(double number) { return twin_.leaf(number, Op::constant); }

  // Building.
  std::pair<Index, Index> operands(const Slot& x, bool x_consumed, const Slot& y, bool y_consumed);
  void leaf(Bytes& bytes);
  void unary(Bytes& bytes);
  void binary(Bytes& bytes);
  void compound(Bytes& bytes);
  void expression(Bytes& bytes);
  void layer(Bytes& bytes);
  void extreme(Bytes& bytes);
  void choice(Bytes& bytes);
  void custom(Bytes& bytes);
  void detach(Bytes& bytes);
  void without_gradients(Bytes& bytes);
  // Handles.
  void copy(Bytes& bytes);
  void move(Bytes& bytes);
  void drop(Bytes& bytes);
  void label(Bytes& bytes);
  void many_copies(Bytes& bytes);
  void hoard(Bytes& bytes);
  void drop_hoard(Bytes& bytes);
  // Passes.
  void walk_back(Slot& root, double seed);
  void backward(Bytes& bytes);
  void propagate(Bytes& bytes);
  void propagate_all(Bytes& bytes);
  void set_gradient(Bytes& bytes);
  void set_data(Bytes& bytes);
  void recompute(Bytes& bytes);
  void derivatives(Bytes& bytes);
  // Looking.
  void inputs(Bytes& bytes);
  void order(Bytes& bytes);
  void nonfinite(Bytes& bytes);
  // Programs.
  void compile(Bytes& bytes);
  void branch(Bytes& bytes);
  // Much at once.
  void chain(Bytes& bytes);
  void long_sum(Bytes& bytes);
  void lockstep(Bytes& bytes);
  void repeat(Bytes& bytes);

  void compare(const Value& value, Index node) const;
  void compare_all() const;
  std::vector<Value> compare_order(const Slot& root);
  std::vector<Slot*> everything();

  Bytes bytes_;
  Actions with_;
  std::array<Slot, 24> slots_;
  std::vector<Slot> hoard_;
  plain::Graph twin_;
  std::size_t actions_ = 0;
  int no_grad_ = 0, depth_ = 0;
};

}  // namespace fuzz
