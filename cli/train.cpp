// SPDX-License-Identifier: MIT
// gradwalk train: a network of scalar Values that learns classes or numbers, with progress while it learns and a
// picture at the end.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "checks.hpp"
#include "commands.hpp"
#include "computing.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/model_file.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "recipe.hpp"
#include "source.hpp"
#include "stopwatch.hpp"
#include "style.hpp"
#include "table.hpp"

namespace gradwalk::cli {
namespace {

struct TrainArguments {
  Source source;
  RecipeOptions recipe;
  Computing computing;
  Style style;
  std::uint64_t steps = 0;    // 0: as many as is usual
  std::uint64_t stop_at = 0;  // 0: not before all are made
  std::string save, resume, plot;
  bool quiet = false, json = false;
};

// The first Ctrl-C asks training to stop after the present step; the next one ends the program as ever.
constexpr int stopping[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t interrupted = 0;
void interrupt(int by) {
  interrupted = by;
  for (const int signal : stopping) std::signal(signal, SIG_DFL);
}

constexpr const char* recovery_name = "gradwalk-recovery.safetensors";

struct NewPlan {
  RatePlan plan;
  double lr;
};

// What a run is made of.
struct Job {
  Source source;
  std::uint64_t seed;
  Split data;
  Recipe recipe;
  std::shared_ptr<const ModelFile> file;  // to go on with, or none
  std::optional<NewPlan> plan;            // where it goes beyond what the file's run was to make
  std::uint64_t steps, stop;              // in all, and those to make now
  std::string save;

  // The run as it is before its first step here.
  TrainingRun start(const MakeStep& make_step) const {
    TrainingRun run = file ? resume(*file, data.train, make_step) : TrainingRun(data.train, recipe, make_step);
    if (plan) run.begin_plan(plan->plan, plan->lr);
    return run;
  }
};

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

std::uint64_t stop_of(const TrainArguments& options, std::uint64_t made, std::uint64_t steps) {
  if (options.stop_at == 0) return steps;
  if (options.stop_at <= made || options.stop_at > steps)
    refuse_options(fmt::format("--stop-at from {} to {}, the steps to make", made + 1, steps),
                   std::to_string(options.stop_at), "stop at one of them");
  return options.stop_at;
}

Job new_job(const TrainArguments& options) {
  if (!options.source.is_given())
    refuse_options("data to learn from", "none", "give moons, circles, spiral, a CSV file, or --resume MODEL");
  const std::uint64_t seed = options.recipe.seed();
  Split data = options.source.load(seed);
  Recipe usual = options.source.is_moons()  ? micrograd_recipe()
                 : data.train.has_targets() ? regression_recipe()
                                            : default_recipe(data.train.label_names.size());
  if (options.source.is_made_up()) usual.l2 = 1e-4;  // there is no scarce data to be careful with
  const std::uint64_t steps = options.steps > 0 ? options.steps : usual.rate.steps;
  const Recipe recipe = options.recipe.recipe(usual, steps);
  check_size(data.train, recipe);
  return {options.source, seed, std::move(data), recipe, nullptr, {}, steps, stop_of(options, 0, steps), options.save};
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

Job resumed_job(const TrainArguments& options) {
  for (const CLI::Option* option : options.recipe.given())
    if (option->get_name() != "--lr")
      refuse_options("no recipe with --resume but --lr, for the model has its own", option->get_name(), "leave it out");
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
          steps,
          stop_of(options, made, steps),
          options.save.empty() ? options.resume : options.save};
}

void check_place(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path), error).parent_path();
  if (std::filesystem::is_directory(path, error))
    throw Error("train", "the name of a file", "the folder '" + path + "'", "give the name of a file in it");
  if (!std::filesystem::is_directory(folder, error))
    throw Error("train", "a folder that is there", "'" + folder.string() + "'", "make it first, or save elsewhere");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error("train", "a folder that may be written", "'" + folder.string() + "'",
                "check its permissions, or save elsewhere");
}

// Here, beside what an earlier run may have left.
std::string recovery_place() {
  std::string name = recovery_name;
  for (int i = 2; std::filesystem::exists(name) && i < 1000; ++i)
    name = fmt::format("gradwalk-recovery-{}.safetensors", i);
  return name;
}

// A name in a new folder, where nobody else's file or link can be.
std::string rescue_place() {
  std::string folder = (std::filesystem::temp_directory_path() / "gradwalk-XXXXXX").string();
  return ::mkdtemp(folder.data()) == nullptr ? recovery_name : folder + "/" + recovery_name;
}

// Saves where it was asked to; if that fails, somewhere, so that the training is not lost.
void save(const Job& job, const TrainingRun& run, const std::string& path) {
  const DataSource source{job.source.to_json(job.seed), fingerprint(job.data.train)};
  try {
    save_model(path, run, job.steps, source);
  } catch (const Error& error) {
    const std::string rescue = rescue_place();
    try {
      save_model(rescue, run, job.steps, source);
    } catch (const Error&) {
      std::filesystem::remove(std::filesystem::path(rescue).parent_path());  // if we made it: it is empty
      throw error;  // the place that was asked for is the one to mend
    }
    throw Error("train", "a place to save the model", std::string("none (") + error.what() + ")",
                "it is in '" + rescue + "': move it where you want it");
  }
}

// What there is to say when a run has ended.
struct Results {
  std::uint64_t steps = 0;                // made here
  Duration took;                          // to make them
  std::optional<Duration> compiled_took;  // the same steps, where these were eager by request
  Figures train, test;
  std::string saved;
};

void print_time(const Results& results) {
  fmt::print("{} step{} in {}", results.steps, results.steps == 1 ? "" : "s", in_words(results.took.seconds));
  if (!Computing::can_compile())
    fmt::print(", eager, for this gradwalk was built without gradwalk::compile\n");
  else if (results.compiled_took)
    fmt::print(", eager; compiled {}, {:.2g} times as fast\n", in_words(results.compiled_took->seconds),
               results.took.seconds / results.compiled_took->seconds);
  else
    fmt::print("\n");
}

void print_results(const Results& results, bool quiet) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const char* name, std::vector<std::string> texts) {
    texts.insert(texts.begin(), name);
    rows.push_back(std::move(texts));
  };
  add("", names_of(results.train));
  add("train", texts_of(results.train));
  if (rows_of(results.test) > 0) add("test", texts_of(results.test));
  fmt::print("{}{}", quiet ? "" : "\n", table(rows));
}

// Those of the rows that were kept for testing, if there are any.
const Figures& shown_figures(const Results& results) {
  return rows_of(results.test) > 0 ? results.test : results.train;
}

void print_classes(const TrainingRun& run, const Results& results) {
  if (is_regressor(run.any_model()) || rows_of(results.test) == 0) return;
  const std::string text = class_table(std::get<Classifier::Result>(results.test), run.model().label_names);
  if (!text.empty()) fmt::print("\nthe rows kept for testing, by class:\n{}", text);
}

void print_json(const TrainingRun& run, const Results& results) {
  nlohmann::ordered_json json{
      {"steps", run.steps()}, {"parameters", run.network().parameter_count()}, {"train", to_json(results.train)}};
  if (rows_of(results.test) > 0) json["test"] = to_json(results.test);
  if (!is_regressor(run.any_model()))
    json["classes"] = classes_json(std::get<Classifier::Result>(shown_figures(results)), run.model().label_names);
  if (!results.saved.empty()) json["saved"] = results.saved;
  json["step"] = run.step_kind();
  json["seconds"] = results.took.seconds;
  json["processor_seconds"] = results.took.processor;
  if (results.compiled_took) json["compiled_seconds"] = results.compiled_took->seconds;
  fmt::print("{}\n", json.dump());
}

std::string in_words(const NewPlan& plan, std::uint64_t made) {
  if (!end_of(plan.plan)) return fmt::format("from step {} on the rate is {:g}", made + 1, plan.lr);
  return fmt::format("a new plan from step {} on: in {} steps the rate falls from {:g} to {:g} ({})", made + 1,
                     plan.plan.steps, plan.lr, plan.lr * plan.plan.final, name(plan.plan.kind));
}

// What is learned: 3 classes, or regression of price (10 to 90).
std::string task_in_words(const Dataset& data) {
  if (!data.has_targets()) return fmt::format("{} classes", data.label_names.size());
  const auto [low, high] = std::minmax_element(data.targets.begin(), data.targets.end());
  return fmt::format("regression of {} ({:g} to {:g})", data.target_name, *low, *high);
}

// What whoever has the table should know of it.
void tell_columns(const Dataset& data) {
  if (data.dropped > 0)
    fmt::print("{} row{} left out, for something is missing in {}\n", data.dropped, data.dropped == 1 ? "" : "s",
               data.dropped == 1 ? "it" : "them");
  std::vector<std::string> same;
  for (std::size_t k = 0; k < data.columns; ++k) {
    bool is_same = true;
    for (std::size_t i = 1; i < data.rows() && is_same; ++i) is_same = data.row(i)[k] == data.row(0)[k];
    if (is_same) same.push_back(data.feature_names[k]);
  }
  if (!same.empty()) fmt::print("the same in every row, and so of no use: {}\n", some(same));
}

void introduce(const Job& job, const Model& model) {
  std::string sizes = std::to_string(model.network.inputs());
  for (const Layer& layer : model.network.layers()) sizes += fmt::format("-{}", layer.outputs());
  fmt::print("{}: {} rows, {} feature{}, {}\n", job.source.data(), job.data.train.rows(), model.feature_names.size(),
             model.feature_names.size() == 1 ? "" : "s", task_in_words(job.data.train));
  fmt::print("network {}, {} parameters, {} activation, {} loss\n", sizes, model.network.parameter_count(),
             name(model.network.options().activation), name(model.loss));
  tell_columns(job.data.train);
  if (job.plan) fmt::print("{}\n", in_words(*job.plan, job.file->run->state.steps));
  fmt::print("\n");
}

// Steps of another kind round otherwise: whoever expects the same bytes should know.
void tell_other_kind(const Job& job, const TrainingRun& run) {
  if (!job.file || job.file->run->step_kind.empty() || job.file->run->step_kind == run.step_kind()) return;
  fmt::print(stderr, "the steps so far were {}; these are {}, and round otherwise\n", job.file->run->step_kind,
             run.step_kind());
}

// As one word of a command.
std::string for_shell(const std::string& text) {
  if (text.find_first_of(" \t\n\"'\\$`&|;<>()*?[]#~!{}") == text.npos) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

// Making the step is part of training: a compiled one is compiled then.
MakeStep timed(MakeStep make_step, Duration& took) {
  return [make_step = std::move(make_step), &took](const Model& model) {
    const Stopwatch watch(took);
    return make_step(model);
  };
}

void train(const Job& job, TrainingRun& run, Duration& took, bool quiet) {
  Progress progress(run.steps(), job.steps, is_regressor(run.any_model()), quiet);
  interrupted = 0;
  for (const int signal : stopping) std::signal(signal, interrupt);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an Error, which saves elsewhere
  const Stopwatch watch(took);
  while (run.steps() < job.stop && interrupted == 0) progress.show(run.step());
  for (const int signal : stopping) std::signal(signal, SIG_DFL);
}

Duration time_compiled(const Job& job, const Computing& computing) {
  Duration took;
  {
    TrainingRun run = job.start(timed(computing.compiled(), took));
    const Stopwatch watch(took);
    while (run.steps() < job.stop) run.step();
  }
  return took;
}

void print(const Job& job, const TrainingRun& run, const Results& results, const TrainArguments& options) {
  if (options.json) return print_json(run, results);
  print_results(results, options.quiet);
  if (!options.quiet) {
    fmt::print("\n");
    print_time(results);
    print_classes(run, results);
    print_picture(run, job.data, options.style.is_on());
  }
  if (!results.saved.empty()) fmt::print("\nsaved {}\n", results.saved);
}

void run(const TrainArguments& options) {
  for (const std::string& path : {options.save.empty() ? options.resume : options.save, options.plot})
    if (!path.empty()) check_place(path);
  if (!options.plot.empty()) check_picture_name(options.plot);
  const Job job = options.resume.empty() ? new_job(options) : resumed_job(options);
  Results results;
  TrainingRun run = job.start(timed(options.computing.step(), results.took));
  tell_other_kind(job, run);
  const std::uint64_t before = run.steps();
  const bool quiet = options.quiet || options.json;
  if (!quiet) introduce(job, model_of(run.any_model()));
  train(job, run, results.took, quiet);
  results.steps = run.steps() - before;
  const bool stopped = run.steps() < job.steps;
  results.saved = stopped && job.save.empty() ? recovery_place() : job.save;
  if (!results.saved.empty()) save(job, run, results.saved);

  results.train = options.computing.evaluate(run.any_model(), job.data.train);
  results.test = options.computing.evaluate(run.any_model(), job.data.test);
  if (options.computing.is_eager() && Computing::can_compile() && run.steps() == job.stop)
    results.compiled_took = time_compiled(job, options.computing);
  print(job, run, results, options);
  if (!options.plot.empty()) {
    write_picture(options.plot, job.source.data(), run, job.data, results.train, results.test);
    if (!options.json) fmt::print("{}plotted {}\n", results.saved.empty() ? "\n" : "", options.plot);
  }
  if (stopped) {
    std::fflush(stdout);
    fmt::print(stderr, "stopped at step {} of {}; go on with: gradwalk train --resume {}\n", run.steps(), job.steps,
               for_shell(results.saved));
    if (interrupted != 0) throw CLI::RuntimeError(128 + interrupted);
  }
}

}  // namespace

void add_train(CLI::App& app) {
  const auto options = std::make_shared<TrainArguments>();
  CLI::App* command =
      app.add_subcommand("train", "train a network of scalar Values to tell classes apart, or to give a number");
  options->source.add_to(*command);
  command
      ->add_option("--steps", options->steps,
                   "in all, with those of a model that is resumed; more than it was to make\n"
                   "begin a new plan of its rate, from where it is and from --lr, if given")
      ->check(whole_from(1, 1'000'000'000))
      ->option_text("N [2000; moons 100]");
  command
      ->add_option("--stop-at", options->stop_at,
                   "stop after this one of the steps, as Ctrl-C does; --resume makes the rest")
      ->check(whole_from(1, 1'000'000'000))
      ->option_text("N");
  command->add_option("--save", options->save, "save the model, and how to go on, in this file")->option_text("FILE");
  command
      ->add_option("--resume", options->resume, "go on with a saved model; saved again there, unless --save says where")
      ->option_text("FILE");
  command->add_option("--plot", options->plot, "draw the regions and the loss: a .svg or .png file")
      ->option_text("FILE");
  command->add_flag("-q,--quiet", options->quiet, "print the results alone");
  command->add_flag("--json", options->json, "print the results as JSON");
  options->recipe.add_to(*command);
  options->computing.add_to(*command);
  options->style.add_to(*command);
  command->footer(
      "Ctrl-C stops after the present step and saves, to gradwalk-recovery.safetensors if there is no --save.\n\n"
      "Examples:\n"
      "  gradwalk train moons --plot moons.svg\n"
      "  gradwalk train spiral --hidden 32,32 --steps 4000\n"
      "  gradwalk train diabetes.csv --loss huber --plot fit.svg\n"
      "  gradwalk train iris.csv --label species --save iris.safetensors\n"
      "  gradwalk train --resume iris.safetensors --steps 5000");
  command->callback([options] { run(*options); });
}

}  // namespace gradwalk::cli
