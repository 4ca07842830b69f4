// SPDX-License-Identifier: MIT
// The hyperparameters of gradwalk train as options of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "gradwalk/training.hpp"

namespace gradwalk::cli {

class RecipeOptions {
 public:
  void add_to(CLI::App& command);
  std::uint64_t seed() const { return seed_; }
  // Returns `usual`, the defaults for the data, with the given options applied. The learning rate decays over all
  // `steps`, unless --decay-steps was given.
  Recipe recipe(const Recipe& usual, std::uint64_t steps) const;
  std::vector<const CLI::Option*> given() const;  // the options that are set on the command line
  std::optional<double> lr() const { return lr_; }
  std::optional<std::uint64_t> patience() const { return patience_; }

 private:
  void plan_steps(RatePlan& plan, std::uint64_t steps) const;
  void plan_validation(Recipe& recipe) const;

  std::vector<CLI::Option*> options_;
  std::uint64_t seed_ = Recipe{}.seed;
  std::optional<std::string> hidden_, activation_, init_, loss_, optimizer_, schedule_, batch_;
  std::optional<double> lr_, final_, momentum_, weight_decay_, l1_, l2_, clip_, validation_, dropout_;
  std::optional<std::uint64_t> decay_steps_, warm_up_, patience_;
  bool raw_ = false, balance_ = false;
};

}  // namespace gradwalk::cli
