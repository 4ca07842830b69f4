// SPDX-License-Identifier: MIT
// Evaluates a function of Values for the solvers, by recording it or by compiled programs.
#include "whole_function.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwalk/eigen_sparse.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/reading.hpp"
#include "shape.hpp"

namespace gradwalk::solver {
namespace {

constexpr int most_changes = 5;  // after this many changes of the graph, no more programs are compiled

std::span<const double> span_of(const Vector& x) { return {x.data(), static_cast<std::size_t>(x.size())}; }

// Returns true if the Jacobian is cheaper by columns, with a forward pass per parameter over the whole graph, than by
// rows, with a backward pass per output over the graph of that output. A forward pass takes about three times as long
// per node, and it cannot pass a custom node that has a function for its backward step.
bool columns_are_cheaper(const std::vector<Value>& outputs, std::size_t parameters) {
  const Listing listing = Reading(outputs).list();
  for (const Listing::Node& node : listing.nodes)
    if (node.op == Op::custom) return false;
  const std::size_t by_columns = 3 * parameters * listing.nodes.size();
  std::size_t by_rows = 0;
  for (const Value& output : outputs) {
    by_rows += Reading(output).size();
    if (by_rows > by_columns) return true;
  }
  return false;
}

}  // namespace

Value guard(const std::vector<Condition>& decided) {
  if (decided.empty()) return 0.0;
  Value others = 0.0;
  for (const Condition& condition : decided) others += condition.holds() ? 1.0 - Value(condition) : Value(condition);
  return select(others == 0.0, 0.0, std::numeric_limits<double>::quiet_NaN());
}

bool uses_any(const std::vector<Value>& left, const std::vector<Value>& leaves) {
  if (left.empty()) return false;
  const Reading reading(left);
  return std::any_of(leaves.begin(), leaves.end(), [&](const Value& leaf) { return reading.find(leaf).has_value(); });
}

Value sum_of_products(const std::vector<Value>& a, const std::vector<Value>& b) {
  Value sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

WholeFunction::WholeFunction(const char* call, VectorFunction function, bool compile)
    : call_(call), function_(std::move(function)), given_up_(!compile), why_not_(compile ? "" : "compile is false") {}

// ---- recording ----

WholeFunction::Recorded WholeFunction::record(const std::vector<Value>& at) {
  ++recordings_;
  Recorded recorded;
  std::vector<Value> left;
  for (const Value& leaf : at) leaf.id();  // a number that is cast is reported with its node
  {
    std::optional<WatchRecording> watch;
    if (!given_up_)
      watch.emplace([&](const Condition& condition) { recorded.decided.push_back(condition); },
                    [&](const Value& value) { left.push_back(value); });
    recorded.outputs = function_(at);
  }
  if (uses_any(left, at)) give_up(number_left);
  const std::size_t count = recorded.outputs.size();
  if (count == 0) throw Error(call_, "a function with values", "one that returns none", "return a Value or several");
  if (outputs_.value_or(count) != count)
    throw Error(call_, "as many values at every point: " + std::to_string(*outputs_), std::to_string(count),
                "return as many each time");
  outputs_ = count;
  if (given_up_) return recorded;

  recorded.shape = shape_of(recorded.outputs, recorded.decided, at);
  return recorded;
}

std::vector<Value> WholeFunction::record_and_learn(const std::vector<Value>& at) {
  Recorded recorded = record(at);
  learn(recorded.shape, at);
  return std::move(recorded.outputs);
}

void WholeFunction::learn(std::uint64_t shape, const std::vector<Value>& at) {
  if (given_up_) return;
  Numbers point;
  for (const Value& parameter : at) point.push_back(parameter.data());
  if (shape_ == shape) {
    ready_ = ready_ || point != point_;
    return;
  }
  ready_ = false;
  forget_programs();
  if (shape_ && ++changes_ > most_changes)
    give_up("the function records different graphs at different points: it branches, or uses numbers of its own");
  shape_ = shape;
  point_ = std::move(point);
}

void WholeFunction::give_up(std::string why) {
  forget_programs();
  given_up_ = true;
  why_not_ = std::move(why);
}

void WholeFunction::forget_programs() {
  for (std::optional<Compiled>* program : {&gradient_, &values_, &hessian_, &slope_, &jacobian_, &columns_})
    program->reset();
}

void WholeFunction::forget() {
  forget_programs();
  shape_.reset();
  ready_ = false;
  changes_ = 0;
  outputs_.reset();
}

// ---- confirming a result ----

template <class Record> bool WholeFunction::confirms_by(Record record) {
  if (!used_programs_) return true;
  const bool had_given_up = given_up_;
  changes_ = most_changes;  // one more change of the graph ends the use of programs
  const auto [programs, recorded] = record();
  if (given_up_ != had_given_up) return false;
  if (nearly_equal(programs, recorded)) return true;
  give_up("a compiled program gives other numbers than the function: they depend on rounding");
  return false;
}

bool WholeFunction::confirms(const Vector& x, double& value, Vector& gradient) {
  return confirms_by([&] {
    const double found = value;
    value = recorded_gradient(x, gradient);
    return std::pair<Vector, Vector>(Vector::Constant(1, found), Vector::Constant(1, value));
  });
}

bool WholeFunction::confirms(const Vector& x, Vector& values) {
  return confirms_by([&] {
    Vector found = values;
    values = recorded_values(x);
    return std::pair(std::move(found), values);
  });
}

// ---- compiling ----

template <class Outputs>
WholeFunction::Compiled* WholeFunction::program(std::optional<Compiled>& cached, const Vector& x, Outputs outputs) {
  if (given_up_ || !ready_) return nullptr;
  if (cached) return &*cached;
  std::vector<Value> parameters = leaves_of(x);
  const Recorded recorded = record(parameters);
  if (recorded.shape != shape_) {
    learn(recorded.shape, parameters);
    return nullptr;
  }
  try {
    const std::vector<Value> program_outputs = outputs(recorded, parameters);
    Program program = compile(program_outputs, {.parameters = parameters});
    const std::size_t size = parameters.size();
    cached.emplace(Compiled{std::move(parameters), std::move(program), Numbers(size), Numbers(size)});
  } catch (const Error& error) {
    give_up(error.what());
    return nullptr;
  }
  used_programs_ = true;
  return &*cached;
}

WholeFunction::Compiled* WholeFunction::gradient_program(const Vector& x) {
  return program(gradient_, x, [](const Recorded& recorded, const std::vector<Value>&) {
    return std::vector{recorded.outputs[0] + guard(recorded.decided)};
  });
}

WholeFunction::Compiled* WholeFunction::values_program(const Vector& x) {
  return program(values_, x, [](const Recorded& recorded, const std::vector<Value>&) {
    std::vector<Value> outputs = recorded.outputs;
    outputs[0] += guard(recorded.decided);
    return outputs;
  });
}

// Compiles the derivative of the function along a vector v. The gradient of that is the Hessian times v.
WholeFunction::Compiled* WholeFunction::hessian_program(const Vector& x) {
  return program(hessian_, x, [](const Recorded& recorded, std::vector<Value>& parameters) {
    const std::vector<Value> slope = derivatives(recorded.outputs[0], parameters);
    const std::vector<Value> v(slope.size());
    parameters.insert(parameters.end(), v.begin(), v.end());
    return std::vector{sum_of_products(v, slope) + guard(recorded.decided)};
  });
}

// Compiles the guard and the derivatives of the function. The Jacobian of these is the Hessian, after a row of zeros.
WholeFunction::Compiled* WholeFunction::slope_program(const Vector& x) {
  if (slope_) return &*slope_;
  Compiled* const made = program(slope_, x, [](const Recorded& recorded, const std::vector<Value>& parameters) {
    std::vector<Value> outputs{guard(recorded.decided)};
    for (Value& derivative : derivatives(recorded.outputs[0], parameters)) outputs.push_back(std::move(derivative));
    return outputs;
  });
  if (made != nullptr) slope_pattern_ = made->program.jacobian_pattern();
  return made;
}

// Compiles the sum of the outputs, each times a number u. Its gradient is J'u: a row of J if one u is 1 and the others
// are 0. The derivative of this sum along a vector v has the gradient Jv with respect to u: a column of J. If there are
// more outputs than parameters, there are fewer columns than rows, but their program is three times as large.
WholeFunction::Compiled* WholeFunction::jacobian_program(const Vector& x) {
  return program(jacobian_, x, [this](const Recorded& recorded, std::vector<Value>& parameters) {
    const std::vector<Value> inputs = parameters, u(recorded.outputs.size());
    parameters.insert(parameters.end(), u.begin(), u.end());
    const Value sum = sum_of_products(u, recorded.outputs);
    if (*outputs_ <= 3 * inputs.size()) return std::vector{sum + guard(recorded.decided)};
    const std::vector<Value> v(inputs.size());
    parameters.insert(parameters.end(), v.begin(), v.end());
    return std::vector{sum_of_products(v, derivatives(sum, inputs)) + guard(recorded.decided)};
  });
}

// Compiles the derivative along a vector v of the sum of the outputs, each times a number u. Its gradient with respect
// to u is Jv.
WholeFunction::Compiled* WholeFunction::columns_program(const Vector& x) {
  return program(columns_, x, [](const Recorded& recorded, std::vector<Value>& parameters) {
    const std::vector<Value> inputs = parameters, u(recorded.outputs.size()), v(inputs.size());
    parameters.insert(parameters.end(), v.begin(), v.end());
    parameters.insert(parameters.end(), u.begin(), u.end());
    const Value sum = sum_of_products(u, recorded.outputs);
    return std::vector{sum_of_products(v, derivatives(sum, inputs)) + guard(recorded.decided)};
  });
}

// ---- evaluating ----

double WholeFunction::gradient(const Vector& x, Vector& gradient) {
  ++evaluations_;
  gradient.resize(x.size());
  if (Compiled* const compiled = gradient_program(x)) {
    const double value =
        compiled->program.gradient_at(span_of(x), {gradient.data(), static_cast<std::size_t>(gradient.size())});
    if (std::isfinite(value) && gradient.allFinite()) return value;
  }
  return recorded_gradient(x, gradient);
}

double WholeFunction::recorded_gradient(const Vector& x, Vector& gradient) {
  const auto first = [this](const std::vector<Value>& at) { return record_and_learn(at)[0]; };
  const auto [value, slope] = value_and_gradient(first, numbers(x));
  gradient = vector(slope);
  return value;
}

Vector WholeFunction::values(const Vector& x) {
  ++evaluations_;
  if (Compiled* const compiled = values_program(x)) {
    Vector values(static_cast<Eigen::Index>(*outputs_));
    for (std::size_t i = 0; i < compiled->parameters.size(); ++i)
      compiled->parameters[i].data() = x[static_cast<Eigen::Index>(i)];
    compiled->program.evaluate({values.data(), *outputs_});
    if (values.allFinite()) return values;
  }
  return recorded_values(x);
}

Vector WholeFunction::recorded_values(const Vector& x) {
  const std::vector<Value> outputs = record_and_learn(leaves_of(x));
  Vector values(static_cast<Eigen::Index>(outputs.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i) values[static_cast<Eigen::Index>(i)] = outputs[i].data();
  return values;
}

Matrix WholeFunction::hessian(const Vector& x) {
  const Eigen::Index n = x.size();
  Matrix result(n, n);
  if (Compiled* const compiled = hessian_program(x)) {
    Vector::Map(compiled->numbers.data(), 2 * n) << x, Vector::Zero(n);
    bool is_finite = true;
    for (Eigen::Index i = 0; i < n && is_finite; ++i) {
      double& v = compiled->numbers[static_cast<std::size_t>(n + i)];
      v = 1;
      is_finite = std::isfinite(compiled->program.gradient_at(compiled->numbers, compiled->derivatives));
      v = 0;
      result.col(i) = Vector::Map(compiled->derivatives.data(), n);
    }
    if (is_finite && result.allFinite()) return 0.5 * (result + result.transpose());
  }
  const auto first = [this](const std::vector<Value>& at) { return record_and_learn(at)[0]; };
  const std::vector<Numbers> rows = gradwalk::hessian(first, numbers(x));
  for (Eigen::Index i = 0; i < n; ++i) result.row(i) = vector(rows[static_cast<std::size_t>(i)]);
  return result;
}

std::optional<SparseMatrix> WholeFunction::sparse_hessian(const Vector& x) {
  constexpr Eigen::Index many = 200;
  constexpr double few = 0.05;  // of all entries
  if (x.size() < many) return std::nullopt;
  // A dense Hessian can be larger than the memory, so the second point that compiling needs is made here.
  if (!ready_ && !given_up_) record_and_learn(leaves_of(Vector(x.array() * (1 + 1e-9) + 1e-12)));
  Compiled* const compiled = slope_program(x);
  if (compiled == nullptr) return std::nullopt;
  const double entries = static_cast<double>(slope_pattern_.column_indices.size()), n = static_cast<double>(x.size());
  if (entries > few * n * n) return std::nullopt;
  std::vector<double> derivatives(slope_pattern_.column_indices.size());
  const Numbers at = numbers(x);
  if (!std::isfinite(compiled->program.value_at(at))) return std::nullopt;
  compiled->program.sparse_jacobian_at(at, derivatives);
  const SparseMatrix rows = sparse_matrix(slope_pattern_, derivatives), hessian = rows.bottomRows(x.size());
  if (!std::all_of(derivatives.begin(), derivatives.end(), [](double entry) { return std::isfinite(entry); }))
    return std::nullopt;
  return SparseMatrix(0.5 * (hessian + SparseMatrix(hessian.transpose())));
}

Vector WholeFunction::times_hessian(const Vector& x, const Vector& v) {
  ++evaluations_;
  const Eigen::Index n = x.size();
  if (Compiled* const compiled = hessian_program(x)) {
    Vector::Map(compiled->numbers.data(), 2 * n) << x, v;
    const double value = compiled->program.gradient_at(compiled->numbers, compiled->derivatives);
    Vector result = Vector::Map(compiled->derivatives.data(), n);
    if (std::isfinite(value) && result.allFinite()) return result;
  }
  const auto first = [this](const std::vector<Value>& at) { return record_and_learn(at)[0]; };
  return vector(hessian_vector_product(first, numbers(x), numbers(v)));
}

Vector WholeFunction::times_jacobian(const Vector& x, const Vector& v) {
  ++evaluations_;
  const Eigen::Index n = x.size();
  if (Compiled* const compiled = columns_program(x)) {
    const auto m = static_cast<Eigen::Index>(*outputs_);
    Vector::Map(compiled->numbers.data(), 2 * n + m) << x, v, Vector::Zero(m);
    const double value = compiled->program.gradient_at(compiled->numbers, compiled->derivatives);
    Vector result = Vector::Map(compiled->derivatives.data() + 2 * n, m);
    if (std::isfinite(value) && result.allFinite()) return result;
  }
  const auto outputs = [this](const std::vector<Value>& at) { return record_and_learn(at); };
  return vector(jacobian_vector_product(outputs, numbers(x), numbers(v)));
}

Matrix WholeFunction::jacobian(const Vector& x) {
  const Eigen::Index n = x.size();
  if (Compiled* const compiled = jacobian_program(x)) {
    const auto m = static_cast<Eigen::Index>(*outputs_);
    const bool by_columns = static_cast<Eigen::Index>(compiled->parameters.size()) > n + m;
    Matrix result(m, n);
    Numbers& at = compiled->numbers;
    std::fill(at.begin(), at.end(), 0.0);
    Vector::Map(at.data(), n) = x;
    bool is_finite = true;
    const auto run_with_unit = [&](Eigen::Index i) {
      at[static_cast<std::size_t>(i)] = 1;
      is_finite = is_finite && std::isfinite(compiled->program.gradient_at(at, compiled->derivatives));
      at[static_cast<std::size_t>(i)] = 0;
    };
    if (by_columns) {
      for (Eigen::Index j = 0; j < n && is_finite; ++j) {
        run_with_unit(n + m + j);
        result.col(j) = Vector::Map(compiled->derivatives.data() + n, m);
      }
    } else {
      for (Eigen::Index i = 0; i < m && is_finite; ++i) {
        run_with_unit(n + i);
        result.row(i) = Vector::Map(compiled->derivatives.data(), n);
      }
    }
    if (is_finite && result.allFinite()) return result;
  }
  return recorded_jacobian(x);
}

Matrix WholeFunction::recorded_jacobian(const Vector& x) {
  const Eigen::Index n = x.size();
  const auto outputs = [this](const std::vector<Value>& at) { return record_and_learn(at); };
  if (!recorded_by_columns_)
    recorded_by_columns_ = columns_are_cheaper(record_and_learn(leaves_of(x)), static_cast<std::size_t>(n));
  Matrix result;
  if (*recorded_by_columns_) {
    for (Eigen::Index j = 0; j < n; ++j) {
      const Vector along = Vector::Unit(n, j);
      const Numbers column = jacobian_vector_product(outputs, numbers(x), numbers(along));
      result.resize(static_cast<Eigen::Index>(column.size()), n);
      result.col(j) = vector(column);
    }
  } else {
    const std::vector<Numbers> rows = gradwalk::jacobian(outputs, numbers(x));
    result.resize(static_cast<Eigen::Index>(rows.size()), n);
    for (std::size_t i = 0; i < rows.size(); ++i) result.row(static_cast<Eigen::Index>(i)) = vector(rows[i]);
  }
  return result;
}

void WholeFunction::report(Ending& ending) const {
  ending.evaluations = evaluations_;
  ending.recordings = recordings_;
  ending.compiled = gradient_ || values_ || hessian_ || jacobian_ || columns_;
  ending.not_compiled = ending.compiled ? "" : !why_not_.empty() ? why_not_ : "it ended before there was a program";
}

}  // namespace gradwalk::solver
