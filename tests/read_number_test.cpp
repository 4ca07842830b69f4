// SPDX-License-Identifier: MIT
// Compares the reader of numbers for libraries without from_chars with from_chars itself.
#include "text/read_number.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <cstdint>
#include <locale>
#include <random>

#include "text/numbers.hpp"

namespace gradwalk::detail {
namespace {

const char* const texts[] = {"0",
                             "-0",
                             "1",
                             "-1",
                             "12.5",
                             ".5",
                             "5.",
                             "-.5",
                             ".",
                             "-",
                             "",
                             "+1",
                             "1e3",
                             "1E+3",
                             "1e-3",
                             "1e",
                             "1e+",
                             "2x",
                             "0x10",
                             "1,5",
                             "1 2",
                             " 1",
                             "1e400",
                             "-1e400",
                             "1e-400",
                             "0e400",
                             "5e-324",
                             "2e-324",
                             "1.7976931348623157e308",
                             "1.7976931348623159e308",
                             "4.9e-324",
                             "2.2250738585072011e-308",
                             "inf",
                             "-inf",
                             "INF",
                             "infinity",
                             "-Infinity",
                             "infinit",
                             "in",
                             "nan",
                             "-nan",
                             "NaN",
                             "nan(",
                             "nan()",
                             "nan(a_1)",
                             "nan(-)",
                             "na",
                             "--1",
                             "-+1",
                             "1.2.3",
                             "0.1000000000000000055511151231257827021181583404541015625",
                             "9007199254740993",
                             "123456789012345678901234567890"};

void expect_as_from_chars(std::string_view text) {
#ifdef __cpp_lib_to_chars
  const ReadNumber expected = read_number(text), got = read_number_by_hand(text);
  EXPECT_EQ(got.error, expected.error) << text;
  EXPECT_EQ(got.size, expected.size) << text;
  if (expected.error == std::errc()) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got.number), std::bit_cast<std::uint64_t>(expected.number)) << text;
  }
#else
  static_cast<void>(text);
#endif
}

TEST(ReadNumber, ByHandReadsWhatFromCharsReads) {
  for (const char* const text : texts) expect_as_from_chars(text);
}

TEST(ReadNumber, ByHandReadsEveryNumberThatItsOwnShortestTextStandsFor) {
  std::mt19937_64 random{7};
  for (int i = 0; i < 20000; ++i) {
    const double number = std::bit_cast<double>(random());
    if (std::isnan(number)) continue;
    const std::string text = format_number(number);
    const ReadNumber got = read_number_by_hand(text);
    EXPECT_EQ(got.error, std::errc()) << text;
    EXPECT_EQ(got.size, text.size()) << text;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got.number), std::bit_cast<std::uint64_t>(number)) << text;
  }
}

// A locale whose numbers have a decimal comma, as in Germany.
struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST(ReadNumber, ByHandIgnoresTheLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  for (const char* const name : {"de_DE.UTF-8", "de_DE.utf8"})
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  const ReadNumber point = read_number_by_hand("1.5"), comma = read_number_by_hand("1,5");
  std::setlocale(LC_ALL, "C");
  std::locale::global(before);
  EXPECT_EQ(point.number, 1.5);
  EXPECT_EQ(point.size, 3u);
  EXPECT_EQ(comma.number, 1);
  EXPECT_EQ(comma.size, 1u);
}

}  // namespace
}  // namespace gradwalk::detail
