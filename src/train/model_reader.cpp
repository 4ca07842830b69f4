// SPDX-License-Identifier: MIT
// Models from safetensors. What comes from a file is checked before anything is made of it: names against the known
// ones, sizes against the tensors, numbers against their ranges.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/names.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/model_file.hpp"
#include "gradwalk/safetensors.hpp"
#include "text/shown.hpp"

namespace gradwalk {
namespace {

using Json = nlohmann::json;  // not the ordered one: that is slow to read when large
using detail::shown;

constexpr std::size_t most_layers = 100, widest_layer = 100'000;

// Whether nothing is nested deeper than ours is: what is would exhaust the stack when it is shown.
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
    throw Error(name_, needs, got, "the file is damaged, or of another program: take a copy, or train again");
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

  // What our own checks say of a file is said with its name.
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

  std::uint64_t big(const Json& value) const {  // as text: JSON readers elsewhere keep 53 bits
    const std::string digits = value.is_string() ? value.get<std::string>() : "";
    std::uint64_t result = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty())
      refuse("a whole number as text", shown(value.dump()));
    return result;
  }

  // The one of a list of enumerators that has this name.
  template <class Enum> Enum named(const char* what, std::string_view spelled, std::initializer_list<Enum> all) const {
    for (const Enum one : all)
      if (name(one) == spelled) return one;
    refuse(std::string("a known ") + what, shown(spelled));
  }
  Activation activation(std::string_view spelled) const {
    using enum Activation;
    return named("activation", spelled, {linear, relu, Activation::tanh, sigmoid, gelu, leaky_relu, elu, softplus});
  }
  LossKind loss(std::string_view spelled) const {
    using enum LossKind;
    return named("loss", spelled, {hinge, mse, bce, softmax, mae, huber});
  }
  std::string string(const Json& object, const char* key) const {
    const Json& value = field(object, key);
    if (!value.is_string()) refuse(std::string("text for '") + key + "'", shown(value.dump()));
    return value.get<std::string>();
  }

  std::vector<std::string> strings(const char* key, std::size_t count) const {
    const Json value = json(key);
    const auto is_text = [](const Json& one) { return one.is_string(); };
    if (!value.is_array() || value.size() != count || !std::all_of(value.begin(), value.end(), is_text))
      refuse(std::to_string(count) + " names in '" + key + "'", shown(text(key)));
    auto names = value.get<std::vector<std::string>>();
    for (const std::string& one : names)
      if (!detail::is_name(one)) refuse(std::string(detail::name_rule), shown(one));
    return names;
  }

  std::vector<std::size_t> sizes(const Json& value, std::size_t least) const {
    const auto fits = [](const Json& one) { return one.is_number_unsigned() && one >= 1u && one <= widest_layer; };
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
    // Tensors first: a file of a few bytes must not make a network of millions of neurons.
    for (std::size_t k = 0; k + 1 < all.size(); ++k) {
      tensor("layers." + std::to_string(k) + ".weight", {all[k + 1], all[k]});
      tensor("layers." + std::to_string(k) + ".bias", {all[k + 1]});
    }
    const LossKind kind = loss(text("loss"));
    const std::size_t outputs = all.back(), classes = outputs == 1 ? 2 : outputs;
    if (is_regressor && !is_for_numbers(kind)) refuse("a loss for numbers", std::string(name(kind)));
    const std::size_t wanted =
        is_regressor ? 1 : checked("outputs that fit the loss", [&] { return outputs_for(kind, classes); });
    if (wanted != outputs) refuse("outputs that fit the loss " + std::string(name(kind)), std::to_string(outputs));
    const MLPOptions options{.activation = activation(text("activation")), .output = activation(text("output"))};
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

  // Columns whose features are those the model names.
  std::vector<Column> table(const std::vector<std::string>& features) const {
    const Json value = json("columns");
    if (!value.is_array()) refuse("a list of columns", shown(text("columns")));
    std::vector<Column> result;
    std::vector<std::string> names;
    for (const Json& one : value) {
      result.push_back(column(one));
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
    const auto is_category = [](const Json& one) { return one.is_string() && detail::is_name(one.get<std::string>()); };
    if (!categories.is_array() || categories.empty() || categories.size() > most_categories ||
        !std::all_of(categories.begin(), categories.end(), is_category))
      refuse("1 to " + std::to_string(most_categories) + " names in 'categories'", shown(categories.dump()));
    result.categories = categories.get<std::vector<std::string>>();
    std::vector<std::string> sorted = result.categories;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      refuse("categories that stand once", "one twice");
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
    const auto is_finite = [](double one) { return std::isfinite(one); };
    const auto is_positive = [](double one) { return one > 0; };
    if (!std::all_of(result.mean.begin(), result.mean.end(), is_finite) ||
        !std::all_of(result.deviation.begin(), result.deviation.end(), is_positive))
      refuse("finite means and deviations above 0", "others");
    return result;
  }

  OptimizerConfig optimizer(const Json& value) const {
    const std::string kind = string(value, "kind");
    const double lr = number(value, "lr");
    if (kind == "sgd") return SGD{lr, number(value, "momentum"), number(value, "weight_decay")};
    if (kind == "rmsprop") return RMSprop{lr, number(value, "alpha"), number(value, "epsilon")};
    if (kind == "adagrad") return Adagrad{lr, number(value, "epsilon")};
    const double beta1 = number(value, "beta1"), beta2 = number(value, "beta2"), epsilon = number(value, "epsilon");
    if (kind == "adam") return Adam{lr, beta1, beta2, epsilon};
    if (kind == "adamw") return AdamW{lr, beta1, beta2, epsilon, number(value, "weight_decay")};
    refuse("a known optimizer", shown(kind));
  }

  Recipe recipe(const Model& model) const {
    const Json value = json("recipe");
    const Json& rate = field(value, "rate");
    Recipe result;
    result.hidden = sizes(field(value, "hidden"), 0);
    result.activation = activation(string(value, "activation"));
    result.init = named("init", string(value, "init"), {Init::uniform, Init::xavier, Init::he});
    result.loss = loss(string(value, "loss"));
    result.optimizer = optimizer(field(value, "optimizer"));
    result.rate.kind = named("schedule", string(rate, "kind"),
                             {RatePlan::Kind::constant, RatePlan::Kind::linear, RatePlan::Kind::cosine});
    result.rate.final = number(rate, "final");
    result.rate.steps = whole(rate, "steps");
    result.rate.warm_up = whole(rate, "warm_up");
    if (rate.contains("begin")) result.rate.begin = whole(rate, "begin");  // files of 0.1 have one plan
    result.batch = whole(value, "batch");
    result.l1 = number(value, "l1");
    result.l2 = number(value, "l2");
    result.clip = number(value, "clip");
    result.standardise = truth(value, "standardise");
    result.seed = whole(value, "seed");
    if (value.contains("balance")) result.balance = truth(value, "balance");  // files of 0.1 weigh all rows alike
    if (value.contains("validation")) result.validation = number(value, "validation");  // and have none of these
    if (value.contains("patience")) result.patience = whole(value, "patience");
    if (value.contains("dropout")) result.dropout = number(value, "dropout");
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

  // Where there are best parameters, the model has them, and those of the last step stand apart.
  void read_best(const Json& training, const Model& model, SavedRun& run) const {
    BestParameters& best = run.state.best;
    best.step = whole(training, "best_step");
    best.loss = number(training, "best_loss");
    if (best.step == 0 || best.step > run.state.steps || run.recipe.validation == 0)
      refuse("a best step of those made, judged by rows kept for it", std::to_string(best.step));
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
    if (value.contains("step")) result.step_kind = string(value, "step");  // files of 0.1 do not tell
    if (!result.step_kind.empty() && !detail::is_name(result.step_kind))
      refuse(std::string(detail::name_rule), shown(result.step_kind));
    TrainingState& state = result.state;
    state.steps = whole(value, "steps");
    if (result.recipe.rate.begin > state.steps)
      refuse("a plan of the rate that has begun by step " + std::to_string(state.steps),
             "one from step " + std::to_string(result.recipe.rate.begin));
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
    if (steps == nullptr || steps->data.size() > History::most) refuse("a history", "none");
    history.steps = row("history.steps", steps->data.size());
    history.loss = row("history.loss", steps->data.size());
    history.accuracy = row("history.accuracy", steps->data.size());
    if (value.contains("best_step")) read_best(value, model_of(model), result);
    if (state.optimizer.steps != state.steps || !history.is_of(state.steps, !is_regressor(model)))
      refuse("the history of " + std::to_string(state.steps) + " steps", "another");
    return result;
  }

  const SafetensorsFile& file_;
  std::string_view name_;
};

}  // namespace

// The usual mistake, another file, is told from damage: every safetensors file has { after its first eight bytes.
ModelFile load_model(const std::string& path) {
  const std::string bytes = read_file(path, longest_safetensors_file), name = detail::printable(path);
  if (bytes.size() < 9 || bytes[8] != '{')
    throw Error(name, "a model that gradwalk train has saved", "a file that is no model", "give one that is");
  return Reader(SafetensorsFile::parse(bytes, name), name).read();
}

ModelFile parse_model(std::string_view bytes, std::string_view name) {
  return Reader(SafetensorsFile::parse(bytes, name), name).read();
}

}  // namespace gradwalk
