// SPDX-License-Identifier: MIT
// gradwalk train: a network of scalar Values that learns classes or numbers, with progress while it learns and a
// picture at the end.
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

// The first Ctrl-C asks training to stop after the present step; the next one ends the program as ever.
constexpr int stopping[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t interrupted = 0;
void interrupt(int by) {
  interrupted = by;
  for (const int signal : stopping) std::signal(signal, SIG_DFL);
}

// What there is to say when a run has ended.
struct Results {
  std::uint64_t steps = 0;                // made here
  Duration took;                          // to make them
  std::optional<Duration> compiled_took;  // the same steps, where these were eager by request
  Figures train, validation, test;
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
  if (rows_of(results.validation) > 0) add("validation", texts_of(results.validation));
  if (rows_of(results.test) > 0) add("test", texts_of(results.test));
  fmt::print("{}{}", quiet ? "" : "\n", table(rows));
}

// Which model it is, where not the last.
void print_kept(const TrainingRun& run, std::uint64_t steps) {
  const BestParameters best = run.state().best;
  if (best.step == 0) return;
  if (run.is_done())
    fmt::print("stopped at step {} of {}, for {} steps have brought nothing better\n", run.steps(), steps,
               run.steps() - best.step);
  fmt::print("kept the model of step {}, whose validation loss is the least\n", best.step);
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
  if (rows_of(results.validation) > 0) json["validation"] = to_json(results.validation);
  if (rows_of(results.test) > 0) json["test"] = to_json(results.test);
  if (const std::uint64_t kept = run.state().best.step; kept > 0) json["kept_step"] = kept;
  if (!is_regressor(run.any_model()))
    json["classes"] = classes_json(std::get<Classifier::Result>(shown_figures(results)), run.model().label_names);
  if (!results.saved.empty()) json["saved"] = results.saved;
  json["step"] = run.step_kind();
  json["seconds"] = results.took.seconds;
  json["processor_seconds"] = results.took.processor;
  if (results.compiled_took) json["compiled_seconds"] = results.compiled_took->seconds;
  fmt::print("{}\n", json.dump());
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

void introduce(const Job& job, const Model& model, std::size_t validation) {
  std::string sizes = std::to_string(model.network.inputs());
  for (const Layer& layer : model.network.layers()) sizes += fmt::format("-{}", layer.outputs());
  const std::string kept = validation > 0 ? fmt::format(", {} of them for validation", validation) : "";
  fmt::print("{}: {} rows{}, {} feature{}, {}\n", job.source.data(), job.data.train.rows(), kept,
             model.feature_names.size(), model.feature_names.size() == 1 ? "" : "s", task_in_words(job.data.train));
  fmt::print("network {}, {} parameters, {} activation, {} loss{}\n", sizes, model.network.parameter_count(),
             name(model.network.options().activation), name(model.loss),
             job.recipe.dropout > 0 ? fmt::format(", dropout {:g}", job.recipe.dropout) : "");
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

// Catches what asks training to stop, while it lives.
class Interrupts {
 public:
  Interrupts() {
    interrupted = 0;
    for (const int signal : stopping) std::signal(signal, interrupt);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an Error, which saves elsewhere
  }
  ~Interrupts() {
    for (const int signal : stopping) std::signal(signal, SIG_DFL);
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

// The model on each part of the data.
void judge(const Computing& computing, const AnyModel& model, const Split& data, const Recipe& recipe,
           Results& results) {
  results.test = computing.evaluate(model, data.test);
  if (recipe.validation == 0) {
    results.train = computing.evaluate(model, data.train);
  } else {
    const LearningSplit parts = learning_split(data.train, recipe);
    results.train = computing.evaluate(model, parts.learned);
    results.validation = computing.evaluate(model, parts.validation);
  }
}

// What is said, drawn and saved of a run that has ended; by one of those that made it.
void finish(const Job& job, const TrainingRun& run, const TrainArguments& options, const Computing& computing,
            bool is_alone, Keeper& keeper, Results& results) {
  const bool stopped = run.steps() < job.steps && !run.is_done();
  results.saved = keeper.at_the_end(run, stopped);
  const AnyModel model = run.kept_model();
  judge(computing, model, job.data, run.recipe(), results);
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
  fmt::print(stderr, "stopped at step {} of {}; go on with: gradwalk train --resume {}\n", run.steps(), job.steps,
             for_shell(results.saved));
}

// What can be found out before anything is learned.
void check(const TrainArguments& options, const Together& together) {
  for (const std::string& path : {options.job.save.empty() ? options.job.resume : options.job.save, options.plot})
    if (!path.empty() && together.is_first()) check_place(path);
  if (!options.plot.empty()) check_picture_name(options.plot);
  if (!together.is_alone() && options.job.source.data() == "-")
    throw Error("train", "data that every process of mpirun can read", "standard input", "save it to a file first");
}

void run(const TrainArguments& options) {
  Together together;
  Computing computing = options.computing;
  computing.use_threads(together.threads_each());
  if (options.job.folds > 0) {
    together.agree([&] {
      if (!together.is_alone())
        throw Error("train", "one process for --folds", std::to_string(together.size()), "run it without mpirun");
      if (!options.plot.empty()) refuse_options("--folds alone, for it keeps no model", "--plot", "leave it out");
      print_folds(options.job, computing, options.quiet, options.json);
    });
    return;
  }
  std::optional<Job> job;
  together.agree([&] {
    check(options, together);
    job = job_of(options.job);
  });
  if (!together.is_alone()) together.need_same(fingerprint(job->data.train));
  Results results;
  std::optional<TrainingRun> run;
  together.agree(
      [&] { run = job->start(timed(computing.step(), results.took), together.team([] { return interrupted != 0; })); });
  const std::uint64_t before = run->steps();
  const bool quiet = options.quiet || options.json || !together.is_first();
  if (together.is_first()) tell_other_kind(*job, *run);
  if (!quiet) introduce(*job, model_of(run->any_model()), run->validation_rows());
  if (!quiet && !together.is_alone())
    fmt::print("{} processes, each with its share of a step's rows\n\n", together.size());
  Keeper keeper(*job, options.job.recover);
  together.step([&] { train(*job, *run, together, keeper, results.took, quiet); });
  results.steps = run->steps() - before;
  if (together.is_first()) finish(*job, *run, options, computing, together.is_alone(), keeper, results);
  if (interrupted != 0 && run->steps() < job->steps && !run->is_done()) throw CLI::RuntimeError(128 + interrupted);
}

}  // namespace

void add_train(CLI::App& app) {
  const auto options = std::make_shared<TrainArguments>();
  CLI::App* command =
      app.add_subcommand("train", "train a network of scalar Values to tell classes apart, or to give a number");
  options->job.add_to(*command);
  command->add_option("--plot", options->plot, "draw the regions and the loss: a .svg or .png file")
      ->option_text("FILE");
  command->add_flag("-q,--quiet", options->quiet, "print the results alone");
  command->add_flag("--json", options->json, "print the results as JSON");
  options->job.recipe.add_to(*command);
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
