// SPDX-License-Identifier: MIT
// A job of gradwalk train: data, recipe and number of steps of a run, which is new or resumed from a file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gradwalk/model_file.hpp"
#include "recipe.hpp"
#include "source.hpp"

namespace gradwalk::cli {

struct JobOptions {
  Source source;
  RecipeOptions recipe;
  std::uint64_t steps = 0;             // total number of steps; 0: the default for the data
  std::uint64_t stop_at = 0;           // the step to stop after; 0: the last one
  std::uint64_t checkpoint_every = 0;  // steps from one checkpoint to the next; 0: no checkpoints
  std::size_t folds = 0;               // number of folds for cross-validation; 0: train one model
  std::string save, resume;
  void add_to(CLI::App& command);
};

struct NewSchedule {
  LearningRateSchedule schedule;
  double lr;
};
std::string in_words(const NewSchedule& begun, std::uint64_t made);

// Everything that a run needs.
struct Job {
  Source source;
  std::uint64_t seed;
  Split data;
  Recipe recipe;
  std::shared_ptr<const ModelFile> file;  // the run to resume, or none
  std::optional<NewSchedule> schedule;    // a new learning-rate schedule, if the resumed run goes beyond its own
  std::optional<std::uint64_t> patience;  // a new patience for the resumed run
  std::uint64_t steps, stop;              // the total number of steps, and the step to stop after
  std::string save;

  TrainingRun start(const MakeStep& make_step, const Team& team = {}) const;  // the run before its next step
  DataSource data_source() const { return {source.to_json(seed), fingerprint(data.train)}; }
};
Job job_of(const JobOptions& options);
std::vector<Job> jobs_of_folds(const JobOptions& options);  // one job per fold

}  // namespace gradwalk::cli
