// SPDX-License-Identifier: MIT
// Builds graphs from steps, and finds their nodes again.
#include "graph.hpp"

#include <cstdlib>

namespace oracle {

using gradwalk::Op, gradwalk::Value;

namespace {

using Handles = std::vector<std::optional<Value>>;

// Calls use() with the operand as an lvalue, an rvalue or a number, as in a user's code.
template <class Use> Value with(const Operand& operand, Handles& handles, Use use) {
  if (operand.is_number) return use(operand.number);
  std::optional<Value>& handle = handles.at(operand.step);
  if (!handle) fail("an operand whose handle has died");
  if (operand.dies) return use(std::move(*handle));
  return use(std::as_const(*handle));
}

Value take(const Step& step, Handles& handles) {
  if (step.op == Op::leaf) return step.data;
  const std::vector<Operand>& in = step.operands;
  Value result = with(in[0], handles, [&](auto&& x) -> Value {
    using X = decltype(x);
    if (in.size() == 1) {
      if constexpr (gradwalk::AnyValue<X>) return unary(step.op, step.spelling, std::forward<X>(x));
      fail("an op of a number alone");
    }
    return with(in[1], handles, [&](auto&& y) -> Value {
      using Y = decltype(y);
      if constexpr (gradwalk::AnyValue<X> || gradwalk::AnyValue<Y>)
        return binary(step.op, step.spelling, std::forward<X>(x), std::forward<Y>(y));
      fail("an op of numbers alone");
    });
  });
  for (const Operand& operand : in)
    if (operand.dies) handles[operand.step].reset();
  return result;
}

Operand parse_operand(const std::string& text) {
  Operand operand;
  operand.is_number = text[0] == '=';
  operand.dies = text.back() == '!';
  if (operand.is_number)
    operand.number = parse_number(text.substr(1));
  else
    operand.step = static_cast<std::size_t>(std::atoll(text.c_str()));
  return operand;
}

}  // namespace

double parse_number(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') fail(text);
  return number;
}

Op parse_op(std::string_view name) {
  for (std::size_t i = 0; i < gradwalk::op_table.size(); ++i)
    if (gradwalk::op_table[i].name == name) return static_cast<Op>(i);
  fail(std::string(name));
}

Step parse_step(const std::vector<std::string>& words) {
  Step step;
  step.op = parse_op(words[0]);
  if (step.op == Op::leaf) {
    step.data = parse_number(words.at(1));
    return step;
  }
  const char how = words.at(1)[0];
  step.spelling = how == 'f' ? Spelling::function : how == 'o' ? Spelling::operation : Spelling::compound;
  for (std::size_t i = 2; i < words.size(); ++i) step.operands.push_back(parse_operand(words[i]));
  if (step.operands.size() != static_cast<std::size_t>(info(step.op).operands)) fail(words[0] + ": operands");
  return step;
}

void Graph::add(const Step& step) {
  handles_.emplace_back(take(step, handles_));
  steps_.push_back(step);
}

std::vector<std::optional<Value>> Graph::nodes() const {
  Handles found = handles_;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    if (!found[i] || steps_[i].op == Op::leaf) continue;
    const std::vector<Value> inputs = found[i]->inputs();
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Operand& operand = steps_[i].operands[k];
      if (!operand.is_number && !found[operand.step]) found[operand.step] = inputs[k];
    }
  }
  return found;
}

Value Graph::rebuild(const std::vector<Value>& leaves) const {
  Handles handles;
  auto leaf = leaves.begin();
  for (const Step& step : steps_) handles.emplace_back(step.op == Op::leaf ? *leaf++ : take(step, handles));
  return *handles.back();
}

std::vector<double> Graph::leaf_data() const {
  std::vector<double> data;
  for (const Step& step : steps_)
    if (step.op == Op::leaf) data.push_back(step.data);
  return data;
}

}  // namespace oracle
