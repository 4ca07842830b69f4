// SPDX-License-Identifier: MIT
// The actions of a session that build graphs and copy, keep and drop Values, on the engine and on the plain evaluator.
#include <cmath>
#include <cstring>
#include <string>

#include "../oracle/spell.hpp"
#include "check.hpp"
#include "session.hpp"
#include "twin.hpp"

namespace fuzz {

using oracle::Spelling;

namespace {

constexpr Op unary_ops[] = {
#define GRADWALK_UNARY(name, ...) Op::name,
#define GRADWALK_BINARY(name, ...)
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
};
constexpr Op binary_ops[] = {
#define GRADWALK_UNARY(name, ...)
#define GRADWALK_BINARY(name, ...) Op::name,
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
};
constexpr Op operators[] = {Op::add, Op::mul, Op::sub, Op::div};

template <std::size_t n> Op any_of(const Op (&ops)[n], std::uint8_t byte) { return ops[byte % n]; }

// Calls use() with the Value of a slot, as an rvalue if it dies.
template <class Use> auto with(Slot& slot, bool dies, Use use) {
  return dies ? use(std::move(*slot.value)) : use(std::as_const(*slot.value));
}

// Whether a Value still holds a number instead of a node: the mark in the number of its tape (value.hpp).
bool holds_number(const Value& value) {
  std::array<std::uint32_t, 2> words{};
  static_assert(sizeof words == sizeof value);
  std::memcpy(words.data(), &value, sizeof value);
  return words[1] >> 31 != 0;
}

}  // namespace

// The operands that the engine records. A consumed number becomes a constant; if both are, the first becomes a leaf.
std::pair<Index, Index> Session::operands(const Slot& x, bool x_consumed, const Slot& y, bool y_consumed) {
  const bool y_is_constant = y_consumed && holds_number(*y.value);
  const bool x_is_constant = x_consumed && !y_is_constant && holds_number(*x.value);
  return {x_is_constant ? constant(twin_.at(x.node).data) : x.node,
          y_is_constant ? constant(twin_.at(y.node).data) : y.node};
}

void Session::leaf(Bytes& bytes) {
  Slot& slot = any(bytes);
  const double data = bytes.number();
  put(slot, data, twin_.leaf(data));
}

void Session::unary(Bytes& bytes) {
  const Op op = any_of(unary_ops, bytes.next());
  Slot &x = full(bytes), &to = any(bytes);
  put_result(to, oracle::unary(op, Spelling::operation, *x.value), twin_.unary(op, x.node));
}

void Session::binary(Bytes& bytes) {
  const unsigned how = bytes.next();
  const bool by_name = how % 4 == 0, x_is_number = how / 4 % 8 == 1, y_is_number = how / 4 % 8 == 2;
  const Spelling spelling = by_name ? Spelling::function : Spelling::operation;
  const Op op = by_name ? any_of(binary_ops, bytes.next()) : any_of(operators, bytes.next());
  const double number = bytes.number();
  Slot &x = full(bytes), &y = full(bytes), &to = any(bytes);
  const bool one_slot = &x == &y, x_dies = how & 64 && !one_slot, y_dies = how & 128 && !one_slot;
  if (x_is_number) {
    const Index node = twin_.binary(op, constant(number), y.node);
    Value value =
        with(y, y_dies, [&](auto&& b) { return oracle::binary(op, spelling, number, std::forward<decltype(b)>(b)); });
    if (y_dies) y.value.reset();
    put_result(to, std::move(value), node);
  } else if (y_is_number) {
    const Index node = twin_.binary(op, x.node, constant(number));
    Value value =
        with(x, x_dies, [&](auto&& a) { return oracle::binary(op, spelling, std::forward<decltype(a)>(a), number); });
    if (x_dies) x.value.reset();
    put_result(to, std::move(value), node);
  } else {
    const auto [first, second] = operands(x, x_dies, y, y_dies);
    const Index node = twin_.binary(op, first, second);
    Value value = with(x, x_dies, [&](auto&& a) {
      return with(y, y_dies, [&](auto&& b) {
        return oracle::binary(op, spelling, std::forward<decltype(a)>(a), std::forward<decltype(b)>(b));
      });
    });
    if (x_dies) x.value.reset();
    if (y_dies) y.value.reset();
    put_result(to, std::move(value), node);
  }
}

void Session::compound(Bytes& bytes) {
  const unsigned how = bytes.next();
  const Op op = any_of(operators, bytes.next());
  Slot& x = full(bytes);
  if (how % 4 == 0) {
    const double number = bytes.number();
    oracle::compound(op, *x.value, number);
    x.node = result_of(twin_.binary(op, x.node, constant(number)));
    return;
  }
  Slot& y = full(bytes);
  const bool dies = how % 4 == 1 && &x != &y;
  const auto [first, second] = operands(x, &x != &y, y, dies);
  const Index node = result_of(twin_.binary(op, first, second));
  if (dies)
    oracle::compound(op, *x.value, std::move(*y.value));
  else
    oracle::compound(op, *x.value, *y.value);
  if (dies) y.value.reset();
  x.node = node;
}

void Session::expression(Bytes& bytes) {
  const unsigned which = bytes.next();
  const double n = bytes.number();
  Slot &a = full(bytes), &b = full(bytes), &c = full(bytes), &d = full(bytes), &to = any(bytes);
  const auto twin = [&](const Slot& slot) { return Twin{&twin_, slot.node}; };
  const Twin result = fuzz::expression(which, twin(a), twin(b), twin(c), twin(d), n);
  put_result(to, fuzz::expression(which, *a.value, *b.value, *c.value, *d.value, n), result.node);
}

// Builds several sums of weights times the same nodes, as in a layer.
void Session::layer(Bytes& bytes) {
  const unsigned how = bytes.next();
  const std::size_t count = 2 + how % 3, depth = 2 + how / 4 % 3, first = bytes.next(), weight = bytes.next();
  const auto slot = [&](std::size_t i) -> Slot& {
    Slot& one = slots_[i % slots_.size()];
    if (!one.value) put(one, 0.25 * static_cast<double>(i % 7), twin_.leaf(0.25 * static_cast<double>(i % 7)));
    return one;
  };
  std::vector<Slot> made_here;
  for (std::size_t o = 0; o < count; ++o) {
    Slot& bias = slot(weight + o);
    Value sum = *bias.value;
    Twin twin{&twin_, bias.node};
    for (std::size_t i = 0; i < depth; ++i) {
      const Slot &w = slot(weight + how / 64 * o * depth + i), &x = slot(first + i);
      sum += *w.value * *x.value;
      twin += Twin{&twin_, w.node} * Twin{&twin_, x.node};
      twin.node = result_of(twin.node);
    }
    if (how / 32 % 2 == 1) {
      sum = relu(sum);
      twin.node = result_of(twin_.unary(Op::relu, twin.node));
    }
    made_here.push_back({std::move(sum), twin.node});
  }
  for (std::size_t o = 0; o < count; ++o) slots_[(first + 3 * o) % slots_.size()] = std::move(made_here[o]);
}

// Builds the maximum or minimum of several nodes.
void Session::extreme(Bytes& bytes) {
  const unsigned how = bytes.next();
  const Op op = how % 2 == 0 ? Op::max : Op::min;
  Slot &first = full(bytes), &to = any(bytes);
  Value most = *first.value;
  Index node = first.node;
  for (std::size_t i = 2 + how / 2 % 16; i > 0; --i) {
    const Slot& next = full(bytes);
    const bool is_left = bytes.next() % 2 == 0;
    const Value &x = is_left ? most : *next.value, &y = is_left ? *next.value : most;
    const Index twin = is_left ? twin_.binary(op, node, next.node) : twin_.binary(op, next.node, node);
    most = op == Op::max ? max(x, y) : min(x, y);
    node = result_of(twin);
  }
  put(to, std::move(most), node);
}

// Builds select(x < y, a, b), with numbers in place of any operands but one.
void Session::choice(Bytes& bytes) {
  const unsigned how = bytes.next();
  const double n = bytes.number(), m = bytes.number();
  Slot &x = full(bytes), &y = full(bytes), &a = full(bytes), &b = full(bytes), &to = any(bytes);
  const auto choose = [&](const auto& condition) {
    switch (how / 8 % 4) {
      case 0: return select(condition, *a.value, *b.value);
      case 1: return select(condition, *a.value, m);
      case 2: return select(condition, m, *b.value);
      default: return select(condition, m, n);
    }
  };
  const Index x_node = how % 8 == 7 ? constant(n) : x.node, y_node = how % 8 == 6 ? constant(n) : y.node;
  const auto chosen_of = [&](Op op, Index first, Index second) {
    const Index condition = result_of(twin_.binary(op, first, second));
    const Index one = how / 8 % 4 >= 2 ? constant(m) : a.node;
    return result_of(twin_.select(condition, one,
                                  how / 8 % 4 == 1   ? constant(m)
                                  : how / 8 % 4 == 3 ? constant(n)
                                                     : b.node));
  };
  switch (how % 8) {
    case 0: return put(to, choose(*x.value < *y.value), chosen_of(Op::less, x_node, y_node));
    case 1: return put(to, choose(*x.value <= *y.value), chosen_of(Op::less_equal, x_node, y_node));
    case 2: return put(to, choose(*x.value == *y.value), chosen_of(Op::equal, x_node, y_node));
    case 3: return put(to, choose(*x.value != *y.value), chosen_of(Op::not_equal, x_node, y_node));
    case 4: return put(to, choose(*x.value > *y.value), chosen_of(Op::less, y_node, x_node));
    case 5: return put(to, choose(*x.value >= *y.value), chosen_of(Op::less_equal, y_node, x_node));
    case 6: return put(to, choose(*x.value < n), chosen_of(Op::less, x_node, y_node));
    default: return put(to, choose(n < *y.value), chosen_of(Op::less, x_node, y_node));
  }
}

// Returns the slot of an index: mostly of a new leaf that is right, or of the whole part of a Value, or any.
Slot& Session::index(Bytes& bytes, std::size_t size) {
  const unsigned how = bytes.next();
  Slot& slot = full(bytes);
  if (how % 4 == 3) return slot;
  if (how % 4 == 2) {
    const Index node = result_of(twin_.unary(Op::floor, slot.node));
    put(slot, floor(*slot.value), node);
  } else {
    const auto data = static_cast<double>(how / 4 % size);
    put(slot, data, twin_.leaf(data));
  }
  return slot;
}

// Picks from a list or a table. A wrong index must be refused.
void Session::pick(Bytes& bytes) {
  const unsigned how = bytes.next();
  std::optional<Table>& table = tables_[how / 2 % tables_.size()];
  if (how % 2 == 0 && table) {
    const Slot& at = index(bytes, table->values.rows());
    std::vector<Value> row;
    const bool refused = is_refused([&] { row = pick_row(table->values, *at.value); });
    check(refused == !plain::is_index(twin_.at(at.node).data, table->values.rows()), "an index of pick_row()");
    const Index index_node = at.node;
    for (std::size_t column = 0; column < row.size(); ++column)
      put(any(bytes), std::move(row[column]), result_of(twin_.pick(table->nodes, column, index_node)));
    return;
  }
  std::vector<Value> values;
  std::vector<Index> nodes;
  for (std::size_t i = how % 16 == 15 ? bytes.up_to(300) : 1 + bytes.next() % 6; i > 0; --i) {
    const Slot& slot = full(bytes);
    values.push_back(*slot.value);
    nodes.push_back(slot.node);
  }
  const Slot& at = index(bytes, values.size());
  std::optional<Value> value;
  const bool refused = is_refused([&] { value = gradwalk::pick(values, *at.value); });
  check(refused == !plain::is_index(twin_.at(at.node).data, values.size()), "an index of pick()");
  if (refused) return;
  const Index node = result_of(twin_.pick(nodes, at.node));
  put(any(bytes), std::move(*value), node);
}

// Makes or destroys a table, of Values of the slots and of new leaves.
void Session::table(Bytes& bytes) {
  const unsigned how = bytes.next();
  std::optional<Table>& table = tables_[how % tables_.size()];
  table.reset();
  if (how / 4 % 4 == 0) return;
  const std::size_t columns = 1 + how / 16 % 3, rows = 1 + bytes.next() % 8;
  std::vector<Value> values;
  plain::Table nodes{{}, columns};
  for (std::size_t i = 0; i < rows * columns; ++i) {
    Slot& slot = any(bytes);
    if (!slot.value || how / 64 % 2 == 0) {
      const double data = bytes.number();
      put(slot, data, twin_.leaf(data));
    }
    values.push_back(*slot.value);
    nodes.nodes.push_back(slot.node);
  }
  table.emplace(gradwalk::LookupTable(values, columns), std::make_shared<const plain::Table>(std::move(nodes)));
}

void Session::custom(Bytes& bytes) {
  const std::size_t count = bytes.next() % 16 == 15 ? bytes.up_to(300) : bytes.next() % 4;
  const double data = bytes.number();
  std::vector<Value> inputs;
  std::vector<double> derivatives;
  std::vector<plain::Edge> edges;
  Slot &first = full(bytes), &second = full(bytes), &to = any(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& input = i % 2 == 0 ? first : second;
    inputs.push_back(*input.value);
    derivatives.push_back(bytes.number());
    edges.push_back({input.node, derivatives.back()});
  }
  const std::string name = bytes.next() % 2 == 0 ? "custom" : "own";
  Value value = gradwalk::custom(data, inputs, derivatives, name);
  if (value.op() == Op::custom) check(value.op_name() == name, "a custom node's name");
  put_result(to, std::move(value), count == 0 ? twin_.leaf(data) : twin_.custom(data, edges));
}

void Session::detach(Bytes& bytes) {
  Slot &x = full(bytes), &to = any(bytes);
  const Index node = twin_.leaf(twin_.at(x.node).data);
  put(to, x.value->detach(), node);
}

void Session::without_gradients(Bytes& bytes) {
  const gradwalk::NoGrad guard;
  ++no_grad_;
  if (no_grad_ < 4)
    for (int i = bytes.next() % 4; i > 0; --i) act(bytes);
  --no_grad_;
}

void Session::copy(Bytes& bytes) {
  Slot &x = full(bytes), &to = any(bytes);
  to = x;
}

void Session::move(Bytes& bytes) {
  Slot &x = full(bytes), &to = any(bytes);
  if (&x == &to) return;
  to.node = x.node;
  if (to.value)
    *to.value = std::move(*x.value);
  else
    to.value.emplace(std::move(*x.value));
  check(is_refused([&] { static_cast<void>(std::as_const(*x.value).data()); }), "a moved-from Value was used");
  x.value.reset();
}

void Session::drop(Bytes& bytes) { any(bytes).value.reset(); }

void Session::label(Bytes& bytes) {
  Slot& x = full(bytes);
  const std::string text = "label " + std::to_string(bytes.next() % 8);
  x.value->label(text);
  twin_.labels[x.node] = text;
}

void Session::many_copies(Bytes& bytes) {
  Slot& x = full(bytes);
  std::size_t count = bytes.up_to(60'000);
  if (count > 20'000) count += 100'000;  // more Values than a node can count
  actions_ += count / 16;
  const std::vector<Value> copies(count, *x.value);
  check(same_node(copies.back(), *x.value), "a copy is another node");
}

void Session::hoard(Bytes& bytes) {
  const unsigned how = bytes.next();
  Slot& x = full(bytes);
  const double number = bytes.number();
  for (std::size_t i = bytes.up_to(20'000); i > 0 && !is_over(); --i) {
    if (i % 16 == 0) ++actions_;
    switch (how % 4) {
      case 0: hoard_.push_back({number, twin_.leaf(number)}); break;
      case 1: hoard_.push_back(x); break;
      case 2: hoard_.push_back({*x.value * number, result_of(twin_.binary(Op::mul, x.node, constant(number)))}); break;
      default:  // keep each state of a value that changes
        hoard_.push_back({*x.value + 0.5, result_of(twin_.binary(Op::add, x.node, constant(0.5)))});
        if (i % 16 == 0) put_result(x, sin(*x.value), twin_.unary(Op::sin, x.node));
        break;
    }
  }
}

void Session::drop_hoard(Bytes& bytes) {
  const unsigned how = bytes.next(), seed = bytes.next();
  for (std::size_t i = bytes.up_to(20'000); i > 0 && !hoard_.empty(); --i) {
    Slot& victim = how % 3 == 0 ? hoard_.back() : how % 3 == 1 ? hoard_.front() : hoard_[seed * i % hoard_.size()];
    compare(*victim.value, victim.node);
    std::swap(victim, hoard_.back());
    hoard_.pop_back();
  }
  actions_ += 1 + hoard_.size() / 64;
}

// Builds a recurrence: x = x * b + c.
void Session::chain(Bytes& bytes) {
  Slot& slot = full(bytes);
  const double data = bytes.number() / 4;
  const Value b = data, c = 0.25;
  Twin x{&twin_, slot.node};
  const Twin twin_b{&twin_, twin_.leaf(data)}, twin_c{&twin_, twin_.leaf(0.25)};
  for (std::size_t i = bytes.up_to(40'000); i > 0 && !is_over(); --i) {
    *slot.value = *slot.value * b + c;
    x = {&twin_, result_of((x * twin_b + twin_c).node)};
  }
  slot.node = x.node;
}

void Session::long_sum(Bytes& bytes) {
  Slot &to = any(bytes), &a = full(bytes), &b = full(bytes);
  const std::array how{bytes.next(), bytes.next(), bytes.next()};
  const double n = bytes.number();
  Value sum = *a.value * *b.value;
  const Twin twin_a{&twin_, a.node}, twin_b{&twin_, b.node};
  Twin twin = twin_a * twin_b;
  twin.node = result_of(twin.node);
  for (std::size_t i = bytes.up_to(with_ == Actions::all ? 40'000 : 60); i > 0 && !is_over(); --i) {
    extend(sum, how[i % how.size()], *a.value, *b.value, n);
    extend(twin, how[i % how.size()], twin_a, twin_b, n);
    twin.node = result_of(twin.node);
  }
  put(to, std::move(sum), twin.node);
}

// Builds several graphs in turn, so that they are interleaved on the tape.
void Session::lockstep(Bytes& bytes) {
  const std::size_t count = 2 + bytes.next() % 7;
  const double n = bytes.number() / 4;
  std::array<Slot*, 8> grown{};
  for (std::size_t i = 0; i < count; ++i) {
    grown[i] = &slots_[i];
    if (!grown[i]->value) put(*grown[i], n, twin_.leaf(n));
  }
  for (std::size_t rounds = bytes.up_to(5'000); rounds > 0 && !is_over(); --rounds) {
    for (std::size_t i = 0; i < count; ++i) {
      const Twin twin = sin(Twin{&twin_, grown[i]->node} * n + 0.5);
      put_result(*grown[i], sin(*grown[i]->value * n + 0.5), twin.node);
    }
  }
}

void Session::repeat(Bytes& bytes) {
  const std::size_t times = bytes.next();
  const Bytes actions = bytes.take(1 + bytes.next() % 24);
  if (depth_ == 2) return;
  ++depth_;
  for (std::size_t i = 0; i < times && !is_over(); ++i) run(actions);
  --depth_;
}

}  // namespace fuzz
