// SPDX-License-Identifier: MIT
// Programs whose data are Values that are neither inputs nor parameters.
#include <gtest/gtest.h>

#include <cmath>

#include "gradwalk/compile.hpp"
#include "support.hpp"

namespace gradwalk::compile_data_test {
namespace {

using tests::error_of;

struct Fit {
  std::vector<Value> line{0.5, -0.25}, data;
  Value scale = Value(2.0).label("scale");

  explicit Fit(std::size_t points) {
    for (std::size_t i = 0; i < 2 * points; ++i) data.emplace_back(std::sin(static_cast<double>(i)));
  }
  template <class Number> Value error(const std::vector<Number>& points) const {
    Value sum = 0;
    for (std::size_t i = 0; i < points.size(); i += 2) {
      const Value difference = line[0] * points[i] + line[1] - points[i + 1];
      sum += difference * difference;
    }
    return sum / scale;
  }
  Program program() const { return compile(error(data), {.parameters = line}); }
};

TEST(DataHeldAsValues, AreCountedAndNotListed) {
  const Fit fit(tests::sized(100'000, 2'000));
  const Program::Description about = fit.program().describe();
  ASSERT_EQ(about.constants.size(), 21u);
  EXPECT_EQ(about.constants[0], "\"scale\" = 2");
  EXPECT_EQ(about.constants[1].substr(0, 25), "a leaf without a label = ");
  EXPECT_EQ(about.constants[20], "and " + std::to_string(fit.data.size() + 1 - 20) + " other leaves");
}

TEST(DataHeldAsValues, GiveTheNumbersThatPlainNumbersGive) {
  const Fit fit(3'000);
  std::vector<double> numbers;
  for (const Value& value : fit.data) numbers.push_back(value.data());
  Program of_values = fit.program(), of_numbers = compile(fit.error(numbers), {.parameters = fit.line});
  std::vector<double> a(2), b(2);
  EXPECT_EQ(of_values.gradients(a), of_numbers.gradients(b));
  EXPECT_EQ(a, b);
  EXPECT_EQ(of_values.describe().instructions, of_numbers.describe().instructions);
}

TEST(DataHeldAsValues, AreCheckedAFewAtATime) {
  Fit fit(3'000);
  Program program = fit.program();
  std::vector<double> gradients(2);
  const auto run = [&] { return error_of([&] { program.gradients(gradients); }); };
  EXPECT_EQ(run(), "no error");
  fit.data[4'567].data() = 7;
  int runs = 1;
  while (run() == "no error" && runs < 1'000) ++runs;
  EXPECT_LE(runs, 6'001 / 512 + 1);
  EXPECT_NE(run().find("a leaf without a label with 7 in place of"), std::string::npos) << "noticed again";
}

TEST(DataHeldAsValues, LeaveConstantsWithALabelCheckedInEachRun) {
  Fit fit(3'000);
  Program program = fit.program();
  std::vector<double> gradients(2);
  for (int i = 0; i < 5; ++i) {
    fit.scale.data() = 2;
    EXPECT_NO_THROW(program.gradients(gradients));
    fit.scale.data() = 3;
    EXPECT_EQ(
        error_of([&] { program.gradients(gradients); }),
        "Program::gradients: needs constants as they were compiled, got \"scale\" with 3 in place of 2; make it an "
        "input or a parameter, or compile again");
  }
}

// ---- leaves that are given twice ----

TEST(Compile, RefusesALeafThatIsGivenTwiceWhereverItIs) {
  const Value w = Value(1.0).label("w"), x = Value(2.0).label("x"), unused = Value(3.0).label("u");
  const Value loss = w * x;
  const auto twice = [](const char* name) {
    return "compile: needs each leaf once, as an input or as a parameter, got \"" + std::string(name) +
           "\" twice; give it once";
  };
  const auto compiled = [&](std::vector<Value> inputs, std::vector<Value> parameters) {
    return error_of([&] { compile(loss, {.inputs = inputs, .parameters = parameters}); });
  };
  EXPECT_EQ(compiled({x}, {w, w}), twice("w"));
  EXPECT_EQ(compiled({x, x}, {w}), twice("x"));
  EXPECT_EQ(compiled({x}, {w, x}), twice("x"));
  EXPECT_EQ(compiled({x, unused, unused}, {w}), twice("u"));
  EXPECT_EQ(compiled({x}, {unused, w, unused}), twice("u"));
  EXPECT_EQ(compiled({x, unused}, {w, unused}), twice("u"));
  EXPECT_EQ(compiled({x, unused}, {w}), "no error");
  // A graph that is a number has no leaves at all.
  EXPECT_EQ(error_of([&] { compile(Value(1.0), {.inputs = {unused}, .parameters = {unused}}); }), twice("u"));
  EXPECT_EQ(error_of([&] {
              compile([&](const std::vector<Value>& in) { return in[0] * w; }, {{1}, {2}}, {.parameters = {w, w}});
            }),
            twice("w"));
  EXPECT_EQ(error_of([&] {
              compile([&](const std::vector<Value>& in) { return in[0] * w; }, {{1}, {2}},
                      {.parameters = {w, unused, unused}});
            }),
            twice("u"));
  EXPECT_EQ(error_of([&] { compile_derivatives(loss, {.inputs = {x}, .parameters = {w, w}}); }), twice("w"));
}

}  // namespace
}  // namespace gradwalk::compile_data_test
