// SPDX-License-Identifier: MIT
// Reads the hyperparameters of a training run from the options of the command line.
#include "recipe.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "checks.hpp"

namespace gradwalk::cli {
namespace {

// Reads the sizes of hidden layers from a text such as "16,16" or "none".
std::vector<std::size_t> sizes_of(const std::string& text) {
  std::vector<std::size_t> sizes;
  if (text == "none") return sizes;
  const char *at = text.data(), *end = at + text.size();
  for (;;) {
    std::size_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    const bool fits = error == std::errc() && size >= 1 && size <= 100'000 && sizes.size() < 50;
    if (!fits || (next != end && *next != ','))
      throw Error("train", "sizes of hidden layers, such as 16,16, or none", "'" + text + "'",
                  "give at most 50 whole numbers from 1 to 100000, separated by commas");
    sizes.push_back(size);
    if (next == end) return sizes;
    at = next + 1;
  }
}

std::size_t batch_of(const std::string& text) {
  if (text == "all") return 0;
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size == 0)
    throw Error("train", "a number of rows per step, or all", "'" + text + "'",
                "give a whole number from 1 up, or all");
  return size;
}

// Accepts a text that `read` can read. The message is that of `read`, without the name of the command.
template <class Read> CLI::Validator reads_as(Read read) {
  const auto check = [read](const std::string& text) -> std::string {
    try {
      read(text);
    } catch (const Error& error) {
      return std::string(error.what()).substr(std::string_view("train: ").size());
    }
    return "";
  };
  return {check, ""};
}

template <class Enum> CLI::Validator is_name_of(Enum) {
  std::vector<std::string> names;
  for (const Enum choice : choices(Enum{})) names.emplace_back(name(choice));
  return CLI::IsMember(names);
}

}  // namespace

void RecipeOptions::add_to(CLI::App& command) {
  const auto list = [&](CLI::Option* option, const void* field) {
    options_.push_back({option->group("Hyperparameters"), field});
    return option;
  };
  const auto add = [&](const char* flag, auto& field, const char* help, const char* value) {
    return list(command.add_option(flag, field, help)->option_text(value), &field);
  };
  const auto add_text = [&](const char* flag, auto& field, auto read, const char* help, const char* value) {
    const auto set = [&field, read](const std::string& text) { field = read(text); };
    return list(command.add_option_function<std::string>(flag, set, help)->option_text(value), &field);
  };
  const auto add_choice = [&]<class Enum>(const char* flag, Enum& field, const char* help, const char* value) {
    const auto read = [](const std::string& text) { return from_name<Enum>(text).value(); };
    return add_text(flag, field, read, help, value)->check(is_name_of(Enum{}));
  };
  const auto number = number_from;
  add_text("--hidden", given_.hidden, sizes_of, "Sizes of the hidden layers, or none [default: 16,16]", "N,N")
      ->check(reads_as(sizes_of));
  add_choice("--activation", given_.activation,
             "Activation of the hidden layers: relu, leaky_relu, gelu, gelu_tanh (its tanh approximation), elu, "
             "softplus, tanh, sigmoid or linear [default: relu]",
             "NAME");
  add_choice(
      "--init", given_.init,
      "Distribution of the initial weights: uniform (as in micrograd), xavier or he. Biases start at 0 [default: he; "
      "moons: uniform]",
      "NAME");
  add_choice(
      "--loss", given_.loss,
      "Loss function. For classification: hinge, mse (mean squared error), bce (binary cross-entropy) or "
      "softmax (softmax cross-entropy). For regression: mse, mae (mean absolute error) or huber [default: softmax; two "
      "classes: bce; moons: hinge; regression: mse]",
      "NAME");
  add("--optimizer", optimizer_,
      "Optimizer: sgd, momentum, adam, adamw, rmsprop or adagrad [default: adam; moons: sgd]", "NAME")
      ->check(CLI::IsMember({"sgd", "momentum", "adam", "adamw", "rmsprop", "adagrad"}));
  add("--lr", lr_,
      "Learning rate before decay [default: 0.01; sgd, momentum and adagrad: 0.1; moons with sgd: 1; "
      "regression with adam: 0.003]",
      "X")
      ->check(number(1e-12, 1e6));
  add_choice("--schedule", given_.rate.kind,
             "Learning-rate schedule: constant, linear or cosine [default: cosine; moons: linear]", "NAME");
  add("--final-lr-fraction", given_.rate.final, "Final learning rate, as a fraction of --lr [default: 0; moons: 0.1]",
      "X")
      ->check(number(0, 1));
  add("--decay-steps", given_.rate.steps,
      "Number of steps in which the learning rate falls to its final value, counted from the end of the warm-up. If "
      "you will resume the run with more --steps, give the number for the whole run [default: all steps after the "
      "warm-up]",
      "N")
      ->check(whole_from(1, 1'000'000'000));
  add("--warm-up", given_.rate.warm_up,
      "Number of warm-up steps, during which the learning rate rises linearly to --lr [default: 0]", "N")
      ->check(whole_from(0, 1'000'000'000));
  add("--momentum", momentum_, "Momentum of sgd [default: 0; --optimizer momentum: 0.9]", "X")
      ->check(number(0, 0.9999));
  add("--weight-decay", weight_decay_, "Weight decay of sgd and adamw [default: 0; adamw: 0.01]", "X")
      ->check(number(0, 1000));
  add_text("--batch", given_.batch, batch_of, "Rows per step, or all [default: 32; moons: all]", "N")
      ->check(reads_as(batch_of));
  add("--l1", given_.l1,
      "L1 penalty: adds X times the sum of the absolute values of all weights and biases to the loss [default: 0]", "X")
      ->check(number(0, 1e6));
  add("--l2", given_.l2,
      "L2 penalty: adds X times the sum of the squares of all weights and biases to the loss [default: 0.003; "
      "regression: 0.01; synthetic data: 0.0001]",
      "X")
      ->check(number(0, 1e6));
  add("--clip", given_.clip, "Clip the gradient to this norm. 0 means no clipping [default: 0]", "X")
      ->check(number(0, 1e12));
  add("--dropout", given_.dropout,
      "Probability of dropping a hidden neuron, drawn anew for each row and step [default: 0]", "P")
      ->check(number(0, 0.99));
  add("--validation", given_.validation,
      "Fraction of the training rows to hold out for validation. The model is evaluated on them after each epoch, and "
      "the one with the lowest validation loss is kept [default: 0; with --patience: 0.1]",
      "FRACTION")
      ->check(number(0, 0.9));
  add("--patience", given_.patience,
      "Stop early after N steps without a lower validation loss. With --resume, a larger N continues a run that "
      "stopped early [default: never stop early]",
      "N")
      ->check(whole_from(1, 1'000'000'000));
  add("--seed", given_.seed,
      "Seed of all random numbers: synthetic data, splits, initial weights, order of the rows, dropout [default: 1337]",
      "N")
      ->check(whole_from(0, std::numeric_limits<std::uint64_t>::max()));
  list(command.add_flag("--balance", given_.balance, "Weight the rows so that every class counts the same"),
       &given_.balance);
  list(command.add_flag_callback(
           "--raw", [this] { given_.standardise = false; },
           "Use the features as they are, without standardising them. This is the default for moons"),
       &given_.standardise);
}

std::vector<const CLI::Option*> RecipeOptions::given() const {
  std::vector<const CLI::Option*> result;
  for (const Listed& listed : options_)
    if (listed.option->count() > 0) result.push_back(listed.option);
  return result;
}

bool RecipeOptions::is_given(const void* field) const {
  return std::ranges::any_of(options_,
                             [&](const Listed& listed) { return listed.field == field && listed.option->count() > 0; });
}

// Copies the fields whose options are given.
template <class Struct> void RecipeOptions::apply(const Struct& from, Struct& to) const {
  const auto copy = [&](const std::string&, const auto& value, auto& field) {
    if constexpr (std::is_same_v<decltype(value), const LearningRateSchedule&>)
      apply(value, field);
    else if (is_given(&value))
      field = value;
  };
  for_each_field(copy, from, to);
}

void RecipeOptions::fit_schedule(LearningRateSchedule& schedule, std::uint64_t steps) const {
  if (!end_of(schedule)) return;
  if (!is_given(&given_.rate.steps)) schedule.steps = steps > schedule.warm_up ? steps - schedule.warm_up : 1;
  if (*end_of(schedule) < steps && schedule.final == 0)
    refuse_options("a learning rate above 0 until step " + std::to_string(steps),
                   "a rate of 0 from step " + std::to_string(*end_of(schedule)),
                   "give --final-lr-fraction, or a larger --decay-steps");
}

Recipe RecipeOptions::recipe(const Recipe& usual, std::uint64_t steps) const {
  Recipe recipe = usual;
  apply(given_, recipe);
  fit_schedule(recipe.rate, steps);
  if (recipe.patience > 0 && !is_given(&given_.validation)) recipe.validation = 0.1;
  if (recipe.patience > 0 && recipe.validation == 0)
    refuse_options("validation rows for --patience", "--validation 0", "give a larger --validation, or omit it");
  if (optimizer_ == "sgd") recipe.optimizer = SGD{.lr = 0.1};
  if (optimizer_ == "momentum") recipe.optimizer = SGD{.lr = 0.1, .momentum = 0.9};
  if (optimizer_ == "adam") recipe.optimizer = Adam{.lr = 0.01};
  if (optimizer_ == "adamw") recipe.optimizer = AdamW{.lr = 0.01};
  if (optimizer_ == "rmsprop") recipe.optimizer = RMSprop{.lr = 0.01};
  if (optimizer_ == "adagrad") recipe.optimizer = Adagrad{.lr = 0.1};
  if ((optimizer_ == "sgd" && std::holds_alternative<SGD>(usual.optimizer)) ||
      (optimizer_ == "adam" && std::holds_alternative<Adam>(usual.optimizer)))
    recipe.optimizer = usual.optimizer;
  const bool is_sgd = std::holds_alternative<SGD>(recipe.optimizer);
  if (lr_) std::visit([&](auto& config) { config.lr = *lr_; }, recipe.optimizer);
  if (momentum_) {
    if (!is_sgd) refuse_options("--momentum with sgd", "another optimizer", "add --optimizer sgd");
    std::get<SGD>(recipe.optimizer).momentum = *momentum_;
  }
  if (weight_decay_) {
    if (SGD* sgd = std::get_if<SGD>(&recipe.optimizer)) {
      sgd->weight_decay = *weight_decay_;
    } else if (AdamW* adamw = std::get_if<AdamW>(&recipe.optimizer)) {
      adamw->weight_decay = *weight_decay_;
    } else {
      refuse_options("--weight-decay with sgd or adamw", "another optimizer", "add --optimizer adamw, or use --l2");
    }
  }
  return recipe;
}

}  // namespace gradwalk::cli
