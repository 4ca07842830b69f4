// SPDX-License-Identifier: MIT
// How batches are computed: compiled, unless --eager asks for Values or gradwalk was built without gradwalk::compile.
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

  void use_threads(std::size_t most) {  // unless --threads says how many; 0: all
    if (threads_ == 0) threads_ = most;
  }

  static bool can_compile();
  bool is_eager() const { return eager_ || !can_compile(); }

  MakeStep step() const { return is_eager() ? MakeStep(eager_step) : compiled(); }
  MakeStep compiled() const;  // where it can

  // Of rows one after another, in the data's own units.
  std::vector<double> scores(const Model& model, std::span<const double> rows) const;
  Figures evaluate(const AnyModel& model, const Dataset& data) const {
    return std::visit([&](const auto& one) -> Figures { return one.evaluate(data, scores(one, data.x)); }, model);
  }

 private:
  bool eager_ = false;
  std::size_t threads_ = 0;  // as many as the machine has
};

}  // namespace gradwalk::cli
