// SPDX-License-Identifier: MIT
// Support for Eigen 3.4: Value as the scalar type of matrices, also mixed with doubles; functions that make matrices of
// leaves and read matrices of data and gradients; derivatives of functions of Eigen vectors. gradwalk itself does not
// need Eigen.
//
// Copies of a Value refer to one node, so all entries of Matrix<Value, 2, 2>::Zero() are the same node. docs/eigen.md
// explains when that matters.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <concepts>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gradwalk/derivatives.hpp"
#include "gradwalk/value.hpp"

namespace Eigen {

// Describes Value to Eigen as a scalar type.
template <> struct NumTraits<gradwalk::Value> : GenericNumTraits<gradwalk::Value> {
  using Literal = double;                           // constants in Eigen's code stay doubles
  enum { ReadCost = 1, AddCost = 8, MulCost = 8 };  // high costs, so that Eigen records no expression twice
  // Returns the tolerance of isApprox() and the like, which is that of doubles.
  static gradwalk::Value dummy_precision() { return NumTraits<double>::dummy_precision(); }
};

// An operation on a Value and a number gives a Value. The number stays a number: MatrixXd * Matrix<Value, ...> makes no
// leaves.
template <gradwalk::Number T, class Op> struct ScalarBinaryOpTraits<gradwalk::Value, T, Op> {
  using ReturnType = gradwalk::Value;
};
// The same with the number first.
template <gradwalk::Number T, class Op> struct ScalarBinaryOpTraits<T, gradwalk::Value, Op> {
  using ReturnType = gradwalk::Value;
};

// Matrix products are computed entry by entry, so that each entry is one fused record, a sum of products. Eigen's own
// kernels work on packed copies: they would take two records per term, and they do not mix numbers and Values.
namespace internal {

template <class Lhs, class Rhs> struct ProductOfValues {
  template <class To> static void evalTo(To& to, const Lhs& lhs, const Rhs& rhs) {
    each_entry(lhs, rhs, [&](Index i, Index j, gradwalk::Value&& entry) { to.coeffRef(i, j) = std::move(entry); });
  }
  template <class To> static void addTo(To& to, const Lhs& lhs, const Rhs& rhs) {
    each_entry(lhs, rhs, [&](Index i, Index j, gradwalk::Value&& entry) { to.coeffRef(i, j) += std::move(entry); });
  }
  template <class To> static void subTo(To& to, const Lhs& lhs, const Rhs& rhs) {
    each_entry(lhs, rhs, [&](Index i, Index j, gradwalk::Value&& entry) { to.coeffRef(i, j) -= std::move(entry); });
  }
  template <class To> static void scaleAndAddTo(To& to, const Lhs& lhs, const Rhs& rhs, const gradwalk::Value& factor) {
    each_entry(lhs, rhs, [&](Index i, Index j, gradwalk::Value&& entry) { to.coeffRef(i, j) += factor * entry; });
  }

 private:
  template <class Use> static void each_entry(const Lhs& lhs, const Rhs& rhs, Use use) {
    const typename nested_eval<Lhs, Dynamic>::type a(lhs);
    const typename nested_eval<Rhs, Dynamic>::type b(rhs);
    const evaluator<std::remove_cvref_t<decltype(a)>> x(a);
    const evaluator<std::remove_cvref_t<decltype(b)>> y(b);
    for (Index j = 0; j < b.cols(); ++j)
      for (Index i = 0; i < a.rows(); ++i) use(i, j, entry(x, y, i, j, a.cols()));
  }
  // One call per entry: the code of the sum is compiled once, not for each use of it.
  template <class X, class Y>
  [[gnu::noinline]] static gradwalk::Value entry(const X& x, const Y& y, Index i, Index j, Index terms) {
    gradwalk::Value sum = terms == 0 ? gradwalk::Value(0) : x.coeff(i, 0) * y.coeff(0, j);
    for (Index k = 1; k < terms; ++k) sum += x.coeff(i, k) * y.coeff(k, j);
    return sum;
  }
};

template <class Lhs, class Rhs>
concept HaveValues = gradwalk::Operands<typename Lhs::Scalar, typename Rhs::Scalar>;
template <class Lhs, class Rhs>
  requires HaveValues<Lhs, Rhs>
struct generic_product_impl<Lhs, Rhs, DenseShape, DenseShape, GemmProduct> : ProductOfValues<Lhs, Rhs> {};
template <class Lhs, class Rhs>
  requires HaveValues<Lhs, Rhs>
struct generic_product_impl<Lhs, Rhs, DenseShape, DenseShape, GemvProduct> : ProductOfValues<Lhs, Rhs> {};
template <class Lhs, class Rhs>
  requires HaveValues<Lhs, Rhs>
struct generic_product_impl<Lhs, Rhs, DenseShape, DenseShape, CoeffBasedProductMode> : ProductOfValues<Lhs, Rhs> {};

// The products inside Eigen's solvers, as plain loops, one fused record per sum. Eigen's own kernels unroll their
// loops: programs with them take three times as long to compile, and they take two records per term.
struct MatrixVectorOfValues {
  template <class Lhs, class Rhs> static void run(Index rows, Index cols, const Lhs& lhs, const Rhs& rhs,
                                                  gradwalk::Value* result, Index stride,
                                                  const gradwalk::Value& factor) {
    if (cols == 0) return;
    for (Index i = 0; i < rows; ++i) {
      gradwalk::Value sum = lhs(i, 0) * rhs(0, 0);
      for (Index k = 1; k < cols; ++k) sum += lhs(i, k) * rhs(k, 0);
      result[i * stride] += factor * sum;
    }
  }
};
template <class Index, class Lhs, bool conjugate_lhs, class Rhs, bool conjugate_rhs, int version>
struct general_matrix_vector_product<Index, gradwalk::Value, Lhs, ColMajor, conjugate_lhs, gradwalk::Value, Rhs,
                                     conjugate_rhs, version> : MatrixVectorOfValues {};
template <class Index, class Lhs, bool conjugate_lhs, class Rhs, bool conjugate_rhs, int version>
struct general_matrix_vector_product<Index, gradwalk::Value, Lhs, RowMajor, conjugate_lhs, gradwalk::Value, Rhs,
                                     conjugate_rhs, version> : MatrixVectorOfValues {};

// The factors are packed: rows of the first in groups of mr, columns of the second in groups of nr, and the remaining
// rows and columns one by one. Within a group, the entries for one k are adjacent.
template <class Index, class Mapper, int mr, int nr, bool conjugate_lhs, bool conjugate_rhs>
  requires(mr <= 2 && nr == 4)
struct gebp_kernel<gradwalk::Value, gradwalk::Value, Index, Mapper, mr, nr, conjugate_lhs, conjugate_rhs> {
  void operator()(const Mapper& result, const gradwalk::Value* lhs, const gradwalk::Value* rhs, Index rows, Index depth,
                  Index cols, const gradwalk::Value& factor, Index lhs_stride = -1, Index rhs_stride = -1,
                  Index lhs_offset = 0, Index rhs_offset = 0) const {
    if (depth == 0) return;
    if (lhs_stride == -1) lhs_stride = depth;
    if (rhs_stride == -1) rhs_stride = depth;
    for (Index j = 0; j < cols; ++j)
      for (Index i = 0; i < rows; ++i) {
        const Index x_step = i < rows / mr * mr ? mr : 1, y_step = j < cols / nr * nr ? nr : 1;
        const gradwalk::Value* x = lhs + (i - i % x_step) * lhs_stride + lhs_offset * x_step + i % x_step;
        const gradwalk::Value* y = rhs + (j - j % y_step) * rhs_stride + rhs_offset * y_step + j % y_step;
        gradwalk::Value sum = x[0] * y[0];
        for (Index k = 1; k < depth; ++k) sum += x[k * x_step] * y[k * y_step];
        result(i, j) += factor * sum;
      }
  }
};

}  // namespace internal

}  // namespace Eigen

namespace gradwalk {

// A matrix or array of numbers.
template <class Derived>
concept EigenNumbers = Number<typename Derived::Scalar>;
// A matrix or array of Values.
template <class Derived>
concept EigenValues = std::same_as<typename Derived::Scalar, Value>;

namespace detail {

// The matrix or array type of Derived with another scalar type.
template <class Scalar, class Derived> using Like =
    std::remove_cvref_t<decltype(std::declval<const Derived&>().template cast<Scalar>().eval())>;

template <class Result> Result sized(Eigen::Index rows, Eigen::Index columns) {
  Result result;  // not Result(rows, columns), which for a vector of two entries would set the entries
  result.resize(rows, columns);
  return result;
}
template <class Result, class Derived, class Entry> Result entry_by_entry(const Derived& m, Entry entry) {
  auto result = sized<Result>(m.rows(), m.cols());
  for (Eigen::Index j = 0; j < m.cols(); ++j)
    for (Eigen::Index i = 0; i < m.rows(); ++i) result(i, j) = entry(i, j, m(i, j));
  return result;
}

}  // namespace detail

// Returns a matrix of new leaves, one per entry, with the data of the entries.
template <class Derived>
  requires(EigenNumbers<Derived> || EigenValues<Derived>)
detail::Like<Value, Derived> leaves(const Eigen::DenseBase<Derived>& matrix) {
  const typename Derived::PlainObject plain = matrix.derived();
  return detail::entry_by_entry<detail::Like<Value, Derived>>(
      plain, [](Eigen::Index, Eigen::Index, const auto& entry) { return Value(detail::number_in(entry)); });
}

// Returns the data of each entry.
template <EigenValues Derived> detail::Like<double, Derived> values(const Eigen::DenseBase<Derived>& matrix) {
  const typename Derived::PlainObject plain = matrix.derived();
  return detail::entry_by_entry<detail::Like<double, Derived>>(
      plain, [](Eigen::Index, Eigen::Index, const Value& entry) { return entry.data(); });
}

// Returns the gradient of each entry of a matrix or of a block of one. An expression such as a + b does not compile:
// its results would be new nodes, whose gradients are 0. Throws an Error if two entries are the same node and have a
// gradient, because that gradient is the sum over both entries.
template <EigenValues Derived>
  requires((Derived::Flags & Eigen::DirectAccessBit) != 0)
detail::Like<double, Derived> gradients(const Eigen::DenseBase<Derived>& matrix) {
  std::unordered_set<Value, IdentityHash, SameNode> known;
  return detail::entry_by_entry<detail::Like<double, Derived>>(
      matrix.derived(), [&](Eigen::Index i, Eigen::Index j, const Value& entry) {
        if (entry.grad() != 0 && !known.insert(entry).second)
          throw Error("gradients", "a node of its own in each entry",
                      "(" + std::to_string(i) + ", " + std::to_string(j) + "), whose node is in another too",
                      "make the matrix by leaves()");
        return entry.grad();
      });
}

// Prints the data, formatted as a matrix of doubles.
template <EigenValues Derived> std::ostream& operator<<(std::ostream& out, const Eigen::DenseBase<Derived>& matrix) {
  return out << values(matrix);
}

// One step of stableNorm(), which Eigen finds by argument-dependent lookup. The scale cancels in the result, so it gets
// no gradient: with one, its two parts would overflow where squares do.
template <class Vector>
void stable_norm_impl_inner_step(const Vector& vector, Value& squares, Value& scale, Value& inverse) {
  if (vector.size() == 0) return;
  const Value largest = stop(Value(vector.cwiseAbs().maxCoeff()));
  if (largest == 0) return;
  if (!(largest <= scale)) {
    const Value ratio = scale / largest;
    squares = squares * (ratio * ratio);
    scale = max(largest, std::numeric_limits<double>::min());
    inverse = isinf(largest) ? Value(1) : 1 / scale;
  }
  squares += (vector * inverse).squaredNorm();
}

// ---- derivatives of functions of Eigen vectors ----
// f takes a matrix or vector of Values with the shape of x. A gradient has the shape of x. The rows and columns of
// Jacobians and Hessians follow the order in which entries are stored. Costs and Errors are those of derivatives.hpp.
namespace detail {

template <class Derived> struct EigenPoint {
  using Numbers = Like<double, Derived>;
  using Values = Like<Value, Derived>;
  static constexpr int size_at_compile_time = Derived::SizeAtCompileTime;
  using Square = Eigen::Matrix<double, size_at_compile_time, size_at_compile_time>;

  Numbers numbers;

  explicit EigenPoint(const Eigen::DenseBase<Derived>& x) : numbers(x.derived().template cast<double>()) {}
  operator AnyNumbers() const { return std::span(numbers.data(), static_cast<std::size_t>(numbers.size())); }  // NOLINT

  // Returns f as a function of a std::vector.
  template <class F> auto on_vector(const F& f) const {
    return [this, &f](const std::vector<Value>& x) -> Value { return f(matrix(x)); };
  }
  template <class F> auto to_vectors(const F& f) const {
    return [this, &f](const std::vector<Value>& x) {
      const Result<F> y = f(matrix(x));
      return std::vector<Value>(y.data(), y.data() + y.size());
    };
  }
  template <class F> using Result =
      typename std::remove_cvref_t<decltype(std::declval<const F&>()(std::declval<const Values&>()))>::PlainObject;

  Values matrix(const std::vector<Value>& x) const {
    return Eigen::Map<const Values>(x.data(), numbers.rows(), numbers.cols());
  }
  Numbers shaped(const std::vector<double>& x) const {
    return Eigen::Map<const Numbers>(x.data(), numbers.rows(), numbers.cols());
  }
};

template <class Result> Result stacked(const std::vector<Numbers>& rows, Eigen::Index columns) {
  auto result = sized<Result>(static_cast<Eigen::Index>(rows.size()), columns);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[i].size(); ++j)
      result(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = rows[i][j];
  return result;
}

}  // namespace detail

// Returns the gradient of f at x, in the shape of x.
template <class F, EigenNumbers Derived> auto gradient(const F& f, const Eigen::DenseBase<Derived>& x) {
  const detail::EigenPoint<Derived> at(x);
  return at.shaped(detail::gradient(at.on_vector(f), at));
}
// Returns the value of f at x and its gradient there.
template <class F, EigenNumbers Derived> auto value_and_gradient(const F& f, const Eigen::DenseBase<Derived>& x) {
  const detail::EigenPoint<Derived> at(x);
  const auto [value, slope] = detail::value_and_gradient(at.on_vector(f), at);
  return std::pair(value, at.shaped(slope));
}
// Returns the matrix of second derivatives of f at x.
template <class F, EigenNumbers Derived> auto hessian(const F& f, const Eigen::DenseBase<Derived>& x) {
  const detail::EigenPoint<Derived> at(x);
  return detail::stacked<typename detail::EigenPoint<Derived>::Square>(detail::hessian(at.on_vector(f), at), x.size());
}
// Returns the Hessian of f at x times v, in the shape of x.
template <class F, EigenNumbers Derived, EigenNumbers Other>
auto hessian_vector_product(const F& f, const Eigen::DenseBase<Derived>& x, const Eigen::DenseBase<Other>& v) {
  const detail::EigenPoint<Derived> at(x);
  return at.shaped(detail::hessian_vector_product(at.on_vector(f), at, detail::EigenPoint<Other>(v)));
}
// Returns the Jacobian at x of a function that returns a matrix or vector of Values, one row per entry of its result.
template <class F, EigenNumbers Derived> auto jacobian(const F& f, const Eigen::DenseBase<Derived>& x) {
  using At = detail::EigenPoint<Derived>;
  const At at(x);
  using Jacobian = Eigen::Matrix<double, At::template Result<F>::SizeAtCompileTime, At::size_at_compile_time>;
  return detail::stacked<Jacobian>(detail::jacobian(at.to_vectors(f), at), x.size());
}
// Returns the Jacobian of f at x times v, as a column.
template <class F, EigenNumbers Derived, EigenNumbers Other>
auto jacobian_vector_product(const F& f, const Eigen::DenseBase<Derived>& x, const Eigen::DenseBase<Other>& v) {
  using At = detail::EigenPoint<Derived>;
  const At at(x);
  using Column = Eigen::Matrix<double, At::template Result<F>::SizeAtCompileTime, 1>;
  const Numbers column = detail::jacobian_vector_product(at.to_vectors(f), at, detail::EigenPoint<Other>(v));
  return Column(Eigen::Map<const Column>(column.data(), static_cast<Eigen::Index>(column.size())));
}
// Compares the gradient of f at x with central differences.
template <class F, EigenNumbers Derived>
GradientCheck check_gradient(const F& f, const Eigen::DenseBase<Derived>& x, double tolerance = 1e-6) {
  const detail::EigenPoint<Derived> at(x);
  return detail::check_gradient(at.on_vector(f), at, tolerance);
}

}  // namespace gradwalk
