// SPDX-License-Identifier: MIT
// The fuzzer of the CSV reader. Any bytes give a CsvError that points into the text, or data whose sizes match, in
// bounded memory. The first two bytes select the options.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "allocations.hpp"
#include "gradwalk/csv.hpp"

namespace {

using gradwalk::CsvOptions;

void expect(bool holds) {
  if (!holds) std::abort();
}

CsvOptions options_from(std::uint8_t byte, std::uint8_t more) {
  CsvOptions options;
  options.header = static_cast<CsvOptions::Header>(byte % 3);
  if ((byte & 4) != 0) options.label = 1;
  if ((byte & 8) != 0) options.label = "b";
  if ((byte & 16) != 0) options.features = {"a", "1"};
  if ((byte & 32) != 0) options.labels = {"x", "0", "1"};
  if ((byte & 64) != 0) options.separator = CsvOptions::Separator::tab;
  options.task = static_cast<CsvOptions::Task>(more % 3);
  options.missing = static_cast<CsvOptions::Missing>(more / 4 % 3);
  options.text_columns = (more & 16) != 0;
  options.other = (more & 32) != 0;
  if ((more & 64) != 0) options.drop = {"c", 2};
  if ((more & 128) != 0) options.use = {-1, "a"};
  if ((byte & 16) != 0 && (more & 64) != 0)
    options.table = {{"a", {"x", "y"}, options.other, 0.0}, {"1", {}, false, 5}};
  return options;
}

void check_numbers(const std::vector<double>& x, std::size_t rows, std::size_t columns) {
  expect(rows > 0 && columns > 0 && x.size() == rows * columns);
  for (const double number : x) expect(std::isfinite(number) || std::isnan(number));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const CsvOptions options = options_from(data[0], data[1]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const fuzz::Allocations allocations;
  std::size_t numbers = 0;  // the numbers that texts were converted to
  try {
    if ((data[0] & 128) != 0) {
      const gradwalk::Table table = read_csv_features(text, options);
      check_numbers(table.x, table.rows(), table.columns);
      expect(table.names.size() == table.columns);
      numbers = table.x.size();
    } else {
      const gradwalk::Dataset dataset = read_csv(text, options);
      check_numbers(dataset.x, dataset.rows(), dataset.columns);
      expect(dataset.feature_names.size() == dataset.columns);
      expect(dataset.labels.empty() || dataset.targets.empty());
      for (const std::size_t label : dataset.labels) expect(label < dataset.label_names.size());
      std::size_t features = 0;
      for (const gradwalk::Column& column : dataset.table) features += column.features();
      expect(dataset.table.empty() || features == dataset.columns);
      numbers = dataset.x.size();
    }
  } catch (const gradwalk::CsvError& error) {
    expect(error.line <= size && error.column <= size);
  }
  // Numbers and labels take a few times the memory of their text. A column or class takes more, but their number is
  // bounded.
  allocations.check(8 * size + 8 * numbers + 1024 * std::min(size, gradwalk::most_csv_columns) + 16384);
  return 0;
}
