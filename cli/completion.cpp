// SPDX-License-Identifier: MIT
// gradwalk completion: what a shell needs to complete our commands, options and their values. It is read off the
// command line itself, so that it never lags behind.
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"

namespace gradwalk::cli {
namespace {

// One option as shells see it.
struct Word {
  std::vector<std::string> spellings;  // with their dashes
  std::string about;
  bool takes_value = false, takes_file = false;
  std::vector<std::string> choices;  // of the value
};

struct Command {
  std::string name, about;
  std::vector<Word> words;
  std::vector<std::string> choices;  // of the first word that is no option
  bool takes_files = false;          // as words
};

// "TEXT:{hinge,mse}" is how CLI11 writes a value that is one of a few.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == type.npos || end == type.npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Word word_of(const CLI::Option& option) {
  Word word;
  for (const std::string& name : option.get_snames()) word.spellings.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) word.spellings.push_back("--" + name);
  word.about = first_line(option.get_description());
  word.takes_value = option.get_items_expected_max() > 0 && option.get_type_size() > 0;
  word.choices = choices_of(option);
  word.takes_file = word.takes_value && word.choices.empty() && option.get_option_text().starts_with("FILE");
  return word;
}

Command command_of(const CLI::App& app) {
  Command command{app.get_name(), first_line(app.get_description()), {}, {}, false};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) {
      command.words.push_back(word_of(*option));
      continue;
    }
    const std::string name = option->get_name();
    if (option->get_description().starts_with("moons")) command.choices = {"moons", "circles", "spiral"};
    if (name == "SHELL") command.choices = choices_of(*option);
    command.takes_files |= name == "DATA" || name == "MODEL";
  }
  return command;
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(command_of(*one));
  return commands;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> spellings_of(const Command& command) {
  std::vector<std::string> all;
  for (const Word& word : command.words) all.insert(all.end(), word.spellings.begin(), word.spellings.end());
  return all;
}

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

// ---- the shells ----

std::string for_bash(const std::vector<Command>& commands) {
  std::string text =
      "# bash completion of gradwalk; made by `gradwalk completion bash`\n"
      "_gradwalk() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n";
  text += fmt::format("    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- \"$word\")\n    return\n  fi\n",
                      joined(names_of(commands)));
  text += "  case $command in\n";
  for (const Command& command : commands) {
    text += fmt::format("    {})\n      case $before in\n", command.name);
    for (const Word& word : command.words) {
      if (!word.takes_value) continue;
      const std::string how = word.takes_file ? "-f" : fmt::format("-W '{}'", joined(word.choices));
      text += fmt::format("        {}) mapfile -t COMPREPLY < <(compgen {} -- \"$word\"); return ;;\n",
                          fmt::join(word.spellings, "|"), how);
    }
    text += fmt::format(
        "      esac\n      if [[ $word == -* ]]; then mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\")\n",
        joined(spellings_of(command)));
    text += fmt::format("      else mapfile -t COMPREPLY < <(compgen {}-W '{}' -- \"$word\"); fi ;;\n",
                        command.takes_files ? "-f " : "", joined(command.choices));
  }
  return text + "  esac\n}\ncomplete -o filenames -F _gradwalk gradwalk\n";
}

// Within '...' of a shell.
std::string in_quotes(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result;
}

// Within the brackets of zsh's _arguments.
std::string in_brackets(const std::string& text) {
  std::string result;
  for (const char c : in_quotes(text))
    result += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  return result;
}

std::string value_for_zsh(const Word& word) {
  if (!word.takes_value) return "";
  if (word.takes_file) return ":file:_files";
  return fmt::format(": :({})", joined(word.choices));
}

std::string for_zsh(const std::vector<Command>& commands) {
  std::string text =
      "#compdef gradwalk\n# zsh completion of gradwalk; made by `gradwalk completion zsh`\n"
      "local -a commands\ncommands=(\n";
  for (const Command& command : commands) text += fmt::format("  '{}:{}'\n", command.name, in_quotes(command.about));
  text +=
      ")\nif ((CURRENT == 2)); then\n  _describe command commands\n  _arguments '--help[what there is]' "
      "'--version[which one this is]'\n  return\nfi\n"
      "local command=$words[2]\nshift words\n((CURRENT--))\ncase $command in\n";
  for (const Command& command : commands) {
    text += fmt::format("  {})\n    _arguments", command.name);
    for (const Word& word : command.words)
      for (const std::string& spelling : word.spellings)
        text += fmt::format(" \\\n      '{}[{}]{}'", spelling, in_brackets(word.about), value_for_zsh(word));
    if (command.takes_files || !command.choices.empty()) {
      text += " \\\n      '*: :";
      text += command.takes_files ? fmt::format("{{compadd -- {}; _files}}'", joined(command.choices))
                                  : fmt::format("({})'", joined(command.choices));
    }
    text += "\n    ;;\n";
  }
  return text + "esac\n";
}

std::string for_fish(const std::vector<Command>& commands) {
  std::string text =
      "# fish completion of gradwalk; made by `gradwalk completion fish`\n"
      "complete -c gradwalk -f\n";
  for (const Command& command : commands)
    text += fmt::format("complete -c gradwalk -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                        in_quotes(command.about));
  for (const Command& command : commands) {
    const std::string start = fmt::format("complete -c gradwalk -n '__fish_seen_subcommand_from {}'", command.name);
    for (const Word& word : command.words) {
      text += start;
      for (const std::string& spelling : word.spellings)
        text += spelling.starts_with("--") ? " -l " + spelling.substr(2) : " -s " + spelling.substr(1);
      if (word.takes_file)
        text += " -rF";
      else if (word.takes_value)
        text += fmt::format(" -xa '{}'", joined(word.choices));
      text += fmt::format(" -d '{}'\n", in_quotes(word.about));
    }
    if (command.takes_files || !command.choices.empty())
      text += fmt::format("{}{} -a '{}'\n", start, command.takes_files ? " -F" : "", joined(command.choices));
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "what bash, zsh or fish needs to complete these commands");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->option_text(" ");
  command->footer(
      "Examples:\n"
      "  source <(gradwalk completion bash)\n"
      "  gradwalk completion fish > ~/.config/fish/completions/gradwalk.fish");
  command->callback([shell, &app] {
    const std::vector<Command> commands = commands_of(app);
    fmt::print("{}", *shell == "bash" ? for_bash(commands) : *shell == "zsh" ? for_zsh(commands) : for_fish(commands));
  });
}

}  // namespace gradwalk::cli
