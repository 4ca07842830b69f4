// SPDX-License-Identifier: MIT
// The command line: `gradwalk COMMAND ...`. The exit status is 0 for success, 1 for an error in the input or while
// working, and 2 for an error in the command line itself. Messages go to stderr.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "commands.hpp"
#include "gradwalk/error.hpp"
#include "help.hpp"
#include "nearest.hpp"
#include "renamed.hpp"
#include "system.hpp"
#include "together.hpp"

namespace {

using gradwalk::cli::nearest;

// The message for an unknown command, an unknown option or an extra argument, with the nearest known word. Empty for
// other errors, for which CLI11 has a message.
std::string unknown_word_message(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string first = words.size() > 1 ? words[1] : "";
  std::vector<std::string> commands, options;
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(known->get_name());
  const auto advice = [](const std::string& meant, const std::string& otherwise) {
    return meant.empty() ? otherwise : "did you mean " + meant + "?";
  };
  const auto message = [](const std::string& call, const char* needs, const std::string& got, const std::string& what) {
    return std::string(gradwalk::Error(call, needs, got, what).what());
  };
  if (app.get_subcommands().empty()) {
    if (first.starts_with('-') && app.remaining().empty()) return "";
    return message("gradwalk", "a command", first.empty() ? "none" : "'" + first + "'",
                   advice(nearest(first, commands), "gradwalk --help lists them"));
  }
  const CLI::App& command = *app.get_subcommands().front();
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) return "";
  for (const CLI::Option* known : command.get_options())
    for (const std::string& name : known->get_lnames()) options.push_back("--" + name);
  const auto option =
      std::find_if(left.begin(), left.end(), [](const std::string& word) { return word.starts_with('-'); });
  if (option == left.end())
    return message(command.get_name(), "no more arguments", "'" + left.front() + "'",
                   "quote an expression that has spaces, or remove the argument");
  const std::string name = option->substr(0, option->find('='));
  return message(command.get_name(), "an option that it has", "'" + name + "'",
                 advice(nearest(name, options), "gradwalk " + command.get_name() + " --help lists them"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words = gradwalk::cli::with_new_names(gradwalk::cli::words_of(argc, argv));
  CLI::App app("gradwalk: scalar autograd you can watch");
  app.name("gradwalk");
  app.formatter(gradwalk::cli::help_formatter());
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", "gradwalk " GRADWALK_VERSION, "Print the version");
  app.require_subcommand(1);
  app.footer("Run 'gradwalk COMMAND --help' to see the options of a command.");
  try {
    gradwalk::cli::add_eval(app);
    gradwalk::cli::add_walk(app);
    gradwalk::cli::add_explain(app);
    gradwalk::cli::add_draw(app);
    gradwalk::cli::add_compile(app);
    gradwalk::cli::add_ops(app);
    gradwalk::cli::add_train(app);
    gradwalk::cli::add_predict(app);
    gradwalk::cli::add_emit(app);
    gradwalk::cli::add_inspect(app);
    gradwalk::cli::add_lesson(app);
    gradwalk::cli::add_completion(app);
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) command->group("Commands");
    app.parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));  // in reverse, without the program's name
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category());
  } catch (const CLI::RuntimeError& status) {  // the command has already printed its message
    return status.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (!gradwalk::cli::is_first_process()) return gradwalk::cli::silent_status;
    const bool may_be_unknown =
        dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
        (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && app.get_subcommands().empty());
    if (const std::string unknown = may_be_unknown ? unknown_word_message(app, words) : ""; !unknown.empty()) {
      fmt::print(stderr, "{}\n", unknown);
      return 2;
    }
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::system_error& error) {  // thrown by fmt::print, or by the fflush above
    fmt::print(stderr, "{}\n",
               gradwalk::Error("gradwalk", "an output it can write to", error.code().message(),
                               "free some space, or write to another file")
                   .what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
