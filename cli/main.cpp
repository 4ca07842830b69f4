// SPDX-License-Identifier: MIT
// The command line: `gradwalk COMMAND ...`. Exits 0, or 1 with a message on stderr when the input is at fault, or 2
// when the command line itself is.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "commands.hpp"
#include "gradwalk/error.hpp"
#include "together.hpp"

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
    if (std::fflush(stdout) != 0)
      throw gradwalk::Error("gradwalk", "a place to write its output", std::strerror(errno),
                            "free some space, or write elsewhere");
  } catch (const CLI::RuntimeError& status) {  // the command has said why
    return status.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (!gradwalk::cli::is_first_process()) return error.get_exit_code() == 0 ? 0 : 2;  // one of them says it
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
