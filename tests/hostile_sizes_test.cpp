// SPDX-License-Identifier: MIT
// Texts and model files of about a megabyte that are made to be expensive. Their memory stays within a multiple of
// their size, and so does their time (the worst would otherwise not end). The test counts every allocation of the
// process.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>

#include "counted_allocations.hpp"
#include "gradwalk/csv.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/safetensors.hpp"

namespace gradwalk::hostile_sizes_test {
namespace {

// Returns the largest number of bytes in use at once, per byte of the text.
double factor(const std::string& text, const std::function<void(const std::string&)>& run) {
  const tests::CountedAllocations allocations;
  try {
    run(text);
  } catch (const Error&) {
  }
  return static_cast<double>(allocations.highest()) / static_cast<double>(text.size());
}
double csv_factor(const std::string& text, const CsvOptions& options = {}) {
  return factor(text, [&](const std::string& csv) { read_csv(csv, options); });
}
double features_factor(const std::string& text) {
  return factor(text, [](const std::string& csv) { read_csv_features(csv); });
}

std::string repeated(std::string_view part, std::size_t bytes = 1 << 20) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

TEST(HostileSizes, CsvRowsTakeAFewTimesTheMemoryOfTheirText) {
  EXPECT_LT(csv_factor(repeated("1,2\n")), 8);
  EXPECT_LT(csv_factor(repeated("1,2,3,4,5,6,7,8,9,a\n")), 8);
  EXPECT_LT(features_factor(repeated("1\n")), 8);
  EXPECT_LT(csv_factor(repeated("1,") + "a"), 8);                             // too many columns
  EXPECT_LT(csv_factor("1,2\n" + repeated("\n")), 8);                         // blank lines
  EXPECT_LT(csv_factor(repeated("1,", 1 << 16) + "2" + repeated("\n")), 16);  // many columns, as many blank lines
  EXPECT_LT(csv_factor("1,2,\"" + repeated("\"\"") + "\"\n"), 8);             // one field of quotes
  EXPECT_LT(csv_factor("1,2," + repeated("\"")), 8);
  EXPECT_LT(csv_factor(repeated("7") + "," + repeated("7") + "\n"), 8);  // numbers of a million digits
}

TEST(HostileSizes, CsvColumnsAndClassesAreBounded) {
  // Texts with more columns or classes are refused, so memory has constant bounds: 30 MB and 1 MB.
  EXPECT_LT(csv_factor(repeated(",")), 32);
  std::string names, classes;
  for (int i = 0; i < 90'000; ++i) names += std::to_string(i) + "n,";
  EXPECT_LT(csv_factor(names + "label\n"), 64);
  EXPECT_LT(csv_factor(names + "label\n" + names + "label\n", {.features = {"8n"}}), 64);
  for (int i = 0; i < 1'000'000; ++i) classes += "1," + std::to_string(i) + "\n";
  EXPECT_LT(csv_factor(classes), 4);
}

std::string model_of(const std::string& header) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header;
}
double model_factor(const std::string& header) {
  return factor(model_of(header), [](const std::string& bytes) { SafetensorsFile::parse(bytes); });
}

TEST(HostileSizes, ModelHeadersTakeAFewTimesTheMemoryOfTheirText) {
  std::string tensors = "{", metadata = R"({"__metadata__":{)",
              shape = R"({"a":{"dtype":"F64","data_offsets":[0,0],"shape":[0)";
  for (int i = 0; i < 20'000; ++i)
    tensors += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"F64","shape":[0],"data_offsets":[0,0]})";
  EXPECT_LT(model_factor(tensors + "}"), 8);
  EXPECT_EQ(SafetensorsFile::parse(model_of(tensors + "}")).tensors.size(), 20'000u);
  for (int i = 0; i < 100'000; ++i) metadata += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"\"";
  EXPECT_LT(model_factor(metadata + "}}"), 16);
  EXPECT_EQ(SafetensorsFile::parse(model_of(metadata + "}}")).metadata.size(), 100'000u);
  EXPECT_LT(model_factor(shape + repeated(",0") + "]}}"), 16);
  EXPECT_LT(model_factor("{\"" + repeated("n") + "\":1}"), 8);
  EXPECT_LT(model_factor("{\"a\":" + repeated("[")), 8);
}

TEST(HostileSizes, ModelNumbersTakeAsMuchMemoryAsTheirBytes) {
  const SafetensorsFile file{{{"a", {1 << 17}, std::vector<double>(1 << 17)}}, {}};
  EXPECT_LT(factor(file.to_bytes(), [](const std::string& bytes) { SafetensorsFile::parse(bytes); }), 1.1);
}

}  // namespace
}  // namespace gradwalk::hostile_sizes_test
