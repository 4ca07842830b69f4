// SPDX-License-Identifier: MIT
// Models to safetensors: the parameters, what the training remembers, and how both are to be read.
#include <nlohmann/json.hpp>

#include "gradwalk/model_file.hpp"
#include "gradwalk/safetensors.hpp"

namespace gradwalk {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson optimizer_json(const OptimizerConfig& config) {
  if (const SGD* sgd = std::get_if<SGD>(&config))
    return {{"kind", "sgd"}, {"lr", sgd->lr}, {"momentum", sgd->momentum}, {"weight_decay", sgd->weight_decay}};
  const auto moments = [](const char* kind, const auto& adam) {
    return OrderedJson{
        {"kind", kind}, {"lr", adam.lr}, {"beta1", adam.beta1}, {"beta2", adam.beta2}, {"epsilon", adam.epsilon}};
  };
  if (const RMSprop* rule = std::get_if<RMSprop>(&config))
    return {{"kind", "rmsprop"}, {"lr", rule->lr}, {"alpha", rule->alpha}, {"epsilon", rule->epsilon}};
  if (const Adagrad* rule = std::get_if<Adagrad>(&config))
    return {{"kind", "adagrad"}, {"lr", rule->lr}, {"epsilon", rule->epsilon}};
  if (const Adam* adam = std::get_if<Adam>(&config)) return moments("adam", *adam);
  OrderedJson result = moments("adamw", std::get<AdamW>(config));
  result["weight_decay"] = std::get<AdamW>(config).weight_decay;
  return result;
}

OrderedJson recipe_json(const Recipe& recipe) {
  return {{"hidden", recipe.hidden},
          {"activation", name(recipe.activation)},
          {"init", name(recipe.init)},
          {"loss", name(recipe.loss)},
          {"optimizer", optimizer_json(recipe.optimizer)},
          {"rate",
           {{"kind", name(recipe.rate.kind)},
            {"final", recipe.rate.final},
            {"steps", recipe.rate.steps},
            {"warm_up", recipe.rate.warm_up},
            {"begin", recipe.rate.begin}}},
          {"batch", recipe.batch},
          {"l1", recipe.l1},
          {"l2", recipe.l2},
          {"clip", recipe.clip},
          {"standardise", recipe.standardise},
          {"seed", recipe.seed},
          {"balance", recipe.balance},
          {"validation", recipe.validation},
          {"patience", recipe.patience},
          {"dropout", recipe.dropout}};
}

std::string text_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson columns_json(const std::vector<Column>& table) {
  OrderedJson result = OrderedJson::array();
  for (const Column& column : table) {
    OrderedJson one{{"name", column.name}};
    if (!column.categories.empty()) one["categories"] = column.categories, one["other"] = column.has_other;
    if (column.fill) one["fill"] = *column.fill;
    result.push_back(std::move(one));
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
  const AnyModel kept = run.kept_model();
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
  file.metadata["activation"] = name(model.network.options().activation);
  file.metadata["output"] = name(model.network.options().output);
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
    file.metadata["labels"] = text_of(OrderedJson(run.model().label_names));
  }
  file.metadata["recipe"] = recipe_json(run.recipe()).dump();
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

void save_model(const std::string& path, const TrainingRun& run, std::uint64_t planned_steps,
                const DataSource& source) {
  to_file(run, planned_steps, source).write(path);
}

}  // namespace gradwalk
