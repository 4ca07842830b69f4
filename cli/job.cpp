// SPDX-License-Identifier: MIT
// From options to a run.
#include "job.hpp"

#include <fmt/format.h>

#include "checks.hpp"

namespace gradwalk::cli {
namespace {

// So that the machine's memory is asked for no network nobody can train.
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
    refuse_options(fmt::format("--stop-at from {} to {}, the steps to make", made + 1, steps),
                   std::to_string(options.stop_at), "stop at one of them");
  return options.stop_at;
}

void need_data(const JobOptions& options) {
  if (!options.source.is_given())
    refuse_options("data to learn from", "none", "give moons, circles, spiral, a CSV file, or --resume MODEL");
}

Job new_job(const JobOptions& options, Split data) {
  Recipe usual = options.source.is_moons()  ? micrograd_recipe()
                 : data.train.has_targets() ? regression_recipe()
                                            : default_recipe(data.train.label_names.size());
  if (options.source.is_made_up()) usual.l2 = 1e-4;  // there is no scarce data to be careful with
  const std::uint64_t steps = options.steps > 0 ? options.steps : usual.rate.steps;
  const Recipe recipe = options.recipe.recipe(usual, steps);
  check_size(data.train, recipe);
  return {options.source, options.recipe.seed(),      std::move(data), recipe, nullptr, {}, {},
          steps,          stop_of(options, 0, steps), options.save};
}

// Whether steps up to this one are beyond what the saved run was to make: its rate would stay the last one, or be 0.
bool is_beyond_plan(const SavedRun& run, std::uint64_t steps) {
  const RatePlan& plan = run.recipe.rate;
  const std::optional<std::uint64_t> end = end_of(plan);
  return end && steps > *end && (steps > run.planned_steps || plan.final == 0);
}

std::optional<NewPlan> new_plan(const SavedRun& run, std::uint64_t steps, std::optional<double> lr) {
  if (!lr && !is_beyond_plan(run, steps)) return std::nullopt;
  RatePlan plan = run.recipe.rate;
  plan.warm_up = 0;
  if (end_of(plan)) plan.steps = steps - run.state.steps;
  return NewPlan{plan, lr.value_or(learning_rate(run.recipe.optimizer))};
}

Job resumed_job(const JobOptions& options) {
  for (const CLI::Option* option : options.recipe.given())
    if (option->get_name() != "--lr" && option->get_name() != "--patience")
      refuse_options("no recipe with --resume but --lr and --patience, for the model has its own", option->get_name(),
                     "leave it out");
  for (const CLI::Option* option : options.source.given())
    refuse_options("no more than the data with --resume, for the model knows how it was read", option->get_name(),
                   "leave it out");
  const auto file = std::make_shared<const ModelFile>(load_model(options.resume));
  if (!file->run) throw Error(options.resume, "a model saved by training", "one without its training", "train it anew");
  auto [source, seed] = Source::from_json(file->run->source.description, options.resume);
  if (options.source.is_given()) source.set_data(options.source.data());
  Split data = source.load(seed);
  const std::uint64_t made = file->run->state.steps;
  const std::uint64_t steps = options.steps > 0 ? options.steps : file->run->planned_steps;
  if (made >= steps)
    throw Error("train", "more steps than the " + std::to_string(made) + " the model has made", std::to_string(steps),
                "give --steps, which is the number in all");
  return {source,
          seed,
          std::move(data),
          file->run->recipe,
          file,
          new_plan(*file->run, steps, options.recipe.lr()),
          options.recipe.patience(),
          steps,
          stop_of(options, made, steps),
          options.save.empty() ? options.resume : options.save};
}

}  // namespace

std::string in_words(const NewPlan& plan, std::uint64_t made) {
  if (!end_of(plan.plan)) return fmt::format("from step {} on the rate is {:g}", made + 1, plan.lr);
  return fmt::format("a new plan from step {} on: in {} steps the rate falls from {:g} to {:g} ({})", made + 1,
                     plan.plan.steps, plan.lr, plan.lr * plan.plan.final, name(plan.plan.kind));
}

TrainingRun Job::start(const MakeStep& make_step, const Team& team) const {
  TrainingRun run =
      file ? resume(*file, data.train, make_step, team) : TrainingRun(data.train, recipe, make_step, team);
  if (plan) run.begin_plan(plan->plan, plan->lr);
  if (patience && file) run.set_patience(*patience);
  if (run.is_done())
    throw Error(
        "train", "a run that is not done",
        fmt::format("one that has brought nothing better since step {} of {}", run.state().best.step, run.steps()),
        "give it more --patience than " + std::to_string(run.recipe().patience));
  return run;
}

void JobOptions::add_to(CLI::App& command) {
  source.add_to(command);
  command
      .add_option("--steps", steps,
                  "in all, with those of a model that is resumed; more than it was to make\n"
                  "begin a new plan of its rate, from where it is and from --lr, if given")
      ->check(whole_from(1, 1'000'000'000))
      ->option_text("N [2000; moons 100]");
  command.add_option("--stop-at", stop_at, "stop after this one of the steps, as Ctrl-C does; --resume makes the rest")
      ->check(whole_from(1, 1'000'000'000))
      ->option_text("N");
  command
      .add_option("--folds", folds,
                  "judge the recipe: train N models, each tested on another Nth of the rows, and\n"
                  "keep none")
      ->check(whole_from(2, 1000))
      ->option_text("N [none]");
  command.add_option("--save", save, "save the model, and how to go on, in this file")->option_text("FILE");
  command
      .add_option("--recover", recover,
                  "save every N steps too, there or in gradwalk-recovery.safetensors: a run that\n"
                  "is killed goes on from it")
      ->check(whole_from(1, 1'000'000'000))
      ->option_text("N [never]");
  command.add_option("--resume", resume, "go on with a saved model; saved again there, unless --save says where")
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
                                       {options.recover > 0, "--recover"},
                                       {options.stop_at > 0, "--stop-at"}})
    if (is_given) refuse_options("--folds alone, for it judges a recipe and keeps no model", name, "leave it out");
  need_data(options);
  std::vector<Job> jobs;
  for (Split& one : options.source.load_folds(options.folds, options.recipe.seed()))
    jobs.push_back(new_job(options, std::move(one)));
  return jobs;
}

}  // namespace gradwalk::cli
