// SPDX-License-Identifier: MIT
// Recording comparisons and choices, and reporting what a recording does not contain.
#include "gradwalk/choice.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "store.hpp"

namespace gradwalk {

using namespace detail;

namespace {

template <Op op> Ref compare(const Value* x, const Value* y, double number) {
  const char* const call = name(op).data();
  if (x == nullptr) return with_number<op, false>(number, Handle::ref(*y, call));  // NOLINT: y is a node then
  if (y == nullptr) return with_number<op, false>(Handle::ref(*x, call), number);
  const Ref first = Handle::ref(*x, call);
  return binary<op, false, false>(first, Handle::ref(*y, call));
}

}  // namespace

Condition::operator Value() const {
  const Value* const x = x_.tape_ == 0 ? nullptr : &x_;
  const Value* const y = y_.tape_ == 0 ? nullptr : &y_;
  switch (op_) {
    case Op::less: return Handle::adopt(compare<Op::less>(x, y, number_));
    case Op::less_equal: return Handle::adopt(compare<Op::less_equal>(x, y, number_));
    case Op::equal: return Handle::adopt(compare<Op::equal>(x, y, number_));
    default: return Handle::adopt(compare<Op::not_equal>(x, y, number_));
  }
}

std::ostream& operator<<(std::ostream& out, const Condition& condition) { return out << condition.holds(); }

// The record of a choice: operands (a, b), each a node or a literal; in the word below the condition; below that the
// literals, b's above a's.
Value detail::choose(const Value& condition, const Value* a, double number_a, const Value* b, double number_b) {
  const char* const call = "select";
  const Ref c = Handle::ref(condition, call);
  const Ref x = a == nullptr ? literal : Handle::ref(*a, call), y = b == nullptr ? literal : Handle::ref(*b, call);
  const double data = rules::Rule<Op::select>::value(tape.node(c)->data, number_a, number_b);
  if (tape.store->no_grad > 0) return no_grad_result(data);
  need_room(3 + 4);
  const Ref below = tape.top;
  if (a == nullptr) tape.number(tape.top++) = number_a;
  if (b == nullptr) tape.number(tape.top++) = number_b;
  tape.word(tape.top++) = pair(c, nothing);
  const Ref ref = tape.top;
  tape.top += 4;
  write_node(ref, pair(x, y), fresh(Op::select, ref - below), data);
  return Handle::adopt(ref);
}

struct detail::Watch {
  std::function<void(const Condition&)> decided;
  std::function<void(const Value&)> left;
  Watch* outer;
};

constinit thread_local Watch* detail::watch = nullptr;

namespace {

// While a hook runs, nothing is reported.
struct Unwatched {
  Watch* const own = std::exchange(watch, nullptr);
  Unwatched() = default;
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
  ~Unwatched() { watch = own; }
};

}  // namespace

WatchRecording::WatchRecording(std::function<void(const Condition&)> decided, std::function<void(const Value&)> left)
    : watch_(new Watch{std::move(decided), std::move(left), watch}) {
  watch = watch_;
}

WatchRecording::~WatchRecording() {
  watch = watch_->outer;
  delete watch_;
}

namespace {

// The end of the tape after a comparison: what only its operands x and y need is popped with them.
[[gnu::noinline]] Ref end_without(Ref x, Ref y) {
  Ref end = tape.top;
  while (end > tape.start) {
    const Ref ref = end - 4;
    const Node& node = *tape.node(ref);
    const Word handles = node.head >> 16 & 0xffff, own = (ref == x ? 1u : 0u) + (ref == y ? 1u : 0u);
    if (op_of(node) == chunk_start || handles > own) break;
    end = ref - words_below(node);
  }
  return end;
}

// Notifies the WatchRecordings of this thread. Returns whether one of them wants decisions.
[[gnu::noinline]] bool notify(const Condition& condition) {
  bool is_wanted = false;
  const Unwatched hook;
  for (const Watch* guard = hook.own; guard != nullptr; guard = guard->outer)
    if (guard->decided) guard->decided(condition), is_wanted = true;
  return is_wanted;
}

}  // namespace

void Condition::report() const {
  if (watch != nullptr && notify(*this)) return;
  if (tape.store == nullptr || tape.store->no_grad > 0) return;
  const auto ref = [](const Value& operand) { return operand.tape_ == tape.id ? operand.ref_ : Ref(0); };
  const Ref x = ref(x_), y = ref(y_), newest = tape.top - 4;
  const Ref at = x == newest || y == newest ? end_without(x, y) : tape.top;
  // Comparisons at one place of the tape are one entry: the caller wants to know whether there were any.
  if (!tape.store->decisions.empty() && tape.store->decisions.back().at == at) [[likely]] {
    Ref& top = tape.store->decisions.back().top;
    top = std::max(top, tape.top);
  } else {
    note(at);
  }
  tape.noted = at;
}

// Lists a decision, out of line, so that report() needs no stack.
void Condition::note(Ref at) const {
  const auto number = [this](const Value& operand) { return operand.tape_ == 0 ? number_ : operand.data(); };
  tape.store->decisions.push_back({at, tape.top, {op_, holds_, number(x_), number(y_)}});
}

void detail::report_left(const Value& value) {
  if (watch == nullptr) return;
  const Unwatched hook;
  for (const Watch* guard = hook.own; guard != nullptr; guard = guard->outer)
    if (guard->left) guard->left(value);
}

double Value::reported_data() const {
  if (watch != nullptr && !holds_number()) {
    node_ref("a cast");
    report_left(*this);
  }
  return data();
}

Value Value::detach() const {
  node_ref("detach");
  report_left(*this);
  return Value(here().data);
}

}  // namespace gradwalk
