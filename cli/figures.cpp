// SPDX-License-Identifier: MIT
// Figures as text.
#include "figures.hpp"

#include <fmt/format.h>

namespace gradwalk::cli {
namespace {

const Classifier::Result* of_classes(const Figures& figures) { return std::get_if<Classifier::Result>(&figures); }
const Regressor::Result& of_numbers(const Figures& figures) { return std::get<Regressor::Result>(figures); }

std::string short_text(double number) { return fmt::format("{:.4g}", number); }

}  // namespace

std::size_t rows_of(const Figures& figures) {
  return std::visit([](const auto& one) { return one.rows; }, figures);
}

std::vector<std::string> names_of(const Figures& figures) {
  if (of_classes(figures)) return {"rows", "loss", "accuracy"};
  return {"rows", "loss", "RMSE", "MAE", "R²"};
}

std::vector<std::string> texts_of(const Figures& figures) {
  if (const Classifier::Result* one = of_classes(figures))
    return {std::to_string(one->rows), short_text(one->loss), fmt::format("{:.1f}%", 100 * one->accuracy())};
  const Regressor::Result& one = of_numbers(figures);
  return {std::to_string(one.rows), short_text(one.loss), short_text(one.rmse), short_text(one.mae),
          fmt::format("{:.3f}", one.r2)};
}

nlohmann::ordered_json to_json(const Figures& figures) {
  if (const Classifier::Result* one = of_classes(figures))
    return {{"rows", one->rows}, {"loss", one->loss}, {"accuracy", one->accuracy()}};
  const Regressor::Result& one = of_numbers(figures);
  return {{"rows", one.rows}, {"loss", one.loss}, {"rmse", one.rmse}, {"mae", one.mae}, {"r2", one.r2}};
}

std::string in_words(const Figures& figures) {
  if (const Classifier::Result* one = of_classes(figures))
    return fmt::format("{} of {} right ({:.1f}%)", one->right, one->rows, 100 * one->accuracy());
  const Regressor::Result& one = of_numbers(figures);
  return fmt::format("R² {:.3f}, RMSE {:.4g}", one.r2, one.rmse);
}

}  // namespace gradwalk::cli
