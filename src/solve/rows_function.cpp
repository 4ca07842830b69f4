// SPDX-License-Identifier: MIT
// Evaluates a function of one row over all rows, by programs whose inputs are the numbers of a row.
#include "rows_function.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <set>

#include "gradwalk/error.hpp"
#include "shape.hpp"

namespace gradwalk::solver {
namespace {

using Table = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The rows that are recorded first: the first, the middle and the last, and for each of the first columns the rows with
// its smallest and its largest number, where a function is most likely to take another branch.
std::vector<std::size_t> first_samples(const Rows& rows) {
  std::set<std::size_t> samples{0, rows.size() / 2, rows.size() - 1};
  for (std::size_t column = 0; column < std::min<std::size_t>(rows.columns(), 8); ++column) {
    std::size_t least = 0, most = 0;
    for (std::size_t row = 1; row < rows.size(); ++row) {
      if (rows[row][column] < rows[least][column]) least = row;
      if (rows[row][column] > rows[most][column]) most = row;
    }
    samples.insert({least, most});
  }
  return {samples.begin(), samples.end()};
}

// Rows spread over the table, to compare the result with.
std::vector<std::size_t> last_samples(const Rows& rows) {
  constexpr std::size_t count = 8;
  std::set<std::size_t> samples;
  for (std::size_t i = 0; i < count; ++i) samples.insert((2 * i + 1) * rows.size() / (2 * count));
  return {samples.begin(), samples.end()};
}

// Returns the function of all rows as one function of the parameters.
VectorFunction whole(const RowResiduals& function, const Rows& rows, Over over) {
  return [&function, &rows, over](const std::vector<Value>& parameters) {
    std::vector<Value> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<Value> outputs = function(parameters, {rows[i].begin(), rows[i].end()});
      if (over == Over::sum && !all.empty())
        all[0] += outputs.at(0);
      else
        std::move(outputs.begin(), outputs.end(), std::back_inserter(all));
    }
    return all;
  };
}

// Takes rows of [J r] in blocks that fit into the cache. QR of each block and the R before it gives the next R.
class BlockwiseQr {
 public:
  BlockwiseQr(Eigen::Index rows, Eigen::Index parameters)
      : n_(parameters),
        block_(std::min(rows, std::max<Eigen::Index>(256, 4 * parameters))),
        stack_(n_ + 1 + block_, n_ + 1) {
    stack_.setZero();
  }

  // fill(block, begin) writes rows begin, begin + 1, ... of [J r] to the block.
  template <class Fill> Reduced run(Eigen::Index rows, Fill fill) {
    for (Eigen::Index begin = 0; begin < rows; begin += block_) {
      const Eigen::Index count = std::min(block_, rows - begin);
      fill(stack_.middleRows(n_ + 1, count), begin);
      if (count < block_) stack_.bottomRows(block_ - count).setZero();
      Eigen::HouseholderQR<Eigen::Ref<Matrix>> factors(stack_);
      stack_.topRows(n_ + 1).triangularView<Eigen::StrictlyLower>().setZero();
    }
    return {stack_.topLeftCorner(n_, n_), stack_.col(n_).head(n_)};
  }

 private:
  Eigen::Index n_, block_;
  Matrix stack_;  // R on top of the next block
};

// Computes R and Q'r from the products of columns, J'J and J'r, which takes a quarter of the time of QR. It squares the
// condition number. So it returns nothing where the columns, scaled to length 1, are not clearly independent, which
// bounds the relative error by 1e-9, or where their products come near the smallest doubles.
template <class Fill> std::optional<Reduced> by_products(Eigen::Index rows, Eigen::Index n, Fill fill) {
  constexpr Eigen::Index block = 256;
  constexpr double least_rcond = 1e-6, least_length = 1e-130;
  Matrix some(std::min(rows, block), n + 1), products = Matrix::Zero(n + 1, n + 1);
  for (Eigen::Index begin = 0; begin < rows; begin += block) {
    const Eigen::Index count = std::min(block, rows - begin);
    fill(some.topRows(count), begin);
    products.noalias() += some.topRows(count).transpose() * some.topRows(count);
  }
  const Vector lengths = products.diagonal().head(n).cwiseSqrt();
  if (!products.allFinite() || !(lengths.minCoeff() > least_length)) return std::nullopt;
  const Vector scale = lengths.cwiseInverse();
  const Matrix scaled = scale.asDiagonal() * products.topLeftCorner(n, n) * scale.asDiagonal();
  const Eigen::LLT<Matrix> factors(scaled);
  if (factors.info() != Eigen::Success || !(factors.rcond() > least_rcond)) return std::nullopt;
  const Matrix lower = factors.matrixL();
  return Reduced{lower.transpose() * lengths.asDiagonal(),
                 factors.matrixL().solve(scale.cwiseProduct(products.col(n).head(n)))};
}

}  // namespace

Reduced reduced(const Matrix& jacobian, const Vector& residuals) {
  const Eigen::Index m = jacobian.rows(), n = jacobian.cols();
  if (m <= n) return {jacobian, residuals};
  return BlockwiseQr(m, n).run(m, [&](auto block, Eigen::Index begin) {
    block.leftCols(n) = jacobian.middleRows(begin, block.rows());
    block.col(n) = residuals.segment(begin, block.rows());
  });
}

RowsFunction::RowsFunction(const char* call, RowResiduals function, const Rows& rows, Over over, bool compile)
    : call_(call),
      function_(std::move(function)),
      rows_(rows),
      whole_(call, whole(function_, rows, over), compile),
      given_up_(!compile),
      why_not_(compile ? "" : "compile is false") {
  if (rows.size() == 0) throw Error(call, "rows", "none", "give at least one row");
}

// ---- recording and compiling ----

RowsFunction::Recorded RowsFunction::record(const std::vector<Value>& parameters, std::size_t row) {
  ++recordings_;
  Recorded recorded{{rows_[row].begin(), rows_[row].end()}, {}, {}};
  std::vector<Value> all = parameters, left;
  all.insert(all.end(), recorded.inputs.begin(), recorded.inputs.end());
  for (const Value& leaf : all) leaf.id();  // a number that is cast is reported with its node
  {
    const WatchRecording watch([&](const Condition& condition) { recorded.decided.push_back(condition); },
                               [&](const Value& value) { left.push_back(value); });
    recorded.outputs = function_(parameters, recorded.inputs);
  }
  if (uses_any(left, all)) give_up(number_left);
  if (recorded.outputs.empty())
    throw Error(call_, "a function with values", "one that returns none", "return a Value or several");
  recorded.shape = shape_of(recorded.outputs, recorded.decided, all);
  return recorded;
}

void RowsFunction::learn(const Vector& x) {
  const std::vector<Value> parameters = leaves_of(x);
  for (const std::size_t row : first_samples(rows_)) {
    const Recorded recorded = record(parameters, row);
    if (given_up_) return;
    outputs_ = recorded.outputs.size();
    branches_ = !recorded.decided.empty();
    if (shape_.value_or(recorded.shape) != recorded.shape)
      return give_up(
          "the function records different graphs on different rows: it branches, or uses numbers of its own");
    shape_ = recorded.shape;
  }
}

void RowsFunction::give_up(std::string why) {
  given_up_ = true;
  why_not_ = std::move(why);
}

template <class Outputs>
RowsFunction::Compiled* RowsFunction::program(std::optional<Compiled>& cached, const Vector& x, Outputs outputs) {
  if (!given_up_ && !shape_) learn(x);
  if (given_up_) return nullptr;
  if (!cached) {
    std::vector<Value> parameters = leaves_of(x);
    const Recorded recorded = record(parameters, 0);
    if (given_up_) return nullptr;
    try {
      const std::vector<Value> program_outputs = outputs(recorded, parameters);
      Program program = compile(program_outputs, {.inputs = recorded.inputs, .parameters = parameters});
      cached.emplace(Compiled{std::move(parameters), std::move(program)});
    } catch (const Error& error) {
      give_up(error.what());
      return nullptr;
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i)
    cached->parameters[i].data() = x[static_cast<Eigen::Index>(i)];
  return &*cached;
}

bool RowsFunction::can_trust(bool is_finite) {
  if (!is_finite && branches_) give_up("the function takes different branches on different rows");
  return !given_up_;
}

// ---- evaluating ----

double RowsFunction::gradient(const Vector& x, Vector& gradient) {
  Compiled* const compiled = program(gradient_, x, [](const Recorded& recorded, const std::vector<Value>&) {
    return std::vector{recorded.outputs[0] + guard(recorded.decided)};
  });
  if (compiled != nullptr) {
    gradient.resize(x.size());
    const double value =
        compiled->program.gradients(rows_.numbers(), {gradient.data(), static_cast<std::size_t>(gradient.size())});
    if (can_trust(std::isfinite(value) && gradient.allFinite())) {
      ++evaluations_;
      return value;
    }
  }
  return whole_.gradient(x, gradient);
}

// Computes the outputs of each row and their derivatives. Returns false if there can be no program.
bool RowsFunction::evaluate_table(const Vector& x) {
  if (!given_up_ && table_at_.size() == x.size() && table_at_ == x) return true;
  Compiled* const compiled =
      program(table_program_, x, [](const Recorded& recorded, const std::vector<Value>& parameters) {
        std::vector<Value> outputs = recorded.outputs;
        outputs[0] += guard(recorded.decided);
        for (const Value& output : recorded.outputs)
          for (Value& derivative : derivatives(output, parameters)) outputs.push_back(std::move(derivative));
        return outputs;
      });
  if (compiled == nullptr) return false;
  table_.resize(rows_.size() * compiled->program.outputs());
  compiled->program.evaluate(rows_.numbers(), table_);
  table_at_ = x;
  ++evaluations_;
  return true;
}

Vector RowsFunction::values(const Vector& x) {
  if (evaluate_table(x)) {
    const auto rows = static_cast<Eigen::Index>(rows_.size()), outputs = static_cast<Eigen::Index>(outputs_);
    const Eigen::Map<const Table> table(table_.data(), rows, outputs * (1 + x.size()));
    Vector values(rows * outputs);
    Eigen::Map<Table>(values.data(), rows, outputs) = table.leftCols(outputs);
    if (can_trust(values.allFinite())) return values;
  }
  return whole_.values(x);
}

Matrix RowsFunction::jacobian(const Vector& x) {
  if (!evaluate_table(x)) return whole_.jacobian(x);
  const auto rows = static_cast<Eigen::Index>(rows_.size()), outputs = static_cast<Eigen::Index>(outputs_);
  const Eigen::Map<const Table> table(table_.data(), rows, outputs * (1 + x.size()));
  Matrix jacobian(rows * outputs, x.size());
  for (Eigen::Index i = 0; i < rows; ++i)
    jacobian.middleRows(i * outputs, outputs) =
        Eigen::Map<const Table>(table.data() + i * table.cols() + outputs, outputs, x.size());
  return jacobian;
}

Reduced RowsFunction::linear(const Vector& x, const Vector& values) {
  const Eigen::Index n = x.size();
  if (values.size() <= n || outputs_ != 1 || !evaluate_table(x)) return Function::linear(x, values);
  const Eigen::Map<const Table> table(table_.data(), values.size(), 1 + n);
  const auto fill = [&](auto block, Eigen::Index begin) {
    block.leftCols(n) = table.block(begin, 1, block.rows(), n);
    block.col(n) = table.block(begin, 0, block.rows(), 1);
  };
  if (std::optional<Reduced> quickly = by_products(values.size(), n, fill)) return *std::move(quickly);
  return BlockwiseQr(values.size(), n).run(values.size(), fill);
}

Matrix RowsFunction::hessian(const Vector& x) {
  const Eigen::Index n = x.size();
  Compiled* const compiled = program(hessian_, x, [](const Recorded& recorded, std::vector<Value>& parameters) {
    const std::vector<Value> slope = derivatives(recorded.outputs[0], parameters);
    const std::vector<Value> v(slope.size());
    parameters.insert(parameters.end(), v.begin(), v.end());
    return std::vector{sum_of_products(v, slope) + guard(recorded.decided)};
  });
  if (compiled == nullptr) return whole_.hessian(x);
  Matrix result(n, n);
  Vector column(2 * n);
  bool is_finite = true;
  for (Eigen::Index i = 0; i < n; ++i) compiled->parameters[static_cast<std::size_t>(n + i)].data() = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    Value& v = compiled->parameters[static_cast<std::size_t>(n + i)];
    v.data() = 1;
    is_finite =
        std::isfinite(compiled->program.gradients(rows_.numbers(), {column.data(), static_cast<std::size_t>(2 * n)})) &&
        is_finite;
    v.data() = 0;
    result.col(i) = column.head(n);
  }
  if (!can_trust(is_finite && result.allFinite())) return whole_.hessian(x);
  return 0.5 * (result + result.transpose());
}

// ---- confirming a result ----

// Records rows at x and compares their shapes and values with those of the program of the table or of the sum.
bool RowsFunction::confirms_samples(const Vector& x) {
  const std::vector<Value> parameters = leaves_of(x);
  Compiled& compiled = gradient_ ? *gradient_ : *table_program_;
  for (std::size_t i = 0; i < parameters.size(); ++i) compiled.parameters[i].data() = parameters[i].data();
  Numbers row_outputs(compiled.program.outputs());
  for (const std::size_t row : last_samples(rows_)) {
    const Recorded recorded = record(parameters, row);
    if (given_up_) return false;
    if (recorded.shape != *shape_) {
      give_up("the function records different graphs at different points: it branches, or uses numbers of its own");
      return false;
    }
    compiled.program.evaluate(rows_[row], row_outputs);
    Vector values(static_cast<Eigen::Index>(recorded.outputs.size()));
    for (std::size_t i = 0; i < recorded.outputs.size(); ++i)
      values[static_cast<Eigen::Index>(i)] = recorded.outputs[i].data();
    if (!nearly_equal(vector(row_outputs).head(values.size()), values) && values.allFinite()) {
      give_up("a compiled program gives other numbers than the function: they depend on rounding");
      return false;
    }
  }
  return true;
}

bool RowsFunction::confirms(const Vector& x, double& value, Vector& gradient) {
  if (given_up_) return whole_.confirms(x, value, gradient);
  if (confirms_samples(x)) return true;
  value = whole_.gradient(x, gradient);
  return false;
}

bool RowsFunction::confirms(const Vector& x, Vector& values) {
  if (given_up_) return whole_.confirms(x, values);
  if (confirms_samples(x)) return true;
  values = whole_.values(x);
  return false;
}

void RowsFunction::report(Ending& ending) const {
  whole_.report(ending);
  ending.evaluations += evaluations_;
  ending.recordings = recordings_ + ending.recordings * rows_.size();
  if (!given_up_) ending.compiled = true;
  ending.not_compiled = ending.compiled ? "" : why_not_;
}

}  // namespace gradwalk::solver
