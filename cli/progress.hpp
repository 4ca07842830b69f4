// SPDX-License-Identifier: MIT
// How training goes, while it goes: a bar that is redrawn on a terminal, some lines in a pipe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "gradwalk/training.hpp"

namespace gradwalk::cli {

class Progress {
 public:
  Progress(std::uint64_t done, std::uint64_t steps, bool of_numbers, bool quiet);
  void show(const TrainingRun::Report& report);
  ~Progress();  // leaves the last state of the bar, and the cursor on a line of its own
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const TrainingRun::Report& report);
  std::string accuracy(const TrainingRun::Report& report, int width) const;
  std::uint64_t done_, steps_, every_;
  std::optional<double> validation_;  // the loss last known
  bool of_numbers_, quiet_, terminal_, drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace gradwalk::cli
