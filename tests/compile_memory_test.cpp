// SPDX-License-Identifier: MIT
// The memory that programs keep, by their own count and by that of the allocator.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <functional>

#include "../bench/objectives/gmm.hpp"
#include "gradwalk/compile.hpp"
#include "support.hpp"

namespace gradwalk::compile_memory_test {

double bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// Expects that describe() counts what the allocator has given to a program, after it was compiled and after each call.
void expect_counted(const Value& root, const CompileOptions& options,
                    const std::vector<std::function<void(Program&)>>& calls) {
  if (tests::sanitized) return;
  compile(Value(1.0), {});  // creates what exists once per process
  const double before = bytes_in_use();
  Program program = compile(root, options);
  const auto check = [&](std::size_t call) {
    const double kept = bytes_in_use() - before;
    EXPECT_NEAR(static_cast<double>(program.describe().bytes), kept, 0.1 * kept) << "after " << call << " calls";
  };
  check(0);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i](program);
    check(i + 1);
  }
}

TEST(TheBytesOfDescribe, CountTheNumbersOfRows) {
  const MLP model(64, {64, 32, 1});
  const std::vector<Value> in(64);
  std::vector<double> rows(64 * 3'000, 0.5), gradients(model.parameters().size());
  const Value out = model(in)[0];
  expect_counted(out * out, {.inputs = in, .parameters = model.parameters()},
                 {[&](Program& program) { program.gradients(std::span(rows).first(64 * 300), gradients); },
                  [&](Program& program) { program.gradients(rows, gradients); },
                  [&](Program& program) { program.run(std::span(rows).first(64)); }});
}

TEST(TheBytesOfDescribe, CountLookUps) {
  const std::vector<Value> parameters(40'000);
  const LookupTable table(parameters, 4);
  std::vector<Value> in(1);
  const std::vector<Value> row = pick_row(table, in[0]);
  std::vector<double> rows;
  for (int i = 0; i < 5'000; ++i) rows.push_back(i);
  expect_counted(row[0] * row[1] + row[2] * row[3], {.inputs = in, .parameters = parameters},
                 {[&](Program& program) { program.run(rows); }});
}

TEST(TheBytesOfDescribe, CountConstantsThatAreValues) {
  std::vector<Value> data, line(2);
  for (int i = 0; i < 100'000; ++i) data.emplace_back(std::sin(i));
  Value sum = 0;
  for (const Value& x : data) sum += pow(line[0] * x - line[1], 2);
  expect_counted(sum, {.parameters = line}, {[](Program& program) { program.run(); }});
}

TEST(TheBytesOfDescribe, CountJacobiansAndSeeds) {
  std::vector<Value> parameters, in(2);
  for (int i = 0; i < 300; ++i) parameters.emplace_back(std::cos(i));
  std::vector<Value> outputs, of_rows;
  for (std::size_t i = 0; i + 1 < parameters.size(); ++i) {
    outputs.push_back(exp(parameters[i] * parameters[i + 1]) - parameters[i]);
    of_rows.push_back(tanh(parameters[i] * in[0]) * in[1]);
  }
  if (tests::sanitized) return;
  std::vector<double> numbers, jacobian(outputs.size() * parameters.size()), rows{0.5, 0.25}, seeds(of_rows.size(), 1),
      gradients(parameters.size());
  for (const Value& p : parameters) numbers.push_back(p.data());
  for (const bool has_rows : {false, true}) {
    const double before = bytes_in_use();
    Program program = has_rows ? compile(of_rows, {.inputs = in, .parameters = parameters})
                               : compile(outputs, {.parameters = parameters});
    for (int call = 0; call < 2; ++call) {
      if (call == 1 && has_rows) program.gradients(rows, gradients, {.seeds = seeds});
      if (call == 1 && !has_rows) program.jacobian_at(numbers, jacobian);
      const double kept = bytes_in_use() - before;
      EXPECT_NEAR(static_cast<double>(program.describe().bytes), kept, 0.1 * kept) << has_rows << ", call " << call;
    }
  }
}

// Expects that the program of a graph takes at most 64 bytes per node.
template <class Record>
void expect_small(const Record& recorded, std::vector<Value> inputs, std::vector<Value> parameters) {
  const Value root = recorded();
  // gmm looks for the largest number before a sum of exponentials.
  const CompileOptions options{
      .inputs = std::move(inputs), .parameters = std::move(parameters), .ignore_comparisons = true};
  compile(Value(1.0), {});  // creates what exists once per process
  const double before = bytes_in_use();
  const Program program = compile(root, options);
  const double kept = bytes_in_use() - before;
  const Program::Description about = program.describe();
  const auto nodes = static_cast<double>(about.recorded), bytes = static_cast<double>(about.bytes);
  EXPECT_LE(bytes / nodes, 64) << about.recorded << " nodes";
  if (!tests::sanitized) {
    EXPECT_LE(kept / nodes, 64) << about.recorded << " nodes, by the allocator";
    EXPECT_NEAR(bytes, kept, 0.1 * kept + 16384) << "what describe() says, but for small things";
  }
}

TEST(AProgram, OfMoonsIsSmall) {
  const MLP model(2, {16, 16, 1});
  const std::vector<Value> in(3);
  expect_small([&] { return relu(1 - in[2] * model(std::vector{in[0], in[1]})[0]); }, in, model.parameters());
}

TEST(AProgram, OfALargeNetworkIsSmall) {
  const MLP model(784, {128, 64, 10});
  std::vector<Value> in;
  for (std::size_t i = 0; i < 794; ++i) in.emplace_back(0.5);
  expect_small(
      [&] {
        const std::vector<Value> out = model(std::vector<Value>(in.begin(), in.begin() + 784));
        Value sum = 0;
        for (std::size_t i = 0; i < 10; ++i) sum += pow(out[i] - in[784 + i], 2);
        return sum;
      },
      in, model.parameters());
}

TEST(AProgram, OfAnObjectiveIsSmall) {
  bench::GmmData data{.d = 10, .k = 5, .n = tests::sized(1000, 100)};
  for (std::size_t i = 0; i < data.n * data.d; ++i) data.points.push_back(std::sin(static_cast<double>(i)));
  std::vector<Value> parameters;
  for (std::size_t i = 0; i < data.parameters(); ++i) parameters.emplace_back(std::cos(static_cast<double>(i)) / 2);
  expect_small([&] { return bench::gmm(parameters, data); }, {}, parameters);
}

}  // namespace gradwalk::compile_memory_test
