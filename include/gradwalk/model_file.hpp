// SPDX-License-Identifier: MIT
// Models on disk, with all that training needs to go on: safetensors files, described in docs/model-format.md.
// Part of gradwalk::train.
#pragma once

#include <optional>
#include <string>

#include "gradwalk/training.hpp"

namespace gradwalk {

// Where a run's data came from, in words of its own: kept for its user, and to find the data again.
struct DataSource {
  std::string description;        // a JSON text of the caller's, such as {"data":"moons","samples":100}
  std::uint64_t fingerprint = 0;  // of the data it was trained on
};
GRADWALK_EXPORT std::uint64_t fingerprint(const Dataset& data);

struct SavedRun {
  Recipe recipe;
  TrainingState state;
  std::uint64_t planned_steps = 0;  // in all, as last asked for
  DataSource source;
  std::string step_kind = {};           // of the steps it made last; empty in files that do not tell
  std::vector<double> parameters = {};  // of the last step, where the model has the best; else empty
};

struct ModelFile {
  AnyModel any_model;
  std::optional<SavedRun> run;  // none: a model to use, not to train on

  const Model& model() const { return model_of(any_model); }
  const Classifier& classifier() const { return classifier_of(any_model); }
  const Regressor& regressor() const { return regressor_of(any_model); }
};

// The file holds the old model or the new one, whatever happens (files.hpp).
GRADWALK_EXPORT void save_model(const std::string& path, const TrainingRun& run, std::uint64_t planned_steps,
                                const DataSource& source);
GRADWALK_EXPORT ModelFile load_model(const std::string& path);
GRADWALK_EXPORT ModelFile parse_model(std::string_view bytes, std::string_view name = "model");

// The run a file holds, on its data: the next step is the one it would have made, to rounding if its steps were of
// another kind. An Error if the data is other data.
GRADWALK_EXPORT TrainingRun resume(const ModelFile& file, const Dataset& data, MakeStep make_step = eager_step,
                                   Team team = {});

}  // namespace gradwalk
