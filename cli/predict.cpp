// SPDX-License-Identifier: MIT
// gradwalk predict: applies a saved model to the rows of a CSV file.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

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
  bool json = false, score = false, probabilities = false;
};

// A CSV field, quoted if necessary.
std::string field(const std::string& text) {
  const bool is_padded = text.starts_with(' ') || text.ends_with(' ') || text.starts_with('\t') || text.ends_with('\t');
  if (!is_padded && text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// A table of predictions: the names of its columns, and its cells as JSON values.
struct Predictions {
  std::vector<std::string> names;
  std::vector<std::vector<nlohmann::ordered_json>> rows;
};

Predictions predict(const Classifier& model, std::span<const double> all, bool every_class) {
  const std::size_t outputs = model.network.outputs();
  Predictions result{{"prediction", model.has_probabilities() ? "probability" : "score"}, {}};
  if (every_class && !model.has_probabilities())
    throw Error("predict", "a model trained with the loss softmax or bce for --probabilities",
                "loss " + std::string(name(model.loss)), "omit --probabilities, or train with --loss softmax");
  for (std::size_t k = 0; every_class && k < model.label_names.size(); ++k)
    result.names.push_back("p(" + model.label_names[k] + ")");
  for (std::size_t i = 0; i < all.size(); i += outputs) {
    const auto scores = all.subspan(i, outputs);
    const std::size_t label = Classifier::label_of(scores);
    const double score = scores.size() == 1 ? scores[0] : scores[label];
    result.rows.push_back(
        {model.label_names[label], model.has_probabilities() ? model.probability(scores, label) : score});
    for (std::size_t k = 0; every_class && k < model.label_names.size(); ++k)
      result.rows.back().push_back(model.probability(scores, k));
  }
  return result;
}

Predictions predict(const Regressor& model, std::span<const double> all, bool) {
  Predictions result{{"prediction"}, {}};
  for (const double output : all) result.rows.push_back({model.in_units(output)});
  return result;
}

std::string as_csv(const Predictions& predictions) {
  std::string text;
  const char* separator = "";
  for (const std::string& name : predictions.names) text += std::exchange(separator, ",") + field(name);
  for (const auto& row : predictions.rows) {
    separator = "\n";
    for (const auto& cell : row)
      text += std::exchange(separator, ",") +
              (cell.is_string() ? field(cell.get<std::string>()) : fmt::format("{:.6g}", cell.get<double>()));
  }
  return text + "\n";
}

std::string as_json(const Predictions& predictions, const std::optional<Figures>& figures) {
  nlohmann::ordered_json json{{"rows", nlohmann::ordered_json::array()}};
  for (const auto& row : predictions.rows) {
    nlohmann::ordered_json cells;
    for (std::size_t i = 0; i < row.size(); ++i) cells[predictions.names[i]] = row[i];
    json["rows"].push_back(std::move(cells));
  }
  if (figures) {
    nlohmann::ordered_json scores = to_json(*figures);
    scores.erase("rows");
    json.update(scores);
  }
  return json.dump() + "\n";
}

std::string score_in_words(const Figures& figures) {
  if (const Classifier::Result* result = std::get_if<Classifier::Result>(&figures))
    return fmt::format("accuracy {:.1f}% ({} of {}), loss {:.4g}", 100 * result->accuracy(), result->right,
                       result->rows, result->loss);
  const auto& result = std::get<Regressor::Result>(figures);
  return fmt::format("R² {:.3f}, RMSE {:.4g}, MAE {:.4g}, loss {:.4g}", result.r2, result.rmse, result.mae,
                     result.loss);
}

void run(const PredictArguments& options) {
  const ModelFile file = load_model(options.model);
  CsvOptions csv = options.format.options(options.data);
  csv.features = file.model().feature_names;
  if (!file.model().table.empty()) {
    csv.features.clear();
    for (const Column& column : file.model().table) csv.features.push_back(column.name);
    csv.table = file.model().table;
    csv.text_columns = true;
  }
  const std::string text = read_csv_text(options.data);
  const std::vector<double> scores = Computing().scores(file.model(), read_csv_features(text, csv).x);
  const Predictions predictions =
      std::visit([&](const auto& model) { return predict(model, scores, options.probabilities); }, file.any_model);
  std::optional<Figures> figures;
  if (options.score) {
    if (is_regressor(file.any_model)) {
      csv.task = CsvOptions::Task::numbers;
    } else {
      csv.labels = file.classifier().label_names;
    }
    figures = Computing().evaluate(file.any_model, read_csv(text, csv));
  }
  const std::string out = options.json ? as_json(predictions, figures) : as_csv(predictions);
  if (options.output.empty()) {
    fmt::print("{}", out);
  } else {
    write_file(options.output, out);
  }
  if (figures && !options.json) fmt::print(stderr, "{}\n", score_in_words(*figures));
}

}  // namespace

void add_predict(CLI::App& app) {
  const auto options = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "Apply a saved model to the rows of a CSV file");
  command->add_option("MODEL", options->model, "Model file saved by gradwalk train")->required()->option_text(" ");
  command
      ->add_option("DATA", options->data,
                   "CSV file with the model's features, or - for standard input. Columns are matched by name or, "
                   "without a header, by position")
      ->required()
      ->option_text(" ");
  command->add_option("-o,--output", options->output, "Write the predictions to a file")->option_text("FILE");
  command->add_flag("--score", options->score,
                    "Compare the predictions with the label column. Prints to standard error, or with --json into the "
                    "JSON: accuracy and loss of a classifier, or R², RMSE, MAE and loss of a regressor");
  command->add_flag("--probabilities", options->probabilities, "Add one column per class, with its probability");
  command->add_flag("--json", options->json, "Print JSON with all digits");
  options->format.add_to(*command);
  command->footer(
      "Prints CSV with one line per row, and numbers with six digits. A classifier\n"
      "prints the class and its probability, or its score if the model was trained\n"
      "with a loss that gives no probabilities (hinge, mse). A regressor prints a\n"
      "number.\n\n"
      "Examples:\n"
      "  gradwalk predict iris.safetensors new.csv\n"
      "  gradwalk predict iris.safetensors iris.csv --score > predictions.csv");
  command->callback([options] { run(*options); });
}

}  // namespace gradwalk::cli
