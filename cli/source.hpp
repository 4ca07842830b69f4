// SPDX-License-Identifier: MIT
// Where training data comes from: made up by name, or a CSV file; as options, as JSON in a model file, as data.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "gradwalk/csv.hpp"

namespace gradwalk::cli {

// How CSV is read; options that train and predict share.
struct CsvFormat {
  std::string label, header = "detect", separator = "detect";
  bool no_header = false;
  void add_to(CLI::App& command);
  CsvOptions options(const std::string& file) const;
};

// A file's text; - is standard input.
std::string read_csv_text(const std::string& file);

class Source {
 public:
  void add_to(CLI::App& command);
  bool is_given() const { return !data_.empty(); }
  bool is_made_up() const { return data_ == "moons" || data_ == "circles" || data_ == "spiral"; }
  bool is_moons() const { return data_ == "moons"; }
  const std::string& data() const { return data_; }
  void set_data(const std::string& data) { data_ = data; }
  const CsvFormat& format() const { return format_; }
  std::vector<const CLI::Option*> given() const;  // those set on the command line, but the data itself

  // Both parts; where nothing is kept for testing, that one has no rows.
  Split load(std::uint64_t seed) const;

  std::vector<Split> load_folds(std::size_t count, std::uint64_t seed) const;  // of all rows

  std::string to_json(std::uint64_t seed) const;  // all that load() needs
  static std::pair<Source, std::uint64_t> from_json(const std::string& text, const std::string& file);

 private:
  Dataset whole(std::uint64_t seed) const;
  std::vector<CLI::Option*> options_;
  std::string data_;
  std::size_t samples_ = 0;  // 0: as many as is usual
  double noise_ = -1;        // below 0: as much as is usual
  double test_split_ = -1;   // below 0: as much as is usual
  std::string task_ = "detect", features_, drop_, missing_ = "error";
  bool other_ = false;
  CsvFormat format_;
};

}  // namespace gradwalk::cli
