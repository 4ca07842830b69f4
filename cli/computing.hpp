// SPDX-License-Identifier: MIT
// How batches are computed: by compiled programs, or with Values for --eager and where gradwalk was built without
// gradwalk::compile.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "figures.hpp"
#include "gradwalk/training.hpp"

namespace gradwalk::cli {

class Computing {
 public:
  void add_to(CLI::App& command);  // --eager and --threads

  // Sets the maximum number of threads if --threads was not given. 0 means all cores.
  void use_threads(std::size_t most) {
    if (threads_ == 0) threads_ = most;
  }

  static bool can_compile();
  bool is_eager() const { return eager_ || !can_compile(); }

  MakeStep step() const { return is_eager() ? MakeStep(eager_step) : compiled(); }
  MakeStep compiled() const;  // the eager step if gradwalk was built without gradwalk::compile

  // The network's outputs for rows that are stored one after another, in the units of the data.
  std::vector<double> scores(const Model& model, std::span<const double> rows) const;
  Figures evaluate(const AnyModel& model, const Dataset& data) const {
    return std::visit([&](const auto& typed) -> Figures { return typed.evaluate(data, scores(typed, data.x)); }, model);
  }

 private:
  bool eager_ = false;
  std::size_t threads_ = 0;  // 0: one per core
};

}  // namespace gradwalk::cli
