// SPDX-License-Identifier: MIT
// Formats help texts. Older versions of CLI11 do not wrap descriptions, and newer ones wrap them elsewhere, so both
// lists, of options and of commands, are formatted here.
#include "help.hpp"

#include <algorithm>

#include "table.hpp"

namespace gradwalk::cli {
namespace {

constexpr std::size_t name_width = 26, text_width = 80 - name_width;

// Wraps a description. Each line break starts a new paragraph, and all paragraphs but the first have a hanging indent.
// The default value, in brackets at the end, is not broken if it fits in a line.
std::vector<std::string> description_lines(const std::string& description) {
  std::vector<std::string> lines;
  const std::size_t end = std::min(description.find(" [default: "), description.size());
  for (const std::string& paragraph : CLI::detail::split(description.substr(0, end), '\n')) {
    const std::string indent = lines.empty() ? "" : "  ";
    const std::vector<std::string> wrapped = wrap(paragraph, text_width - indent.size());
    for (const std::string& line : wrapped) lines.push_back((&line == &wrapped.front() ? "" : indent) + line);
  }
  if (end == description.size()) return lines;
  const std::string value = description.substr(end + 1);
  if (characters(lines.back()) + 1 + characters(value) <= text_width) {
    lines.back() += " " + value;
  } else {
    for (const std::string& line : wrap(value, text_width)) lines.push_back(line);
  }
  return lines;
}

// The name, then the lines of the description in the right column. The first line stands beside a name that fits.
std::string help_entry(const std::string& name, const std::string& description) {
  std::string text = "  " + name;
  text.erase(text.find_last_not_of(' ') + 1);
  bool is_beside_name = characters(text) + 2 <= name_width;
  for (const std::string& line : description_lines(description)) {
    text += is_beside_name ? std::string(name_width - characters(text), ' ') : "\n" + std::string(name_width, ' ');
    text += line;
    is_beside_name = false;
  }
  return text + "\n";
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return help_entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return help_entry(command->get_name(), command->get_description());
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() {
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("SUBCOMMAND", "COMMAND");
  formatter->label("Positionals", "Arguments");
  return formatter;
}

}  // namespace gradwalk::cli
