// SPDX-License-Identifier: MIT
// Measures gradwalk::gpu on this machine's GPU: value and gradient of simulations and networks over a million rows, of
// a classifier of pictures over small batches, and training steps of networks. bench/gpu/peers.py measures JAX on the
// same; bench/gpu/run calls both.
//
//   gradwalk-bench-gpu [ROWS]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gradwalk/gpu.hpp"
#include "simulations.hpp"

using namespace gradwalk;
using simulations::Recorded;

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Normally distributed numbers; for speed, a million of them are used over and over.
std::vector<float> numbers(std::size_t count, bool is_heston) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<float> made(std::min<std::size_t>(count, 1000003));
  for (float& one : made) one = static_cast<float>(is_heston ? normal(random) : 0.5 + 0.25 * std::abs(normal(random)));
  const std::size_t base = made.size();
  made.resize(count);
  for (std::size_t i = base; i < count; ++i) made[i] = made[i - base];
  return made;
}

// Rows of a network. The last number is the class.
std::vector<float> rows_of(const std::vector<std::size_t>& widths, std::size_t count) {
  const std::size_t inputs = widths[0] + 1;
  std::vector<float> made = numbers(count * inputs, true);
  for (std::size_t r = 0; r < count; ++r)
    made[r * inputs + inputs - 1] =
        widths.back() == 1 ? (r % 3 == 0 ? 1.0F : -1.0F) : static_cast<float>(r * 7 % widths.back());
  return made;
}
std::string name_of(const std::vector<std::size_t>& widths) {
  std::string name;
  for (const std::size_t width : widths) name += (name.empty() ? "" : "-") + std::to_string(width);
  return name;
}

// Where the numbers of the inputs come from.
enum class Inputs { rows, device };

gpu::DeviceRows on_device(const std::vector<float>& rows, std::size_t inputs, std::size_t count, Precision precision,
                          Inputs from) {
  if (from == Inputs::device) return gpu::DeviceRows::without_numbers(count, precision);
  return {std::span(rows).first(count * inputs), inputs, precision};
}

// The largest relative difference from the CPU's program on some of the rows. Derivatives below a thousandth of the
// largest one count as that.
double error_of(const Recorded& graph, gpu::Program& program, const std::vector<float>& rows, std::size_t count,
                Precision precision, Inputs from) {
  const std::size_t inputs = graph.inputs.size(), some = std::min<std::size_t>(20000, count);
  std::vector<double> few(some * inputs);
  for (std::size_t r = 0; r < some; ++r)
    if (from == Inputs::device)
      random_numbers(Distribution::normal, precision, 0, r, std::span(few).subspan(r * inputs, inputs));
    else
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(r * inputs), inputs,
                  few.begin() + static_cast<std::ptrdiff_t>(r * inputs));
  Program on_cpu = compile(graph.loss, {.inputs = graph.inputs, .parameters = graph.parameters, .threads = 0});
  std::vector<double> wanted(graph.parameters.size()), got(wanted.size());
  const double sum = on_cpu.gradients(few, wanted),
               found = program.gradients(on_device(rows, inputs, some, precision, from), got);
  double worst = std::abs(found - sum) / std::abs(sum), largest = 0;
  for (const double one : wanted) largest = std::max(largest, std::abs(one));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - wanted[i]) / std::max(std::abs(wanted[i]), largest / 1000));
  return worst;
}

void measure(const std::string& name, const Recorded& graph, const std::vector<float>& rows, std::size_t count,
             Precision precision, bool exact, Inputs from = Inputs::rows) {
  const bool is_random = from == Inputs::device;
  const std::vector<Value> none;
  const std::string folder = "/tmp/gradwalk-gpu-bench-" + std::to_string(std::rand());
  const double start = seconds();
  gpu::Program program = gpu::compile(graph.loss, {.inputs = is_random ? none : graph.inputs,
                                                   .parameters = graph.parameters,
                                                   .precision = precision,
                                                   .exact = exact,
                                                   .cache = folder,
                                                   .normals = is_random ? graph.inputs : none});
  const double compiled = seconds() - start;
  const double error = error_of(graph, program, rows, count, precision, from);
  const gpu::DeviceRows stored = on_device(rows, graph.inputs.size(), count, precision, from);
  std::vector<double> gradient(graph.parameters.size()), first(gradient.size());
  const double sum = program.gradients(stored, first);
  bool is_same = true;
  std::vector<double> device, call;
  for (int i = 0; i < 40; ++i) {
    const double begin = seconds();
    const double again = program.gradients(stored, gradient);
    call.push_back(seconds() - begin);
    device.push_back(program.device_seconds());
    is_same = is_same && again == sum && gradient == first;
  }
  std::sort(device.begin(), device.end());
  std::sort(call.begin(), call.end());
  const double bytes = static_cast<double>(rows.size()) * (precision == Precision::float32 ? 4 : 8);
  std::printf(
      "%-26s %-7s %-5s device %8.4f ms (median %8.4f)  call %8.4f ms  read %5.2f TB/s  compile %5.2f s  error %.1e  "
      "%s\n    %s\n",
      name.c_str(), precision == Precision::float32 ? "float32" : "float64", exact ? "exact" : "fast", device[0] * 1e3,
      device[device.size() / 2] * 1e3, call[0] * 1e3, bytes / device[0] * 1e-12, compiled, error,
      is_same ? "same bits" : "OTHER BITS", program.source().about.c_str());
  std::fflush(stdout);
}

// Steps of Adam over all rows, many on the device at once.
void measure_training(const std::string& name, Recorded graph, const std::vector<float>& rows, Precision precision,
                      bool exact) {
  constexpr std::uint64_t steps = 200;
  const double start = seconds();
  const gpu::Program program = gpu::compile(
      graph.loss, {.inputs = graph.inputs, .parameters = graph.parameters, .precision = precision, .exact = exact});
  const double compiled = seconds() - start;
  const gpu::DeviceRows stored(rows, graph.inputs.size(), precision);
  std::vector<double> before;
  for (const Value& one : graph.parameters) before.push_back(one.data());
  const auto reset = [&] {
    for (std::size_t i = 0; i < before.size(); ++i) graph.parameters[i].data() = before[i];
  };
  double least = 1e9, single = 1e9, first = 0, last = 0;
  bool is_same = true;
  for (int i = 0; i < 5; ++i) {
    reset();  // the Trainer before has written its parameters back
    gpu::Trainer trainer(program, Adam{});
    const double loss = trainer.step(stored, {.mean = true}), begin = seconds();
    const double result = trainer.make_steps(stored, steps, {.mean = true}), end = seconds();
    least = std::min(least, (end - begin) / static_cast<double>(steps));
    is_same = is_same && (i == 0 || (loss == first && result == last));
    first = loss;
    last = result;
    for (int k = 0; k < 20; ++k) {
      const double begin_of_step = seconds();
      trainer.step(stored, {.mean = true});
      single = std::min(single, seconds() - begin_of_step);
    }
  }
  reset();
  std::printf(
      "train %-20s %-7s %-5s %8.2f us per step in a row  %8.2f us in a call of its own  compile %5.2f s  loss %.4f to "
      "%.4f  %s\n    %s\n",
      name.c_str(), precision == Precision::float32 ? "float32" : "float64", exact ? "exact" : "fast", least * 1e6,
      single * 1e6, compiled, first, last, is_same ? "same bits" : "OTHER BITS", program.source().about.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
  for (const gpu::Device& one : gpu::devices())
    std::printf("device %d: %s, %s, %.1f GB\n", one.index, one.name.c_str(), one.architecture.c_str(),
                static_cast<double>(one.bytes) * 1e-9);
  const std::vector<float> none;
  for (const int steps : {16, 64, 252}) {
    const Recorded graph = simulations::heston(steps);
    const std::string name = "heston " + std::to_string(steps);
    const std::vector<float> rows = numbers(count * graph.inputs.size(), true);
    measure(name, graph, rows, count, Precision::float32, true);
    measure(name, graph, rows, count, Precision::float32, false);
    measure(name, graph, rows, count, Precision::float64, true);
    for (const bool exact : {true, false})
      measure(name + ", random", graph, none, count, Precision::float32, exact, Inputs::device);
  }
  const Recorded lotka = simulations::lotka_volterra(100);
  const std::vector<float> starts = numbers(count * lotka.inputs.size(), false);
  for (const bool exact : {true, false}) measure("lotka 100", lotka, starts, count, Precision::float32, exact);
  const auto measure_network = [](const std::vector<std::size_t>& widths, std::size_t rows_count) {
    const Recorded graph = simulations::network(widths);
    const std::vector<float> rows = rows_of(widths, rows_count);
    const std::string name = name_of(widths) + " x " + std::to_string(rows_count);
    for (const bool exact : {true, false}) {
      measure(name, graph, rows, rows_count, Precision::float32, exact);
      measure_training(name, graph, rows, Precision::float32, exact);
    }
  };
  measure_network({2, 16, 16, 1}, count);
  measure_network({2, 64, 64, 1}, count);
  for (const std::size_t batch : {64, 1024, 16384}) measure_network({784, 128, 64, 10}, batch);
}
