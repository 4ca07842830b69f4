// SPDX-License-Identifier: MIT
// Saves the model of a training run: at the end, and with --checkpoint-every also as checkpoints in between.
#pragma once

#include <string>

#include "job.hpp"

namespace gradwalk::cli {

void check_writable(const std::string& path);  // throws an Error if a file of this name cannot be created

// Saves the run of a job.
class Keeper {
 public:
  Keeper(const Job& job, std::uint64_t every);

  // Call it after each step. Saves a checkpoint every `every` steps, from which a killed run can be resumed. A failure
  // is printed, and the next checkpoint is tried as usual.
  void after_step(const TrainingRun& run);
  // Saves the run at its end: to the --save file or, if it is unfinished and there is no such file, to a recovery file.
  // If that fails, saves it to a temporary folder, and throws an Error that names it. Returns the name of the file, or
  // "" if nothing had to be saved.
  std::string at_the_end(const TrainingRun& run, bool is_unfinished);

 private:
  void save(const TrainingRun& run, const std::string& path);
  void save_somewhere(const TrainingRun& run, const std::string& path);

  const Job& job_;
  std::uint64_t every_;
  std::string recovery_;              // the file of the checkpoints
  std::optional<DataSource> source_;  // made for the first save, because it reads all the data
  bool has_recovery_ = false;
};

}  // namespace gradwalk::cli
