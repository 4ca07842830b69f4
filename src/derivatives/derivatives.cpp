// SPDX-License-Identifier: MIT
// Derivatives of functions. First order by a pass that leaves every node as it was; higher orders by recording the
// backward pass as Values.
#include "gradwalk/derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "engine/search.hpp"

namespace gradwalk {

using namespace detail;

namespace {

std::vector<Value> leaves(const Numbers& x) { return {x.begin(), x.end()}; }

Numbers gradients(const Value& root, const std::vector<Value>& inputs) {
  const Gradients all = pass(root);
  Numbers result;
  for (const Value& input : inputs) result.push_back(all.of(input));
  return result;
}

void need_same_size(const char* call, const Numbers& x, const Numbers& v) {
  if (x.size() == v.size()) return;
  throw Error(call, "a vector as long as x", std::to_string(v.size()) + " numbers for " + std::to_string(x.size()),
              "give one number a coordinate");
}

void need_recording(const char* call) {
  if (tape.store == nullptr || tape.store->no_grad == 0) return;
  throw Error(call, "operations to be recorded", "a NoGrad guard", "call it before the guard or after its end");
}

// Gradients that are Values: one backward pass, recorded.
class RecordedPass {
 public:
  explicit RecordedPass(const Value& root) {
    const std::vector<Value> order = topological_order(root);
    add(root, Value(1.0));
    for (auto node = order.rbegin(); node != order.rend(); ++node) visit(*node);
  }

  Value gradient(const Value& node) const {
    const auto found = gradients_.find(node.id());
    return found == gradients_.end() ? Value(0.0) : found->second;
  }

 private:
  void add(const Value& node, const Value& amount) {
    const auto [found, is_new] = gradients_.try_emplace(node.id(), amount);
    if (!is_new) found->second += amount;
  }

  // A zero gradient times a local derivative without bounds is nothing; every other product is recorded as it is.
  void deposit(const Value& operand, const Value& gradient, const Value& local) {
    if (operand.op() == Op::constant || (gradient == 0 && !std::isfinite(local.data()))) return;
    add(operand, gradient * local);
  }

  void visit(const Value& r) {
    using rules::Rule;
    const auto found = gradients_.find(r.id());
    if (found == gradients_.end()) return;
    const Value g = found->second;
    const std::vector<Value> in = r.inputs();
    switch (r.op()) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: deposit(in[0], g, Rule<Op::name>::dx(in[0], r)); break;
#define GRADWALK_BINARY(name, ...)                          \
  case Op::name:                                            \
    deposit(in[0], g, Rule<Op::name>::dx(in[0], in[1], r)); \
    deposit(in[1], g, Rule<Op::name>::dy(in[0], in[1], r)); \
    break;
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
      case Op::custom:
        throw Error("derivatives", "ops whose rule is in the op table",
                    "the custom node '" + std::string(r.op_name()) + "', whose derivatives are plain numbers",
                    "build it of the table's ops to differentiate it again");
      default: break;
    }
  }

  std::unordered_map<std::uint64_t, Value> gradients_;
};

}  // namespace

std::vector<Value> derivatives(const Value& root, std::span<const Value> inputs) {
  const RecordedPass pass(root);
  std::vector<Value> result;
  result.reserve(inputs.size());
  for (const Value& input : inputs) result.push_back(pass.gradient(input));
  return result;
}

std::pair<double, Numbers> value_and_gradient(const ScalarFunction& f, const Numbers& x) {
  need_recording("value_and_gradient");
  const std::vector<Value> at = leaves(x);
  const Ref bottom = tape.top;
  const Value result = f(at);
  std::optional<Numbers> quick = gradients_of_newest(result, bottom, at);
  return {result.data(), quick ? std::move(*quick) : gradients(result, at)};
}

Numbers gradient(const ScalarFunction& f, const Numbers& x) {
  need_recording("gradient");
  return value_and_gradient(f, x).second;
}

std::vector<Numbers> jacobian(const VectorFunction& f, const Numbers& x) {
  need_recording("jacobian");
  const std::vector<Value> at = leaves(x);
  std::vector<Numbers> rows;
  for (const Value& output : f(at)) rows.push_back(gradients(output, at));
  return rows;
}

Numbers jacobian_vector_product(const VectorFunction& f, const Numbers& x, const Numbers& v) {
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

std::vector<Numbers> hessian(const ScalarFunction& f, const Numbers& x) {
  need_recording("hessian");
  return jacobian([&](const std::vector<Value>& at) { return derivatives(f(at), at); }, x);
}

Numbers hessian_vector_product(const ScalarFunction& f, const Numbers& x, const Numbers& v) {
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

GradientCheck check_gradient(const ScalarFunction& f, const Numbers& x, double tolerance) {
  need_recording("check_gradient");
  const Numbers exact = gradient(f, x);
  const auto value_at = [&](std::size_t i, double shifted) {
    Numbers moved = x;
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
