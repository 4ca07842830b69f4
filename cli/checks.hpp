// SPDX-License-Identifier: MIT
// Checks of numbers and options on the command line. A failed check is a usage error: the program exits with status 2.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

#include "gradwalk/error.hpp"

namespace gradwalk::cli {

// Unlike CLI::Range, it rejects nan.
inline CLI::Validator number_from(double least, double most) {
  const auto check = [=](const std::string& text) -> std::string {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool fits = error == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
    return fits ? "" : fmt::format("needs a number from {} to {}, got '{}'", least, most, text);
  };
  return {check, ""};
}

// Unlike CLI11, it rejects negative numbers and numbers too large for 64 bits, which CLI11 would wrap around.
inline CLI::Validator whole_from(std::uint64_t least, std::uint64_t most) {
  const auto check = [=](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool fits = error == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
    return fits ? "" : fmt::format("needs a whole number from {} to {}, got '{}'", least, most, text);
  };
  return {check, ""};
}

// Reports options of train that cannot be combined.
[[noreturn]] inline void refuse_options(std::string_view needs, std::string_view got, std::string_view advice) {
  throw CLI::ValidationError(Error("train", needs, got, advice).what());
}

}  // namespace gradwalk::cli
