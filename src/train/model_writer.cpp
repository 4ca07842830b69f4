// SPDX-License-Identifier: MIT
// Writes models as safetensors files: the parameters, the state of training, and what is needed to read both.
#include <nlohmann/json.hpp>

#include "gradwalk/model_file.hpp"
#include "gradwalk/safetensors.hpp"
#include "names_in_file.hpp"

namespace gradwalk {
namespace {

using OrderedJson = nlohmann::ordered_json;

template <class Struct> OrderedJson json_of_fields(const Struct& object);

template <class Type> OrderedJson json_of(const Type& value) {
  if constexpr (std::is_enum_v<Type>)
    return detail::name_in_file(value);
  else
    return value;
}
OrderedJson json_of(const LearningRateSchedule& schedule) { return json_of_fields(schedule); }
OrderedJson json_of(const OptimizerConfig& config) {
  OrderedJson result{{"kind", name(config)}};
  std::visit([&](const auto& rule) { result.update(json_of_fields(rule)); }, config);
  return result;
}

template <class Struct> OrderedJson json_of_fields(const Struct& object) {
  OrderedJson result;
  for_each_field([&](const std::string& key, const auto& field) { result[key] = json_of(field); }, object);
  return result;
}

std::string text_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson columns_json(const std::vector<Column>& table) {
  OrderedJson result = OrderedJson::array();
  for (const Column& column : table) {
    OrderedJson entry{{"name", column.name}};
    if (!column.categories.empty()) entry["categories"] = column.categories, entry["other"] = column.has_other;
    if (column.fill) entry["fill"] = *column.fill;
    result.push_back(std::move(entry));
  }
  return result;
}

std::vector<double> numbers_of(const MLP& network) {
  std::vector<double> numbers;
  for (const Value& parameter : network.parameters()) numbers.push_back(parameter.data());
  return numbers;
}

Tensor row_of(std::string name, std::vector<double> data) { return {std::move(name), {data.size()}, std::move(data)}; }

SafetensorsFile to_file(const TrainingRun& run, std::uint64_t planned_steps, const DataSource& source) {
  SafetensorsFile file;
  const AnyModel kept = run.best_model();
  const Model& model = model_of(kept);
  std::vector<std::size_t> sizes{model.network.inputs()};
  for (std::size_t k = 0; k < model.network.layers().size(); ++k) {
    const Layer& layer = model.network.layers()[k];
    sizes.push_back(layer.outputs());
    Tensor weight{"layers." + std::to_string(k) + ".weight", {layer.outputs(), layer.inputs()}, {}};
    Tensor bias{"layers." + std::to_string(k) + ".bias", {layer.outputs()}, {}};
    for (const Neuron& neuron : layer.neurons()) {
      for (const Value& w : neuron.weights()) weight.data.push_back(w.data());
      bias.data.push_back(neuron.bias().data());
    }
    file.tensors.push_back(std::move(weight));
    file.tensors.push_back(std::move(bias));
  }
  if (!model.standardisation.mean.empty()) {
    file.tensors.push_back(row_of("standardisation.mean", model.standardisation.mean));
    file.tensors.push_back(row_of("standardisation.deviation", model.standardisation.deviation));
  }
  const TrainingState state = run.state();
  file.tensors.push_back(row_of("optimizer.first", state.optimizer.first));
  file.tensors.push_back(row_of("optimizer.second", state.optimizer.second));
  file.tensors.push_back(row_of("history.steps", state.history.steps));
  file.tensors.push_back(row_of("history.loss", state.history.loss));
  file.tensors.push_back(row_of("history.accuracy", state.history.accuracy));
  if (state.best.step > 0) file.tensors.push_back(row_of("training.parameters", numbers_of(run.network())));

  OrderedJson random = OrderedJson::array();
  for (const std::uint64_t word : state.batches.random) random.push_back(std::to_string(word));
  file.metadata["format"] = "gradwalk-model";
  file.metadata["version"] = "1";
  file.metadata["sizes"] = OrderedJson(sizes).dump();
  file.metadata["activation"] = detail::name_in_file(model.network.options().activation);
  file.metadata["output"] = detail::name_in_file(model.network.options().output);
  file.metadata["loss"] = name(model.loss);
  file.metadata["features"] = text_of(OrderedJson(model.feature_names));
  if (!model.table.empty()) file.metadata["columns"] = text_of(columns_json(model.table));
  if (is_regressor(run.any_model())) {
    const Regressor& regressor = run.regressor();
    file.tensors.push_back(row_of("target.mean", {regressor.target_mean}));
    file.tensors.push_back(row_of("target.deviation", {regressor.target_deviation}));
    file.metadata["task"] = "regression";
    file.metadata["target"] = text_of(OrderedJson(regressor.target_name));
  } else {
    file.metadata["labels"] = text_of(OrderedJson(run.classifier().label_names));
  }
  file.metadata["recipe"] = to_json(run.recipe());
  file.metadata["source"] = source.description;
  OrderedJson training{{"steps", state.steps},
                       {"planned_steps", planned_steps},
                       {"optimizer_steps", state.optimizer.steps},
                       {"history_stride", state.history.stride},
                       {"random", random},
                       {"epoch", state.batches.epoch},
                       {"taken", state.batches.taken},
                       {"fingerprint", std::to_string(source.fingerprint)},
                       {"step", run.step_kind()}};
  if (state.best.step > 0) training["best_step"] = state.best.step, training["best_loss"] = state.best.loss;
  file.metadata["training"] = training.dump();
  return file;
}

}  // namespace

std::string to_json(const Recipe& recipe) { return json_of_fields(recipe).dump(); }

void save_model(const std::string& path, const TrainingRun& run, std::uint64_t planned_steps,
                const DataSource& source) {
  to_file(run, planned_steps, source).write(path);
}

}  // namespace gradwalk
