// SPDX-License-Identifier: MIT
// Derivatives of functions. First derivatives come from a backward pass that changes no node. Higher derivatives come
// from recording the backward pass as Values.
#include "gradwalk/derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "engine/chain_rule.hpp"
#include "engine/search.hpp"
#include "gradwalk/reading.hpp"

namespace gradwalk {

using namespace detail;

namespace {

std::vector<Value> leaves(const AnyNumbers& x) { return {x.begin(), x.end()}; }

Numbers gradients(const Value& root, const std::vector<Value>& inputs) {
  const Gradients by_node = pass(root);
  Numbers result;
  for (const Value& input : inputs) result.push_back(by_node.of(input));
  return result;
}

void need_same_size(const char* call, const AnyNumbers& x, const AnyNumbers& v) {
  if (x.size() == v.size()) return;
  throw Error(call, "a vector as long as x", std::to_string(v.size()) + " numbers for " + std::to_string(x.size()),
              "give one number per coordinate");
}

void need_recording(const char* call) {
  if (tape.store == nullptr || tape.store->no_grad == 0) return;
  throw Error(call, "operations to be recorded", "a NoGrad guard", "call it before the guard or after its end");
}

// A backward pass that is recorded, so that the gradients are Values.
class RecordedPass {
 public:
  explicit RecordedPass(const Value& root) : graph_(root), gradients_(graph_.size()) {
    gradients_.at(*graph_.find(root)) = Value(1.0);
    for (std::size_t i = graph_.size(); i-- > graph_.leaves();)
      if (gradients_[i]) visit(i);
  }

  Value gradient(const Value& node) const {
    const std::optional<std::size_t> i = graph_.find(node);
    return i && gradients_[*i] ? *gradients_[*i] : Value(0.0);
  }

 private:
  using Operand = Reading::Operand;

  static void add(std::optional<Value>& gradient, const Value& amount) {
    if (gradient)
      *gradient += amount;
    else
      gradient = amount;
  }

  // Adds gradient * local to the gradient of an operand, if it takes one. A gradient of 0 passes nothing on, even where
  // the local derivative is infinite; the select() is recorded only where it is infinite now.
  static void deposit(std::optional<Value>* operand, const Value& gradient, const Value& local) {
    if (operand == nullptr) return;
    add(*operand, std::isfinite(local.data()) ? gradient * local : select(gradient == 0, 0, gradient * local));
  }

  void visit(std::size_t i) {
    const std::vector<Reading::WrittenNode> parts = graph_.read(i);
    std::vector<std::optional<Value>> part_gradients(parts.size());
    if (!parts.empty()) part_gradients.back() = gradients_[i];
    for (std::size_t k = parts.size(); k-- > 0;) {
      if (!part_gradients[k]) continue;
      std::vector<Value> operands;
      std::vector<std::optional<Value>*> targets;
      for (const Operand& operand : parts[k].operands) {
        // Any number can stand in for a part: parts are operands of + and - only, whose rules read no data.
        operands.push_back(operand.kind == Operand::Kind::node ? graph_.node(operand.index) : Value(operand.value));
        targets.push_back(operand.kind == Operand::Kind::node      ? &gradients_[operand.index]
                          : operand.kind == Operand::Kind::earlier ? &part_gradients[operand.index]
                                                                   : nullptr);
      }
      visit(i, parts[k].op, *part_gradients[k], operands, targets);
    }
  }

  // Makes the deposits of one operation, whose gradient is g. A target is null for an operand without a gradient.
  void visit(std::size_t i, Op op, const Value& g, const std::vector<Value>& operands,
             const std::vector<std::optional<Value>*>& targets) {
    using rules::Rule;
    const Value r = graph_.node(i);
    switch (op) {
#define GRADWALK_UNARY(name, ...)                                                                  \
  case Op::name:                                                                                   \
    if constexpr (passes_on(Op::name)) deposit(targets[0], g, Rule<Op::name>::dx(operands[0], r)); \
    break;
#define GRADWALK_BINARY(name, ...)                                                             \
  case Op::name:                                                                               \
    if constexpr (passes_on(Op::name))                                                         \
      if (targets[0]) deposit(targets[0], g, Rule<Op::name>::dx(operands[0], operands[1], r)); \
    if constexpr (passes_on(Op::name, 1))                                                      \
      if (targets[1]) deposit(targets[1], g, Rule<Op::name>::dy(operands[0], operands[1], r)); \
    break;
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
      case Op::select:  // not by its rule, which could multiply 0 by infinity
        if (targets[1]) add(*targets[1], select(operands[0], g, 0));
        if (targets[2]) add(*targets[2], select(operands[0], 0, g));
        break;
      case Op::pick: {  // Any value may be the chosen one where the index is another.
        const std::vector<std::size_t> choices = graph_.choices(i);
        for (std::size_t k = 0; k < choices.size(); ++k)
          add(gradients_[choices[k]], select(operands[1] == static_cast<double>(k), g, 0));
        break;
      }
      case Op::custom:
        throw Error("derivatives", "ops whose rule is in the op table",
                    "the custom node '" + std::string(r.op_name()) + "', whose derivatives are plain numbers",
                    "build it of the table's ops to differentiate it again");
      default: break;
    }
  }

  Reading graph_;
  std::vector<std::optional<Value>> gradients_;
};

}  // namespace

std::vector<Value> derivatives(const Value& root, std::span<const Value> inputs) {
  need_recording("derivatives");
  const RecordedPass pass(root);
  std::vector<Value> result;
  result.reserve(inputs.size());
  for (const Value& input : inputs) result.push_back(pass.gradient(input));
  return result;
}

std::pair<double, Numbers> detail::value_and_gradient(const ScalarFunction& f, const AnyNumbers& x) {
  need_recording("value_and_gradient");
  const std::vector<Value> at = leaves(x);
  const Ref bottom = tape.top;
  const Value result = f(at);
  std::optional<Numbers> quick = gradients_of_newest(result, bottom, at);
  return {result.data(), quick ? std::move(*quick) : gradients(result, at)};
}

Numbers detail::gradient(const ScalarFunction& f, const AnyNumbers& x) {
  need_recording("gradient");
  return value_and_gradient(f, x).second;
}

std::vector<Numbers> detail::jacobian(const VectorFunction& f, const AnyNumbers& x) {
  need_recording("jacobian");
  const std::vector<Value> at = leaves(x);
  std::vector<Numbers> rows;
  for (const Value& output : f(at)) rows.push_back(gradients(output, at));
  return rows;
}

Numbers detail::jacobian_vector_product(const VectorFunction& f, const AnyNumbers& x, const AnyNumbers& v) {
  need_same_size("jacobian_vector_product", x, v);
  need_recording("jacobian_vector_product");
  const std::vector<Value> at = leaves(x);
  std::unordered_map<Ref, double> tangents;
  for (std::size_t i = 0; i < at.size(); ++i) tangents[Handle::ref(at[i], "jacobian_vector_product")] = v[i];
  const auto tangent_of = [&](Ref ref) {
    const auto found = tangents.find(ref);
    return found == tangents.end() ? 0.0 : found->second;
  };
  Numbers result;
  for (const Value& output : f(at)) {
    const Ref root = Handle::ref(output, "jacobian_vector_product");
    const auto is_new = [&](Ref ref) { return is_recorded(ref) && !tangents.contains(ref); };
    for (const Ref ref : search(root, is_new)) {
      need_derivatives("jacobian_vector_product", ref);
      double tangent = 0;
      each_local(ref, [&](Ref operand, double local) {
        if (const double t = tangent_of(operand); t != 0) tangent += t * local;
      });
      tangents[ref] = tangent;
    }
    result.push_back(tangent_of(root));
  }
  return result;
}

std::vector<Numbers> detail::hessian(const ScalarFunction& f, const AnyNumbers& x) {
  need_recording("hessian");
  return jacobian([&](const std::vector<Value>& at) { return derivatives(f(at), at); }, x);
}

Numbers detail::hessian_vector_product(const ScalarFunction& f, const AnyNumbers& x, const AnyNumbers& v) {
  need_same_size("hessian_vector_product", x, v);
  need_recording("hessian_vector_product");
  return gradient(
      [&](const std::vector<Value>& at) {
        const std::vector<Value> slope = derivatives(f(at), at);
        Value along = 0.0;
        for (std::size_t i = 0; i < v.size(); ++i) along += slope[i] * v[i];
        return along;
      },
      x);
}

GradientCheck detail::check_gradient(const ScalarFunction& f, const AnyNumbers& x, double tolerance) {
  need_recording("check_gradient");
  const Numbers exact = gradient(f, x);
  const auto value_at = [&](std::size_t i, double shifted) {
    Numbers moved(x.begin(), x.end());
    moved[i] = shifted;
    return f(leaves(moved)).data();
  };
  GradientCheck check{true, 0, 0, 0, -1, ""};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double h = std::cbrt(std::numeric_limits<double>::epsilon()) * std::max(1.0, std::abs(x[i]));
    const double above = x[i] + h, below = x[i] - h;
    const double difference = (value_at(i, above) - value_at(i, below)) / (above - below);
    const double scale = std::max({1.0, std::abs(exact[i]), std::abs(difference)});
    const double error = exact[i] == difference ? 0 : std::abs(exact[i] - difference) / scale;
    if (error > check.error || std::isnan(error)) check = {true, i, exact[i], difference, error, ""};
    if (std::isnan(error)) break;
  }
  check.ok = check.error <= tolerance;
  check.error = std::max(check.error, 0.0);
  check.message = "coordinate " + std::to_string(check.worst) + ": gradient " + format_number(check.gradient) +
                  ", central difference " + format_number(check.difference) + ", error " + format_number(check.error);
  return check;
}

}  // namespace gradwalk
