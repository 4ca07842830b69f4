// SPDX-License-Identifier: MIT
// From options to a recipe.
#include "recipe.hpp"

#include <charconv>
#include <limits>

#include "checks.hpp"

namespace gradwalk::cli {
namespace {

// "16,16", or "none".
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
                  "give at most 50 whole numbers from 1 to 100000 with commas between");
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
    throw Error("train", "rows a step, or all", "'" + text + "'", "give a whole number from 1, or all");
  return size;
}

// A text that one of these can read.
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
  for (const Enum one : all)
    if (name(one) == text) return one;
  return *all.begin();  // CLI11 has checked the name
}

}  // namespace

void RecipeOptions::add_to(CLI::App& command) {
  const auto add = [&](const char* flag, auto& target, const char* help, const char* value) {
    options_.push_back(command.add_option(flag, target, help)->option_text(value)->group("Recipe"));
    return options_.back();
  };
  const auto number = number_from;
  add("--hidden", hidden_, "sizes of the hidden layers, or none", "N,N [16,16]")->check(reads_as(sizes_of));
  add("--activation", activation_,
      "of the hidden layers: relu, leaky_relu, gelu, elu, softplus, tanh, sigmoid\n"
      "or linear",
      "NAME [relu]")
      ->check(CLI::IsMember({"relu", "leaky_relu", "gelu", "elu", "softplus", "tanh", "sigmoid", "linear"}));
  add("--init", init_, "of the weights: uniform (micrograd's), xavier or he", "NAME [he; moons uniform]")
      ->check(CLI::IsMember({"uniform", "xavier", "he"}));
  add("--loss", loss_, "of classes: hinge, mse, bce or softmax; of numbers: mse, mae or huber",
      "NAME [softmax; two classes bce; moons hinge; numbers mse]")
      ->check(CLI::IsMember({"hinge", "mse", "bce", "softmax", "mae", "huber"}));
  add("--optimizer", optimizer_, "sgd, momentum, adam, adamw, rmsprop or adagrad", "NAME [adam; moons sgd]")
      ->check(CLI::IsMember({"sgd", "momentum", "adam", "adamw", "rmsprop", "adagrad"}));
  add("--lr", lr_, "the learning rate at first", "X [adam 0.01; sgd 0.1; moons 1; numbers 0.003]")
      ->check(number(1e-12, 1e6));
  add("--schedule", schedule_, "of the rate: constant, linear or cosine", "NAME [cosine; moons linear]")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}));
  add("--final-rate", final_, "the last rate, as a share of the first", "X [0; moons 0.1]")->check(number(0, 1));
  add("--decay-steps", decay_steps_,
      "steps until the rate is the last one, after those of --warm-up; more than\n"
      "--steps for a run that is to be resumed",
      "N [as many as --steps]")
      ->check(whole_from(1, 1'000'000'000));
  add("--warm-up", warm_up_, "steps in which the rate rises first", "N [0]")->check(whole_from(0, 1'000'000'000));
  add("--momentum", momentum_, "of sgd", "X [0; --optimizer momentum 0.9]")->check(number(0, 0.9999));
  add("--weight-decay", weight_decay_, "of sgd, and of adamw", "X [0; adamw 0.01]")->check(number(0, 1000));
  add("--batch", batch_, "rows a step, or all", "N [32; moons all]")->check(reads_as(batch_of));
  add("--l1", l1_, "this times the sum of the weights' sizes is added to the loss", "X [0]")->check(number(0, 1e6));
  add("--l2", l2_, "this times the sum of their squares", "X [0.003; numbers 0.01; made-up data 0.0001]")
      ->check(number(0, 1e6));
  add("--clip", clip_, "the largest norm of the gradient; 0: any", "X [0]")->check(number(0, 1e12));
  add("--dropout", dropout_, "the chance of each hidden neuron to be left out, of each row of each step", "P [0]")
      ->check(number(0, 0.99));
  add("--validation", validation_,
      "share of the rows not to learn from: after each epoch they judge the model,\n"
      "and the best one is kept",
      "SHARE [0.1 with --patience, else 0]")
      ->check(number(0, 0.9));
  add("--patience", patience_,
      "stop when so many steps have brought nothing better; with --resume, to go on\n"
      "with a run that stopped so",
      "N [none]")
      ->check(whole_from(1, 1'000'000'000));
  add("--seed", seed_, "of the data, the weights and the order of the rows", "N [1337]")
      ->check(whole_from(0, std::numeric_limits<std::uint64_t>::max()));
  options_.push_back(
      command.add_flag("--balance", balance_, "rows of rare classes weigh more: every class weighs the same")
          ->group("Recipe"));
  options_.push_back(
      command.add_flag("--raw", raw_, "take features as they are; else they are standardised, but of moons")
          ->group("Recipe"));
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
    refuse_options("a rate that is above 0 until step " + std::to_string(steps),
                   "one that is 0 from step " + std::to_string(*end_of(plan)),
                   "give --final-rate, or more --decay-steps");
}

void RecipeOptions::plan_validation(Recipe& recipe) const {
  recipe.validation = validation_.value_or(patience_ ? 0.1 : 0);
  recipe.patience = patience_.value_or(0);
  if (patience_ && recipe.validation == 0)
    refuse_options("rows kept for validation with --patience", "none", "give more --validation, or leave it out");
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
