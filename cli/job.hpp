// SPDX-License-Identifier: MIT
// What gradwalk train is asked to do: a run on its data by its recipe, from the start or from a file.
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
  std::uint64_t steps = 0;    // 0: as many as is usual
  std::uint64_t stop_at = 0;  // 0: not before all are made
  std::uint64_t recover = 0;  // save every so many steps; 0: at the end
  std::size_t folds = 0;      // to judge by; 0: none, but a model
  std::string save, resume;
  void add_to(CLI::App& command);
};

struct NewPlan {
  RatePlan plan;
  double lr;
};
std::string in_words(const NewPlan& plan, std::uint64_t made);

// What a run is made of.
struct Job {
  Source source;
  std::uint64_t seed;
  Split data;
  Recipe recipe;
  std::shared_ptr<const ModelFile> file;  // to go on with, or none
  std::optional<NewPlan> plan;            // where it goes beyond what the file's run was to make
  std::optional<std::uint64_t> patience;  // where it is to have more than the file's run
  std::uint64_t steps, stop;              // in all, and those to make now
  std::string save;

  TrainingRun start(const MakeStep& make_step, const Team& team = {}) const;  // as it is before its first step here
  DataSource data_source() const { return {source.to_json(seed), fingerprint(data.train)}; }
};
Job job_of(const JobOptions& options);
std::vector<Job> jobs_of_folds(const JobOptions& options);  // one a fold; none saves anything

}  // namespace gradwalk::cli
