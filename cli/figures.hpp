// SPDX-License-Identifier: MIT
// The metrics of a model on a dataset: accuracy for a classifier, R² and errors for a regressor. The functions format
// them for tables, JSON and headlines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "gradwalk/classifier.hpp"
#include "gradwalk/regressor.hpp"

namespace gradwalk::cli {

using Figures = std::variant<Classifier::Result, Regressor::Result>;

std::size_t rows_of(const Figures& figures);
std::vector<std::string> names_of(const Figures& figures);  // the names of the metrics: rows, loss, ...
std::vector<std::string> texts_of(const Figures& figures);  // their values as text, in the order of names_of
nlohmann::ordered_json to_json(const Figures& figures);
nlohmann::ordered_json classes_json(const Classifier::Result& result, const std::vector<std::string>& names);
// Precision, recall and F1 of each class, and its row of the confusion matrix. Empty for more than 12 classes.
std::string class_table(const Classifier::Result& result, const std::vector<std::string>& names);
std::string in_words(const Figures& figures);  // "98 of 100 right (98.0%)", or "R² 0.93, RMSE 1.2"

}  // namespace gradwalk::cli
