// SPDX-License-Identifier: MIT
// Custom nodes: with the user's derivatives, or with a function that backward() calls.
#include <cmath>

#include "store.hpp"

namespace gradwalk {

using namespace detail;

const std::string& detail::custom_name(Ref ref) { return tape.store->custom_names.at(ref); }

namespace {

Value make_custom(double result, std::span<const Value> inputs, const double* derivatives, StepBack step_back,
                  std::string_view name) {
  constexpr std::size_t most = chunk_words / 2 - 8;
  if (inputs.size() > most)
    throw Error("custom", "at most " + std::to_string(most) + " inputs", std::to_string(inputs.size()),
                "add up groups of inputs first");
  std::vector<Ref> refs;
  for (const Value& input : inputs) refs.push_back(Handle::ref(input, "custom"));
  if (refs.empty()) return Value(result);
  if (tape.store->no_grad > 0) return no_grad_result(result);

  const auto words = static_cast<std::uint32_t>(2 * refs.size());
  need_room(words + 4);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    tape.number(tape.top++) = derivatives != nullptr ? derivatives[i] : std::nan("");
    tape.word(tape.top++) = refs[i];
  }
  const Ref ref = tape.top;
  tape.top += 4;
  write_node(ref, pair(nothing, nothing), fresh(Op::custom, words) | labelled, result);
  Value made = Handle::adopt(ref);
  tape.store->custom_names[ref] = name;
  if (step_back) tape.store->callbacks[ref] = std::make_unique<Callback>(Callback{std::move(step_back)});
  return made;
}

}  // namespace

Value custom(double result, std::span<const Value> inputs, std::span<const double> derivatives, std::string_view name) {
  if (inputs.size() != derivatives.size())
    throw Error("custom", "one derivative per input",
                std::to_string(derivatives.size()) + " for " + std::to_string(inputs.size()) + " inputs",
                "give each input its own");
  return make_custom(result, inputs, derivatives.data(), nullptr, name);
}

Value custom(double result, std::span<const Value> inputs, StepBack step_back, std::string_view name) {
  if (!step_back) throw Error("custom", "a backward function", "none", "give one, or derivatives");
  return make_custom(result, inputs, nullptr, std::move(step_back), name);
}

void detail::need_derivatives(const char* call, Ref ref) {
  if (callback_of(ref) == nullptr) return;
  throw Error(call, "nodes whose derivatives are known",
              "'" + custom_name(ref) + "', whose backward step is a function",
              "use backward(), or give the node derivatives");
}

Value custom(double result, std::initializer_list<CustomInput> inputs, std::string_view name) {
  std::vector<Value> values;
  std::vector<double> derivatives;
  for (const CustomInput& input : inputs) {
    Handle::ref(input.input, "custom");
    values.push_back(input.input);
    derivatives.push_back(input.derivative);
  }
  return custom(result, values, derivatives, name);
}

// Destroying a callback may release the last handle of a node with another callback, which then joins the list.
void detail::drop_callbacks() noexcept {
  Store& store = *tape.store;
  if (store.dropped_callbacks == nullptr || store.is_dropping_callbacks) return;
  store.is_dropping_callbacks = true;
  while (Callback* const callback = store.dropped_callbacks) {
    store.dropped_callbacks = callback->next;
    delete callback;
  }
  store.is_dropping_callbacks = false;
}

}  // namespace gradwalk
