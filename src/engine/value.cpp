// SPDX-License-Identifier: MIT
// Members of Value that are not hot: labels, printing, and numbers that become leaves.
#include "gradwalk/value.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "store.hpp"

namespace gradwalk {

using namespace detail;

double rules::pow(double x, double y) { return std::pow(x, y); }

double detail::number_of(std::uint32_t bits, std::uint32_t of, const char* call) {
  if ((of & is_number) == 0) refuse(of, call);
  if (of != (tape.id | is_number))  // Do not look at its tape: a number does not keep it alive.
    throw Error(call, "a Value of this thread", "one of another thread", handover_advice);
  return static_cast<double>(std::bit_cast<float>(bits));
}

Ref detail::become_leaf(std::uint32_t bits, std::uint32_t of, const char* call) {
  return make_leaf(number_of(bits, of, call));
}

Value& Value::label(std::string_view text) & {
  Node* n = node("label");
  n->head |= labelled;
  tape.store->swept_end = 0;
  tape.store->labels[ref_] = text;
  return *this;
}

Value Value::label(std::string_view text) && { return std::move(label(text)); }

std::string Value::label() const {
  if (!is_here() && (number_of(ref_, tape_, "label"), true)) return "";
  const auto found = tape.store->labels.find(ref_);
  return found == tape.store->labels.end() ? "" : found->second;
}

std::string to_string(const Value& value) {
  return "Value(data=" + format_number(value.data()) + ", grad=" + format_number(value.grad()) + ")";
}

std::ostream& operator<<(std::ostream& out, const Value& value) { return out << to_string(value); }

}  // namespace gradwalk
