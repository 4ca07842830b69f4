// SPDX-License-Identifier: MIT
// Where models are saved, so that none is lost.
#pragma once

#include <string>

#include "job.hpp"

namespace gradwalk::cli {

void check_place(const std::string& path);  // an Error where no file of this name could be written

// Where a job's run is saved, and how often.
class Keeper {
 public:
  Keeper(const Job& job, std::uint64_t every);

  // To be called after each step: saves every so many, for a run that is killed to go on from. What cannot be saved is
  // said, and tried again.
  void after_step(const TrainingRun& run);
  // The last save, where it was asked for or, of a run that has not made its steps, in a file of ours; if that fails,
  // somewhere, so that the training is not lost. Gives the file's name, or none.
  std::string at_the_end(const TrainingRun& run, bool is_unfinished);

 private:
  void save(const TrainingRun& run, const std::string& path);
  void save_somewhere(const TrainingRun& run, const std::string& path);

  const Job& job_;
  std::uint64_t every_;
  std::string recovery_;              // where it is in between
  std::optional<DataSource> source_;  // once it is needed, for it reads all the data
  bool has_recovery_ = false;
};

}  // namespace gradwalk::cli
