// SPDX-License-Identifier: MIT
// Resuming a saved run. The fingerprint makes sure that the data is the same.
#include "gradwalk/model_file.hpp"

#include <bit>
#include <utility>

namespace gradwalk {

std::uint64_t fingerprint(const Dataset& data) {
  std::uint64_t hash = 0xcbf29ce484222325;
  // FNV-1a with words in place of bytes. The shift mixes high bits into low ones; without it, two changed signs could
  // cancel out.
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  };
  mix(data.columns);
  mix(data.rows());
  for (const double x : data.x) mix(std::bit_cast<std::uint64_t>(x));
  for (const std::size_t label : data.labels) mix(label);
  for (const double target : data.targets) mix(std::bit_cast<std::uint64_t>(target));
  for (const std::vector<std::string>* names : {&data.feature_names, &data.label_names})
    for (const std::string& name : *names) {
      mix(name.size());
      for (const char c : name) mix(static_cast<unsigned char>(c));
    }
  return hash;
}

TrainingRun resume(const ModelFile& file, const Dataset& data, MakeStep make_step, Team team) {
  if (!file.run) throw Error("resume", "a model with its training", "a model only", "train a new model");
  if (fingerprint(data) != file.run->source.fingerprint)
    throw Error("resume", "the data that the model was trained on", "other data",
                "give the same data, or train a new model");
  TrainingRun run(data, file.run->recipe, std::move(make_step), std::move(team));
  if (run.network().inputs() != file.model().network.inputs() ||
      run.network().outputs() != file.model().network.outputs() ||
      is_regressor(run.any_model()) != is_regressor(file.any_model))
    throw Error("resume", "a model for the features and classes of the data", "another model", "train a new model");
  run.set_state(file.run->state);
  const std::vector<Value> saved = file.model().network.parameters();
  const std::vector<double>& last = file.run->parameters;
  std::vector<Value> parameters = run.network().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].data() = last.empty() ? saved[i].data() : last[i];
  return run;
}

}  // namespace gradwalk
