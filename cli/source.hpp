// SPDX-License-Identifier: MIT
// The source of training data: synthetic data by name, or a CSV file. It is read from options, stored as JSON in a
// model file, and loaded as datasets.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "gradwalk/csv.hpp"

namespace gradwalk::cli {

// How to read a CSV file: the options that train and predict share.
struct CsvFormat {
  std::string label, header = "detect", separator = "detect";
  bool no_header = false;
  void add_to(CLI::App& command);
  CsvOptions options(const std::string& file) const;
};

// Reads the text of a file, or of standard input for "-".
std::string read_csv_text(const std::string& file);

class Source {
 public:
  void add_to(CLI::App& command);
  bool is_given() const { return !data_.empty(); }
  bool is_synthetic() const { return data_ == "moons" || data_ == "circles" || data_ == "spiral"; }
  bool is_moons() const { return data_ == "moons"; }
  const std::string& data() const { return data_; }
  void set_data(const std::string& data) { data_ = data; }
  const CsvFormat& format() const { return format_; }
  std::vector<const CLI::Option*> given() const;  // the options that are set on the command line, without DATA

  // Loads the data and splits it into training and test rows. Without a test split the test part has no rows.
  Split load(std::uint64_t seed) const;

  std::vector<Split> load_folds(std::size_t count, std::uint64_t seed) const;  // one split per fold

  std::string to_json(std::uint64_t seed) const;  // everything that load() needs
  static std::pair<Source, std::uint64_t> from_json(const std::string& text, const std::string& file);

 private:
  Dataset whole(std::uint64_t seed) const;
  std::vector<CLI::Option*> options_;
  std::string data_;
  std::size_t samples_ = 0;  // 0: the default for the data
  double noise_ = -1;        // negative: the default for the data
  double test_split_ = -1;   // negative: the default for the data
  std::string task_ = "detect", features_, drop_, missing_ = "error";
  bool other_ = false;
  CsvFormat format_;
};

}  // namespace gradwalk::cli
