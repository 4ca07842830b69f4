// SPDX-License-Identifier: MIT
// Trained models as C: the scores of a row, its class, and on request a training step. Part of gradwalk::compile.
#pragma once

#include <string>

#include "gradwalk/classifier.hpp"
#include "gradwalk/emit.hpp"
#include "gradwalk/regressor.hpp"

namespace gradwalk {

// Options of emit_c() for models.
struct EmitModelOptions {
  std::string name = "model";                // the first part of every name in the file; any text
  Precision precision = Precision::float64;  // the number type: double or float
  bool step = false;                         // NAME_loss_step(): one step of stochastic gradient descent on some rows
  bool main = false;                         // a main() that reads rows from its standard input and prints predictions
};

// Returns a C file with the parameters of a classifier as a table, the scores of a row of features as they are in the
// data, and the number of its class. Throws an Error if the file would be too large.
GRADWALK_EXPORT std::string emit_c(const Classifier& model, const EmitModelOptions& options);
// Returns a C file with the parameters of a regressor as a table, and its prediction for a row of features.
GRADWALK_EXPORT std::string emit_c(const Regressor& model, const EmitModelOptions& options);

// Return the C file of a model and the header that declares what it has.
GRADWALK_EXPORT CFiles emit_c_files(const Classifier& model, const EmitModelOptions& options);
GRADWALK_EXPORT CFiles emit_c_files(const Regressor& model, const EmitModelOptions& options);

}  // namespace gradwalk
