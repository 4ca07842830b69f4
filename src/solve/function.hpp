// SPDX-License-Identifier: MIT
// Function: a function of Values as solvers use it. It takes numbers and returns values, gradients, Jacobians and
// Hessians.
//
// The function is recorded at each point until two points in a row have given the same graph. Then it is compiled, with
// one program for each kind of result. Where the result of a program is not finite, the function is recorded again,
// because a comparison that it branches on may differ there. If the graph has changed, the programs are compiled anew,
// but only a few times.
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

// The relative difference of values below which two points count as equal.
inline constexpr double noise = 1e-12;
// The relative change of the parameters below which a step that finds nothing better means convergence.
inline constexpr double short_share = 1e-9;

// Returns the largest |change of a parameter| / max(1, |parameter|).
inline double share_changed(const Vector& from, const Vector& to) {
  return (to - from).cwiseQuotient(to.cwiseAbs().cwiseMax(1)).lpNorm<Eigen::Infinity>();
}

class Function {
 public:
  Function(const char* call, VectorFunction function, bool compile);

  // Returns the value of the first output and computes its gradient.
  double gradient(const Vector& x, Vector& gradient);
  // Returns the values of all outputs.
  Vector values(const Vector& x);
  // Returns the Jacobian, one row per output.
  Matrix jacobian(const Vector& x);
  // Returns the Hessian of the first output.
  Matrix hessian(const Vector& x);

  // Records the function at x and replaces the value and gradient by those of the recording. Returns true if the graph
  // is the same as that of the programs and the value was equal up to rounding. If not, as after a branch on data(), no
  // program is used from now on.
  bool confirms(const Vector& x, double& value, Vector& gradient);
  // The same for the values of all outputs.
  bool confirms(const Vector& x, Vector& values);

  // Sets the counts of evaluations and recordings, and whether a program was in use.
  void report(Ending& ending) const;

 private:
  struct Recorded {
    std::vector<Value> outputs;
    std::vector<Condition> decided;  // the comparisons that the function branched on
    std::uint64_t shape = 0;         // the shape of the graph, which does not depend on the numbers of the inputs
  };
  struct Compiled {
    std::vector<Value> parameters;
    Program program;
    Numbers numbers, derivatives;  // buffers
  };

  Recorded record(const std::vector<Value>& at);
  std::vector<Value> record_and_learn(const std::vector<Value>& at);
  void learn(std::uint64_t shape, const std::vector<Value>& at);
  void give_up(std::string why);
  // record() returns the numbers of the programs and those of a recording.
  template <class Record> bool confirms_by(Record record);
  double recorded_gradient(const Vector& x, Vector& gradient);
  Vector recorded_values(const Vector& x);
  void forget_programs();

  // Returns the program in `cached`, compiling it if necessary; nullptr if there can be no program. outputs(recorded,
  // parameters) returns the outputs of the program, and may add parameters.
  template <class Outputs> Compiled* program(std::optional<Compiled>& cached, const Vector& x, Outputs outputs);
  Compiled* gradient_program(const Vector& x);
  Compiled* values_program(const Vector& x);
  Compiled* hessian_program(const Vector& x);
  Compiled* jacobian_program(const Vector& x);
  Matrix recorded_jacobian(const Vector& x);

  const char* call_;
  VectorFunction function_;
  std::size_t evaluations_ = 0, recordings_ = 0;
  std::optional<std::size_t> outputs_;  // the number of outputs, once known

  std::optional<std::uint64_t> shape_;  // the shape of the last recording
  Numbers point_;                       // the point where this shape was first recorded
  bool ready_ = false;                  // true if this shape was recorded at another point, too
  int changes_ = 0;                     // how often the shape has changed
  bool used_programs_ = false, given_up_ = false;
  std::string why_not_;
  std::optional<Compiled> gradient_, values_, hessian_, jacobian_;
  std::optional<bool> recorded_by_columns_;
};

}  // namespace gradwalk::solver
