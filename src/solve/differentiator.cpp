// SPDX-License-Identifier: MIT
// Differentiator: a WholeFunction for users.
#include "text/numbers.hpp"
#include "whole_function.hpp"

namespace gradwalk {

using solver::Matrix;
using solver::numbers;
using solver::Vector;

struct Differentiator::State {
  solver::WholeFunction function;
  Eigen::Index coordinates = -1;  // of the first x, once known

  Vector checked(const AnyNumbers& x) {
    const auto size = static_cast<Eigen::Index>(x.size());
    if (coordinates < 0) coordinates = size;
    if (size != coordinates || size == 0)
      throw Error("Differentiator", detail::counted(static_cast<std::size_t>(coordinates), "number", "numbers"),
                  std::to_string(size), "give one number per coordinate of the first x, at least one");
    return Vector::Map(&*x.begin(), size);
  }
};

namespace {

std::vector<Numbers> rows_of(const Matrix& matrix) {
  std::vector<Numbers> rows;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) rows.push_back(numbers(matrix.row(i).transpose()));
  return rows;
}

}  // namespace

Differentiator::Differentiator(VectorFunction f) : state_(new State{{"Differentiator", std::move(f), true}}) {}
Differentiator::Differentiator(Differentiator&&) noexcept = default;
Differentiator& Differentiator::operator=(Differentiator&&) noexcept = default;
Differentiator::~Differentiator() = default;

Differentiator::State& Differentiator::state() const {
  if (state_ == nullptr)
    throw Error("Differentiator", "a function", "one that was moved from", "assign to it before you use it again");
  return *state_;
}

std::pair<double, Numbers> Differentiator::value_and_gradient(const AnyNumbers& x) {
  Vector gradient;
  const double value = state().function.gradient(state().checked(x), gradient);
  return {value, numbers(gradient)};
}
Numbers Differentiator::values(const AnyNumbers& x) { return numbers(state().function.values(state().checked(x))); }
std::vector<Numbers> Differentiator::jacobian(const AnyNumbers& x) {
  return rows_of(state().function.jacobian(state().checked(x)));
}
std::vector<Numbers> Differentiator::hessian(const AnyNumbers& x) {
  return rows_of(state().function.hessian(state().checked(x)));
}
Numbers Differentiator::jacobian_vector_product(const AnyNumbers& x, const AnyNumbers& v) {
  const Vector at = state().checked(x);
  return numbers(state().function.times_jacobian(at, state().checked(v)));
}
Numbers Differentiator::hessian_vector_product(const AnyNumbers& x, const AnyNumbers& v) {
  const Vector at = state().checked(x);
  return numbers(state().function.times_hessian(at, state().checked(v)));
}

void Differentiator::forget() {
  state().function.forget();
  state().coordinates = -1;
}
void Differentiator::never_compile(std::string why) { state().function.give_up(std::move(why)); }
bool Differentiator::compiled() const {
  Ending ending;
  state().function.report(ending);
  return ending.compiled;
}
std::string Differentiator::not_compiled() const {
  Ending ending;
  state().function.report(ending);
  return ending.not_compiled;
}

}  // namespace gradwalk
