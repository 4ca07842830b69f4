// SPDX-License-Identifier: MIT
// Computes batches by compiled programs, or with Values. Only this file and compile.cpp depend on whether gradwalk was
// built with gradwalk::compile.
#include "computing.hpp"

#include <cstdlib>

#include "checks.hpp"
#ifdef GRADWALK_HAS_COMPILE
#include "gradwalk/compiled_step.hpp"
#endif

namespace gradwalk::cli {
namespace {

std::vector<double> eager_scores(const Model& model, std::span<const double> rows) {
  const std::size_t columns = model.network.inputs();
  std::vector<double> result;
  for (std::size_t i = 0; i < rows.size(); i += columns) {
    const std::vector<double> scores = model.scores(rows.subspan(i, columns));
    result.insert(result.end(), scores.begin(), scores.end());
  }
  return result;
}

#ifdef GRADWALK_HAS_COMPILE
// The environment variable GRADWALK_INSTRUCTION_SET selects the instruction set of another machine, to reproduce its
// results bit by bit.
CompiledStepOptions compiled_options(std::size_t threads) {
  const char* set = std::getenv("GRADWALK_INSTRUCTION_SET");
  return {.threads = threads, .instruction_set = set == nullptr ? "" : set};
}
#endif

}  // namespace

void Computing::add_to(CLI::App& command) {
  command.add_flag("--eager", eager_,
                   "Train without compiling (slow), then train again compiled, and print both times");
  command
      .add_option("--threads", threads_,
                  "Maximum number of threads. The result does not depend on it [default: all cores]")
      ->check(whole_from(1, 1024))
      ->option_text("N");
}

#ifdef GRADWALK_HAS_COMPILE

bool Computing::can_compile() { return true; }

MakeStep Computing::compiled() const {
  return [options = compiled_options(threads_)](const Model& model) { return compiled_step(model, options); };
}

std::vector<double> Computing::scores(const Model& model, std::span<const double> rows) const {
  if (!eager_ && !rows.empty()) return CompiledScores(model, compiled_options(threads_))(rows);
  return eager_scores(model, rows);
}

#else

bool Computing::can_compile() { return false; }

MakeStep Computing::compiled() const { return eager_step; }

std::vector<double> Computing::scores(const Model& model, std::span<const double> rows) const {
  return eager_scores(model, rows);
}

#endif

}  // namespace gradwalk::cli
