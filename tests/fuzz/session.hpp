// SPDX-License-Identifier: MIT
// A session: a few Values in slots, a hoard of many, and actions on them that are read from bytes. Every Value has a
// twin in the plain evaluator. After every action both are compared: data bit by bit, gradients up to rounding. A
// difference is printed and traps, so that libFuzzer keeps the bytes. GRADWALK_FUZZ_TRACE=1 prints every action and
// every compiled graph.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../rounded.hpp"
#include "gradwalk/compile.hpp"
#include "gradwalk/gradwalk.hpp"
#include "plain_graph.hpp"

namespace fuzz {

using gradwalk::Op, gradwalk::Value;
using plain::Index;

struct Bytes {
  std::span<const std::uint8_t> rest;

  bool empty() const { return rest.empty(); }
  std::uint8_t next();
  std::size_t up_to(std::size_t most);  // a number from 1 to most, small ones more often
  double number();                      // mostly between -4 and 4, sometimes an edge case
  Bytes take(std::size_t count);
};

struct Slot {
  std::optional<Value> value;
  Index node = 0;
};

struct Subject;
struct Rows;

// A table with its twin.
struct Table {
  gradwalk::LookupTable values;
  std::shared_ptr<const plain::Table> nodes;
};

// Whether GRADWALK_FUZZ_TRACE is set.
bool is_traced();

// Appends pseudorandom bytes that depend on the given ones, so that few bytes begin a long session.
void go_on_at_random(std::vector<std::uint8_t>& bytes, std::size_t size);

// The actions of a session: all of them, or mostly compile() on small graphs.
enum class Actions : std::uint8_t { all, programs };

class Session {
 public:
  explicit Session(std::span<const std::uint8_t> bytes, Actions actions = Actions::all)
      : bytes_{bytes}, with_(actions) {}
  void run();

 private:
  void run(Bytes bytes);
  void act(Bytes& bytes);
  bool is_over() const { return is_ended_ || actions_ * 16 + twin_.size() + twin_.visited() > 200'000; }

  Slot& any(Bytes& bytes) { return slots_[bytes.next() % (with_ == Actions::all ? slots_.size() : 10)]; }
  Slot& full(Bytes& bytes);  // a slot with a Value
  Slot& newest();
  void put(Slot& slot, Value value, Index node) { slot = {std::move(value), node}; }
  void put_result(Slot& slot, Value value, Index node) { put(slot, std::move(value), result_of(node)); }
  Index result_of(Index node);  // the twin of an op's result: the node, or under NoGrad a leaf
  Index constant(double number) { return twin_.leaf(number, Op::constant); }

  // Building graphs.
  std::pair<Index, Index> operands(const Slot& x, bool x_consumed, const Slot& y, bool y_consumed);
  void leaf(Bytes& bytes);
  void unary(Bytes& bytes);
  void binary(Bytes& bytes);
  void compound(Bytes& bytes);
  void expression(Bytes& bytes);
  void layer(Bytes& bytes);
  void extreme(Bytes& bytes);
  void choice(Bytes& bytes);
  void pick(Bytes& bytes);
  void table(Bytes& bytes);
  Slot& index(Bytes& bytes, std::size_t size);
  void custom(Bytes& bytes);
  void detach(Bytes& bytes);
  void without_gradients(Bytes& bytes);
  // Copying and dropping Values.
  void copy(Bytes& bytes);
  void move(Bytes& bytes);
  void drop(Bytes& bytes);
  void label(Bytes& bytes);
  void many_copies(Bytes& bytes);
  void hoard(Bytes& bytes);
  void drop_hoard(Bytes& bytes);
  // Passes.
  void backward_from(Slot& root, double seed);
  void backward(Bytes& bytes);
  void propagate(Bytes& bytes);
  void propagate_all(Bytes& bytes);
  void set_gradient(Bytes& bytes);
  void set_data(Bytes& bytes);
  bool recompute(const Slot& root);
  void recompute(Bytes& bytes);
  void derivatives(Bytes& bytes);
  // Reading graphs.
  void inputs(Bytes& bytes);
  void order(Bytes& bytes);
  void nonfinite(Bytes& bytes);
  // Programs.
  void compile(Bytes& bytes);
  void compare_program(gradwalk::Program& program, Subject& of, const std::vector<Slot*>& roots, Bytes& bytes);
  Rows measured_rows(Subject& of, Bytes& bytes) const;
  void compare_measured(Subject& of, const Slot& root) const;
  double compare_run(gradwalk::Program& program, const Subject& of, std::span<const double> rows,
                     std::span<const double> gradient, std::span<const gradwalk::tests::Rounded> measured);
  void change_constants(gradwalk::Program& program, const Subject& of, std::span<const double> rows);
  std::vector<Index> order_below(const std::vector<Slot*>& roots);
  void branch(Bytes& bytes);
  // Many actions at once.
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
  std::array<std::optional<Table>, 4> tables_;
  plain::Graph twin_;
  std::size_t actions_ = 0;
  int no_grad_ = 0, depth_ = 0;
  bool is_ended_ = false;
};

}  // namespace fuzz
