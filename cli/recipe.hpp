// SPDX-License-Identifier: MIT
// The options that make a recipe.
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
  // What was asked for, on top of what is usual for the data. The rate falls over all `steps`, unless --decay-steps
  // says otherwise.
  Recipe recipe(const Recipe& usual, std::uint64_t steps) const;
  std::vector<const CLI::Option*> given() const;  // those set on the command line
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
