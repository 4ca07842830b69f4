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
  std::uint64_t seed() const { return given_.seed; }
  // Returns `usual`, the defaults for the data, with the given options applied. The learning rate decays over all
  // `steps`, unless --decay-steps was given.
  Recipe recipe(const Recipe& usual, std::uint64_t steps) const;
  std::vector<const CLI::Option*> given() const;  // the options that are set on the command line
  std::optional<double> lr() const { return lr_; }
  std::optional<std::uint64_t> patience() const {
    return is_given(&given_.patience) ? std::optional(given_.patience) : std::nullopt;
  }

 private:
  // An option, and the field of given_ that it sets.
  struct Listed {
    CLI::Option* option;
    const void* field;
  };
  bool is_given(const void* field) const;
  template <class Struct> void apply(const Struct& from, Struct& to) const;
  void fit_schedule(LearningRateSchedule& schedule, std::uint64_t steps) const;

  std::vector<Listed> options_;
  Recipe given_;  // its fields are set by their options; the optimizer has the options below
  std::optional<std::string> optimizer_;
  std::optional<double> lr_, momentum_, weight_decay_;
};

}  // namespace gradwalk::cli
