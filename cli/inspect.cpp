// SPDX-License-Identifier: MIT
// gradwalk inspect: describes a saved model and its training run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "gradwalk/model_file.hpp"
#include "table.hpp"

namespace gradwalk::cli {
namespace {

struct Spread {
  double least = 0, mean = 0, most = 0;
};

Spread spread_of(const Layer& layer) {
  Spread result{INFINITY, 0, -INFINITY};
  const std::vector<Value> parameters = layer.parameters();
  for (const Value& parameter : parameters) {
    result.least = std::min(result.least, parameter.data());
    result.most = std::max(result.most, parameter.data());
    result.mean += parameter.data() / static_cast<double>(parameters.size());
  }
  return result;
}

std::string optimizer_name(const OptimizerConfig& config) {
  const SGD* sgd = std::get_if<SGD>(&config);
  if (sgd != nullptr && sgd->momentum > 0) return fmt::format("sgd with momentum {}", sgd->momentum);
  return std::string(name(config));
}

std::string learned(const ModelFile& file) {
  if (!is_regressor(file.any_model)) return "classes     " + some(file.classifier().label_names);
  const Regressor& model = file.regressor();
  return fmt::format("target      {}, mean {:.4g}, standard deviation {:.4g}", model.target_name, model.target_mean,
                     model.target_deviation);
}

void print(const ModelFile& file) {
  const Model& model = file.model();
  fmt::print("features    {}\n{}\n", some(model.feature_names), learned(file));
  for (const Column& column : model.table)
    if (!column.categories.empty())
      fmt::print("categories  {}: {}{}\n", column.name, some(column.categories), column.has_other ? ", and other" : "");
  fmt::print("inputs      {}\n", model.standardisation.mean.empty() ? "as they are" : "standardised");
  fmt::print("loss        {}\nparameters  {}\n", name(model.loss), model.network.parameter_count());
  if (file.run) {
    const Recipe& recipe = file.run->recipe;
    const History& history = file.run->state.history;
    fmt::print("optimizer   {}, learning rate {:g} ({} schedule), {} rows per step{}\n",
               optimizer_name(recipe.optimizer), learning_rate(recipe.optimizer), name(recipe.rate.kind),
               recipe.batch == 0 ? "all" : std::to_string(recipe.batch),
               recipe.dropout > 0 ? fmt::format(", dropout {:g}", recipe.dropout) : "");
    fmt::print("trained     {} of {} steps, seed {}", file.run->state.steps, file.run->planned_steps, recipe.seed);
    if (!history.loss.empty())
      fmt::print(", first loss {:.4g}, last loss {:.4g}{}", history.loss.front(), history.loss.back(),
                 recipe.l1 > 0 || recipe.l2 > 0 ? " (with penalties)" : "");
    if (const std::uint64_t best = file.run->state.best.step; best > 0) fmt::print("; best model: step {}", best);
    fmt::print("\n");
  }
  std::vector<std::vector<std::string>> rows{{"layer", "inputs", "outputs", "activation", "min", "mean", "max"}};
  for (const Layer& layer : model.network.layers()) {
    const Spread spread = spread_of(layer);
    rows.push_back({std::to_string(rows.size() - 1), std::to_string(layer.inputs()), std::to_string(layer.outputs()),
                    std::string(name(layer.neurons().front().activation())), fmt::format("{:.4g}", spread.least),
                    fmt::format("{:.4g}", spread.mean), fmt::format("{:.4g}", spread.most)});
  }
  fmt::print("\nlayers, with the min, mean and max of their parameters:\n{}", table(rows));
}

void print_json(const ModelFile& file) {
  const Model& model = file.model();
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const Layer& layer : model.network.layers()) {
    const Spread spread = spread_of(layer);
    layers.push_back({{"inputs", layer.inputs()},
                      {"outputs", layer.outputs()},
                      {"activation", name(layer.neurons().front().activation())},
                      {"least", spread.least},
                      {"mean", spread.mean},
                      {"most", spread.most}});
  }
  nlohmann::ordered_json json{{"features", model.feature_names}};
  if (is_regressor(file.any_model)) {
    const Regressor& regressor = file.regressor();
    json["target"] = {
        {"name", regressor.target_name}, {"mean", regressor.target_mean}, {"deviation", regressor.target_deviation}};
  } else {
    json["classes"] = file.classifier().label_names;
  }
  json["standardised"] = !model.standardisation.mean.empty();
  json["loss"] = name(model.loss);
  json["parameters"] = model.network.parameter_count();
  json["layers"] = layers;
  if (file.run) {
    json["steps"] = file.run->state.steps;
    json["planned_steps"] = file.run->planned_steps;
    json["optimizer"] = optimizer_name(file.run->recipe.optimizer);
    json["lr"] = learning_rate(file.run->recipe.optimizer);
    json["schedule"] = name(file.run->recipe.rate.kind);
    json["seed"] = file.run->recipe.seed;
    if (file.run->state.best.step > 0) json["kept_step"] = file.run->state.best.step;
    if (file.run->recipe.dropout > 0) json["dropout"] = file.run->recipe.dropout;
    json["recipe"] = nlohmann::ordered_json::parse(to_json(file.run->recipe));
  }
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void add_inspect(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("inspect", "Describe a saved model and how it was trained");
  command->add_option("MODEL", *path, "Model file saved by gradwalk train")->required()->option_text(" ");
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Example:\n  gradwalk inspect iris.safetensors");
  command->callback([path, json] {
    const ModelFile file = load_model(*path);
    *json ? print_json(file) : print(file);
  });
}

}  // namespace gradwalk::cli
