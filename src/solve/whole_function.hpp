// SPDX-License-Identifier: MIT
// WholeFunction: a function of Values that is recorded as one graph, or compiled.
//
// The function is recorded at each point until two points in a row have given the same graph. Then it is compiled, with
// one program for each kind of result. Where the result of a program is not finite, the function is recorded again,
// because a comparison that it branches on may differ there. If the graph has changed, the programs are compiled anew,
// but only a few times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "function.hpp"
#include "gradwalk/compile.hpp"

namespace gradwalk::solver {

// Returns a Value that is 0 if every comparison has the result it had when recorded, and NaN otherwise.
Value guard(const std::vector<Condition>& decided);
// Returns true if a number that left the graph, by a cast, detach() or NoGrad, was computed from one of the leaves. A
// program cannot compute it again.
bool uses_any(const std::vector<Value>& left, const std::vector<Value>& leaves);
inline constexpr const char* number_left =
    "the function casts a Value to a number, detaches it or uses NoGrad, so its graph may differ at other points";
// Returns a[0] * b[0] + a[1] * b[1] + ...
Value sum_of_products(const std::vector<Value>& a, const std::vector<Value>& b);

class WholeFunction final : public Function {
 public:
  WholeFunction(const char* call, VectorFunction function, bool compile);

  double gradient(const Vector& x, Vector& gradient) override;
  Vector values(const Vector& x) override;
  Matrix jacobian(const Vector& x) override;
  Matrix hessian(const Vector& x) override;
  std::optional<SparseMatrix> sparse_hessian(const Vector& x) override;
  // Returns the Jacobian times v, and the Hessian of the first output times v.
  Vector times_jacobian(const Vector& x, const Vector& v);
  Vector times_hessian(const Vector& x, const Vector& v);
  // Both replace the numbers by those of the recording in every case.
  bool confirms(const Vector& x, double& value, Vector& gradient) override;
  bool confirms(const Vector& x, Vector& values) override;
  void report(Ending& ending) const override;
  // Forgets all recordings and programs. The function is compiled again when two points have given the same graph.
  void forget();
  // Records the function at every point from now on.
  void give_up(std::string why);

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
  Compiled* slope_program(const Vector& x);
  Compiled* jacobian_program(const Vector& x);
  Compiled* columns_program(const Vector& x);
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
  std::optional<Compiled> gradient_, values_, hessian_, slope_, jacobian_, columns_;
  SparsePattern slope_pattern_;  // the entries of the Hessian, after a row for the guard
  std::optional<bool> recorded_by_columns_;
};

}  // namespace gradwalk::solver
