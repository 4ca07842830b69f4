// SPDX-License-Identifier: MIT
// Formats the metrics of a model as text and JSON.
#include "figures.hpp"

#include <fmt/format.h>

#include "table.hpp"

namespace gradwalk::cli {
namespace {

const Classifier::Result* of_classes(const Figures& figures) { return std::get_if<Classifier::Result>(&figures); }
const Regressor::Result& of_numbers(const Figures& figures) { return std::get<Regressor::Result>(figures); }

std::string short_text(double number) { return fmt::format("{:.4g}", number); }

}  // namespace

std::size_t rows_of(const Figures& figures) {
  return std::visit([](const auto& result) { return result.rows; }, figures);
}

std::vector<std::string> names_of(const Figures& figures) {
  if (of_classes(figures)) return {"rows", "loss", "accuracy"};
  return {"rows", "loss", "RMSE", "MAE", "R²"};
}

std::vector<std::string> texts_of(const Figures& figures) {
  if (const Classifier::Result* result = of_classes(figures))
    return {std::to_string(result->rows), short_text(result->loss), fmt::format("{:.1f}%", 100 * result->accuracy())};
  const Regressor::Result& result = of_numbers(figures);
  return {std::to_string(result.rows), short_text(result.loss), short_text(result.rmse), short_text(result.mae),
          fmt::format("{:.3f}", result.r2)};
}

nlohmann::ordered_json to_json(const Figures& figures) {
  if (const Classifier::Result* result = of_classes(figures))
    return {{"rows", result->rows}, {"loss", result->loss}, {"accuracy", result->accuracy()}};
  const Regressor::Result& result = of_numbers(figures);
  return {{"rows", result.rows}, {"loss", result.loss}, {"rmse", result.rmse}, {"mae", result.mae}, {"r2", result.r2}};
}

nlohmann::ordered_json classes_json(const Classifier::Result& result, const std::vector<std::string>& names) {
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < result.classes; ++i) {
    const auto row = result.confusion.begin() + static_cast<std::ptrdiff_t>(i * result.classes);
    classes.push_back({{"class", names[i]},
                       {"rows", result.of_class(i)},
                       {"precision", result.precision(i)},
                       {"recall", result.recall(i)},
                       {"f1", result.f1(i)},
                       {"taken_for", std::vector(row, row + static_cast<std::ptrdiff_t>(result.classes))}});
  }
  return classes;
}

std::string class_table(const Classifier::Result& result, const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  if (result.classes > most) return "";
  std::vector<std::vector<std::string>> rows{{"class", "rows", "precision", "recall", "F1", "predicted as"}};
  for (const std::string& name : names) rows.front().push_back(name);
  for (std::size_t i = 0; i < result.classes; ++i) {
    rows.push_back({names[i], std::to_string(result.of_class(i)), fmt::format("{:.3f}", result.precision(i)),
                    fmt::format("{:.3f}", result.recall(i)), fmt::format("{:.3f}", result.f1(i)), ""});
    for (std::size_t k = 0; k < result.classes; ++k) rows.back().push_back(std::to_string(result.taken(i, k)));
  }
  return table(rows);
}

std::string in_words(const Figures& figures) {
  if (const Classifier::Result* result = of_classes(figures))
    return fmt::format("{} of {} right ({:.1f}%)", result->right, result->rows, 100 * result->accuracy());
  const Regressor::Result& result = of_numbers(figures);
  return fmt::format("R² {:.3f}, RMSE {:.4g}", result.r2, result.rmse);
}

}  // namespace gradwalk::cli
