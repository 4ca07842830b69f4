// SPDX-License-Identifier: MIT
// JsonWriter: commas, nesting, escapes, and numbers that JSON does not have.
#include "gradwalk/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace gradwalk::json_test {
namespace {

TEST(Json, PutsCommasBetweenValuesAndNowhereElse) {
  JsonWriter json;
  json.object([&] {
    json("a").value(std::size_t{1});
    json("b").array(std::vector<double>{0.1, -2}, [&](double number) { json.value(number); });
    json("c").object([] {});
    json("d").array(std::vector<int>{}, [](int) {});
    json("e").null();
    json("f").value(true);
  });
  EXPECT_EQ(json.take(), R"({"a":1,"b":[0.1,-2],"c":{},"d":[],"e":null,"f":true})");
}

TEST(Json, EscapesTextAndMakesItUtf8) {
  JsonWriter json;
  json.array(std::vector<std::string_view>{"a\"b\\c\n\x01", "\xff\xc3\xa9", "{", "["},
             [&](std::string_view text) { json.value(text); });
  EXPECT_EQ(json.take(), "[\"a\\\"b\\\\c\\u000a\\u0001\",\"\xEF\xBF\xBD\xc3\xa9\",\"{\",\"[\"]");
}

TEST(Json, WritesInfinitiesAndNanAsStrings) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  JsonWriter json;
  json.array(std::vector<double>{infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 1e300},
             [&](double number) { json.value(number); });
  EXPECT_EQ(json.take(), R"(["inf","-inf","nan",1e+300])");
}

}  // namespace
}  // namespace gradwalk::json_test
