// SPDX-License-Identifier: MIT
// Turns the options of gradwalk train into a training run.
#include "job.hpp"

#include <fmt/format.h>

#include "checks.hpp"

namespace gradwalk::cli {
namespace {

// Rejects a network that is too large to train, before it takes all memory.
void check_size(const Dataset& data, const Recipe& recipe) {
  constexpr std::size_t most = 10'000'000;
  std::size_t parameters = 0, inputs = data.columns;
  for (const std::size_t size : recipe.hidden) {
    parameters += size * (inputs + 1);
    inputs = size;
  }
  if (parameters > most)
    throw Error("train", "a network of at most " + std::to_string(most) + " parameters", std::to_string(parameters),
                "give smaller --hidden layers");
}

std::uint64_t stop_of(const JobOptions& options, std::uint64_t made, std::uint64_t steps) {
  if (options.stop_at == 0) return steps;
  if (options.stop_at <= made || options.stop_at > steps)
    refuse_options(fmt::format("--stop-at from {} to {}", made + 1, steps), std::to_string(options.stop_at),
                   "stop at one of the remaining steps");
  return options.stop_at;
}

void need_data(const JobOptions& options) {
  if (!options.source.is_given())
    refuse_options("training data", "none", "give moons, circles, spiral, a CSV file, or --resume MODEL");
}

Job new_job(const JobOptions& options, Split data) {
  Recipe usual = options.source.is_moons()  ? micrograd_recipe()
                 : data.train.has_targets() ? regression_recipe()
                                            : default_recipe(data.train.label_names.size());
  if (options.source.is_synthetic()) usual.l2 = 1e-4;  // synthetic data is plentiful, so there is little overfitting
  const std::uint64_t steps = options.steps > 0 ? options.steps : usual.rate.steps;
  const Recipe recipe = options.recipe.recipe(usual, steps);
  check_size(data.train, recipe);
  return {options.source, options.recipe.seed(),      std::move(data), recipe, nullptr, {}, {},
          steps,          stop_of(options, 0, steps), options.save};
}

// Returns whether a run with this total number of steps goes beyond the schedule of the saved run. There the learning
// rate would stay at its final value or be 0.
bool is_beyond_schedule(const SavedRun& run, std::uint64_t steps) {
  const LearningRateSchedule& schedule = run.recipe.rate;
  const std::optional<std::uint64_t> end = end_of(schedule);
  return end && steps > *end && (steps > run.planned_steps || schedule.final == 0);
}

std::optional<NewSchedule> new_schedule(const SavedRun& run, std::uint64_t steps, std::optional<double> lr) {
  if (!lr && !is_beyond_schedule(run, steps)) return std::nullopt;
  LearningRateSchedule schedule = run.recipe.rate;
  schedule.warm_up = 0;
  if (end_of(schedule)) schedule.steps = steps - run.state.steps;
  return NewSchedule{schedule, lr.value_or(learning_rate(run.recipe.optimizer))};
}

Job resumed_job(const JobOptions& options) {
  for (const CLI::Option* option : options.recipe.given())
    if (option->get_name() != "--lr" && option->get_name() != "--patience")
      refuse_options("no hyperparameters but --lr and --patience with --resume, because the model has its own",
                     option->get_name(), "omit it");
  for (const CLI::Option* option : options.source.given())
    refuse_options("no data options with --resume, because the model knows how its data was read", option->get_name(),
                   "omit it");
  const auto file = std::make_shared<const ModelFile>(load_model(options.resume));
  if (!file->run)
    throw Error(options.resume, "a model that gradwalk train saved", "a model without a training run", "train it anew");
  auto [source, seed] = Source::from_json(file->run->source.description, options.resume);
  if (options.source.is_given()) source.set_data(options.source.data());
  Split data = source.load(seed);
  const std::uint64_t made = file->run->state.steps;
  const std::uint64_t steps = options.steps > 0 ? options.steps : file->run->planned_steps;
  if (made >= steps)
    throw Error("train", "more --steps than the " + std::to_string(made) + " that the model has made",
                std::to_string(steps), "give the total number of steps, including those already made");
  return {source,
          seed,
          std::move(data),
          file->run->recipe,
          file,
          new_schedule(*file->run, steps, options.recipe.lr()),
          options.recipe.patience(),
          steps,
          stop_of(options, made, steps),
          options.save.empty() ? options.resume : options.save};
}

}  // namespace

std::string in_words(const NewSchedule& begun, std::uint64_t made) {
  if (!end_of(begun.schedule)) return fmt::format("the learning rate is {:g} from step {} on", begun.lr, made + 1);
  return fmt::format("new learning-rate schedule from step {} on: {} from {:g} to {:g} in {} steps", made + 1,
                     name(begun.schedule.kind), begun.lr, begun.lr * begun.schedule.final, begun.schedule.steps);
}

TrainingRun Job::start(const MakeStep& make_step, const Team& team) const {
  TrainingRun run =
      file ? resume(*file, data.train, make_step, team) : TrainingRun(data.train, recipe, make_step, team);
  if (schedule) run.begin_schedule(schedule->schedule, schedule->lr);
  if (patience && file) run.set_patience(*patience);
  if (run.is_done())
    throw Error("train", "a run that has not stopped early",
                fmt::format("a run that stopped at step {}, with the best model at step {}", run.steps(),
                            run.state().best.step),
                "give a larger --patience than " + std::to_string(run.recipe().patience));
  return run;
}

void JobOptions::add_to(CLI::App& command) {
  source.add_to(command);
  command
      .add_option(
          "--steps", steps,
          "Total number of training steps, including those of a resumed run. With --resume, a total beyond the end "
          "of the saved learning-rate schedule starts a new schedule at the current step [default: 2000; "
          "moons: 100]")
      ->check(whole_from(1, 1'000'000'000))
      ->option_text("N");
  command.add_option("--stop-at", stop_at, "Stop after step N, as Ctrl-C would. Continue later with --resume")
      ->check(whole_from(1, 1'000'000'000))
      ->option_text("N");
  command
      .add_option(
          "--folds", folds,
          "Evaluate the hyperparameters by N-fold cross-validation: train N models, and test each on its held-out "
          "fold. No model is saved")
      ->check(whole_from(2, 1000))
      ->option_text("N");
  command.add_option("--save", save, "Save the model and the state of the training to this file")->option_text("FILE");
  command
      .add_option("--checkpoint-every", checkpoint_every,
                  "Save a checkpoint every N steps, so a crash loses at most N steps of work. Checkpoints go to the "
                  "--save or --resume file, or else to a new file gradwalk-recovery.safetensors [default: no "
                  "checkpoints]")
      ->check(whole_from(1, 1'000'000'000))
      ->option_text("N");
  command
      .add_option(
          "--resume", resume,
          "Continue the training of a saved model. The result goes to the same file, unless --save names another")
      ->option_text("FILE");
}

Job job_of(const JobOptions& options) {
  if (!options.resume.empty()) return resumed_job(options);
  need_data(options);
  return new_job(options, options.source.load(options.recipe.seed()));
}

std::vector<Job> jobs_of_folds(const JobOptions& options) {
  for (const auto& [is_given, name] : {std::pair(!options.save.empty(), "--save"),
                                       {!options.resume.empty(), "--resume"},
                                       {options.checkpoint_every > 0, "--checkpoint-every"},
                                       {options.stop_at > 0, "--stop-at"}})
    if (is_given) refuse_options("--folds without options for a saved model, because it keeps none", name, "omit it");
  need_data(options);
  std::vector<Job> jobs;
  for (Split& fold : options.source.load_folds(options.folds, options.recipe.seed()))
    jobs.push_back(new_job(options, std::move(fold)));
  return jobs;
}

}  // namespace gradwalk::cli
