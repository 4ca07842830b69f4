// SPDX-License-Identifier: MIT
// Model files: a model, with everything that is needed to continue its training. Part of gradwalk::train. They are
// safetensors files; docs/model-format.md describes them.
#pragma once

#include <optional>
#include <string>

#include "gradwalk/training.hpp"

namespace gradwalk {

// Where the data of a run comes from. It is saved with the model, to find the data again and to recognise it.
struct DataSource {
  std::string description;        // JSON of the caller's choice, such as {"data":"moons","samples":100}
  std::uint64_t fingerprint = 0;  // the hash of the data that the model was trained on
};
// Returns a hash of all numbers and names in the data.
GRADWALK_EXPORT std::uint64_t fingerprint(const Dataset& data);

// The training of a saved model.
struct SavedRun {
  Recipe recipe;                        // how the model was built and trained
  TrainingState state;                  // the optimizer, the order of the rows and the history after the last step
  std::uint64_t planned_steps = 0;      // the total number of steps that was last asked for
  DataSource source;                    // the data of the run, which resume() compares with the data that it gets
  std::string step_kind = {};           // how its last steps were computed (BatchStep::kind()); empty in files of 0.1
  std::vector<double> parameters = {};  // after the last step, if the model has the best ones instead; otherwise empty
};

// The content of a model file.
struct ModelFile {
  AnyModel any_model;           // the model that the run kept (TrainingRun::best_model())
  std::optional<SavedRun> run;  // absent: the model can be used, but its training cannot continue

  const Model& model() const { return model_of(any_model); }
  const Classifier& classifier() const { return classifier_of(any_model); }  // throws an Error for a regressor
  const Regressor& regressor() const { return regressor_of(any_model); }     // throws an Error for a classifier
};

// Writes the model that the run keeps (best_model()) and the state of its training. Whatever happens, the file holds
// either its old content or the complete new one (files.hpp). Throws an Error if it cannot be written.
GRADWALK_EXPORT void save_model(const std::string& path, const TrainingRun& run, std::uint64_t planned_steps,
                                const DataSource& source);
// Reads a model. Files may be hostile: everything is checked first, and anything invalid throws an Error.
GRADWALK_EXPORT ModelFile load_model(const std::string& path);
// The same for a file's content; `name` stands for the file in messages.
GRADWALK_EXPORT ModelFile parse_model(std::string_view bytes, std::string_view name = "model");

// Returns a recipe as the JSON text that model files contain.
GRADWALK_EXPORT std::string to_json(const Recipe& recipe);

// Returns a run that continues the saved run on the same data. The next step is the one that the saved run would have
// made, up to rounding if `make_step` computes steps in another way than before. Throws an Error if the data is not
// that of the run.
GRADWALK_EXPORT TrainingRun resume(const ModelFile& file, const Dataset& data, MakeStep make_step = eager_step,
                                   Team team = {});

}  // namespace gradwalk
