// SPDX-License-Identifier: MIT
// Trains one model per fold and prints the score of each, their mean and their standard deviation.
#include "folds.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "table.hpp"

namespace gradwalk::cli {
namespace {

struct ScoreSpread {
  double mean = 0, deviation = 0;
};

ScoreSpread spread_of_scores(const std::vector<double>& numbers) {
  const auto count = static_cast<double>(numbers.size());
  ScoreSpread result{std::accumulate(numbers.begin(), numbers.end(), 0.0) / count, 0};
  for (const double number : numbers) result.deviation += (number - result.mean) * (number - result.mean) / count;
  result.deviation = std::sqrt(result.deviation);
  return result;
}

// The score of a model: the accuracy of a classifier, or the R² of a regressor.
double score_of(const Figures& figures) {
  if (const auto* result = std::get_if<Classifier::Result>(&figures)) return result->accuracy();
  return std::get<Regressor::Result>(figures).r2;
}

std::string in_words(const ScoreSpread& spread, bool of_classes) {
  if (of_classes)
    return fmt::format("mean accuracy {:.1f}%, standard deviation {:.1f}%", 100 * spread.mean, 100 * spread.deviation);
  return fmt::format("mean R² {:.3f}, standard deviation {:.3f}", spread.mean, spread.deviation);
}

}  // namespace

void print_folds(const JobOptions& options, const Computing& computing, bool quiet, bool json) {
  std::vector<Figures> tested;
  for (const Job& job : jobs_of_folds(options)) {
    computing.check_recipe(job.recipe);
    TrainingRun run = job.start(computing.step());
    while (run.steps() < job.steps && !run.is_done()) run.step();
    tested.push_back(computing.evaluate(run.best_model(), job.data.test));
  }
  std::vector<double> scores;
  for (const Figures& figures : tested) scores.push_back(score_of(figures));
  const ScoreSpread spread = spread_of_scores(scores);
  const bool of_classes = std::holds_alternative<Classifier::Result>(tested.front());
  if (json) {
    nlohmann::ordered_json folds = nlohmann::ordered_json::array();
    for (const Figures& figures : tested) folds.push_back(to_json(figures));
    const nlohmann::ordered_json result{{"folds", folds}, {"mean", spread.mean}, {"deviation", spread.deviation}};
    fmt::print("{}\n", result.dump());
    return;
  }
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, std::vector<std::string> texts) {
    texts.insert(texts.begin(), name);
    rows.push_back(std::move(texts));
  };
  add("fold", names_of(tested.front()));
  for (const Figures& figures : tested) add(std::to_string(rows.size()), texts_of(figures));
  if (!quiet)
    fmt::print("{}: {} folds, each tested by a model trained on the other folds\n\n", options.source.data(),
               tested.size());
  fmt::print("{}\n{}\n", table(rows), in_words(spread, of_classes));
}

}  // namespace gradwalk::cli
