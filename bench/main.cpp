// SPDX-License-Identifier: MIT
// gradwalk-bench: times the engine against hand-written loops, plain doubles and other libraries, in turns in one
// program, and prints a table or JSON. Exits with 0; with 1 if variants disagree or, with --check, if a bar is missed;
// with other numbers for wrong arguments.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>

#include "cases.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace {

using namespace bench;

struct Options {
  std::vector<std::string> names;
  Budget budget;
  bool list = false, json = false, check = false, with_long = false, smoke = false;
};

constexpr const char* examples = R"(Examples:
  gradwalk-bench                              every case, a table
  gradwalk-bench --case moons --seconds 10    one case, longer, for a steadier minimum
  gradwalk-bench --case more                  every case whose name begins with more-, and so for the other groups
  gradwalk-bench --json > results.jsonl       one JSON object per line, for programs
  gradwalk-bench --check --long               do all bars hold? (about 4 GB of memory)

An op is one node of micrograd. "ratio" is the time per op, divided by that of the first variant of the case. "to peer"
is the ratio to another variant, if the bar and the goal refer to one. "bytes/op" is the growth of peak resident memory
in a fresh process. A bar is a limit that the project promises. A goal is a limit that it would like to reach.)";

// A group is all cases whose names begin with its name: "more" is more-options, more-kalman and so on.
constexpr std::array<std::string_view, 5> groups{"compiled", "function", "gpt", "more", "paths"};

std::vector<std::string> known_names() {
  std::vector<std::string> names(groups.begin(), groups.end());
  for (const Entry& entry : entries())
    if (std::find(names.begin(), names.end(), entry.name) == names.end()) names.emplace_back(entry.name);
  return names;
}

bool is_meant(std::string_view name, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& meant) {
    const bool is_group = std::find(groups.begin(), groups.end(), meant) != groups.end();
    return name == meant || (is_group && name.starts_with(meant + "-"));
  });
}

std::vector<Case> selected_cases(const Options& options) {
  Sizes sizes = options.smoke ? Sizes::smoke() : Sizes{};
  if (options.with_long) ++sizes.last_power;
  std::vector<Case> cases;
  for (const Entry& entry : entries()) {
    if (options.names.empty() || is_meant(entry.name, options.names)) cases.push_back(entry.make(sizes));
  }
  return cases;
}

void show(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

int run(const Options& options) {
  const std::vector<Case> cases = selected_cases(options);
  if (options.smoke) {
    for (const Case& c : cases) check_results(c);
    show(fmt::format("{} cases agree", cases.size()));
    return 0;
  }

  std::vector<std::vector<std::optional<double>>> bytes;
  for (const Case& c : cases) bytes.push_back(measure_memory(c));

  std::vector<std::string> missed;
  if (!options.json) show(table_head());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    check_results(cases[i]);
    for (const Row& row : rows(cases[i], measure_time(cases[i], options.budget), bytes[i])) {
      show(options.json ? json_line(row) : table_line(row));
      const std::vector<std::string> more = missed_bars(row);
      missed.insert(missed.end(), more.begin(), more.end());
    }
  }
  if (!options.check) return 0;
  for (const std::string& text : missed) fmt::print(stderr, "gradwalk-bench: {}\n", text);
  return missed.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times gradwalk's engine against hand-written loops, plain doubles and other libraries.",
               "gradwalk-bench");
  Options options;
  app.add_option("--case", options.names, "Run only this case; can be repeated")
      ->check(CLI::IsMember(known_names()))
      ->allow_extra_args(false);
  app.add_option("--repeat", options.budget.rounds, "Minimum number of turns per variant, of three runs each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", options.budget.seconds, "Minimum time per case in seconds")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--long", options.with_long, "Include the largest sizes: chains of 10^8 links");
  app.add_flag("--json", options.json, "Print one JSON object per line");
  app.add_flag("--check", options.check, "Fail if a bar is missed");
  app.add_flag("--smoke", options.smoke, "Run tiny sizes once, compare results, time nothing");
  app.add_flag("--list", options.list, "List the cases");
  app.footer(examples);
  CLI11_PARSE(app, argc, argv);

  if (options.list) {
    for (const Entry& entry : entries()) show(fmt::format("{:<14} {}", entry.name, entry.about));
    return 0;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gradwalk-bench: {}\n", error.what());
    return 1;
  }
}
