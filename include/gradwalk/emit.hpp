// SPDX-License-Identifier: MIT
// emit_c() writes a recorded graph as C: its value and derivatives as one file that needs only <math.h>. Part of
// gradwalk::compile.
//
//   Value angle = Value(0.3).label("angle"), rate = Value(0.1).label("rate"), gain = Value(2.0).label("gain");
//   Value cost = pow(sin(angle) + gain * rate, 2);
//   std::string text = emit_c(cost, {.name = "cost", .inputs = {angle, rate}, .parameters = {gain}});
//
// The file is C99 in float or double. It allocates no memory and has no variables outside its functions, only constant
// tables. It calls the C library's <math.h> and nothing else. docs/emit-c.md describes the functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/compile.hpp"
#include "gradwalk/value.hpp"

namespace gradwalk {

// Options of emit_c().
struct EmitOptions {
  std::string name = "model";                // the first part of every name in the file; any text
  std::vector<Value> inputs = {};            // the leaves that each call is given anew, in this order
  std::vector<Value> parameters = {};        // the leaves to differentiate by; every other leaf is a constant
  Precision precision = Precision::float64;  // the number type: double or float
  bool gradient = true;           // NAME_gradient(): the first output and its gradient with respect to the parameters
  bool input_gradients = false;   // the gradient with respect to the inputs, too; also in Jacobians and Hessians
  bool rows = false;              // NAME_rows(): the sum over rows of inputs, and its gradient
  bool step = false;              // NAME_step(): one step of stochastic gradient descent on some rows
  bool jacobian = false;          // NAME_jacobian(): the derivatives of every output, dense
  bool hessian = false;           // NAME_hessian(): the second derivatives of the first output, dense
  bool sparse = false;            // Jacobian and Hessian as the entries that can differ from 0, with tables of indices
  bool guard_zeros = true;        // repeat a backward pass by the zero-gradient rule if its result is not finite
  bool parameter_values = false;  // NAME_parameters: a table of the parameters' numbers
  bool main = false;              // a main() that prints the results for the current numbers
  std::size_t straight = 160;     // functions with at most this many operations have no loops
  std::size_t max_bytes = std::size_t{8} << 20;  // the largest file
  std::string about = {};                        // a sentence for the comment at the top of the file
  bool ignore_comparisons = false;               // as in CompileOptions
};

// Returns a C file for the graph below one output. Throws an Error for a custom node, for an input or parameter that is
// not a leaf or is named twice, for options that contradict each other, if the file would be larger than max_bytes, and
// if comparisons of Values became bools while the graph was recorded.
GRADWALK_EXPORT std::string emit_c(const Value& output, const EmitOptions& options);
// Returns a C file for the graph below several outputs.
GRADWALK_EXPORT std::string emit_c(std::span<const Value> outputs, const EmitOptions& options);

// Returns a header that declares the functions of the file that emit_c() returns for the same arguments. C++ can
// include it, too.
GRADWALK_EXPORT std::string emit_c_header(std::span<const Value> outputs, const EmitOptions& options);

// A C file and its header.
struct CFiles {
  std::string name;    // the first part of every name in both: the option's name, made an identifier
  std::string source;  // NAME.c
  std::string header;  // NAME.h, which declares its functions for C and C++
};
// Returns both files in half the time of emit_c() and emit_c_header().
GRADWALK_EXPORT CFiles emit_c_files(std::span<const Value> outputs, const EmitOptions& options);

}  // namespace gradwalk
