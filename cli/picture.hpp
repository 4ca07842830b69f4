// SPDX-License-Identifier: MIT
// What a model has learned, as a picture: in the terminal and as a file.
#pragma once

#include <string>

#include "figures.hpp"
#include "gradwalk/training.hpp"

namespace gradwalk::cli {

void check_picture_name(const std::string& path);  // .svg or .png
// What is drawn: a run, the model that is kept of it, and its data.
struct Learned {
  const TrainingRun& run;
  const AnyModel& model;
  const Split& data;
};
void print_picture(const Learned& learned, bool colour);  // of classes in data with two features; else nothing
void write_picture(const std::string& path, const std::string& title, const Learned& learned, const Figures& train,
                   const Figures& test);

}  // namespace gradwalk::cli
