// SPDX-License-Identifier: MIT
// Replaces the old names of options before the command line is parsed, so that no command has to know them.
#include "renamed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "together.hpp"

namespace gradwalk::cli {
namespace {

// An option of a command under its old and its new name.
struct Renamed {
  const char *command, *before, *now;
};
constexpr Renamed renamed[] = {
    {"draw", "--digits", "--decimals"},
    {"predict", "--all", "--probabilities"},
    {"train", "--final-rate", "--final-lr-fraction"},
    {"train", "--recover", "--checkpoint-every"},
    {"walk", "--most-visits", "--max-visits"},
    {"walk", "--rate", "--lr"},
};

}  // namespace

std::vector<std::string> with_new_names(std::vector<std::string> words) {
  for (std::size_t i = 2; i < words.size() && words[i] != "--"; ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const auto found = std::find_if(std::begin(renamed), std::end(renamed), [&](const Renamed& option) {
      return words[1] == option.command && name == option.before;
    });
    if (found == std::end(renamed)) continue;
    words[i].replace(0, name.size(), found->now);
    if (is_first_process())
      std::fputs(fmt::format("{}: {} is deprecated; use {}\n", found->command, found->before, found->now).c_str(),
                 stderr);
  }
  return words;
}

}  // namespace gradwalk::cli
