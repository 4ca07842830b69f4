// SPDX-License-Identifier: MIT
// safetensors files: numbers come back bit for bit, and damaged or hostile bytes give an Error that says what is wrong.
#include "gradwalk/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>

#include "gradwalk/error.hpp"
#include "gradwalk/files.hpp"
#include "temporary_folder.hpp"

namespace gradwalk {
namespace {

using testing::ElementsAre, testing::IsEmpty;

SafetensorsFile model() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double strange_nan = std::bit_cast<double>(0xfff8'0000'0000'1234u);
  return {{{"layer.0.weight", {2, 3}, {1, -0.0, 0.1, infinity, -infinity, strange_nan}},
           {"layer.0.bias", {2}, {5e-324, 1.7976931348623157e308}},
           {"step", {}, {3}},
           {"none", {0, 4}, {}},
           {"naïve \"name\"\n", {1, 1, 1}, {-7}}},
          {{"format", "gradwalk"}, {"random", "18446744073709551615 ünï"}}};
}

void expect_equal(const SafetensorsFile& a, const SafetensorsFile& b) {
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(a.tensors[i].name, b.tensors[i].name);
    EXPECT_EQ(a.tensors[i].shape, b.tensors[i].shape);
    ASSERT_EQ(a.tensors[i].data.size(), b.tensors[i].data.size());
    for (std::size_t j = 0; j < a.tensors[i].data.size(); ++j)
      EXPECT_EQ(std::bit_cast<std::uint64_t>(a.tensors[i].data[j]), std::bit_cast<std::uint64_t>(b.tensors[i].data[j]));
  }
}

std::string file_of(std::string_view header, std::size_t data_bytes = 0) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes.append(header).append(data_bytes, '\0');
}

std::string said(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// The Error for these bytes, without the advice that all these Errors have in common.
std::string wrong(const std::string& bytes) {
  const std::string text = said([&] { SafetensorsFile::parse(bytes, "m"); });
  const std::string end = "; the file is damaged or not a safetensors file: use a copy, or save it again";
  return text.starts_with("m: needs ") && text.ends_with(end) ? text.substr(9, text.size() - 9 - end.size()) : text;
}
std::string wrong(std::string_view header, std::size_t data_bytes) { return wrong(file_of(header, data_bytes)); }

std::string entry(std::string_view name, std::size_t begin, std::size_t end) {
  return std::string("\"").append(name) + R"(":{"dtype":"F64","shape":[)" + std::to_string((end - begin) / 8) +
         R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

TEST(Safetensors, ComeBackBitForBit) {
  const std::string bytes = model().to_bytes();
  expect_equal(SafetensorsFile::parse(bytes), model());
  EXPECT_EQ(SafetensorsFile::parse(bytes).to_bytes(), bytes);
  expect_equal(SafetensorsFile::parse(SafetensorsFile{}.to_bytes()), SafetensorsFile{});
  EXPECT_EQ(SafetensorsFile{}.to_bytes(), file_of("{}      "));
}

TEST(Safetensors, HaveTheBytesOfTheFormat) {
  const SafetensorsFile file{{{"w", {1, 2}, {1, 2}}, {"b", {}, {0}}}, {{"k", "v"}}};
  const std::string bytes = file.to_bytes();
  const std::string header = R"({"__metadata__":{"k":"v"},"w":{"data_offsets":[0,16],"dtype":"F64","shape":[1,2]},)"
                             R"("b":{"data_offsets":[16,24],"dtype":"F64","shape":[]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  ASSERT_EQ(bytes.size(), 8 + padded.size() + 24);
  EXPECT_EQ(bytes.substr(0, 8 + padded.size()), file_of(padded));
  EXPECT_EQ(bytes.substr(8 + padded.size(), 16), std::string("\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40", 16));
}

TEST(Safetensors, AreFoundByName) {
  const SafetensorsFile file = model();
  ASSERT_NE(file.find("step"), nullptr);
  EXPECT_THAT(file.find("step")->data, ElementsAre(3));
  EXPECT_EQ(file.find("no"), nullptr);
}

TEST(Safetensors, WidenSinglePrecision) {
  std::string bytes = file_of(R"({"a":{"shape":[2],"dtype":"F32","data_offsets":[0,8]}}   )");
  bytes += std::string("\0\0\x80\x3f\0\0\x20\xc0", 8);
  EXPECT_THAT(SafetensorsFile::parse(bytes).tensors[0].data, ElementsAre(1, -2.5));
}

TEST(Safetensors, RejectOtherTypes) {
  for (const char* type : {"I64", "F16", "BF16", "BOOL", "f64", ""})
    EXPECT_EQ(wrong(R"({"a":{"dtype":")" + std::string(type) + R"(","shape":[1],"data_offsets":[0,8]}})", 8),
              "m: needs numbers of type F64 or F32, got '" + std::string(type) +
                  "' in 'a'; convert it before saving; put whole numbers into the metadata");
}

TEST(Safetensors, NeedAHeaderThatFits) {
  EXPECT_EQ(wrong(""), "8 bytes with the header's length, got 0");
  EXPECT_EQ(wrong("1234567"), "8 bytes with the header's length, got 7");
  EXPECT_EQ(wrong(std::string(8, '\0')), "a header that starts with {, got ''");
  EXPECT_EQ(wrong(std::string(8, '\xff')), "a header of at most 100000000 bytes, got 18446744073709551615");
  EXPECT_EQ(wrong(std::string("\x00\xe1\xf5\x05\0\0\0\0", 8) + "{}"), "a header of 100000000 bytes, got only 2");
  EXPECT_EQ(wrong(std::string("\x01\xe1\xf5\x05\0\0\0\0", 8) + "{}"),
            "a header of at most 100000000 bytes, got 100000001");
  EXPECT_EQ(wrong(" {}", 0), "a header that starts with {, got ' '");
  EXPECT_EQ(wrong("\xef\xbb\xbf{}", 0), "a header that starts with {, got '?'");
  EXPECT_EQ(wrong("{}}", 0), "a header in JSON, got something else at its byte 3");
  EXPECT_EQ(wrong("{", 0), "a header in JSON, got something else at its byte 2");
  EXPECT_EQ(wrong(std::string("{}\0 {}", 6), 0), "a header in JSON, got a zero byte in it");
  EXPECT_EQ(wrong("{\"\xff\":1}", 0), "a header in JSON, got something else at its byte 3");
  EXPECT_EQ(wrong("{}", 3), "tensors that fill the 3 bytes after the header, got 0");
}

TEST(Safetensors, NeedEntriesOfTheirForm) {
  const auto with = [](const char* inside) { return wrong("{\"a\":" + std::string(inside) + "}", 8); };
  EXPECT_EQ(with("1"), "dtype, shape and data_offsets of 'a', got the number 1");
  EXPECT_EQ(with("null"), "dtype, shape and data_offsets of 'a', got null");
  EXPECT_EQ(with("[]"), "dtype, shape and data_offsets of 'a', got an array");
  EXPECT_EQ(with("{}"), "dtype, shape and data_offsets of every tensor, got fewer for 'a'");
  EXPECT_EQ(with(R"({"dtype":"F64","shape":[1]})"), "dtype, shape and data_offsets of every tensor, got fewer for 'a'");
  EXPECT_EQ(with(R"({"other":1})"), "dtype, shape and data_offsets of 'a', got 'other'");
  EXPECT_EQ(with(R"({"dtype":1})"), "the dtype as text of 'a', got the number 1");
  EXPECT_EQ(with(R"({"dtype":"F64","dtype":"F64"})"), "unique names, got dtype twice in 'a'");
  EXPECT_EQ(with(R"({"shape":{}})"), "whole numbers as the shape of 'a', got an object");
  EXPECT_EQ(with(R"({"shape":[-1]})"), "whole numbers as the shape of 'a', got the number -1");
  EXPECT_EQ(with(R"({"shape":[1.0]})"), "whole numbers as the shape of 'a', got the number 1.0");
  EXPECT_EQ(with(R"({"shape":[[1]]})"), "whole numbers as the shape of 'a', got an array");
  EXPECT_EQ(with(R"({"shape":[true]})"), "whole numbers as the shape of 'a', got a boolean");
  EXPECT_EQ(with(R"({"shape":[18446744073709551616]})"),
            "whole numbers as the shape of 'a', got the number 18446744073709551616");
  EXPECT_EQ(with(R"({"data_offsets":[0,8,16]})"), "two whole numbers as data_offsets of 'a', got the number 16");
  EXPECT_EQ(with(R"({"data_offsets":"x"})"), "two whole numbers as data_offsets of 'a', got 'x'");
  EXPECT_EQ(with(R"({"dtype":"F64","shape":[1],"data_offsets":[8]})"),
            "the begin and the end of each tensor, got other data_offsets for 'a'");
  EXPECT_EQ(with(R"({"dtype":"F64","shape":[1],"data_offsets":[8,0]})"),
            "the begin and the end of each tensor, got other data_offsets for 'a'");
  EXPECT_EQ(wrong(std::string("{") + entry("a", 0, 8) + "," + entry("a", 8, 16) + "}", 16),
            "unique names, got 'a' twice");
}

TEST(Safetensors, NeedMetadataOfTexts) {
  const auto with = [](const char* inside) { return wrong("{\"__metadata__\":" + std::string(inside) + "}", 0); };
  EXPECT_EQ(with("{}"), "no error");
  EXPECT_EQ(with("1"), "texts by name in __metadata__, got the number 1");
  EXPECT_EQ(with(R"({"a":1})"), "texts by name in __metadata__, got the number 1");
  EXPECT_EQ(with(R"({"a":{}})"), "texts by name in __metadata__, got an object");
  EXPECT_EQ(with(R"({"a":"1","a":"2"})"), "unique names, got 'a' twice in __metadata__");
  EXPECT_EQ(with(R"({},"__metadata__":{})"), "unique names, got __metadata__ twice");
}

TEST(Safetensors, NeedTensorsWithoutHolesAndOverlaps) {
  const auto with = [](const std::string& first, const std::string& second, std::size_t size) {
    return wrong(std::string("{") + first + "," + second + "}", size);
  };
  EXPECT_EQ(with(entry("b", 8, 16), entry("a", 0, 8), 16), "no error");
  EXPECT_EQ(with(entry("a", 0, 16), entry("b", 8, 24), 24),
            "tensors without holes and overlaps, the next at 16, got 'b' at 8 to 24");
  EXPECT_EQ(with(entry("a", 0, 16), entry("b", 0, 16), 16),
            "tensors without holes and overlaps, the next at 16, got 'b' at 0 to 16");
  EXPECT_EQ(with(entry("a", 0, 8), entry("b", 16, 24), 24),
            "tensors without holes and overlaps, the next at 8, got 'b' at 16 to 24");
  EXPECT_EQ(with(entry("a", 8, 16), entry("b", 16, 24), 24),
            "tensors without holes and overlaps, the next at 0, got 'a' at 8 to 16");
  EXPECT_EQ(with(entry("a", 0, 8), entry("b", 8, 16), 24), "tensors that fill the 24 bytes after the header, got 16");
  EXPECT_EQ(with(entry("a", 0, 8), entry("b", 8, 16), 8), "tensors that fill the 8 bytes after the header, got 16");
  EXPECT_EQ(with(entry("a", 0, 0), entry("b", 0, 0), 0), "no error");
}

TEST(Safetensors, NeedAsManyNumbersAsTheShapeHas) {
  const auto with = [](const char* shape, const char* end) {
    return wrong(R"({"a":{"dtype":"F64","shape":)" + std::string(shape) + R"(,"data_offsets":[0,)" + end + "]}}", 8);
  };
  EXPECT_EQ(with("[1,1]", "8"), "no error");
  EXPECT_EQ(with("[2]", "8"), "as many numbers as the shape has, got 8 bytes for 'a'");
  EXPECT_EQ(with("[0]", "8"), "as many numbers as the shape has, got 8 bytes for 'a'");
  EXPECT_EQ(with("[1]", "9"), "as many numbers as the shape has, got 9 bytes for 'a'");
  // Shapes whose product overflows to 1 and to 0.
  EXPECT_EQ(with("[2305843009213693953,8]", "8"), "as many numbers as the shape has, got 8 bytes for 'a'");
  EXPECT_EQ(with("[12297829382473034411,3]", "8"), "as many numbers as the shape has, got 8 bytes for 'a'");
  EXPECT_EQ(with("[4294967296,4294967296]", "0"), "as many numbers as the shape has, got 0 bytes for 'a'");
  EXPECT_EQ(with("[2305843009213693952]", "18446744073709551615"),
            "as many numbers as the shape has, got 18446744073709551615 bytes for 'a'");
  EXPECT_EQ(with("[2305843009213693951]", "18446744073709551608"),
            "tensors that fill the 8 bytes after the header, got 18446744073709551608");
}

TEST(Safetensors, AreRejectedEarlyIfTheirHeaderIsDeeplyNested) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string header = "{\"a\":{\"shape\":";
    for (int i = 0; i < 1'000'000; ++i) header += open;
    EXPECT_NE(wrong(header, 0), "no error");
  }
}

TEST(Safetensors, RejectTensorsThatCannotBeWritten) {
  const auto with = [](const SafetensorsFile& file) { return said([&] { (void)file.to_bytes(); }); };
  EXPECT_EQ(with({{{"a", {2}, {1}}}, {}}),
            "safetensors: needs as many numbers as the shape has, got 1 in 'a'; correct its shape");
  EXPECT_EQ(with({{{"a", {}, {1}}, {"a", {}, {2}}}, {}}),
            "safetensors: needs tensors with different names, got 'a' twice; rename one");
  EXPECT_EQ(with({{{"__metadata__", {}, {1}}}, {}}),
            "safetensors: needs a name other than __metadata__, got it; rename the tensor");
  EXPECT_EQ(with({{{"\xff", {}, {1}}}, {}}),
            "safetensors: needs names and metadata in UTF-8, got other bytes; convert them first");
  EXPECT_EQ(with({{}, {{"a", "\xff"}}}),
            "safetensors: needs names and metadata in UTF-8, got other bytes; convert them first");
}

class SafetensorsFiles : public testing::Test {
 protected:
  tests::TemporaryFolder folder_;
};

TEST_F(SafetensorsFiles, AreWrittenAndRead) {
  const std::string path = folder_ / "model.safetensors";
  model().write(path);
  expect_equal(SafetensorsFile::read(path), model());
  EXPECT_EQ(read_file(path, 1 << 20), model().to_bytes());
}

TEST_F(SafetensorsFiles, AreNamedInMessages) {
  const std::string path = folder_ / "model.safetensors";
  write_file(path, "short");
  EXPECT_EQ(said([&] { SafetensorsFile::read(path); }),
            path +
                ": needs 8 bytes with the header's length, got 5; the file is damaged or not a safetensors file: use "
                "a copy, or save it again");
  EXPECT_EQ(
      said([&] { SafetensorsFile::read(folder_.path()); }),
      folder_.path() + ": needs a regular file, got a folder; name a file, or save what comes from there to one first");
}

// Makes one change like those of damaged or hostile files.
std::string mutated(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::size_t header = 8 + static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  const auto at = [&](std::size_t size) { return bytes.empty() ? 0 : below(std::min(size, bytes.size())); };
  for (std::size_t changes = 1 + below(3); changes > 0 && !bytes.empty(); --changes) {
    switch (below(7)) {
      case 0: bytes[at(bytes.size())] ^= static_cast<char>(1u << below(8)); break;
      case 1: bytes[at(header)] ^= static_cast<char>(1u << below(8)); break;
      case 2: bytes.resize(below(bytes.size())); break;
      case 3: bytes.insert(at(bytes.size()), 1 + below(9), static_cast<char>(below(256))); break;
      case 4: bytes[at(header)] = "0123456789[]{},:\"-.eE \\"[below(23)]; break;
      case 5: bytes.erase(at(bytes.size()), 1 + below(9)); break;
      default: {
        const std::size_t from = at(header);
        bytes.insert(at(header), bytes.substr(from, below(60)));
      }
    }
  }
  return bytes;
}

TEST_F(SafetensorsFiles, AreReadOrRejectedAfterAnyMutation) {
  const std::string path = folder_ / "model.safetensors", whole = model().to_bytes();
  std::mt19937_64 random(20240607);
  int read = 0, refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string bytes = mutated(whole, random);
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      const SafetensorsFile file = SafetensorsFile::read(path);
      expect_equal(SafetensorsFile::parse(file.to_bytes()), file);
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, path.size() + 8), path + ": needs ");
      ++refused;
    }
  }
  EXPECT_EQ(read + refused, 10'000);
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 5'000);
  RecordProperty("read", read);
}

}  // namespace
}  // namespace gradwalk
