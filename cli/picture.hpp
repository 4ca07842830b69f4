// SPDX-License-Identifier: MIT
// What a model has learned, as a picture: in the terminal and as a file.
#pragma once

#include <string>

#include "figures.hpp"
#include "gradwalk/training.hpp"

namespace gradwalk::cli {

void check_picture_name(const std::string& path);  // .svg or .png
void print_picture(const TrainingRun& run, const Split& data,
                   bool colour);  // of classes in data with two features; else nothing
void write_picture(const std::string& path, const std::string& title, const TrainingRun& run, const Split& data,
                   const Figures& train, const Figures& test);

}  // namespace gradwalk::cli
