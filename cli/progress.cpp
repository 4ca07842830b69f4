// SPDX-License-Identifier: MIT
// Draws the progress bar, or prints ten or so lines where the output is no terminal.
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "stopwatch.hpp"
#include "terminal.hpp"

namespace gradwalk::cli {
Progress::Progress(std::uint64_t done, std::uint64_t steps, bool of_numbers, bool quiet)
    : done_(done),
      steps_(steps),
      every_(std::max<std::uint64_t>(1, steps / 10)),
      of_numbers_(of_numbers),
      quiet_(quiet),
      terminal_(isatty(STDOUT_FILENO) == 1) {}

void Progress::show(const TrainingRun::Report& report) {
  if (quiet_) return;
  if (report.validation) validation_ = report.validation;
  if (!terminal_) {
    const std::size_t digits = std::to_string(steps_).size();
    if (report.step % every_ == 0 || report.step == done_ + 1 || report.step == steps_)
      fmt::print("step {:>{}} of {}  loss {:<9.4g}{}{}  {}  lr {:.3g}\n", report.step, digits, steps_,
                 report.loss - report.penalty,
                 report.penalty > 0 ? fmt::format("  penalty {:<9.4g}", report.penalty) : "",
                 validation_ ? fmt::format("  validation {:<9.4g}", *validation_) : "", score(report, 5), report.rate);
    return;
  }
  const Clock::time_point now = Clock::now();
  if (drawn_ && report.step != steps_ && now - last_ < std::chrono::milliseconds(50)) return;
  last_ = now;
  draw(report);
}

std::string Progress::score(const TrainingRun::Report& report, int width) const {
  if (of_numbers_) return fmt::format("R² {:<{}.3f}", report.accuracy, width);
  return fmt::format("accuracy {:{}.1f}%", 100 * report.accuracy, width);
}

void Progress::draw(const TrainingRun::Report& report) {
  const double seconds = std::chrono::duration<double>(last_ - start_).count();
  const double seconds_per_step = seconds / static_cast<double>(report.step - done_);
  const std::string time = report.step == steps_
                               ? "in " + in_words(seconds)
                               : in_words(seconds_per_step * static_cast<double>(steps_ - report.step)) + " left";
  const std::string penalty = report.penalty > 0 ? fmt::format(" + {:.4g}", report.penalty) : "";
  const std::string validation = validation_ ? fmt::format("  validation {:.4g}", *validation_) : "";
  const std::string text =
      fmt::format(" {}/{}  loss {:.4g}{}{}  {}  lr {:.3g}  {}", report.step, steps_, report.loss - report.penalty,
                  penalty, validation, score(report, 0), report.rate, time);
  const std::size_t width = terminal_size().value_or(TerminalSize{80, 24}).columns - 1;
  std::string line;
  if (width > text.size() + 12) {
    const std::size_t room = std::min<std::size_t>(30, width - text.size() - 2);
    const auto full = static_cast<std::size_t>(static_cast<double>(room) * static_cast<double>(report.step) /
                                               static_cast<double>(steps_));
    line = "[" + std::string(full, '=') + std::string(room - full, ' ') + "]";
  }
  line += text;
  fmt::print("\r{}\033[K", line.substr(0, width));
  std::fflush(stdout);
  drawn_ = true;
}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', stdout), std::fflush(stdout);
}

}  // namespace gradwalk::cli
