// SPDX-License-Identifier: MIT
#include "picture.hpp"
namespace gradwalk::cli {
void check_picture_name(const std::string&) {}
void print_picture(const TrainingRun&, const Split&, bool) {}
void write_picture(const std::string&, const std::string&, const TrainingRun&, const Split&,
                   const Classifier::Result&) {}
}  // namespace gradwalk::cli
