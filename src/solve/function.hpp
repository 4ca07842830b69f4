// SPDX-License-Identifier: MIT
// A function of Values as solvers see it: numbers in; values, gradients, Jacobians and Hessians out.
//
// It is recorded at each point until two points have given the same graph, one after the other. Then it is compiled,
// what is asked for a program each. Where a program's numbers are not finite, the function is recorded again there: a
// comparison it went by may come out otherwise, and then the programs are made anew, a few times at most.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradwalk/compile.hpp"
#include "gradwalk/solve.hpp"

namespace gradwalk::solver {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

inline Numbers numbers(const Vector& x) { return {x.begin(), x.end()}; }
inline Vector vector(const Numbers& x) { return Vector::Map(x.data(), static_cast<Eigen::Index>(x.size())); }

// Of a value: less cannot be trusted to tell two points apart.
inline constexpr double noise = 1e-12;
// Of the parameters: where such a step of a method that knows the curvature finds nothing better, it was all there is.
inline constexpr double short_share = 1e-9;

// The largest change of a parameter, over its size where that is above 1.
inline double share_changed(const Vector& from, const Vector& to) {
  return (to - from).cwiseQuotient(to.cwiseAbs().cwiseMax(1)).lpNorm<Eigen::Infinity>();
}

class Function {
 public:
  Function(const char* call, VectorFunction function, bool compile);

  double gradient(const Vector& x, Vector& gradient);  // of the first output, whose value is returned
  Vector values(const Vector& x);
  Matrix jacobian(const Vector& x);  // a row an output
  Matrix hessian(const Vector& x);   // of the first output

  // Whether what was found at x is found there by recording the function too: the same graph, and the same numbers but
  // for rounding, which they become. Where not, as after a branch on data(), there are no programs from now on.
  bool confirms(const Vector& x, double& value, Vector& gradient);
  bool confirms(const Vector& x, Vector& values);

  void report(Ending& ending) const;

 private:
  struct Recorded {
    std::vector<Value> outputs;
    std::vector<Condition> decided;  // comparisons the function went by
    std::uint64_t shape = 0;         // the graph's, and how those came out: the same for other numbers of the inputs
  };
  struct Compiled {
    std::vector<Value> parameters;
    Program program;
    Numbers numbers, derivatives;  // room for them
  };

  Recorded record(const std::vector<Value>& at);
  std::vector<Value> record_and_learn(const std::vector<Value>& at);
  void learn(std::uint64_t shape, const std::vector<Value>& at);
  void give_up(std::string why);
  template <class Record> bool confirms_by(Record record);  // which gives what programs found, and what is so
  double recorded_gradient(const Vector& x, Vector& gradient);
  Vector recorded_values(const Vector& x);
  void forget_programs();

  // The program, made now if it was not yet; nullptr where there can be none. `outputs` makes them of a recording and
  // its leaves, to which it may add others.
  template <class Outputs> Compiled* program(std::optional<Compiled>& place, const Vector& x, Outputs outputs);
  Compiled* gradient_program(const Vector& x);
  Compiled* values_program(const Vector& x);
  Compiled* hessian_program(const Vector& x);
  Compiled* jacobian_program(const Vector& x);
  Matrix recorded_jacobian(const Vector& x);

  const char* call_;
  VectorFunction function_;
  std::size_t evaluations_ = 0, recordings_ = 0;
  std::optional<std::size_t> outputs_;  // how many, once known

  std::optional<std::uint64_t> shape_;  // of the last recording
  Numbers point_;                       // where it was first met
  bool ready_ = false;                  // and met again at another point
  int changes_ = 0;
  bool used_programs_ = false, given_up_ = false;
  std::string why_not_;
  std::optional<Compiled> gradient_, values_, hessian_, jacobian_;
  std::optional<bool> recorded_by_columns_;
};

}  // namespace gradwalk::solver
