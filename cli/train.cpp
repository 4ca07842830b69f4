// SPDX-License-Identifier: MIT
// gradwalk train: trains a classifier or a regressor, shows the progress, and prints the results and a picture.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "checks.hpp"
#include "commands.hpp"
#include "computing.hpp"
#include "folds.hpp"
#include "job.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "saving.hpp"
#include "stopwatch.hpp"
#include "style.hpp"
#include "system.hpp"
#include "table.hpp"
#include "together.hpp"

namespace gradwalk::cli {
namespace {

struct TrainArguments {
  JobOptions job;
  Computing computing;
  Style style;
  std::string plot;
  bool quiet = false, json = false;
};

// The first Ctrl-C stops training after the current step. It restores the default action, so a second one ends the
// program at once.
volatile std::sig_atomic_t interrupted = 0;
void interrupt(int by) {
  interrupted = by;
  for (const int signal : stopping_signals()) std::signal(signal, SIG_DFL);
}

// The results of a run.
struct Results {
  std::uint64_t steps = 0;                // steps of this session, without those of a resumed run
  Duration took;                          // the time of these steps
  std::optional<Duration> compiled_took;  // with --eager: the time of the same steps when compiled
  Figures train, validation, test;
  std::string saved;
};

void print_time(const Results& results) {
  fmt::print("{} step{} in {}", results.steps, results.steps == 1 ? "" : "s", in_words(results.took.seconds));
  if (!Computing::can_compile())
    fmt::print(" (eager, because this gradwalk was built without gradwalk::compile)\n");
  else if (results.compiled_took)
    fmt::print(" (eager); compiled: {}, {:.2g} times as fast\n", in_words(results.compiled_took->seconds),
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
  if (rows_of(results.validation) > 0) add("validation", texts_of(results.validation));
  if (rows_of(results.test) > 0) add("test", texts_of(results.test));
  fmt::print("{}{}", quiet ? "" : "\n", table(rows));
}

// Prints which step's model was kept, if validation selects one.
void print_kept(const TrainingRun& run, std::uint64_t steps) {
  const BestParameters best = run.state().best;
  if (best.step == 0) return;
  if (run.is_done())
    fmt::print("stopped early at step {} of {}: no lower validation loss for {} steps\n", run.steps(), steps,
               run.steps() - best.step);
  fmt::print("kept the model of step {}, which has the lowest validation loss\n", best.step);
}

// The metrics of the test rows or, if there are none, of the training rows.
const Figures& shown_figures(const Results& results) {
  return rows_of(results.test) > 0 ? results.test : results.train;
}

void print_classes(const TrainingRun& run, const Results& results) {
  if (is_regressor(run.any_model()) || rows_of(results.test) == 0) return;
  const std::string text = class_table(std::get<Classifier::Result>(results.test), run.classifier().label_names);
  if (!text.empty()) fmt::print("\ntest rows by class:\n{}", text);
}

void print_json(const TrainingRun& run, const Results& results) {
  nlohmann::ordered_json json{
      {"steps", run.steps()}, {"parameters", run.network().parameter_count()}, {"train", to_json(results.train)}};
  if (rows_of(results.validation) > 0) json["validation"] = to_json(results.validation);
  if (rows_of(results.test) > 0) json["test"] = to_json(results.test);
  if (const std::uint64_t kept = run.state().best.step; kept > 0) json["kept_step"] = kept;
  if (!is_regressor(run.any_model()))
    json["classes"] = classes_json(std::get<Classifier::Result>(shown_figures(results)), run.classifier().label_names);
  if (!results.saved.empty()) json["saved"] = results.saved;
  json["step"] = run.step_kind();
  json["seconds"] = results.took.seconds;
  json["processor_seconds"] = results.took.processor;
  if (results.compiled_took) json["compiled_seconds"] = results.compiled_took->seconds;
  fmt::print("{}\n", json.dump());
}

// The task in words: "3 classes", or "regression of price (10 to 90)".
std::string task_in_words(const Dataset& data) {
  if (!data.has_targets()) return fmt::format("{} classes", data.label_names.size());
  const auto [low, high] = std::minmax_element(data.targets.begin(), data.targets.end());
  return fmt::format("regression of {} ({:g} to {:g})", data.target_name, *low, *high);
}

// Prints warnings about the data: dropped rows, and features that are the same in every row.
void print_warnings(const Dataset& data) {
  if (data.dropped > 0)
    fmt::print("dropped {} row{} with missing values\n", data.dropped, data.dropped == 1 ? "" : "s");
  std::vector<std::string> same;
  for (std::size_t k = 0; k < data.columns; ++k) {
    bool is_same = true;
    for (std::size_t i = 1; i < data.rows() && is_same; ++i) is_same = data.row(i)[k] == data.row(0)[k];
    if (is_same) same.push_back(data.feature_names[k]);
  }
  if (!same.empty()) fmt::print("no use for training, because they never vary: {}\n", some(same));
}

void introduce(const Job& job, const Model& model, std::size_t validation) {
  std::string sizes = std::to_string(model.network.inputs());
  for (const Layer& layer : model.network.layers()) sizes += fmt::format("-{}", layer.outputs());
  const std::string kept = validation > 0 ? fmt::format(", {} of them for validation", validation) : "";
  fmt::print("{}: {} rows{}, {} feature{}, {}\n", job.source.data(), job.data.train.rows(), kept,
             model.feature_names.size(), model.feature_names.size() == 1 ? "" : "s", task_in_words(job.data.train));
  fmt::print("network {}, {} parameters, {} activation, {} loss{}\n", sizes, model.network.parameter_count(),
             name(model.network.options().activation), name(model.loss),
             job.recipe.dropout > 0 ? fmt::format(", dropout {:g}", job.recipe.dropout) : "");
  print_warnings(job.data.train);
  if (job.schedule) fmt::print("{}\n", in_words(*job.schedule, job.file->run->state.steps));
  fmt::print("\n");
}

// Warns if the resumed steps are computed in another way than the saved ones: then they round differently, and the
// result differs from that of an uninterrupted run.
void warn_of_other_step_kind(const Job& job, const TrainingRun& run) {
  if (!job.file || job.file->run->step_kind.empty() || job.file->run->step_kind == run.step_kind()) return;
  fmt::print(stderr, "the saved steps were {}, the new ones are {}: they round differently\n", job.file->run->step_kind,
             run.step_kind());
}

// Quotes a text as one word of a shell command.
std::string for_shell(const std::string& text) {
  if (text.find_first_of(" \t\n\"'\\$`&|;<>()*?[]#~!{}") == text.npos) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

// Adds the time to make the step, which includes compilation, to the training time.
MakeStep timed(MakeStep make_step, Duration& took) {
  return [make_step = std::move(make_step), &took](const Model& model) {
    const Stopwatch watch(took);
    return make_step(model);
  };
}

// Catches the signals that stop training, during its lifetime.
class Interrupts {
 public:
  Interrupts() {
    interrupted = 0;
    for (const int signal : stopping_signals()) std::signal(signal, interrupt);
    report_full_files();  // then the model is saved elsewhere
  }
  ~Interrupts() {
    for (const int signal : stopping_signals()) std::signal(signal, SIG_DFL);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
};

void train(const Job& job, TrainingRun& run, const Together& together, Keeper& keeper, Duration& took, bool quiet) {
  Progress progress(run.steps(), job.steps, is_regressor(run.any_model()), quiet);
  const Interrupts interrupts;
  const Stopwatch watch(took);
  const auto is_to_stop = [&] { return together.is_alone() ? interrupted != 0 : together.has_stopped(); };
  while (run.steps() < job.stop && !run.is_done() && !is_to_stop()) {
    progress.show(run.step());
    if (together.is_first()) keeper.after_step(run);
  }
}

Duration time_compiled(const Job& job, const Computing& computing, std::uint64_t steps) {
  Duration took;
  {
    TrainingRun run = job.start(timed(computing.compiled(), took));
    const Stopwatch watch(took);
    while (run.steps() < steps) run.step();
  }
  return took;
}

void print(const Job& job, const Learned& learned, const Results& results, const TrainArguments& options) {
  if (options.json) return print_json(learned.run, results);
  print_results(results, options.quiet);
  if (!options.quiet) {
    fmt::print("\n");
    print_kept(learned.run, job.steps);
    print_time(results);
    print_classes(learned.run, results);
    print_picture(learned, options.style.is_on());
  }
  if (!results.saved.empty()) fmt::print("\nsaved {}\n", results.saved);
}

// Evaluates the model on each part of the data.
void evaluate(const Computing& computing, const AnyModel& model, const Split& data, const Recipe& recipe,
              Results& results) {
  results.test = computing.evaluate(model, data.test);
  if (recipe.validation == 0) {
    results.train = computing.evaluate(model, data.train);
  } else {
    const TrainingSplit parts = training_split(data.train, recipe);
    results.train = computing.evaluate(model, parts.training);
    results.validation = computing.evaluate(model, parts.validation);
  }
}

// Saves, evaluates, prints and plots a finished run. Under mpirun only the first process calls it.
void finish(const Job& job, const TrainingRun& run, const TrainArguments& options, const Computing& computing,
            bool is_alone, Keeper& keeper, Results& results) {
  const bool stopped = run.steps() < job.steps && !run.is_done();
  results.saved = keeper.at_the_end(run, stopped);
  const AnyModel model = run.best_model();
  evaluate(computing, model, job.data, run.recipe(), results);
  if (computing.is_eager() && Computing::can_compile() && interrupted == 0 && is_alone)
    results.compiled_took = time_compiled(job, computing, run.steps());
  const Learned learned{run, model, job.data};
  print(job, learned, results, options);
  if (!options.plot.empty()) {
    write_picture(options.plot, job.source.data(), learned, results.train, results.test);
    if (!options.json) fmt::print("{}plotted {}\n", results.saved.empty() ? "\n" : "", options.plot);
  }
  if (!stopped) return;
  std::fflush(stdout);
  fmt::print(stderr, "stopped at step {} of {}; to continue: gradwalk train --resume {}\n", run.steps(), job.steps,
             for_shell(results.saved));
}

// Checks the options before training starts.
void check(const TrainArguments& options, const Together& together) {
  for (const std::string& path : {options.job.save.empty() ? options.job.resume : options.job.save, options.plot})
    if (!path.empty() && together.is_first()) check_writable(path);
  if (!options.plot.empty()) check_picture_name(options.plot);
  if (!together.is_alone() && options.job.source.data() == "-")
    throw Error("train", "data that every process of mpirun can read", "standard input", "save it to a file first");
}

void run(const TrainArguments& options) {
  Together together;
  Computing computing = options.computing;
  computing.use_threads(together.threads_each());
  together.agree([&] { computing.check_device(together.size()); });
  if (options.job.folds > 0) {
    together.agree([&] {
      if (!together.is_alone())
        throw Error("train", "one process for --folds", std::to_string(together.size()) + " processes",
                    "run it without mpirun");
      if (!options.plot.empty())
        refuse_options("--folds without --plot, because it keeps no model", "--plot", "omit it");
      print_folds(options.job, computing, options.quiet, options.json);
    });
    return;
  }
  std::optional<Job> job;
  together.agree([&] {
    check(options, together);
    job = job_of(options.job);
    computing.check_recipe(job->recipe);
  });
  if (!together.is_alone()) together.need_same(fingerprint(job->data.train));
  Results results;
  std::optional<TrainingRun> run;
  together.agree(
      [&] { run = job->start(timed(computing.step(), results.took), together.team([] { return interrupted != 0; })); });
  const std::uint64_t before = run->steps();
  const bool quiet = options.quiet || options.json || !together.is_first();
  if (together.is_first()) warn_of_other_step_kind(*job, *run);
  if (!quiet) introduce(*job, model_of(run->any_model()), run->validation_rows());
  if (!quiet && !together.is_alone()) fmt::print("{} processes share the rows of each step\n\n", together.size());
  Keeper keeper(*job, options.job.checkpoint_every);
  together.run_steps([&] { train(*job, *run, together, keeper, results.took, quiet); });
  results.steps = run->steps() - before;
  if (together.is_first()) finish(*job, *run, options, computing, together.is_alone(), keeper, results);
  if (interrupted != 0 && run->steps() < job->steps && !run->is_done()) throw CLI::RuntimeError(128 + interrupted);
}

}  // namespace

void add_train(CLI::App& app) {
  const auto options = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "Train a classifier or a regressor");
  options->job.add_to(*command);
  command->add_option("--plot", options->plot, "Plot the loss curve and the model to a .svg or .png file")
      ->option_text("FILE");
  command->add_flag("-q,--quiet", options->quiet, "Print only the results");
  command->add_flag("--json", options->json, "Print the results as JSON");
  options->job.recipe.add_to(*command);
  options->computing.add_to(*command);
  options->style.add_to(*command);
  command->footer(
      "Ctrl-C stops after the current step and saves the run: to the --save or\n"
      "--resume file, or else to a new file gradwalk-recovery.safetensors.\n\n"
      "Examples:\n"
      "  gradwalk train moons --plot moons.svg\n"
      "  gradwalk train spiral --hidden 32,32 --steps 4000\n"
      "  gradwalk train diabetes.csv --loss huber --plot fit.svg\n"
      "  gradwalk train iris.csv --label species --save iris.safetensors\n"
      "  gradwalk train --resume iris.safetensors --steps 5000");
  command->callback([options] { run(*options); });
}

}  // namespace gradwalk::cli
