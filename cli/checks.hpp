// SPDX-License-Identifier: MIT
// What the command line's numbers must be. A check that fails, as a command that cannot be meant, exits 2.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

#include "gradwalk/error.hpp"

namespace gradwalk::cli {

// nan is no number here, though CLI::Range lets it pass.
inline CLI::Validator number_from(double least, double most) {
  const auto check = [=](const std::string& text) -> std::string {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool fits = error == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
    return fits ? "" : fmt::format("needs a number from {} to {}, got '{}'", least, most, text);
  };
  return {check, ""};
}

// CLI11 would take -1 for the largest number there is, and so a larger one.
inline CLI::Validator whole_from(std::uint64_t least, std::uint64_t most) {
  const auto check = [=](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool fits = error == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
    return fits ? "" : fmt::format("needs a whole number from {} to {}, got '{}'", least, most, text);
  };
  return {check, ""};
}

// Options that do not go together.
[[noreturn]] inline void refuse_options(std::string_view needs, std::string_view got, std::string_view advice) {
  throw CLI::ValidationError(Error("train", needs, got, advice).what());
}

}  // namespace gradwalk::cli
