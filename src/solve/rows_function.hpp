// SPDX-License-Identifier: MIT
// RowsFunction: a function of the parameters and of one row, for all rows. The function is recorded on a few sample
// rows. If they give the same graph, a program for one row runs over all of them. Otherwise all rows are one
// WholeFunction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "whole_function.hpp"

namespace gradwalk::solver {

// How the outputs of the rows become those of the function.
enum class Over : std::uint8_t {
  sum,   // one output: the sum over the rows
  each,  // the outputs of each row, one row after another
};

class RowsFunction final : public Function {
 public:
  RowsFunction(const char* call, RowResiduals function, const Rows& rows, Over over, bool compile);

  double gradient(const Vector& x, Vector& gradient) override;
  Vector values(const Vector& x) override;
  Matrix jacobian(const Vector& x) override;
  Matrix hessian(const Vector& x) override;
  Reduced linear(const Vector& x, const Vector& values) override;
  bool confirms(const Vector& x, double& value, Vector& gradient) override;
  bool confirms(const Vector& x, Vector& values) override;
  void report(Ending& ending) const override;

 private:
  struct Recorded {
    std::vector<Value> inputs, outputs;
    std::vector<Condition> decided;  // the comparisons that the function branched on
    std::uint64_t shape = 0;         // the shape of the graph, which does not depend on the row and the parameters
  };
  struct Compiled {
    std::vector<Value> parameters;
    Program program;
  };

  Recorded record(const std::vector<Value>& parameters, std::size_t row);
  void learn(const Vector& x);  // records the sample rows at x
  void give_up(std::string why);
  // Returns the program in `cached` with its parameters at x; nullptr if there can be no program. outputs(recorded,
  // parameters) returns the outputs of the program, and may add parameters.
  template <class Outputs> Compiled* program(std::optional<Compiled>& cached, const Vector& x, Outputs outputs);
  // Returns true if the numbers of a program are those of the function. If they are not finite, a row may have taken
  // another branch.
  bool can_trust(bool is_finite);
  bool evaluate_table(const Vector& x);
  bool confirms_samples(const Vector& x);

  const char* call_;
  RowResiduals function_;
  const Rows& rows_;
  WholeFunction whole_;  // used after give_up()
  bool given_up_;
  std::string why_not_;
  std::size_t evaluations_ = 0, recordings_ = 0;
  std::optional<std::uint64_t> shape_;  // the shape of every sample row
  std::size_t outputs_ = 0;             // the number of outputs of a row
  bool branches_ = false;               // true if the function branches on comparisons of Values
  std::optional<Compiled> gradient_, table_program_, hessian_;
  // The outputs of each row and their derivatives at table_at_: outputs_ * (1 + parameters) numbers per row.
  Numbers table_;
  Vector table_at_;
};

}  // namespace gradwalk::solver
