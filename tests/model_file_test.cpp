// SPDX-License-Identifier: MIT
// Model files: a loaded model predicts and continues training like the saved one, bit for bit. Damaged, mutated and
// hostile files are read or rejected with an Error that names the file, in memory proportional to their size.
#include "gradwalk/model_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "counted_allocations.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/safetensors.hpp"
#include "support.hpp"
#include "temporary_folder.hpp"

namespace gradwalk {
namespace {

using Json = nlohmann::ordered_json;
using tests::error_of;

class ModelFiles : public testing::Test {
 protected:
  std::string at(const char* name) const { return folder_ / name; }
  std::string bytes(const char* name) const { return read_file(at(name), 1 << 26); }

  tests::TemporaryFolder folder_;
};

Dataset moons() { return make_moons(20, 0.1, 7); }

Recipe recipe_with(const OptimizerConfig& optimizer, std::size_t batch, LossKind loss = LossKind::bce) {
  return {.hidden = {3, 2}, .loss = loss, .optimizer = optimizer, .rate = {.steps = 100}, .batch = batch};
}
Recipe small() { return recipe_with(Adam{.lr = 0.01}, 6); }

void make_steps(TrainingRun& run, std::uint64_t in_all) {
  while (run.steps() < in_all) run.step();
}

DataSource source_of(const Dataset& data) { return {R"({"data":"moons"})", fingerprint(data)}; }

// The file of a small model after some steps.
const std::string& saved() {
  static const std::string result = [] {
    const Dataset data = moons();
    TrainingRun run(data, small());
    make_steps(run, 7);
    const tests::TemporaryFolder folder;
    save_model(folder / "model", run, 50, source_of(data));
    return read_file(folder / "model", 1 << 20);
  }();
  return result;
}

constexpr std::string_view advice = "; the file is damaged or from another program: use a copy, or train again";

std::string said(const SafetensorsFile& file) {
  return error_of([&] { parse_model(file.to_bytes(), "m.safetensors"); });
}

// The Error for a file, without the parts that all these Errors have in common.
std::string wrong(const SafetensorsFile& file) {
  const std::string text = said(file), start = "m.safetensors: needs ";
  return text.starts_with(start) && text.ends_with(advice)
             ? text.substr(start.size(), text.size() - start.size() - advice.size())
             : text;
}

std::vector<std::uint64_t> bits(const std::vector<double>& numbers) {
  std::vector<std::uint64_t> result;
  for (const double number : numbers) result.push_back(std::bit_cast<std::uint64_t>(number));
  return result;
}

TEST_F(ModelFiles, PredictTheSameAfterLoadingBitForBit) {
  for (const LossKind loss : {LossKind::hinge, LossKind::mse, LossKind::bce, LossKind::softmax})
    for (const bool standardise : {false, true}) {
      const Dataset data = loss == LossKind::softmax ? make_spiral(30, 3, 0.1, 2) : moons();
      Recipe recipe = recipe_with(Adam{.lr = 0.01}, 6, loss);
      recipe.standardise = standardise;
      recipe.activation = Activation::tanh;
      TrainingRun run(data, recipe);
      make_steps(run, 5);
      save_model(at("m"), run, 5, source_of(data));
      const ModelFile file = load_model(at("m"));
      EXPECT_EQ(file.model().loss, loss);
      EXPECT_EQ(file.model().feature_names, data.feature_names);
      EXPECT_EQ(file.classifier().label_names, data.label_names);
      for (std::size_t i = 0; i < data.rows(); ++i)
        EXPECT_EQ(bits(file.model().scores(data.row(i))), bits(run.classifier().scores(data.row(i))));
    }
}

TEST_F(ModelFiles, KeepNamesOfAnyText) {
  Dataset data = moons();
  data.feature_names = {"a \"quoted\", name", "größe\n(cm)"};
  data.label_names = {"", "猫,犬"};
  const TrainingRun run(data, small());
  save_model(at("m"), run, 5, source_of(data));
  EXPECT_EQ(load_model(at("m")).model().feature_names, data.feature_names);
  EXPECT_EQ(load_model(at("m")).classifier().label_names, data.label_names);
}

TEST_F(ModelFiles, KeepTheColumnsOfTheTrainingTable) {
  Dataset data{4, {}, {0, 1, 0, 1}, {"c=r", "c=g", "c=(other)", "n"}, {"x", "y"}};
  data.table = {{"c", {"r", "g"}, true, 0.0}, {"n", {}, false, 2.5}};
  data.x = {1, 0, 0, 1, 0, 1, 0, 2, 1, 0, 0, 3, 0, 0, 0, 4};
  TrainingRun run(data, small());
  save_model(at("m"), run, 5, source_of(data));
  EXPECT_EQ(load_model(at("m")).model().table, data.table);
  SafetensorsFile raw = SafetensorsFile::read(at("m"));
  const std::string whole = raw.metadata["columns"];
  EXPECT_EQ(whole, R"([{"name":"c","categories":["r","g"],"other":true,"fill":0.0},{"name":"n","fill":2.5}])");
  for (const char* bad : {"5", "[]", R"([{"name":"c"},{"name":"n"}])", R"([{"name":5}])",
                          R"([{"name":"c","categories":["r","r"],"other":true},{"name":"n"}])",
                          R"([{"name":"c","categories":[],"other":true},{"name":"n"}])",
                          R"([{"name":"c","categories":["r","g"]},{"name":"n"}])",
                          R"([{"name":"c","categories":["r","g"],"other":true},{"name":"n","fill":"x"}])"}) {
    raw.metadata["columns"] = bad;
    EXPECT_EQ(said(raw).substr(0, 21), "m.safetensors: needs ") << bad;
  }
}

TEST_F(ModelFiles, KeepARegressorAndContinueItsTraining) {
  Dataset data{1, {1, 2, 3, 4, 5}, {}, {"x"}, {}, {10, 40, 90, 160, 250}, "area"};
  for (const LossKind loss : {LossKind::mse, LossKind::mae, LossKind::huber}) {
    TrainingRun run(data, recipe_with(Adam{.lr = 0.01}, 2, loss)), straight = run;
    make_steps(run, 7), make_steps(straight, 12);
    save_model(at("m"), run, 12, source_of(data));
    const ModelFile file = load_model(at("m"));
    ASSERT_TRUE(is_regressor(file.any_model));
    EXPECT_EQ(file.regressor().target_name, "area");
    EXPECT_EQ(file.regressor().target_mean, 110);
    EXPECT_EQ(file.regressor().target_deviation, run.regressor().target_deviation);
    EXPECT_EQ(file.regressor().predict(data.row(2)), run.regressor().predict(data.row(2)));
    TrainingRun resumed = resume(file, data);
    make_steps(resumed, 12);
    EXPECT_EQ(resumed.regressor().predict(data.row(2)), straight.regressor().predict(data.row(2)));
    Dataset other = data;
    other.targets[0] = 11;
    EXPECT_EQ(error_of([&] { resume(file, other); }),
              "resume: needs the data that the model was trained on, got other data; give the same data, or train a "
              "new model");
    SafetensorsFile raw = SafetensorsFile::read(at("m"));
    raw.metadata["task"] = "regress";
    EXPECT_EQ(said(raw).substr(0, 39), "m.safetensors: needs a known task, got ");
    raw.metadata["task"] = "regression";
    raw.metadata["target"] = "5";
    EXPECT_EQ(said(raw).substr(0, 43), "m.safetensors: needs the name of the target");
    raw.metadata["target"] = "\"area\"";
    raw.metadata["loss"] = "softmax";
    EXPECT_EQ(said(raw).substr(0, 46), "m.safetensors: needs a loss for numbers, got s");
  }
}

TEST_F(ModelFiles, KeepEveryNumberOfTheRecipeAndState) {
  Recipe recipe{.hidden = {},
                .activation = Activation::sigmoid,
                .init = Init::xavier,
                .loss = LossKind::mse,
                .optimizer = AdamW{0.1, 0.8, 0.9, 1e-7, 0.3},
                .rate = {LearningRateSchedule::Kind::linear, 0.25, 77, 3},
                .batch = 5,
                .l1 = 0.1,
                .l2 = 0.30000000000000004,
                .clip = 1.5,
                .standardise = false,
                .seed = std::numeric_limits<std::uint64_t>::max()};
  TrainingRun run(moons(), recipe);
  make_steps(run, 4);
  run.begin_schedule(recipe.rate, 0.1);
  make_steps(run, 5);
  save_model(at("m"), run, std::numeric_limits<std::uint64_t>::max(), source_of(moons()));
  const ModelFile file = load_model(at("m"));
  ASSERT_TRUE(file.run);
  const Recipe& read = file.run->recipe;
  EXPECT_EQ(read.hidden, recipe.hidden);
  EXPECT_EQ(read.activation, recipe.activation);
  EXPECT_EQ(read.init, recipe.init);
  EXPECT_EQ(read.loss, recipe.loss);
  const AdamW adamw = std::get<AdamW>(read.optimizer);
  EXPECT_EQ(std::vector({adamw.lr, adamw.beta1, adamw.beta2, adamw.epsilon, adamw.weight_decay}),
            std::vector({0.1, 0.8, 0.9, 1e-7, 0.3}));
  EXPECT_EQ(read.rate.kind, recipe.rate.kind);
  EXPECT_EQ(read.rate.final, 0.25);
  EXPECT_EQ(read.rate.steps, 77u);
  EXPECT_EQ(read.rate.warm_up, 3u);
  EXPECT_EQ(read.rate.begin, 4u);
  EXPECT_EQ(read.batch, 5u);
  EXPECT_EQ(read.l1, 0.1);
  EXPECT_EQ(read.l2, 0.30000000000000004);
  EXPECT_EQ(read.clip, 1.5);
  EXPECT_FALSE(read.standardise);
  EXPECT_EQ(read.seed, recipe.seed);
  EXPECT_EQ(file.run->planned_steps, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(file.run->source.description, R"({"data":"moons"})");
  EXPECT_EQ(file.run->source.fingerprint, fingerprint(moons()));
  EXPECT_EQ(file.run->state.optimizer, run.state().optimizer);
  EXPECT_EQ(file.run->state.batches, run.state().batches);
  EXPECT_EQ(file.run->state.history.loss, run.history().loss);
}

// The text that earlier versions wrote: other programs read it, and equal runs must give equal files.
TEST_F(ModelFiles, SpellTheRecipeAsInEarlierVersions) {
  Recipe recipe{.hidden = {3, 2}, .optimizer = SGD{0.5, 0.9, 0.25}, .seed = 7};
  recipe.validation = 0.25, recipe.patience = 9, recipe.dropout = 0.5, recipe.balance = true;
  recipe.rate = {LearningRateSchedule::Kind::linear, 0.25, 77, 3, 4};
  const auto text = [](const std::string& optimizer) {
    return R"({"hidden":[3,2],"activation":"relu","init":"he","loss":"softmax","optimizer":)" + optimizer +
           R"(,"rate":{"kind":"linear","final":0.25,"steps":77,"warm_up":3,"begin":4},"batch":32,"l1":0.0,"l2":0.0001,)"
           R"("clip":0.0,"standardise":true,"seed":7,"balance":true,"validation":0.25,"patience":9,"dropout":0.5})";
  };
  EXPECT_EQ(to_json(recipe), text(R"({"kind":"sgd","lr":0.5,"momentum":0.9,"weight_decay":0.25})"));
  recipe.optimizer = Adam{0.5};
  EXPECT_EQ(to_json(recipe), text(R"({"kind":"adam","lr":0.5,"beta1":0.9,"beta2":0.999,"epsilon":1e-08})"));
  recipe.optimizer = AdamW{0.5};
  EXPECT_EQ(to_json(recipe),
            text(R"({"kind":"adamw","lr":0.5,"beta1":0.9,"beta2":0.999,"epsilon":1e-08,"weight_decay":0.01})"));
  recipe.optimizer = RMSprop{0.5};
  EXPECT_EQ(to_json(recipe), text(R"({"kind":"rmsprop","lr":0.5,"alpha":0.99,"epsilon":1e-08})"));
  recipe.optimizer = Adagrad{0.5};
  EXPECT_EQ(to_json(recipe), text(R"({"kind":"adagrad","lr":0.5,"epsilon":1e-10})"));
}

// Files called the tanh approximation "gelu" before networks had the exact function.
TEST_F(ModelFiles, KeepTheMeaningOfGelu) {
  for (const auto& [activation, spelled] :
       {std::pair(Activation::gelu_tanh, "gelu"), std::pair(Activation::gelu, "gelu_exact")}) {
    Recipe recipe = recipe_with(Adam{.lr = 0.01}, 7);
    recipe.activation = activation;
    TrainingRun run(moons(), recipe);
    make_steps(run, 3);
    save_model(at("m"), run, 20, source_of(moons()));
    const SafetensorsFile raw = SafetensorsFile::read(at("m"));
    EXPECT_EQ(raw.metadata.at("activation"), spelled);
    EXPECT_EQ(Json::parse(raw.metadata.at("recipe"))["activation"], spelled);
    const ModelFile file = load_model(at("m"));
    EXPECT_EQ(file.run->recipe.activation, activation);
    EXPECT_EQ(bits(file.model().scores(moons().row(0))), bits(run.classifier().scores(moons().row(0))));
  }
}

TEST_F(ModelFiles, ContinueAsIfUninterruptedByteForByte) {
  const Dataset data = moons();
  const std::vector<OptimizerConfig> optimizers{SGD{.lr = 0.1}, SGD{.lr = 0.1, .momentum = 0.9}, Adam{.lr = 0.01},
                                                AdamW{.lr = 0.01}};
  for (const OptimizerConfig& optimizer : optimizers)
    for (const std::size_t batch : {0u, 7u, 1000u}) {
      const Recipe recipe = recipe_with(optimizer, batch);
      TrainingRun straight(data, recipe);
      make_steps(straight, 20);
      save_model(at("straight"), straight, 20, source_of(data));
      for (const std::uint64_t stop : {0u, 1u, 3u, 10u}) {
        TrainingRun first(data, recipe);
        make_steps(first, stop);
        save_model(at("part"), first, 20, source_of(data));
        TrainingRun second = resume(load_model(at("part")), data);
        EXPECT_EQ(second.steps(), stop);
        make_steps(second, 20);
        save_model(at("part"), second, 20, source_of(data));
        EXPECT_EQ(bytes("part"), bytes("straight"));
      }
    }
}

TEST_F(ModelFiles, KeepTheBestModelAndContinueFromTheLastStep) {
  const Dataset data = make_moons(40, 0.5, 7);
  Recipe recipe = recipe_with(Adam{.lr = 0.1}, 8);
  recipe.validation = 0.25, recipe.patience = 1000, recipe.dropout = 0.1;
  TrainingRun straight(data, recipe);
  make_steps(straight, 60);
  const BestParameters best = straight.state().best;
  ASSERT_GT(best.step, 0u);
  ASSERT_LT(best.step, 60u);
  save_model(at("straight"), straight, 60, source_of(data));
  const ModelFile file = load_model(at("straight"));
  EXPECT_EQ(bits(file.model().scores(data.row(0))), bits(model_of(straight.best_model()).scores(data.row(0))));
  EXPECT_NE(bits(file.model().scores(data.row(0))), bits(straight.classifier().scores(data.row(0))));
  EXPECT_EQ(file.run->state.best.step, best.step);
  EXPECT_EQ(file.run->state.best.loss, best.loss);
  EXPECT_EQ(file.run->state.best.parameters, best.parameters);
  EXPECT_EQ(file.run->recipe.validation, 0.25);
  EXPECT_EQ(file.run->recipe.patience, 1000u);
  EXPECT_EQ(file.run->recipe.dropout, 0.1);
  for (std::uint64_t stop = 0; stop < 60; stop += 3) {
    TrainingRun first(data, recipe);
    make_steps(first, stop);
    save_model(at("part"), first, 60, source_of(data));
    TrainingRun second = resume(load_model(at("part")), data);
    make_steps(second, 60);
    save_model(at("part"), second, 60, source_of(data));
    EXPECT_EQ(bytes("part"), bytes("straight")) << stop;
  }

  const auto with = [&](const char* key, const char* pointer, const Json& value) {
    SafetensorsFile raw = SafetensorsFile::read(at("straight"));
    Json json = Json::parse(raw.metadata.at(key));
    json[Json::json_pointer(pointer)] = value;
    raw.metadata[key] = json.dump();
    return wrong(raw);
  };
  const std::string needs_best = "a best step among those made, and validation rows, got ";
  EXPECT_EQ(with("training", "/best_step", 0u), needs_best + "0");
  EXPECT_EQ(with("training", "/best_step", 61u), needs_best + "61");
  EXPECT_EQ(with("training", "/best_step", -1), "a whole number for 'best_step', got '-1'");
  EXPECT_EQ(with("training", "/best_loss", nullptr), "a number for 'best_loss', got 'null'");
  EXPECT_EQ(with("recipe", "/validation", 1),
            "numbers of the recipe in their ranges, got none (train: needs 0 <= validation < 1, got 1; 0.1 is usual)");
  EXPECT_EQ(with("recipe", "/dropout", -1),
            "numbers of the recipe in their ranges, got none (train: needs 0 <= dropout < 1, got -1; 0.2 is usual)");
  EXPECT_EQ(with("recipe", "/patience", 0.5), "a whole number for 'patience', got '0.5'");
  SafetensorsFile raw = SafetensorsFile::read(at("straight"));
  std::erase_if(raw.tensors, [](const Tensor& tensor) { return tensor.name == "training.parameters"; });
  EXPECT_EQ(wrong(raw), "the tensor 'training.parameters', got none");
}

TEST_F(ModelFiles, ContinueAfterTheHistoryWasThinned) {
  const Dataset data = make_moons(4, 0.1, 7);
  Recipe recipe = recipe_with(SGD{.lr = 0.01}, 1);
  recipe.hidden = {};
  TrainingRun straight(data, recipe), first(data, recipe);
  make_steps(straight, 2500);
  save_model(at("straight"), straight, 2500, source_of(data));
  for (const std::uint64_t stop : {1023u, 1024u, 1025u, 2048u, 2049u}) {
    make_steps(first, stop);
    save_model(at("part"), first, 2500, source_of(data));
    TrainingRun second = resume(load_model(at("part")), data);
    make_steps(second, 2500);
    save_model(at("part"), second, 2500, source_of(data));
    EXPECT_EQ(bytes("part"), bytes("straight")) << stop;
  }
}

TEST(ModelFile, CannotBeResumedWithOtherData) {
  const ModelFile file = parse_model(saved());
  const auto with = [&](auto change) {
    Dataset data = moons();
    change(data);
    return error_of([&] { resume(file, data); });
  };
  const std::string other =
      "resume: needs the data that the model was trained on, got other data; give the same data, or train a new model";
  EXPECT_EQ(with([](Dataset&) {}), "no error");
  EXPECT_EQ(with([](Dataset& d) { d.x[5] = std::nextafter(d.x[5], 9); }), other);
  EXPECT_EQ(with([](Dataset& d) { d.x[5] = -d.x[5]; }), other);
  EXPECT_EQ(with([](Dataset& d) { d.x[5] = -d.x[5], d.x[6] = -d.x[6]; }), other);
  EXPECT_EQ(with([](Dataset& d) {
              for (std::size_t i = 0; i < d.rows(); ++i) d.x[2 * i] = -d.x[2 * i];
            }),
            other);
  EXPECT_EQ(with([](Dataset& d) {
              for (double& x : d.x) x *= 2;
            }),
            other);
  EXPECT_EQ(with([](Dataset& d) { d.labels[0] = 1 - d.labels[0]; }), other);
  EXPECT_EQ(with([](Dataset& d) { std::swap(d.label_names[0], d.label_names[1]); }), other);
  EXPECT_EQ(with([](Dataset& d) { d.feature_names[0] += "?"; }), other);
  EXPECT_EQ(with([](Dataset& d) { d.x.resize(38), d.labels.pop_back(); }), other);
}

TEST(ModelFile, CannotBeResumedWithOtherFeaturesOrClasses) {
  // With a forged fingerprint, a network must not read the parameters of another one.
  for (const LossKind loss : {LossKind::bce, LossKind::softmax}) {
    const Dataset data = moons();
    Dataset three{3, std::vector<double>(9, 0.5), {0, 1, 2}, {"a", "b", "c"}, {"x", "y", "z"}};
    for (std::size_t i = 0; i < 9; ++i) three.x[i] = static_cast<double>(i * i % 7);
    if (loss == LossKind::bce) three.labels = {0, 1, 1}, three.label_names = {"x", "y"};
    TrainingRun run(data, recipe_with(SGD{}, 0, loss));
    const tests::TemporaryFolder folder;
    save_model(folder / "forged", run, 5, {"", fingerprint(three)});
    const ModelFile file = load_model(folder / "forged");
    EXPECT_EQ(error_of([&] { resume(file, three); }),
              "resume: needs a model for the features and classes of the data, got another model; train a new model");
  }
}

TEST(ModelFile, PredictsButDoesNotResumeWithoutItsTraining) {
  SafetensorsFile file = SafetensorsFile::parse(saved());
  for (const char* key : {"training", "recipe", "source"}) file.metadata.erase(key);
  std::erase_if(file.tensors, [](const Tensor& tensor) {
    return tensor.name.starts_with("optimizer") || tensor.name.starts_with("history");
  });
  const ModelFile model = parse_model(file.to_bytes());
  EXPECT_FALSE(model.run);
  const ModelFile whole = parse_model(saved());
  EXPECT_EQ(bits(model.model().scores(moons().row(0))), bits(whole.classifier().scores(moons().row(0))));
  EXPECT_EQ(error_of([&] { resume(model, moons()); }),
            "resume: needs a model with its training, got a model only; train a new model");
}

TEST_F(ModelFiles, AreNamedInMessagesWithoutControlCharacters) {
#ifdef _WIN32
  GTEST_SKIP() << "names of files have no control characters on Windows";
#endif
  write_file(at("bad\033[2J"), SafetensorsFile{}.to_bytes());
  EXPECT_EQ(error_of([&] { load_model(at("bad\033[2J")); }),
            at("bad?[2J") + ": needs 'format' in the metadata, got none" + std::string(advice));
}

TEST(ModelFile, NeedsEveryTensorInItsShape) {
  const SafetensorsFile whole = SafetensorsFile::parse(saved());
  ASSERT_EQ(wrong(whole), "no error");
  EXPECT_EQ(whole.tensors.size(), 13u);
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    SafetensorsFile file = whole;
    const std::string name = file.tensors[i].name;
    file.tensors[i].name += "?";
    if (name == "standardisation.mean") {
      EXPECT_EQ(wrong(file), "a recipe for this network, got one for another");
    } else if (name == "history.steps") {
      EXPECT_EQ(wrong(file), "a history, got none");
    } else {
      EXPECT_EQ(wrong(file), "the tensor '" + name + "', got none");
    }
    file = whole;
    file.tensors[i].shape.push_back(1);
    EXPECT_EQ(wrong(file), "the shape the sizes ask for, got another for '" + name + "'");
    file = whole;
    file.tensors[i].data.push_back(1);
    file.tensors[i].shape = {file.tensors[i].data.size()};
    EXPECT_NE(wrong(file), "no error") << name;
    file.tensors[i].data.clear();
    file.tensors[i].shape = {0};
    EXPECT_NE(wrong(file), "no error") << name;
  }
}

TEST(ModelFile, NeedsTensorsOfUsableNumbers) {
  const SafetensorsFile whole = SafetensorsFile::parse(saved());
  const auto with = [&](std::string_view name, double number) {
    SafetensorsFile file = whole;
    for (Tensor& tensor : file.tensors)
      if (tensor.name == name) tensor.data[1] = number;
    return wrong(file);
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string scales = "finite means and deviations above 0, got others";
  EXPECT_EQ(with("standardisation.mean", nan), scales);
  EXPECT_EQ(with("standardisation.deviation", 0), scales);
  EXPECT_EQ(with("standardisation.deviation", -1), scales);
  EXPECT_EQ(with("standardisation.deviation", nan), scales);
  EXPECT_EQ(with("history.steps", 3), "the history of 7 steps, got another");
  EXPECT_EQ(with("history.loss", nan), "the history of 7 steps, got another");
  EXPECT_EQ(with("history.accuracy", 2), "the history of 7 steps, got another");
}

TEST(ModelFile, NeedsEveryTextOfItsMetadata) {
  const SafetensorsFile whole = SafetensorsFile::parse(saved());
  EXPECT_EQ(whole.metadata.size(), 11u);
  for (const auto& [key, value] : whole.metadata) {
    SafetensorsFile file = whole;
    file.metadata.erase(key);
    EXPECT_EQ(wrong(file), key == "training" ? "no error" : "'" + key + "' in the metadata, got none");
    if (key == "source") continue;  // any text is allowed
    for (const char* text : {"", "\n", "null", "nonsense", "{", "[[]]", "{}", "[]", "0", "-1", "1e999", "\"\"", "true",
                             "[1e30,1]", "{\"kind\":null}"}) {
      file.metadata[key] = text;
      EXPECT_TRUE(said(file).starts_with("m.safetensors: needs ")) << key << " " << text << ": " << said(file);
    }
  }
}

// Collects the positions of all values in a JSON document.
void visit_all(const Json& value, const Json::json_pointer& at, std::vector<Json::json_pointer>& all) {
  all.push_back(at);
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) visit_all(inner, at / key, all);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) visit_all(value[i], at / i, all);
}

TEST(ModelFile, NeedsEveryFieldOfItsJsonAndNoOtherType) {
  const SafetensorsFile whole = SafetensorsFile::parse(saved());
  const Json replacements[] = {nullptr, true, -1,   -0.5,          1e308,          "text",
                               "",      "-1", "99", Json::array(), Json::object(), Json::array({Json::array()})};
  int refused = 0, read = 0;
  for (const char* key : {"sizes", "features", "labels", "recipe", "training"}) {
    const Json json = Json::parse(whole.metadata.at(key));
    std::vector<Json::json_pointer> places;
    visit_all(json, Json::json_pointer(), places);
    const auto check = [&](const Json& changed, bool may_fit) {
      SafetensorsFile file = whole;
      file.metadata[key] = changed.dump();
      const std::string text = said(file);
      (text == "no error" ? read : refused)++;
      EXPECT_TRUE((text == "no error" && may_fit) || text.starts_with("m.safetensors: needs ")) << changed << text;
      if (text != "no error") return;
      // A file that can be read resumes or throws an Error.
      const ModelFile model = parse_model(file.to_bytes());
      error_of([&] {
        TrainingRun run = resume(model, moons());
        run.step();
      });
    };
    for (const Json::json_pointer& place : places) {
      if (place.empty()) continue;
      Json removed = json;
      if (removed[place.parent_pointer()].is_object()) {
        removed[place.parent_pointer()].erase(place.back());
        constexpr std::string_view later[] = {"step", "begin", "balance", "validation", "patience", "dropout"};
        check(removed, std::ranges::find(later, place.back()) != std::end(later));  // files of 0.1 lack these
      }
      for (const Json& replacement : replacements) {
        Json changed = json;
        const bool same_type =
            changed[place].type() == replacement.type() || (changed[place].is_number() && replacement.is_number());
        changed[place] = replacement;
        check(changed, same_type);
      }
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(read, 5);
}

TEST(ModelFile, NeedsNumbersInTheirRanges) {
  const SafetensorsFile whole = SafetensorsFile::parse(saved());
  const auto with = [&](const char* key, const char* pointer, const Json& value) {
    SafetensorsFile file = whole;
    Json json = Json::parse(file.metadata.at(key));
    json[Json::json_pointer(pointer)] = value;
    file.metadata[key] = json.dump();
    return wrong(file);
  };
  const std::string ranges = "numbers of the recipe in their ranges, got none (";
  const std::string positive = "; give a finite number that is not negative)";
  EXPECT_EQ(with("recipe", "/l1", -1), ranges + "train: needs l1 >= 0, got -1" + positive);
  EXPECT_EQ(with("recipe", "/l2", -1), ranges + "train: needs l2 >= 0, got -1" + positive);
  EXPECT_EQ(with("recipe", "/clip", -1), ranges + "train: needs clip >= 0, got -1" + positive);
  EXPECT_EQ(with("recipe", "/rate/final", -1), ranges + "train: needs a final rate >= 0, got -1" + positive);
  EXPECT_EQ(
      with("recipe", "/rate/steps", 0u),
      ranges + "cosine_decay: needs at least one step, got 0; give the number of steps in which the rate changes)");
  EXPECT_EQ(with("recipe", "/optimizer/beta1", 1), ranges + "Adam: needs 0 <= beta1 < 1, got 1; 0.9 is usual)");
  EXPECT_EQ(with("recipe", "/optimizer/lr", -1), ranges + "Adam: needs lr >= 0, got -1" + positive);
  EXPECT_EQ(with("recipe", "/hidden", Json{3u}), "a recipe for this network, got one for another");
  EXPECT_EQ(with("recipe", "/loss", "mse"), "a recipe for this network, got one for another");
  EXPECT_EQ(with("recipe", "/activation", "tanh"), "a recipe for this network, got one for another");
  EXPECT_EQ(with("recipe", "/standardise", false), "a recipe for this network, got one for another");
  EXPECT_EQ(with("recipe", "/optimizer", {{"kind", "sgd"}, {"lr", 0.1}, {"momentum", 0}, {"weight_decay", 0}}),
            "the shape the sizes ask for, got another for 'optimizer.first'");
  EXPECT_EQ(with("training", "/random", {"0", "0", "0", "0"}),
            "the state of a random generator, got none (Random: needs a state with a bit set, got four zeros; give a "
            "state that state() returned, or a seed)");
  EXPECT_EQ(with("training", "/random/2", "18446744073709551616"),
            "a whole number as text, got '\"18446744073709551616\"'");
  EXPECT_EQ(with("training", "/steps", 8u), "the history of 8 steps, got another");
  EXPECT_EQ(with("training", "/optimizer_steps", 8u), "the history of 7 steps, got another");
  for (const std::uint64_t stride : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1} << 63})
    EXPECT_EQ(with("training", "/history_stride", stride), "the history of 7 steps, got another");
  EXPECT_EQ(with("features", "/0", "\033[2J"), "a name in UTF-8 without control characters, got '?[2J'");
}

TEST(ModelFile, NeedsAnOutputLayerThatFitsItsLoss) {
  const SafetensorsFile whole = SafetensorsFile::parse(saved());
  const auto with = [&](const char* key, const char* text) {
    SafetensorsFile file = whole;
    file.metadata[key] = text;
    return wrong(file);
  };
  EXPECT_EQ(with("loss", "softmax"), "outputs that fit the loss softmax, got 1");
  EXPECT_EQ(with("loss", "hinge"), "a recipe for this network, got one for another");
  EXPECT_EQ(with("loss", "bce "), "a known loss, got 'bce '");
  EXPECT_EQ(with("output", "tanh"), "a recipe for this network, got one for another");
  EXPECT_EQ(with("format", "other"), "a model of gradwalk, got format 'other'");
  EXPECT_EQ(with("version", "2"), "version 1 of the format, got version '2'");
  SafetensorsFile three = whole;
  three.metadata["sizes"] = "[2,3,2,3]";
  for (Tensor& tensor : three.tensors) {
    if (tensor.name == "layers.2.weight") tensor = {tensor.name, {3, 2}, std::vector<double>(6)};
    if (tensor.name == "layers.2.bias") tensor = {tensor.name, {3}, std::vector<double>(3)};
  }
  EXPECT_EQ(wrong(three),
            "outputs that fit the loss, got none (train: needs two classes for the loss bce, got 3; use the loss "
            "softmax)");
}

TEST(ModelFile, IsRejectedEarlyIfItsJsonIsDeeplyNested) {
  for (const char* key : {"sizes", "features", "labels", "recipe", "training"})
    for (const auto& [open, close] : {std::pair{"[", "]"}, std::pair{"{\"hidden\":", "}"}}) {
      SafetensorsFile file = SafetensorsFile::parse(saved());
      std::string text, end;
      for (int i = 0; i < 200'000; ++i) text += open, end += close;
      file.metadata[key] = text + end;
      EXPECT_EQ(wrong(file), std::string("JSON of at most four levels in '") + key + "', got more");
    }
}

// The largest memory in use while reading, in bytes per byte of the file.
double factor(const std::string& file) {
  const tests::CountedAllocations allocations;
  error_of([&] { parse_model(file); });
  return static_cast<double>(allocations.highest()) / static_cast<double>(file.size());
}

TEST(ModelFile, TakesMemoryInProportionToItsSize) {
  const auto with = [](auto change) {
    SafetensorsFile file = SafetensorsFile::parse(saved());
    change(file);
    return factor(file.to_bytes());
  };
  const auto text = [](std::string_view part) {
    std::string result = "[";
    while (result.size() < tests::sized(1u << 20, 1u << 18)) result.append(part) += ',';
    return result + "0]";
  };
  // No network is created if its tensors are missing.
  for (const char* sizes : {"[1,100000,100000]", "[100000,100000,100000,1]", "[2,100000,2,1]"})
    EXPECT_LT(with([&](SafetensorsFile& f) { f.metadata["sizes"] = sizes; }), 16);
  for (const char* key : {"sizes", "features", "labels", "recipe", "training"})
    for (const char* part : {"1", "\"\"", "[]", "{}", "[[1]]", "1e9", "\"[[[[[[\""})
      EXPECT_LT(with([&](SafetensorsFile& f) { f.metadata[key] = text(part); }), 64) << key << part;
  // So many keys that a linear search for each would be slow.
  std::string keys = R"({"a":0)";
  for (int i = 0; keys.size() < tests::sized(1u << 20, 1u << 18); ++i) keys += ",\"" + std::to_string(i) + "\":0";
  for (const char* key : {"recipe", "training"})
    EXPECT_LT(with([&](SafetensorsFile& f) { f.metadata[key] = keys + "}"; }), 64);
  for (const char* field : {"/hidden", "/rate", "/seed", "/optimizer/kind"})
    EXPECT_LT(with([&](SafetensorsFile& f) {
                Json recipe = Json::parse(f.metadata["recipe"]);
                recipe[Json::json_pointer(field)] = Json::parse(text("1"));
                f.metadata["recipe"] = recipe.dump();
              }),
              64);
}

TEST(ModelFile, TakesMemoryInProportionToItsSizeWithManyNeurons) {
  const auto of = [](const std::vector<std::size_t>& sizes) {
    SafetensorsFile file = SafetensorsFile::parse(saved());
    for (const char* key : {"training", "recipe", "source"}) file.metadata.erase(key);
    file.tensors.clear();
    for (std::size_t k = 0; k + 1 < sizes.size(); ++k) {
      const std::string name = "layers." + std::to_string(k);
      file.tensors.push_back(
          {name + ".weight", {sizes[k + 1], sizes[k]}, std::vector<double>(sizes[k] * sizes[k + 1])});
      file.tensors.push_back({name + ".bias", {sizes[k + 1]}, std::vector<double>(sizes[k + 1])});
    }
    file.metadata["sizes"] = Json(sizes).dump();
    file.metadata["loss"] = "bce";
    file.metadata["features"] = Json(std::vector<std::string>(sizes[0], "x")).dump();
    EXPECT_EQ(wrong(file), "no error");
    return factor(file.to_bytes());
  };
  EXPECT_LT(of({1, tests::sized(100'000, 10'000), 1}), 32);  // neurons with one weight each
  EXPECT_LT(of({tests::sized(100'000, 10'000), 1}), 32);
  EXPECT_LT(of({2, tests::sized(300, 100), tests::sized(300, 100), 1}), 32);
}

// Makes one change like those of damaged or hostile files.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string next() {
    if (below(3) == 0) return mutated_bytes(saved());
    SafetensorsFile file = whole_;
    for (std::size_t changes = 1 + below(2); changes > 0; --changes) change(file);
    std::string bytes = file.to_bytes();
    return below(8) == 0 ? mutated_bytes(std::move(bytes)) : bytes;
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  std::string mutated_bytes(std::string bytes) {
    const std::size_t header = std::min<std::size_t>(
        bytes.size(), 8u + static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]));
    for (std::size_t changes = 1 + below(3); changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = below(std::min(below(2) == 0 ? header : bytes.size(), bytes.size()));
      switch (below(5)) {
        case 0: bytes[at] ^= static_cast<char>(1u << below(8)); break;
        case 1: bytes[at] = "0123456789[]{},:\"-.eE \\"[below(23)]; break;
        case 2: bytes.insert(at, 1 + below(9), static_cast<char>(below(256))); break;
        case 3: bytes.erase(at, 1 + below(9)); break;
        default: bytes.resize(at);
      }
    }
    return bytes;
  }

  Json any_json() {
    constexpr std::uint64_t numbers[] = {0, 1, 2, 3, 1024, 1025, 100'000, std::uint64_t{1} << 63, ~std::uint64_t{0}};
    switch (below(8)) {
      case 0: return numbers[below(9)];
      case 1: return std::to_string(numbers[below(9)]);
      case 2: return -static_cast<std::int64_t>(below(3));
      case 3: return 1e300;
      case 4: return Json::array({any_json(), any_json()});
      case 5: return Json{{"kind", "sgd"}};
      case 6: return below(2) == 0;
      default: {
        constexpr const char* words[] = {"relu", "tanh", "linear", "sgd", "adamw", "constant", "hinge", "softmax"};
        return words[below(8)];
      }
    }
  }

  void change(SafetensorsFile& file) {
    const auto text = [&]() -> std::string& {
      return std::next(file.metadata.begin(), pick(file.metadata.size()))->second;
    };
    switch (below(7)) {
      case 0: return change_json(text());
      case 1: return change_json(text());
      case 2: {
        std::string& one = text();
        one.insert(below(one.size() + 1), 1, "0123456789[]{},:\"-.eE \\"[below(23)]);
        return;
      }
      case 3: {
        std::string& one = text();
        if (!one.empty()) one.erase(below(one.size()), 1);
        return;
      }
      case 4: {
        Tensor& tensor = file.tensors[below(file.tensors.size())];
        tensor.data.resize(below(tensor.data.size() + 3), 1);
        tensor.shape = {tensor.data.size()};
        if (below(2) == 0) tensor.shape.insert(tensor.shape.begin(), 1);
        return;
      }
      case 5: {
        Tensor& tensor = file.tensors[below(file.tensors.size())];
        constexpr double numbers[] = {
            0, -1, 1e308, 1e-308, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
        if (!tensor.data.empty()) tensor.data[below(tensor.data.size())] = numbers[below(6)];
        return;
      }
      default: file.tensors.erase(file.tensors.begin() + pick(file.tensors.size()));
    }
  }

  void change_json(std::string& text) {
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) {
      text = any_json().dump();
      return;
    }
    std::vector<Json::json_pointer> places;
    visit_all(json, Json::json_pointer(), places);
    json[places[below(places.size())]] = any_json();
    text = json.dump();
  }

  std::ptrdiff_t pick(std::size_t n) { return static_cast<std::ptrdiff_t>(below(n)); }

  std::mt19937_64 random_;
  SafetensorsFile whole_ = SafetensorsFile::parse(saved());
};

TEST(ModelFile, IsReadOrRejectedAfterAnyMutation) {
  Mutator mutator(20240607);
  const Dataset data = moons();
  int read = 0, refused = 0, gone_on = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string bytes = mutator.next();
    const tests::CountedAllocations allocations;
    try {
      ModelFile file = parse_model(bytes, "m.safetensors");
      ++read;
      EXPECT_LT(allocations.highest(), 32 * bytes.size() + 65536);
      file.model().scores(std::vector<double>(file.model().network.inputs(), 0.5));
      if (!file.run) continue;
      file.run->source.fingerprint = fingerprint(data);
      error_of([&] {
        TrainingRun run = resume(file, data);
        run.step(), run.step();
        ++gone_on;
      });
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 21), "m.safetensors: needs ");
      EXPECT_LT(allocations.highest(), 32 * bytes.size() + 65536);
      ++refused;
    }
  }
  EXPECT_EQ(read + refused, 10'000);
  EXPECT_GT(gone_on, 500);
  EXPECT_GT(refused, 5'000);
}

}  // namespace
}  // namespace gradwalk
