// SPDX-License-Identifier: MIT
// Pictures of a trained model: as text in the terminal, and as an SVG or PNG file.
#pragma once

#include <string>

#include "figures.hpp"
#include "gradwalk/training.hpp"

namespace gradwalk::cli {

void check_picture_name(const std::string& path);  // throws unless the name ends in .svg or .png

// A finished run, the model that it keeps, and its data.
struct Learned {
  const TrainingRun& run;
  const AnyModel& model;
  const Split& data;
};

// Prints the decision regions of a classifier with two features. Prints nothing for other models.
void print_picture(const Learned& learned, bool colour);
void write_picture(const std::string& path, const std::string& title, const Learned& learned, const Figures& train,
                   const Figures& test);

}  // namespace gradwalk::cli
