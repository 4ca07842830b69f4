// SPDX-License-Identifier: MIT
// The rows of one call, as a program runs them: those of a subset, and with seeds if there are several outputs.
#pragma once

#include <span>
#include <vector>

#include "program.hpp"

namespace gradwalk {

class Program::State::Batch {
 public:
  // Checks the rows and the options. Throws an Error if they do not fit the program.
  Batch(State& program, const char* call, std::span<const double> rows, const RunOptions& options);

  State& state();  // the program that runs the rows; its parameters have to be loaded
  std::span<const double> rows() const { return rows_; }
  std::size_t count() const { return count_; }
  // Runs the rows and returns the result. The gradients are in state() then.
  double run();

 private:
  void take_subset();
  void add_seeds();
  double run_outputs_with_seeds();  // of a program without inputs

  State& program_;
  const char* call_;
  const RunOptions& given_;
  RunOptions options_;
  std::span<const double> rows_;
  std::size_t count_ = 0;
  bool is_seeded_ = false;
  std::vector<double> numbers_, input_gradients_, outputs_;
};

}  // namespace gradwalk
