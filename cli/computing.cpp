// SPDX-License-Identifier: MIT
// Computes batches by compiled programs, on a GPU, or with Values. Only this file and compile.cpp depend on whether
// gradwalk was built with gradwalk::compile, and only this file on gradwalk::gpu.
#include "computing.hpp"

#include <charconv>
#include <cstdlib>

#include "checks.hpp"
#ifdef GRADWALK_HAS_COMPILE
#include "gradwalk/compiled_step.hpp"
#endif
#ifdef GRADWALK_HAS_GPU
#include "gradwalk/gpu.hpp"
#include "gradwalk/gpu_step.hpp"
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

// Reads the number of a GPU from "cuda" or "cuda:1". The processor, "cpu", has none.
std::optional<int> device_of(const std::string& text) {
  if (text == "cuda") return 0;
  int number = 0;
  const bool has_number = text.starts_with("cuda:");
  const auto [end, error] = std::from_chars(text.data() + (has_number ? 5 : 0), text.data() + text.size(), number);
  if (has_number && error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  return std::nullopt;
}
std::string check_device_name(const std::string& text) {
  return text == "cpu" || device_of(text) ? "" : fmt::format("needs cpu, cuda or cuda:N, got '{}'", text);
}

}  // namespace

void Computing::add_to(CLI::App& command) {
  command.add_flag("--eager", eager_,
                   "Train without compiling (slow), then train again compiled, and print both times");
  command
      .add_option("--threads", threads_,
                  "Maximum number of threads. The result does not depend on it [default: all cores]")
      ->check(whole_from(1, 1024))
      ->option_text("N");
  command
      .add_option_function<std::string>(
          "--device", [this](const std::string& text) { device_ = device_of(text), device_name_ = text; },
          "Where the steps are computed: cpu, cuda or cuda:N, for an NVIDIA GPU. A GPU computes in float32, and is "
          "meant for steps with very many rows [default: cpu]")
      ->check(CLI::Validator(check_device_name, ""))
      ->option_text("NAME");
}

void Computing::check_recipe(const Recipe& recipe) const {
  if (device_ && recipe.dropout > 0)
    refuse_options("a recipe without --dropout for --device " + device_name_,
                   fmt::format("--dropout {:g}", recipe.dropout), "omit one of them");
}

#ifdef GRADWALK_HAS_GPU

void Computing::check_device(std::size_t processes) const {
  if (!device_) return;
  const std::string option = "--device " + device_name_;
  if (eager_) refuse_options(option + " without --eager", "--eager", "omit one of them");
  if (processes > 1)
    throw Error("train", "one process for " + option, std::to_string(processes) + " processes",
                "run it without mpirun");
  const std::size_t devices = gpu::devices().size();
  if (static_cast<std::size_t>(*device_) < devices) return;
  throw Error("train", "an NVIDIA GPU and its driver for " + option,
              devices == 0 ? "none" : fmt::format("{} of them, numbered from 0", devices),
              "check the output of nvidia-smi, or omit --device");
}

MakeStep Computing::on_device() const {
  return [device = *device_](const Model& model) { return gpu_step(model, {.device = device}); };
}

#else

void Computing::check_device(std::size_t) const {
  if (!device_) return;
  throw Error("train", "a gradwalk with gradwalk::gpu for --device " + device_name_, "one without",
              "build it with -DGRADWALK_GPU=ON, or omit --device");
}

MakeStep Computing::on_device() const { return compiled(); }  // check_device() has refused it

#endif

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
