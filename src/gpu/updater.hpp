// SPDX-License-Identifier: MIT
// A machine that also updates its parameters: the common part of a Trainer and of gpu_step(). Parameters and moments
// stay on the device.
#pragma once

#include <cstdint>
#include <limits>

#include "graphs.hpp"
#include "machine.hpp"
#include "update_text.hpp"

namespace gradwalk::gpu {

struct Updater : Machine {
  // Begins with the parameters of the Values.
  Updater(const char* call, const Machine& machine, const OptimizerConfig& given);

  // ---- between host and device ----

  // Copies the parameters from and to their Values.
  void load(const char* call) { put(call, parameters, parameter_values()); }
  void write_back(const char* call);
  // The state of the optimizer.
  void set(const char* call, const OptimizerState& state);
  OptimizerState optimizer_state(const char* call) { return {steps, get(call, first), get(call, second)}; }

  // ---- steps: begin(), then update() once per step, then figures() ----

  // Puts a plan on the stream, for steps with these learning rates and rows.
  void begin(const char* call, std::span<const double> rates, std::span<const RowRange> ranges);
  // Puts the update by the results of a run on the stream. Nothing changes if a step since begin() was refused, or if
  // `is_checked` and the results are not all finite.
  void update(const char* call, Address results, bool is_checked, double share);
  // Waits, and returns the figures of the plan. Counts the steps that were made.
  std::span<const double> figures(const char* call);
  // Everything that the graph of an update depends on.
  void add_to(Graphs::Key& key, double share) const;

  static constexpr std::size_t most_steps = 256;  // of a plan

  OptimizerConfig config;
  detail::UpdateRule rule;
  LoadedCode code;
  Handle check_kernel, update_kernel;
  PinnedMemory staged_plan;
  DeviceMemory first, second, plan, seen;
  Graphs graphs;
  std::uint64_t steps = 0;
  double most_norm = std::numeric_limits<double>::infinity(), l1 = 0, l2 = 0;

 private:
  void put(const char* call, const DeviceMemory& to, std::span<const double> numbers);
  std::vector<double> get(const char* call, const DeviceMemory& from);
};

}  // namespace gradwalk::gpu
