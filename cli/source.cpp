// SPDX-License-Identifier: MIT
// Training data by name or from a file.
#include "source.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "checks.hpp"
#include "gradwalk/files.hpp"

namespace gradwalk::cli {

void CsvFormat::add_to(CLI::App& command) {
  command
      .add_option("--label", label,
                  "the column to learn or compare with: its name, or its number from 1, or from\n"
                  "the end as -1")
      ->option_text("COLUMN [-1]");
  command.add_option("--header", header, "whether the first line has names: detect, yes or no")
      ->check(CLI::IsMember({"detect", "yes", "no"}))
      ->option_text("WHAT [detect]");
  command.add_option("--separator", separator, "between fields: detect, comma, semicolon or tab")
      ->check(CLI::IsMember({"detect", "comma", "semicolon", "tab"}))
      ->option_text("WHAT [detect]");
}

CsvOptions CsvFormat::options(const std::string& file) const {
  CsvOptions result;
  result.name = file;
  result.header = header == "yes"  ? CsvOptions::Header::yes
                  : header == "no" ? CsvOptions::Header::no
                                   : CsvOptions::Header::detect;
  result.separator = separator == "comma"       ? CsvOptions::Separator::comma
                     : separator == "semicolon" ? CsvOptions::Separator::semicolon
                     : separator == "tab"       ? CsvOptions::Separator::tab
                                                : CsvOptions::Separator::detect;
  if (label.empty()) return result;
  int number = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), number);
  const bool is_number = error == std::errc() && end == label.data() + label.size();
  if (is_number) {
    result.label = number;
  } else {
    result.label = label;
  }
  return result;
}

void Source::add_to(CLI::App& command) {
  command.add_option("DATA", data_, "moons, circles, spiral, or a CSV file")->option_text(" ");
  const std::size_t before = command.get_options().size();
  command.add_option("--samples", samples_, "rows to make up")
      ->check(whole_from(2, 1'000'000))
      ->option_text("N [100; spiral 300]");
  command.add_option("--noise", noise_, "deviation of the noise on what is made up")
      ->check(number_from(0, 100))
      ->option_text("X [0.1; spiral 0.05]");
  command.add_option("--test-split", test_split_, "share of the rows kept for testing")
      ->check(number_from(0, 0.9))
      ->option_text("SHARE [0.2 of a file, else 0]");
  command
      .add_option("--task", task_,
                  "what that column holds: classes (classify), numbers (regress), or detect:\n"
                  "numbers are learned as numbers, unless they are at most 20 different whole ones")
      ->check(CLI::IsMember({"detect", "classify", "regress"}))
      ->option_text("WHAT [detect]");
  format_.add_to(command);
  const std::vector<CLI::Option*> all = command.get_options();
  options_.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
}

std::vector<const CLI::Option*> Source::given() const {
  std::vector<const CLI::Option*> result;
  for (const CLI::Option* option : options_)
    if (option->count() > 0) result.push_back(option);
  return result;
}

Dataset Source::whole(std::uint64_t seed) const {
  const double noise = noise_ >= 0 ? noise_ : data_ == "spiral" ? 0.05 : 0.1;
  const std::size_t samples = samples_ > 0 ? samples_ : data_ == "spiral" ? 300 : 100;
  if (data_ == "moons") return make_moons(samples, noise, seed);
  if (data_ == "circles") return make_circles(samples, noise, 0.5, seed);
  if (data_ == "spiral") return make_spiral(samples, 3, noise, seed);
  if (samples_ > 0 || noise_ >= 0)
    refuse_options("--samples and --noise with moons, circles or spiral only", "the file '" + data_ + "'",
                   "leave them out");
  CsvOptions options = format_.options(data_);
  options.task = task_ == "classify"  ? CsvOptions::Task::classes
                 : task_ == "regress" ? CsvOptions::Task::numbers
                                      : CsvOptions::Task::detect;
  return read_csv(read_file(data_, longest_csv), options);
}

Split Source::load(std::uint64_t seed) const {
  const double share = test_split_ >= 0 ? test_split_ : is_made_up() ? 0 : 0.2;
  Dataset data = whole(seed);
  if (share > 0) return split(data, share, seed);
  Dataset none = data;
  none.x.clear(), none.labels.clear(), none.targets.clear();
  return {std::move(data), std::move(none)};
}

std::string Source::to_json(std::uint64_t seed) const {
  const std::string data = is_made_up() ? data_ : std::filesystem::absolute(data_).lexically_normal().string();
  return nlohmann::ordered_json{
      {"data", data}, {"samples", samples_},    {"noise", noise_},          {"test_split", test_split_},
      {"seed", seed}, {"label", format_.label}, {"header", format_.header}, {"separator", format_.separator},
      {"task", task_}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::pair<Source, std::uint64_t> Source::from_json(const std::string& text, const std::string& file) {
  try {
    const auto json = nlohmann::json::parse(text);
    const auto whole = [&](const char* key) {
      if (!json.at(key).is_number_unsigned()) throw std::out_of_range("a whole number is none");
      return json.at(key).get<std::uint64_t>();
    };
    Source source;
    source.data_ = json.at("data").get<std::string>();
    source.samples_ = whole("samples");
    source.noise_ = json.at("noise").get<double>();
    source.test_split_ = json.at("test_split").get<double>();
    source.format_ = {json.at("label").get<std::string>(), json.at("header").get<std::string>(),
                      json.at("separator").get<std::string>()};
    source.task_ = json.value("task", "classify");  // files of 0.1 have classes
    const bool fits = source.samples_ <= 1'000'000 && source.noise_ <= 100 && source.test_split_ <= 0.9;
    if (!fits) throw std::out_of_range("its numbers are out of range");
    return {source, whole("seed")};
  } catch (const std::exception&) {
    throw Error(file, "a description of the data it was trained on", "none that can be read",
                "the file is damaged, or of another program: take a copy, or train again");
  }
}

}  // namespace gradwalk::cli
