// SPDX-License-Identifier: MIT
// The command line: `gradwalk COMMAND ...`. Exits 0, or 1 with a message on stderr when the input is at fault, or 2
// when the command line itself is.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

#include "commands.hpp"
#include "gradwalk/error.hpp"
#include "nearest.hpp"
#include "together.hpp"

namespace {

using gradwalk::cli::nearest;

// In our own words, where CLI11 has only its own: a command or an option there is not, or a word too many. None: else.
std::string what_is_unknown(const CLI::App& app, int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  std::vector<std::string> commands, options;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(one->get_name());
  const auto advice = [](const std::string& meant, const std::string& otherwise) {
    return meant.empty() ? otherwise : "did you mean " + meant + "?";
  };
  const auto says = [](const std::string& call, const char* needs, const std::string& got, const std::string& what) {
    return std::string(gradwalk::Error(call, needs, got, what).what());
  };
  if (app.get_subcommands().empty()) {
    if (first.starts_with('-') && app.remaining().empty()) return "";
    return says("gradwalk", "a command", first.empty() ? "none" : "'" + first + "'",
                advice(nearest(first, commands), "gradwalk --help lists them"));
  }
  const CLI::App& command = *app.get_subcommands().front();
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) return "";
  for (const CLI::Option* one : command.get_options())
    for (const std::string& name : one->get_lnames()) options.push_back("--" + name);
  const auto option =
      std::find_if(left.begin(), left.end(), [](const std::string& one) { return one.starts_with('-'); });
  if (option == left.end())
    return says(command.get_name(), "no more words", "'" + left.front() + "'",
                "quote what belongs together, or leave it out");
  const std::string name = option->substr(0, option->find('='));
  return says(command.get_name(), "options it has", "'" + name + "'",
              advice(nearest(name, options), "gradwalk " + command.get_name() + " --help lists them"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("gradwalk: scalar autograd you can watch");
  app.name("gradwalk");
  app.set_version_flag("--version", "gradwalk " GRADWALK_VERSION);
  app.require_subcommand(1);
  app.footer("gradwalk COMMAND --help tells more.");
  try {
    gradwalk::cli::add_eval(app);
    gradwalk::cli::add_walk(app);
    gradwalk::cli::add_explain(app);
    gradwalk::cli::add_draw(app);
    gradwalk::cli::add_compile(app);
    gradwalk::cli::add_ops(app);
    gradwalk::cli::add_train(app);
    gradwalk::cli::add_predict(app);
    gradwalk::cli::add_inspect(app);
    gradwalk::cli::add_lesson(app);
    gradwalk::cli::add_completion(app);
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category());
  } catch (const CLI::RuntimeError& status) {  // the command has said why
    return status.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (!gradwalk::cli::is_first_process()) return gradwalk::cli::silent_status;
    const bool may_be_unknown =
        dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
        (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && app.get_subcommands().empty());
    if (const std::string unknown = may_be_unknown ? what_is_unknown(app, argc, argv) : ""; !unknown.empty()) {
      fmt::print(stderr, "{}\n", unknown);
      return 2;
    }
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::system_error& error) {  // by fmt, or as we do
    fmt::print(stderr, "{}\n",
               gradwalk::Error("gradwalk", "a place to write its output", error.code().message(),
                               "free some space, or write elsewhere")
                   .what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
