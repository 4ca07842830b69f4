// SPDX-License-Identifier: MIT
#include "updater.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "nvrtc.hpp"

namespace gradwalk::gpu {

Updater::Updater(const char* call, const Machine& machine, const OptimizerConfig& given)
    : Machine(call, machine),
      config(given),
      rule(detail::rule_of(config)),
      code(call, update_text(rule, options.precision), flags_for(source(), architecture_of(call, options.device), true),
           options.device, options.cache.empty() ? cache_folder() : options.cache),
      check_kernel(code.find(call, "gradwalk_check")),
      update_kernel(code.find(call, "gradwalk_update")),
      staged_plan(call, options.device, (plan_figures + most_steps * plan_step) * sizeof(double)),
      graphs(driver) {
  const std::size_t bytes = source().parameters * number_size();
  if (has_first(rule)) first = DeviceMemory(call, options.device, bytes);
  if (has_second(rule)) second = DeviceMemory(call, options.device, bytes);
  plan = DeviceMemory(call, options.device, (plan_figures + most_steps * plan_step) * sizeof(double));
  seen = DeviceMemory(call, options.device, (1 + 3 * most_check_blocks) * sizeof(double));
  set(call, initial_state(config, source().parameters));
  load(call);
}

void Updater::put(const char* call, const DeviceMemory& to, std::span<const double> numbers) {
  driver.use(call, options.device);
  upload(call, to, numbers);
  wait(call);
}
std::vector<double> Updater::get(const char* call, const DeviceMemory& from) {
  if (from.address() == 0) return {};
  driver.use(call, options.device);
  const Numbers numbers = download(call, from.address(), source().parameters);
  std::vector<double> made(source().parameters);
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = numbers[i];
  return made;
}
void Updater::write_back(const char* call) {
  const std::vector<double> numbers = get(call, parameters);
  for (std::size_t i = 0; i < numbers.size(); ++i) options.parameters[i].data() = numbers[i];
}
void Updater::set(const char* call, const OptimizerState& state) {
  put(call, first, state.first);
  put(call, second, state.second);
  steps = state.steps;
}

void Updater::begin(const char* call, std::span<const double> rates, std::span<const RowRange> ranges) {
  auto* const numbers = static_cast<double*>(staged_plan.data());
  std::fill_n(numbers, std::size_t{plan_figures}, 0.0);
  double* to = numbers + plan_figures;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const auto [GRADWALK_STEP_NUMBERS] = detail::numbers_of(config, rates[i], steps + i + 1);
    for (const double number : {GRADWALK_STEP_NUMBERS, static_cast<double>(ranges[i].first)}) *to++ = number;
  }
  driver.check(
      call,
      driver.to_device_async(plan.address(), numbers, static_cast<std::size_t>(to - numbers) * sizeof(double), stream),
      "cuMemcpyHtoDAsync");
}

void Updater::update(const char* call, Address results, bool is_checked, double share) {
  auto count = static_cast<unsigned>(source().parameters);
  unsigned checks = is_checked ? 1 : 0;
  Address p = parameters.address(), m = first.address(), v = second.address(), of_steps = plan.address(),
          found = seen.address();
  constexpr unsigned results_of_block = 4 * update_threads;
  unsigned blocks = std::min(count / results_of_block + 1, most_check_blocks);
  launch(call, check_kernel, {blocks}, update_threads,
         {&count, &checks, &share, &l1, &l2, &results, &p, &of_steps, &found});
  launch(call, update_kernel, {count / update_threads + 1}, update_threads,
         {&count, &share, &l1, &l2, &most_norm, &blocks, &found, &results, &p, &m, &v, &of_steps});
}

std::span<const double> Updater::figures(const char* call) {
  auto* const numbers = static_cast<double*>(staged_plan.data());
  driver.check(call, driver.to_host_async(numbers, plan.address(), plan_figures * sizeof(double), stream),
               "cuMemcpyDtoHAsync");
  wait(call);
  steps += static_cast<std::uint64_t>(numbers[plan_made]);
  return {numbers, plan_figures};
}

void Updater::add_to(Graphs::Key& key, double share) const {
  for (const double number : {share, most_norm, l1, l2}) key.push_back(std::bit_cast<std::uint64_t>(number));
  for (const DeviceMemory* memory : {&partial, &values}) key.push_back(memory->address());
}

}  // namespace gradwalk::gpu
