// SPDX-License-Identifier: MIT
// Reads models from safetensors files. Everything in a file is checked before it is used: names against the known ones,
// sizes against the tensors, numbers against their ranges.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/names.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/model_file.hpp"
#include "gradwalk/safetensors.hpp"
#include "names_in_file.hpp"
#include "text/shown.hpp"

namespace gradwalk {
namespace {

using Json = nlohmann::json;  // the ordered kind is slow to read when large
using detail::shown;

constexpr std::size_t most_layers = 100, widest_layer = 100'000;

// Returns whether JSON is nested no deeper than ours. Deeper nesting could exhaust the stack when it is shown.
bool is_flat(std::string_view text) {
  constexpr int deepest = 4;
  int depth = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') is_string = !is_string;
    if (is_string && c == '\\') ++i;
    if (is_string) continue;
    if ((c == '[' || c == '{') && ++depth > deepest) return false;
    if (c == ']' || c == '}') --depth;
  }
  return true;
}

class Reader {
 public:
  Reader(const SafetensorsFile& file, std::string_view file_name) : file_(file), name_(file_name) {}

  ModelFile read() const {
    if (text("format") != "gradwalk-model") refuse("a model of gradwalk", "format " + shown(text("format")));
    if (text("version") != "1") refuse("version 1 of the format", "version " + shown(text("version")));
    ModelFile result{model(), std::nullopt};
    if (file_.metadata.contains("training")) result.run = run(result.any_model);
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& needs, const std::string& got) const {
    throw Error(name_, needs, got, "the file is damaged or from another program: use a copy, or train again");
  }

  const std::string& text(const char* key) const {
    const auto found = file_.metadata.find(key);
    if (found == file_.metadata.end()) refuse(std::string("'") + key + "' in the metadata", "none");
    return found->second;
  }

  Json json(const char* key) const {
    if (!is_flat(text(key))) refuse(std::string("JSON of at most four levels in '") + key + "'", "more");
    Json value = Json::parse(text(key), nullptr, false);
    if (value.is_discarded()) refuse(std::string("JSON in the metadata '") + key + "'", shown(text(key)));
    return value;
  }

  const Json& field(const Json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) refuse(std::string("'") + key + "' in the metadata", "none");
    return object[key];
  }

  // Runs a check of the library, and reports its Error as one of this file.
  template <class Check> auto checked(const std::string& needs, Check check) const {
    try {
      return check();
    } catch (const Error& error) {
      refuse(needs, std::string("none (") + error.what() + ")");
    }
  }

  double number(const Json& object, const char* key) const {
    const Json& value = field(object, key);
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      refuse(std::string("a number for '") + key + "'", shown(value.dump()));
    return value.get<double>();
  }

  std::uint64_t whole(const Json& object, const char* key) const {
    const Json& value = field(object, key);
    if (!value.is_number_unsigned()) refuse(std::string("a whole number for '") + key + "'", shown(value.dump()));
    return value.get<std::uint64_t>();
  }

  bool truth(const Json& object, const char* key) const {
    const Json& value = field(object, key);
    if (!value.is_boolean()) refuse(std::string("true or false for '") + key + "'", shown(value.dump()));
    return value.get<bool>();
  }

  // 64-bit numbers are stored as text, because other JSON readers keep only 53 bits.
  std::uint64_t big(const Json& value) const {
    const std::string digits = value.is_string() ? value.get<std::string>() : "";
    std::uint64_t result = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty())
      refuse("a whole number as text", shown(value.dump()));
    return result;
  }

  template <class Enum> Enum choice(const char* key, std::string_view spelled) const {
    for (const Enum candidate : choices(Enum{}))
      if (detail::name_in_file(candidate) == spelled) return candidate;
    refuse(std::string("a known ") + key, shown(spelled));
  }
  std::string string(const Json& object, const char* key) const {
    const Json& value = field(object, key);
    if (!value.is_string()) refuse(std::string("text for '") + key + "'", shown(value.dump()));
    return value.get<std::string>();
  }

  std::vector<std::string> strings(const char* key, std::size_t count) const {
    const Json value = json(key);
    const auto is_text = [](const Json& entry) { return entry.is_string(); };
    if (!value.is_array() || value.size() != count || !std::all_of(value.begin(), value.end(), is_text))
      refuse(std::to_string(count) + " names in '" + key + "'", shown(text(key)));
    auto names = value.get<std::vector<std::string>>();
    for (const std::string& name : names)
      if (!detail::is_name(name)) refuse(std::string(detail::name_rule), shown(name));
    return names;
  }

  std::vector<std::size_t> sizes(const Json& value, std::size_t least) const {
    const auto fits = [](const Json& size) { return size.is_number_unsigned() && size >= 1u && size <= widest_layer; };
    if (!value.is_array() || value.size() < least || value.size() > most_layers ||
        !std::all_of(value.begin(), value.end(), fits))
      refuse("sizes of layers, at most " + std::to_string(widest_layer) + " each", shown(value.dump()));
    return value.get<std::vector<std::size_t>>();
  }

  const Tensor& tensor(const std::string& key, const std::vector<std::size_t>& shape) const {
    const Tensor* found = file_.find(key);
    if (found == nullptr) refuse("the tensor '" + key + "'", "none");
    if (found->shape != shape) refuse("the shape the sizes ask for", "another for '" + key + "'");
    return *found;
  }
  std::vector<double> row(const std::string& key, std::size_t size) const { return tensor(key, {size}).data; }

  AnyModel model() const {
    const bool is_regressor = file_.metadata.contains("task");
    if (is_regressor && text("task") != "regression") refuse("a known task", shown(text("task")));
    const std::vector<std::size_t> all = sizes(json("sizes"), 2);
    // Check the tensors first: a file of a few bytes must not create a network of millions of neurons.
    for (std::size_t k = 0; k + 1 < all.size(); ++k) {
      tensor("layers." + std::to_string(k) + ".weight", {all[k + 1], all[k]});
      tensor("layers." + std::to_string(k) + ".bias", {all[k + 1]});
    }
    const auto kind = choice<LossKind>("loss", text("loss"));
    const std::size_t outputs = all.back(), classes = outputs == 1 ? 2 : outputs;
    if (is_regressor && !is_for_numbers(kind)) refuse("a loss for numbers", std::string(name(kind)));
    const std::size_t wanted =
        is_regressor ? 1 : checked("outputs that fit the loss", [&] { return outputs_for(kind, classes); });
    if (wanted != outputs) refuse("outputs that fit the loss " + std::string(name(kind)), std::to_string(outputs));
    const MLPOptions options{.activation = choice<Activation>("activation", text("activation")),
                             .output = choice<Activation>("activation", text("output"))};
    Model result{MLP(all[0], {all.begin() + 1, all.end()}, options), kind, strings("features", all[0]), {}};
    for (std::size_t k = 0; k + 1 < all.size(); ++k) {
      const Tensor& weight = tensor("layers." + std::to_string(k) + ".weight", {all[k + 1], all[k]});
      const Tensor& bias = tensor("layers." + std::to_string(k) + ".bias", {all[k + 1]});
      for (std::size_t i = 0; i < all[k + 1]; ++i) {
        std::vector<Value> parameters = result.network.layers()[k].neurons()[i].parameters();
        for (std::size_t j = 0; j < all[k]; ++j) parameters[j].data() = weight.data[i * all[k] + j];
        parameters.back().data() = bias.data[i];
      }
    }
    if (file_.find("standardisation.mean") != nullptr) result.standardisation = scaling("standardisation", all[0]);
    if (file_.metadata.contains("columns")) result.table = table(result.feature_names);
    if (!is_regressor) return Classifier{std::move(result), strings("labels", classes)};
    const Standardisation target = scaling("target", 1);
    return Regressor{std::move(result), target_name(), target.mean[0], target.deviation[0]};
  }

  // Returns the columns of the table. Together they must have the features of the model.
  std::vector<Column> table(const std::vector<std::string>& features) const {
    const Json value = json("columns");
    if (!value.is_array()) refuse("a list of columns", shown(text("columns")));
    std::vector<Column> result;
    std::vector<std::string> names;
    for (const Json& entry : value) {
      result.push_back(column(entry));
      for (std::size_t i = 0; i < result.back().features() && names.size() <= features.size(); ++i)
        names.push_back(result.back().feature_name(i));
    }
    if (names != features) refuse("columns that are the features", "others");
    return result;
  }

  Column column(const Json& value) const {
    Column result{string(value, "name")};
    if (!detail::is_name(result.name)) refuse(std::string(detail::name_rule), shown(result.name));
    if (value.contains("fill")) result.fill = number(value, "fill");
    if (!value.contains("categories")) return result;
    const Json& categories = value["categories"];
    const auto is_category = [](const Json& entry) {
      return entry.is_string() && detail::is_name(entry.get<std::string>());
    };
    if (!categories.is_array() || categories.empty() || categories.size() > most_categories ||
        !std::all_of(categories.begin(), categories.end(), is_category))
      refuse("1 to " + std::to_string(most_categories) + " names in 'categories'", shown(categories.dump()));
    result.categories = categories.get<std::vector<std::string>>();
    std::vector<std::string> sorted = result.categories;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) refuse("categories that differ", "one twice");
    result.has_other = truth(value, "other");
    return result;
  }

  std::string target_name() const {
    const Json value = json("target");
    if (!value.is_string()) refuse("the name of the target", shown(text("target")));
    if (!detail::is_name(value.get<std::string>())) refuse(std::string(detail::name_rule), shown(text("target")));
    return value.get<std::string>();
  }

  Standardisation scaling(const std::string& of, std::size_t columns) const {
    Standardisation result{row(of + ".mean", columns), row(of + ".deviation", columns)};
    const auto is_finite = [](double number) { return std::isfinite(number); };
    const auto is_positive = [](double number) { return number > 0; };
    if (!std::all_of(result.mean.begin(), result.mean.end(), is_finite) ||
        !std::all_of(result.deviation.begin(), result.deviation.end(), is_positive))
      refuse("finite means and deviations above 0", "others");
    return result;
  }

  // Reads the fields of a recipe, of its schedule or of its optimizer.
  template <class Struct> void read_fields(const Json& object, Struct& to) const {
    constexpr std::string_view new_in_0_2[] = {"begin", "balance", "validation", "patience", "dropout"};
    const auto read_field = [&](const std::string& key, auto& field) {
      const bool may_be_missing = std::ranges::find(new_in_0_2, key) != std::end(new_in_0_2);
      if (!may_be_missing || object.contains(key)) read(object, key.c_str(), field);
    };
    for_each_field(read_field, to);
  }
  template <class Type> void read(const Json& object, const char* key, Type& to) const {
    if constexpr (std::is_same_v<Type, double>)
      to = number(object, key);
    else if constexpr (std::is_same_v<Type, bool>)
      to = truth(object, key);
    else if constexpr (std::is_integral_v<Type>)
      to = static_cast<Type>(whole(object, key));
    else if constexpr (std::is_enum_v<Type>)
      to = choice<Type>(key, string(object, key));
    else if constexpr (std::is_same_v<Type, std::vector<std::size_t>>)
      to = sizes(field(object, key), 0);
    else if constexpr (std::is_same_v<Type, OptimizerConfig>)
      to = optimizer(field(object, key));
    else
      read_fields(field(object, key), to);
  }

  OptimizerConfig optimizer(const Json& value) const {
    const std::string kind = string(value, "kind");
    const auto found =
        std::ranges::find(all_optimizers, kind, [](const OptimizerConfig& config) { return name(config); });
    if (found == all_optimizers.end()) refuse("a known optimizer", shown(kind));
    OptimizerConfig result = *found;
    std::visit([&](auto& config) { read_fields(value, config); }, result);
    return result;
  }

  Recipe recipe(const Model& model) const {
    Recipe result;
    read_fields(json("recipe"), result);
    const std::vector<Layer>& layers = model.network.layers();
    const bool same_layers = std::equal(result.hidden.begin(), result.hidden.end(), layers.begin(), layers.end() - 1,
                                        [](std::size_t size, const Layer& layer) { return size == layer.outputs(); });
    if (!same_layers || result.loss != model.loss || result.activation != model.network.options().activation ||
        model.network.options().output != Activation::linear ||
        result.standardise == model.standardisation.mean.empty())
      refuse("a recipe for this network", "one for another");
    checked("numbers of the recipe in their ranges", [&] { check_recipe(result); });
    return result;
  }

  // With validation, the layers of the file hold the best parameters, and a tensor of its own those of the last step.
  void read_best(const Json& training, const Model& model, SavedRun& run) const {
    BestParameters& best = run.state.best;
    best.step = whole(training, "best_step");
    best.loss = number(training, "best_loss");
    if (best.step == 0 || best.step > run.state.steps || run.recipe.validation == 0)
      refuse("a best step among those made, and validation rows", std::to_string(best.step));
    for (const Value& parameter : model.network.parameters()) best.parameters.push_back(parameter.data());
    run.parameters = row("training.parameters", best.parameters.size());
  }

  SavedRun run(const AnyModel& model) const {
    const Json value = json("training");
    const std::size_t parameters = model_of(model).network.parameter_count();
    SavedRun result{recipe(model_of(model)),
                    {},
                    whole(value, "planned_steps"),
                    {text("source"), big(field(value, "fingerprint"))},
                    {},
                    {}};
    if (value.contains("step")) result.step_kind = string(value, "step");  // files of 0.1 have none
    if (!result.step_kind.empty() && !detail::is_name(result.step_kind))
      refuse(std::string(detail::name_rule), shown(result.step_kind));
    TrainingState& state = result.state;
    state.steps = whole(value, "steps");
    if (result.recipe.rate.begin > state.steps)
      refuse("a learning-rate schedule that begins by step " + std::to_string(state.steps),
             "step " + std::to_string(result.recipe.rate.begin));
    const OptimizerState sizes = initial_state(result.recipe.optimizer, parameters);
    state.optimizer = {whole(value, "optimizer_steps"), row("optimizer.first", sizes.first.size()),
                       row("optimizer.second", sizes.second.size())};
    const Json& random = field(value, "random");
    if (!random.is_array() || random.size() != state.batches.random.size())
      refuse("four words for 'random'", shown(random.dump()));
    for (std::size_t i = 0; i < random.size(); ++i) state.batches.random[i] = big(random[i]);
    checked("the state of a random generator", [&] { Random::from_state(state.batches.random); });
    state.batches.epoch = whole(value, "epoch");
    state.batches.taken = whole(value, "taken");
    History& history = state.history;
    history.stride = whole(value, "history_stride");
    const Tensor* steps = file_.find("history.steps");
    if (steps == nullptr || steps->data.size() > History::max_steps) refuse("a history", "none");
    history.steps = row("history.steps", steps->data.size());
    history.loss = row("history.loss", steps->data.size());
    history.accuracy = row("history.accuracy", steps->data.size());
    if (value.contains("best_step")) read_best(value, model_of(model), result);
    if (state.optimizer.steps != state.steps || !history.is_valid_for(state.steps, !is_regressor(model)))
      refuse("the history of " + std::to_string(state.steps) + " steps", "another");
    return result;
  }

  const SafetensorsFile& file_;
  std::string_view name_;
};

}  // namespace

// A file of another kind is a common mistake, and gets a message of its own: every safetensors file has { after its
// first eight bytes.
ModelFile load_model(const std::string& path) {
  const std::string bytes = read_file(path, longest_safetensors_file), name = detail::printable(path);
  if (bytes.size() < 9 || bytes[8] != '{')
    throw Error(name, "a model saved by gradwalk train", "a file of another kind", "give a model file");
  return Reader(SafetensorsFile::parse(bytes, name), name).read();
}

ModelFile parse_model(std::string_view bytes, std::string_view name) {
  return Reader(SafetensorsFile::parse(bytes, name), name).read();
}

}  // namespace gradwalk
