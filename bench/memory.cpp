// SPDX-License-Identifier: MIT
// Measures memory: forks, runs a variant once in the child, and reads from /proc/self/status how far the peak (VmHWM)
// of the child rises above its resident memory before (VmRSS). Both count whole pages, so small cases include a few
// kilobytes.
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <fstream>
#include <string>

#include "measure.hpp"

namespace bench {
namespace {

std::optional<double> status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == key && status >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

std::optional<double> peak_growth(const Variant& variant) {
  const std::optional<double> before = status_bytes("VmRSS:");
  const std::unique_ptr<Task> task = variant.start();
  task->prepare();
  task->run();
  const std::optional<double> peak = status_bytes("VmHWM:");
  if (!before || !peak) return std::nullopt;
  return *peak - *before;
}

std::optional<double> peak_growth_in_child(const Variant& variant) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    bool sent = false;
    try {
      const std::optional<double> growth = peak_growth(variant);
      sent = growth && write(ends[1], &*growth, sizeof(double)) == sizeof(double);
    } catch (const std::exception&) {
      sent = false;  // the same run in the parent will report the error
    }
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  double growth = 0;
  const bool received = child > 0 && read(ends[0], &growth, sizeof growth) == sizeof growth;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return received ? std::optional(growth) : std::nullopt;
}

}  // namespace

std::vector<std::optional<double>> measure_memory(const Case& c) {
  std::vector<std::optional<double>> bytes(c.variants.size());
  if (!c.measure_memory) return bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (const auto growth = peak_growth_in_child(c.variants[i])) bytes[i] = *growth / c.variants[i].ops;
  }
  return bytes;
}

}  // namespace bench
