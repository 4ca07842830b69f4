// SPDX-License-Identifier: MIT
// Makes synthetic data by name, or reads training data from a CSV file.
#include "source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "checks.hpp"
#include "gradwalk/files.hpp"

namespace gradwalk::cli {

namespace {

// Reads a column's number or, if the text is no number, its name.
std::variant<int, std::string> column_of(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

std::vector<std::variant<int, std::string>> columns_of(const std::string& list) {
  std::vector<std::variant<int, std::string>> result;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    result.push_back(column_of(list.substr(at, end - at)));
    at = end + 1;
  }
  return result;
}

}  // namespace

std::string read_csv_text(const std::string& file) {
  if (file != "-") return read_file(file, longest_csv);
  std::string text;
  char part[65536];
  while (std::cin.read(part, sizeof part), std::cin.gcount() > 0) {
    text.append(part, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > longest_csv)
      throw Error("standard input", "at most " + std::to_string(longest_csv) + " bytes", "more", "use fewer rows");
  }
  return text;
}

void CsvFormat::add_to(CLI::App& command) {
  command
      .add_option("--label", label,
                  "Label column: its name or its number. 1 is the first column, -1 the last [default: -1]")
      ->option_text("COLUMN");
  command
      .add_option("--header", header, "Whether the first line has column names: detect, yes or no [default: detect]")
      ->check(CLI::IsMember({"detect", "yes", "no"}))
      ->option_text("detect|yes|no");
  command.add_flag("--no-header", no_header, "Same as --header no: the first line is data");
  command.add_option("--separator", separator, "Field separator: detect, comma, semicolon or tab [default: detect]")
      ->check(CLI::IsMember({"detect", "comma", "semicolon", "tab"}))
      ->option_text("NAME");
}

CsvOptions CsvFormat::options(const std::string& file) const {
  CsvOptions result;
  result.name = file == "-" ? "standard input" : file;
  result.header = header == "yes"               ? CsvOptions::Header::yes
                  : header == "no" || no_header ? CsvOptions::Header::no
                                                : CsvOptions::Header::detect;
  result.separator = separator == "comma"       ? CsvOptions::Separator::comma
                     : separator == "semicolon" ? CsvOptions::Separator::semicolon
                     : separator == "tab"       ? CsvOptions::Separator::tab
                                                : CsvOptions::Separator::detect;
  if (!label.empty()) result.label = column_of(label);
  return result;
}

void Source::add_to(CLI::App& command) {
  command
      .add_option("DATA", data_,
                  "Training data: moons, circles or spiral (synthetic), a CSV file, or - for standard input")
      ->option_text(" ");
  const std::size_t before = command.get_options().size();
  command.add_option("--samples", samples_, "Number of rows of synthetic data [default: 100; spiral: 300]")
      ->check(whole_from(2, 1'000'000))
      ->option_text("N");
  command
      .add_option("--noise", noise_, "Standard deviation of the noise in synthetic data [default: 0.1; spiral: 0.05]")
      ->check(number_from(0, 100))
      ->option_text("X");
  command
      .add_option("--test-split", test_split_,
                  "Fraction of the rows to hold out for testing [default: 0.2; synthetic data: 0]")
      ->check(number_from(0, 0.9))
      ->option_text("FRACTION");
  command
      .add_option("--task", task_,
                  "Task: classify, regress or detect. detect classifies if the label column has text or at most 20 "
                  "different whole numbers, and regresses otherwise [default: detect]")
      ->check(CLI::IsMember({"detect", "classify", "regress"}))
      ->option_text("TASK");
  command
      .add_option("--features", features_,
                  "Columns to learn from, by name or number. A column of text becomes one feature per category "
                  "[default: all]")
      ->option_text("COLUMN,...");
  command.add_option("--drop", drop_, "Columns not to learn from, by name or number")->option_text("COLUMN,...");
  command
      .add_option("--missing", missing_,
                  "How to treat missing fields (empty, NA or ?): error reports an error, drop drops their rows, "
                  "mean fills in the mean of the column and puts a missing text in no category [default: error]")
      ->check(CLI::IsMember({"error", "drop", "mean"}))
      ->option_text("error|drop|mean");
  command.add_flag("--other", other_,
                   "Add a category for texts that do not occur in training. Without it, predict refuses such texts");
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
    refuse_options("--samples and --noise with moons, circles or spiral only", "the file '" + data_ + "'", "omit them");
  CsvOptions options = format_.options(data_);
  options.task = task_ == "classify"  ? CsvOptions::Task::classes
                 : task_ == "regress" ? CsvOptions::Task::numbers
                                      : CsvOptions::Task::detect;
  if (!features_.empty() && !drop_.empty()) refuse_options("--features or --drop", "both", "omit one of them");
  options.use = columns_of(features_);
  options.drop = columns_of(drop_);
  options.text_columns = true;
  options.other = other_;
  options.missing = missing_ == "drop"   ? CsvOptions::Missing::drop
                    : missing_ == "mean" ? CsvOptions::Missing::keep
                                         : CsvOptions::Missing::error;
  return read_csv(read_csv_text(data_), options);
}

Split Source::load(std::uint64_t seed) const {
  const double share = test_split_ >= 0 ? test_split_ : is_synthetic() ? 0 : 0.2;
  Dataset data = whole(seed);
  Split result;
  if (share > 0) {
    result = split(data, share, seed);
  } else {
    result.test = data;
    result.test.x.clear(), result.test.labels.clear(), result.test.targets.clear();
    result.train = std::move(data);
  }
  if (missing_ == "mean") fill_missing(result);
  return result;
}

std::vector<Split> Source::load_folds(std::size_t count, std::uint64_t seed) const {
  if (test_split_ >= 0) refuse_options("--folds or --test-split", "both", "omit one of them: --folds tests every row");
  std::vector<Split> result = folds(whole(seed), count, seed);
  if (missing_ == "mean")
    for (Split& fold : result) fill_missing(fold);
  return result;
}

std::string Source::to_json(std::uint64_t seed) const {
  const std::string data =
      is_synthetic() || data_ == "-" ? data_ : std::filesystem::absolute(data_).lexically_normal().string();
  return nlohmann::ordered_json{{"data", data},
                                {"samples", samples_},
                                {"noise", noise_},
                                {"test_split", test_split_},
                                {"seed", seed},
                                {"label", format_.label},
                                {"header", format_.no_header ? "no" : format_.header},
                                {"separator", format_.separator},
                                {"task", task_},
                                {"features", features_},
                                {"drop", drop_},
                                {"missing", missing_},
                                {"other", other_}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::pair<Source, std::uint64_t> Source::from_json(const std::string& text, const std::string& file) {
  try {
    const auto json = nlohmann::json::parse(text);
    const auto whole = [&](const char* key) {
      if (!json.at(key).is_number_unsigned()) throw std::out_of_range("not a whole number");
      return json.at(key).get<std::uint64_t>();
    };
    Source source;
    source.data_ = json.at("data").get<std::string>();
    source.samples_ = whole("samples");
    source.noise_ = json.at("noise").get<double>();
    source.test_split_ = json.at("test_split").get<double>();
    source.format_ = {json.at("label").get<std::string>(), json.at("header").get<std::string>(),
                      json.at("separator").get<std::string>()};
    source.task_ = json.value("task", "classify");  // version 0.1 had only classes, and only numbers as features
    source.features_ = json.value("features", "");
    source.drop_ = json.value("drop", "");
    source.missing_ = json.value("missing", "error");
    source.other_ = json.value("other", false);
    const bool fits = source.samples_ <= 1'000'000 && source.noise_ <= 100 && source.test_split_ <= 0.9;
    if (!fits) throw std::out_of_range("numbers out of range");
    return {source, whole("seed")};
  } catch (const std::exception&) {
    throw Error(file, "a description of its training data", "none that can be read",
                "the file is damaged or was written by another program: use a backup copy, or train again");
  }
}

}  // namespace gradwalk::cli
