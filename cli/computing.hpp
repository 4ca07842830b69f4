// SPDX-License-Identifier: MIT
// How batches are computed: by compiled programs, on a GPU with --device, or with Values for --eager and where gradwalk
// was built without gradwalk::compile.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "figures.hpp"
#include "gradwalk/training.hpp"

namespace gradwalk::cli {

class Computing {
 public:
  void add_to(CLI::App& command);  // --eager, --threads and --device
  // Throws an Error unless the chosen device can train, and reports options that it does not support.
  void check_device(std::size_t processes) const;
  // Throws an Error for a recipe that the chosen device cannot train with.
  void check_recipe(const Recipe& recipe) const;

  // Sets the maximum number of threads if --threads was not given. 0 means all cores.
  void use_threads(std::size_t most) {
    if (threads_ == 0) threads_ = most;
  }

  static bool can_compile();
  bool is_eager() const { return eager_ || !can_compile(); }

  MakeStep step() const { return device_ ? on_device() : is_eager() ? MakeStep(eager_step) : compiled(); }
  MakeStep compiled() const;  // the eager step if gradwalk was built without gradwalk::compile

  // The network's outputs for rows that are stored one after another, in the units of the data.
  std::vector<double> scores(const Model& model, std::span<const double> rows) const;
  Figures evaluate(const AnyModel& model, const Dataset& data) const {
    return std::visit([&](const auto& typed) -> Figures { return typed.evaluate(data, scores(typed, data.x)); }, model);
  }

 private:
  MakeStep on_device() const;

  std::string device_name_ = "cpu";
  std::optional<int> device_;  // the number of a GPU, for --device cuda
  bool eager_ = false;
  std::size_t threads_ = 0;  // 0: one per core
};

}  // namespace gradwalk::cli
