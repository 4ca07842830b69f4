// SPDX-License-Identifier: MIT
// Reads the hyperparameters of a training run from the options of the command line.
#include "recipe.hpp"

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

template <class Enum> Enum named(const std::string& text, std::initializer_list<Enum> all) {
  for (const Enum choice : all)
    if (name(choice) == text) return choice;
  return *all.begin();  // not reached: CLI11 has checked the name
}

}  // namespace

void RecipeOptions::add_to(CLI::App& command) {
  const auto add = [&](const char* flag, auto& target, const char* help, const char* value) {
    options_.push_back(command.add_option(flag, target, help)->option_text(value)->group("Hyperparameters"));
    return options_.back();
  };
  const auto number = number_from;
  add("--hidden", hidden_, "Sizes of the hidden layers, or none [default: 16,16]", "N,N")->check(reads_as(sizes_of));
  add("--activation", activation_,
      "Activation of the hidden layers: relu, leaky_relu, gelu, elu, softplus, tanh, sigmoid or linear [default: relu]",
      "NAME")
      ->check(CLI::IsMember({"relu", "leaky_relu", "gelu", "elu", "softplus", "tanh", "sigmoid", "linear"}));
  add("--init", init_,
      "Distribution of the initial weights: uniform (as in micrograd), xavier or he. Biases start at 0 [default: he; "
      "moons: uniform]",
      "NAME")
      ->check(CLI::IsMember({"uniform", "xavier", "he"}));
  add("--loss", loss_,
      "Loss function. For classes: hinge, mse, bce or softmax. For numbers: mse, mae or huber [default: softmax; two "
      "classes: bce; moons: hinge; numbers: mse]",
      "NAME")
      ->check(CLI::IsMember({"hinge", "mse", "bce", "softmax", "mae", "huber"}));
  add("--optimizer", optimizer_,
      "Optimizer: sgd, momentum, adam, adamw, rmsprop or adagrad [default: adam; moons: sgd]", "NAME")
      ->check(CLI::IsMember({"sgd", "momentum", "adam", "adamw", "rmsprop", "adagrad"}));
  add("--lr", lr_, "Initial learning rate [default: 0.01; sgd and adagrad: 0.1; moons: 1; numbers: 0.003]", "X")
      ->check(number(1e-12, 1e6));
  add("--schedule", schedule_, "Learning-rate schedule: constant, linear or cosine [default: cosine; moons: linear]",
      "NAME")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}));
  add("--final-rate", final_, "Final learning rate, as a fraction of the initial one [default: 0; moons: 0.1]", "X")
      ->check(number(0, 1));
  add("--decay-steps", decay_steps_,
      "Number of steps after the warm-up in which the learning rate falls to its final value. Give more than --steps "
      "for a run that you will resume later [default: all steps after the warm-up]",
      "N")
      ->check(whole_from(1, 1'000'000'000));
  add("--warm-up", warm_up_,
      "Number of warm-up steps, in which the learning rate rises to its initial value [default: 0]", "N")
      ->check(whole_from(0, 1'000'000'000));
  add("--momentum", momentum_, "Momentum of sgd [default: 0; --optimizer momentum: 0.9]", "X")
      ->check(number(0, 0.9999));
  add("--weight-decay", weight_decay_, "Weight decay of sgd and adamw [default: 0; adamw: 0.01]", "X")
      ->check(number(0, 1000));
  add("--batch", batch_, "Rows per step, or all [default: 32; moons: all]", "N")->check(reads_as(batch_of));
  add("--l1", l1_, "L1 penalty: adds X times the sum of the absolute weights to the loss [default: 0]", "X")
      ->check(number(0, 1e6));
  add("--l2", l2_,
      "L2 penalty: adds X times the sum of the squared weights to the loss [default: 0.003; numbers: 0.01; synthetic "
      "data: 0.0001]",
      "X")
      ->check(number(0, 1e6));
  add("--clip", clip_, "Clip the gradient to this norm. 0 means no clipping [default: 0]", "X")->check(number(0, 1e12));
  add("--dropout", dropout_, "Probability of dropping a hidden neuron, drawn anew for each row and step [default: 0]",
      "P")
      ->check(number(0, 0.99));
  add("--validation", validation_,
      "Fraction of the training rows to hold out for validation. They are evaluated after each epoch, and the model "
      "with the lowest validation loss is kept [default: 0; with --patience: 0.1]",
      "FRACTION")
      ->check(number(0, 0.9));
  add("--patience", patience_,
      "Stop early after N steps without a lower validation loss. With --resume, a larger N continues a run that "
      "stopped early [default: never stop early]",
      "N")
      ->check(whole_from(1, 1'000'000'000));
  add("--seed", seed_,
      "Seed of all random numbers: synthetic data, splits, initial weights, order of the rows, dropout [default: 1337]",
      "N")
      ->check(whole_from(0, std::numeric_limits<std::uint64_t>::max()));
  options_.push_back(command.add_flag("--balance", balance_, "Weight the rows so that every class counts the same")
                         ->group("Hyperparameters"));
  options_.push_back(
      command
          .add_flag("--raw", raw_,
                    "Use the features as they are, without standardising them. This is the default for moons")
          ->group("Hyperparameters"));
}

std::vector<const CLI::Option*> RecipeOptions::given() const {
  std::vector<const CLI::Option*> result;
  for (const CLI::Option* option : options_)
    if (option->count() > 0) result.push_back(option);
  return result;
}

void RecipeOptions::plan_steps(RatePlan& plan, std::uint64_t steps) const {
  if (decay_steps_) plan.steps = *decay_steps_;
  if (!end_of(plan)) return;
  if (!decay_steps_) plan.steps = steps > plan.warm_up ? steps - plan.warm_up : 1;
  if (*end_of(plan) < steps && plan.final == 0)
    refuse_options("a learning rate above 0 until step " + std::to_string(steps),
                   "a rate of 0 from step " + std::to_string(*end_of(plan)),
                   "give --final-rate, or a larger --decay-steps");
}

void RecipeOptions::plan_validation(Recipe& recipe) const {
  recipe.validation = validation_.value_or(patience_ ? 0.1 : 0);
  recipe.patience = patience_.value_or(0);
  if (patience_ && recipe.validation == 0)
    refuse_options("validation rows for --patience", "--validation 0", "give a larger --validation, or omit it");
}

Recipe RecipeOptions::recipe(const Recipe& usual, std::uint64_t steps) const {
  Recipe recipe = usual;
  recipe.seed = seed_;
  if (hidden_) recipe.hidden = sizes_of(*hidden_);
  if (activation_)
    recipe.activation =
        named(*activation_, {Activation::relu, Activation::leaky_relu, Activation::gelu, Activation::elu,
                             Activation::softplus, Activation::tanh, Activation::sigmoid, Activation::linear});
  if (init_) recipe.init = named(*init_, {Init::uniform, Init::xavier, Init::he});
  if (loss_)
    recipe.loss = named(
        *loss_, {LossKind::hinge, LossKind::mse, LossKind::bce, LossKind::softmax, LossKind::mae, LossKind::huber});
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
  if (schedule_)
    recipe.rate.kind = named(*schedule_, {RatePlan::Kind::constant, RatePlan::Kind::linear, RatePlan::Kind::cosine});
  if (final_) recipe.rate.final = *final_;
  if (warm_up_) recipe.rate.warm_up = *warm_up_;
  plan_steps(recipe.rate, steps);
  if (batch_) recipe.batch = batch_of(*batch_);
  if (l1_) recipe.l1 = *l1_;
  if (l2_) recipe.l2 = *l2_;
  if (clip_) recipe.clip = *clip_;
  if (raw_) recipe.standardise = false;
  recipe.balance = balance_;
  plan_validation(recipe);
  recipe.dropout = dropout_.value_or(0);
  return recipe;
}

}  // namespace gradwalk::cli
