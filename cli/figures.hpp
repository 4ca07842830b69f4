// SPDX-License-Identifier: MIT
// How good a model is on data, in the figures of its kind: for tables, JSON and headlines.
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
std::vector<std::string> names_of(const Figures& figures);  // rows, loss, ...
std::vector<std::string> texts_of(const Figures& figures);  // in that order
nlohmann::ordered_json to_json(const Figures& figures);
nlohmann::ordered_json classes_json(const Classifier::Result& result, const std::vector<std::string>& names);
// Precision, recall and F1 of each class, and how many of its rows are taken for which; nothing for more than 12.
std::string class_table(const Classifier::Result& result, const std::vector<std::string>& names);
std::string in_words(const Figures& figures);  // 98 of 100 right (98.0%), or R² 0.93, RMSE 1.2

}  // namespace gradwalk::cli
