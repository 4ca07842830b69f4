// SPDX-License-Identifier: MIT
// The progress of training: a bar that is redrawn on a terminal, or a few lines in a pipe or a file.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradwalk/training.hpp"

namespace gradwalk::cli {

class Progress {
 public:
  Progress(std::uint64_t done, std::uint64_t steps, bool of_numbers, bool quiet);
  void show(const TrainingRun::Report& report);
  ~Progress();  // leaves the finished bar on the screen and moves the cursor to a new line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  // A part of the line on a terminal. Where the line is too long, fields are left out, the highest rank first.
  struct Field {
    int rank;
    std::string text;
  };
  void draw(const TrainingRun::Report& report);
  std::vector<Field> fields(const TrainingRun::Report& report) const;
  std::string score(const TrainingRun::Report& report, int width) const;  // the accuracy, or R²
  std::uint64_t done_, steps_, every_;
  std::optional<double> validation_;  // the latest validation loss
  bool of_numbers_, quiet_, terminal_, drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace gradwalk::cli
