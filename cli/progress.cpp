// SPDX-License-Identifier: MIT
// Draws the progress bar, or prints ten or so lines where the output is no terminal.
#include "progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "stopwatch.hpp"
#include "system.hpp"
#include "table.hpp"

namespace gradwalk::cli {
Progress::Progress(std::uint64_t done, std::uint64_t steps, bool of_numbers, bool quiet)
    : done_(done),
      steps_(steps),
      every_(std::max<std::uint64_t>(1, steps / 10)),
      of_numbers_(of_numbers),
      quiet_(quiet),
      terminal_(is_terminal()) {}

void Progress::show(const TrainingRun::Report& report) {
  if (quiet_) return;
  if (report.validation) validation_ = report.validation;
  if (!terminal_) {
    const std::size_t digits = std::to_string(steps_).size();
    if (report.step % every_ == 0 || report.step == done_ + 1 || report.step == steps_)
      fmt::print("step {:>{}} of {}  loss {:<9.4g}{}{}  {}  lr {:.3g}\n", report.step, digits, steps_,
                 report.loss - report.penalty,
                 report.penalty > 0 ? fmt::format("  penalty {:<9.4g}", report.penalty) : "",
                 validation_ ? fmt::format("  validation {:<9.4g}", *validation_) : "", score(report, 5),
                 report.learning_rate);
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

std::vector<Progress::Field> Progress::fields(const TrainingRun::Report& report) const {
  const double seconds = std::chrono::duration<double>(last_ - start_).count();
  const double seconds_per_step = seconds / static_cast<double>(report.step - done_);
  const std::string time = report.step == steps_
                               ? "in " + in_words(seconds)
                               : in_words(seconds_per_step * static_cast<double>(steps_ - report.step)) + " left";
  std::vector<Field> result{{0, fmt::format(" {}/{}", report.step, steps_)},
                            {1, fmt::format("  loss {:.4g}", report.loss - report.penalty)}};
  if (report.penalty > 0) result.push_back({5, fmt::format(" + {:.4g}", report.penalty)});
  if (validation_) result.push_back({2, fmt::format("  validation {:.4g}", *validation_)});
  result.push_back({3, "  " + score(report, 0)});
  result.push_back({6, fmt::format("  lr {:.3g}", report.learning_rate)});
  result.push_back({4, "  " + time});
  return result;
}

void Progress::draw(const TrainingRun::Report& report) {
  const std::size_t width = terminal_size().value_or(TerminalSize{80, 24}).columns - 1;
  std::vector<Field> shown = fields(report);
  const auto text_of = [&] {
    std::string text;
    for (const Field& field : shown) text += field.text;
    return text;
  };
  while (characters(text_of()) > width) shown.erase(std::ranges::max_element(shown, {}, &Field::rank));
  const std::string text = text_of();
  std::string line;
  if (width > characters(text) + 12) {
    const std::size_t room = std::min<std::size_t>(30, width - characters(text) - 2);
    const auto full = static_cast<std::size_t>(static_cast<double>(room) * static_cast<double>(report.step) /
                                               static_cast<double>(steps_));
    line = "[" + std::string(full, '=') + std::string(room - full, ' ') + "]";
  }
  fmt::print("\r{}{}\033[K", line, text);
  std::fflush(stdout);
  drawn_ = true;
}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', stdout), std::fflush(stdout);
}

}  // namespace gradwalk::cli
