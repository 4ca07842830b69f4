// SPDX-License-Identifier: MIT
// The parts of Value that are words: labels, printing, custom nodes and their names, error messages.
#include "gradwalk/value.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "store.hpp"

namespace gradwalk {

using namespace detail;

double rules::pow(double x, double y) { return std::pow(x, y); }

const std::string& detail::custom_name(Ref ref) { return tape.store->custom_names.at(ref); }

std::uint64_t Value::id() const {
  node_ref("id");
  return pair(ref_, tape_);
}

double detail::number_of(std::uint32_t bits, std::uint32_t of, const char* call) {
  if ((of & is_number) == 0) refuse(of, call);
  if (of != (tape.id | is_number))  // its tape may be gone: a number does not hold it
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

Value custom(double result, std::span<const Value> inputs, std::span<const double> derivatives, std::string_view name) {
  constexpr std::size_t most = chunk_words / 2 - 8;
  const std::string count = std::to_string(inputs.size());
  if (inputs.size() != derivatives.size())
    throw Error("custom", "one derivative an input", std::to_string(derivatives.size()) + " for " + count + " inputs",
                "give each input its own");
  if (inputs.size() > most)
    throw Error("custom", "at most " + std::to_string(most) + " inputs", count, "add up groups of inputs first");
  std::vector<Ref> refs;
  for (const Value& input : inputs) refs.push_back(Handle::ref(input, "custom"));
  if (refs.empty() || tape.store->no_grad > 0) return Value(result);

  const auto words = static_cast<std::uint32_t>(2 * refs.size());
  make_room(words + 4);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    tape.number(tape.top++) = derivatives[i];
    tape.word(tape.top++) = refs[i];
  }
  const Ref ref = tape.top;
  tape.top += 4;
  write_node(ref, pair(nothing, nothing), fresh(Op::custom, words) | labelled, result);
  Value made = Handle::adopt(ref);
  tape.store->custom_names[ref] = name;
  return made;
}

Value custom(double result, std::initializer_list<CustomInput> inputs, std::string_view name) {
  std::vector<Value> values;
  std::vector<double> derivatives;
  for (const CustomInput& one : inputs) {
    Handle::ref(one.input, "custom");
    values.push_back(one.input);
    derivatives.push_back(one.derivative);
  }
  return custom(result, values, derivatives, name);
}

std::string to_string(const Value& value) {
  return "Value(data=" + format_number(value.data()) + ", grad=" + format_number(value.grad()) + ")";
}

std::ostream& operator<<(std::ostream& out, const Value& value) { return out << to_string(value); }

}  // namespace gradwalk
