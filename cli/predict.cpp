// SPDX-License-Identifier: MIT
// gradwalk predict: the classes a saved model gives to rows of a CSV file.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "computing.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/model_file.hpp"
#include "source.hpp"

namespace gradwalk::cli {
namespace {

struct PredictArguments {
  std::string model, data, output;
  CsvFormat format;
  bool json = false, score = false;
};

struct Prediction {
  std::string label;
  double confidence;
};

// As CSV has it: quoted where it must be.
std::string field(const std::string& text) {
  const bool is_padded = text.starts_with(' ') || text.ends_with(' ') || text.starts_with('\t') || text.ends_with('\t');
  if (!is_padded && text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::vector<Prediction> predict(const Classifier& model, std::span<const double> rows) {
  const std::vector<double> all = Computing().scores(model, rows);
  const std::size_t outputs = model.network.outputs();
  std::vector<Prediction> result;
  for (std::size_t i = 0; i < all.size(); i += outputs) {
    const auto scores = std::span(all).subspan(i, outputs);
    const std::size_t label = Classifier::label_of(scores);
    const double score = scores.size() == 1 ? scores[0] : scores[label];
    result.push_back({model.label_names[label], model.has_probabilities() ? model.probability(scores, label) : score});
  }
  return result;
}

std::string as_csv(const Classifier& model, const std::vector<Prediction>& predictions) {
  std::string text = fmt::format("prediction,{}\n", model.has_probabilities() ? "probability" : "score");
  for (const Prediction& one : predictions) text += fmt::format("{},{:.6g}\n", field(one.label), one.confidence);
  return text;
}

std::string as_json(const Classifier& model, const std::vector<Prediction>& predictions,
                    const Classifier::Result* result) {
  const char* kind = model.has_probabilities() ? "probability" : "score";
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Prediction& one : predictions) rows.push_back({{"prediction", one.label}, {kind, one.confidence}});
  nlohmann::ordered_json json{{"rows", rows}};
  if (result != nullptr) json["loss"] = result->loss, json["accuracy"] = result->accuracy();
  return json.dump() + "\n";
}

void run(const PredictArguments& options) {
  const Classifier model = load_model(options.model).model;
  CsvOptions csv = options.format.options(options.data);
  csv.features = model.feature_names;
  const std::string text = read_file(options.data, longest_csv);
  const Table table = read_csv_features(text, csv);
  const std::vector<Prediction> predictions = predict(model, table.x);
  Classifier::Result result;
  if (options.score) {
    csv.labels = model.label_names;
    result = Computing().evaluate(model, read_csv(text, csv));
  }
  const std::string out =
      options.json ? as_json(model, predictions, options.score ? &result : nullptr) : as_csv(model, predictions);
  if (options.output.empty()) {
    fmt::print("{}", out);
  } else {
    write_beside(options.output, out);
  }
  if (options.score && !options.json)
    fmt::print(stderr, "accuracy {:.1f}% ({} of {}), loss {:.4g}\n", 100 * result.accuracy(), result.right, result.rows,
               result.loss);
}

}  // namespace

void add_predict(CLI::App& app) {
  const auto options = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "the classes a saved model gives to the rows of a CSV file");
  command->add_option("MODEL", options->model, "a file train saved")->required()->option_text(" ");
  command->add_option("DATA", options->data, "a CSV file with the model's features, by name or in its order")
      ->required()
      ->option_text(" ");
  command->add_option("-o,--output", options->output, "write them to a file")->option_text("FILE");
  command->add_flag("--score", options->score, "compare with the classes in the file: accuracy and loss");
  command->add_flag("--json", options->json, "as JSON");
  options->format.add_to(*command);
  command->footer(
      "Prints CSV: the class, and its probability or score to six digits; --json has them all.\n\n"
      "Examples:\n"
      "  gradwalk predict iris.safetensors new.csv\n"
      "  gradwalk predict iris.safetensors iris.csv --score > predictions.csv");
  command->callback([options] { run(*options); });
}

}  // namespace gradwalk::cli
