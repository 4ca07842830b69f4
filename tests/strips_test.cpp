// SPDX-License-Identifier: MIT
// Strips: computing long vectors piece by piece must give the bits that whole vectors give.
#include "compile/strips.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "../bench/objectives/kinds.hpp"
#include "compile/passes.hpp"
#include "compile/uniform.hpp"
#include "random_function.hpp"
#include "support.hpp"

namespace gradwalk::strips_test {

using namespace compiler;

Instructions compiled(const Value& loss, std::span<const Value> parameters) {
  Terms terms = simplify(record({&loss, 1}, {}, parameters).scalars);
  Groups groups = lift(terms);
  differentiate(terms, groups);
  lift_backward(terms, groups);
  return schedule(terms, groups);
}

constexpr StripLimits no_strips{.is_long = none};

std::size_t count_strips(const Instructions& program, const StripLimits& limits) {
  std::size_t count = 0;
  for (const auto* list : {&program.uniform, &program.uniform_backward})
    for (const Strip& strip : find_strips(program, *list, limits)) count += strip.instructions > 0 ? 1 : 0;
  return count;
}

// The uniform numbers after a pass forward and backward.
template <class T> std::vector<T> numbers_of(const Instructions& program, std::span<const Value> parameters,
                                             const StripLimits& limits, bool skip_zeros, Pool* pool) {
  UniformPart<T> part(program, detail::kernels<T>(), 0, false, limits);
  if (pool != nullptr) part.use_threads(pool);
  for (std::size_t i = 0; i < parameters.size(); ++i) part.values()[i] = static_cast<T>(parameters[i].data());
  part.forward();
  part.set_seed(0, 1);
  part.backward(skip_zeros);
  return {part.values(), part.values() + program.uniform_places};
}

template <class T> bool have_same_bits(const std::vector<T>& some, const std::vector<T>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(), [](T x, T y) {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  });
}

void expect_same_bits(const Instructions& program, std::span<const Value> parameters, const StripLimits& limits) {
  Pool pool(3);
  for (const bool skip_zeros : {false, true})
    for (Pool* const threads : {static_cast<Pool*>(nullptr), &pool}) {
      EXPECT_TRUE(have_same_bits(numbers_of<double>(program, parameters, limits, skip_zeros, threads),
                                 numbers_of<double>(program, parameters, no_strips, skip_zeros, nullptr)));
      EXPECT_TRUE(have_same_bits(numbers_of<float>(program, parameters, limits, skip_zeros, threads),
                                 numbers_of<float>(program, parameters, no_strips, skip_zeros, nullptr)));
    }
}

// The sum of several random functions of neighbouring parameters: their nodes are vectors, some of which are gathered.
TEST(Strips, GiveTheBitsOfWholeVectorsOnRandomGraphs) {
  std::mt19937_64 random(7);
  std::size_t strips = 0;
  for (int round = 0; round < (tests::long_run() ? 1000 : 60); ++round) {
    const std::size_t copies = 20 + random() % 60, arguments = 2 + random() % 3, step = 1 + random() % 2;
    const tests::RandomFunction function = tests::RandomFunctionMaker(random, 0, arguments, 0).make(4 + random() % 20);
    std::vector<Value> parameters;
    for (std::size_t i = 0; i < copies * step + arguments; ++i)
      parameters.emplace_back(std::uniform_real_distribution<>(-2, 2)(random));
    Value loss = 0;
    for (std::size_t i = 0; i < copies; ++i) {
      const auto first = parameters.begin() + static_cast<std::ptrdiff_t>(i * step);
      loss += function.all({}, {first, first + static_cast<std::ptrdiff_t>(arguments)}).back();
    }
    const Instructions program = compiled(loss, parameters);
    const StripLimits small{.is_long = 4, .cached = 8, .unit = 1 + static_cast<std::uint32_t>(random() % 8), .most = 8};
    strips += count_strips(program, small);
    SCOPED_TRACE("round " + std::to_string(round));
    expect_same_bits(program, parameters, small);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(strips, 100U);
}

TEST(Strips, GiveTheBitsOfWholeVectorsOnSumsOverPairs) {
  std::vector<Value> places;
  for (int i = 0; i < 3 * 120; ++i) places.emplace_back(i % 3 == 0 ? 0.9 * i : std::sin(3.0 * i));
  const Instructions program = compiled(bench::lennard_jones(places), places);
  EXPECT_GT(count_strips(program, {}), 0U);  // also with the limits of users
  expect_same_bits(program, places, {});
  expect_same_bits(program, places, {.is_long = 8, .cached = 64, .unit = 3, .most = 16});
}

TEST(Strips, NeedNoSpaceForWholeVectorsOnEachThread) {
  std::vector<Value> parameters;
  for (int i = 0; i < 3000; ++i) parameters.emplace_back(std::sin(i));
  Value loss = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) loss += parameters[i] * parameters[i * 7 % parameters.size()];
  const Instructions program = compiled(loss, parameters);
  UniformPart<double> part(program, detail::kernels<double>(), 0, false);
  const std::size_t alone = part.bytes();
  Pool pool(3);
  part.use_threads(&pool);
  EXPECT_LT(part.bytes(), alone + 1000);
}

// A program of five instructions on vectors of eight numbers, 0 ... 7, 8 ... 15, and so on; the first is a gather.
struct Handmade {
  Instructions program;
  Handmade() {
    program.parameters = 8;
    program.uniform_places = 64;
    for (std::uint32_t i = 0; i < 8; ++i) program.tables.push_back(7 - i);
    add(8, {.rate = Rate::uniform, .table = 0});
    for (std::uint32_t out = 16; out < 48; out += 8) add(out, side_by_side(out - 8));
  }
  static Operand side_by_side(std::uint32_t place) { return {.rate = Rate::uniform, .place = place, .stride = 1}; }
  void add(std::uint32_t out, const Operand& in) {
    Instruction made;
    made.op = Op::tanh;
    made.count = 8;
    made.out = out;
    made.in[0] = in;
    program.uniform.push_back(made);
  }
  std::vector<std::uint32_t> lengths() const {
    std::vector<std::uint32_t> lengths;
    for (const Strip& strip : find_strips(program, program.uniform, {.is_long = 8, .cached = 1, .unit = 2, .most = 2}))
      lengths.push_back(strip.instructions);
    return lengths;
  }
};

using Lengths = std::vector<std::uint32_t>;

TEST(Strips, EndWhereAPieceWouldReadWhatIsNotComputedYet) {
  EXPECT_EQ(Handmade().lengths(), (Lengths{5, 0, 0, 0, 0}));
  Handmade reads_one;  // one number of a vector of the strip, for all
  reads_one.program.uniform[2].in[0].stride = 0;
  EXPECT_EQ(reads_one.lengths(), (Lengths{2, 0, 3, 0, 0}));
  Handmade reads_neighbours;  // of two vectors of the strip
  reads_neighbours.program.uniform[3].in[0].place -= 1;
  EXPECT_EQ(reads_neighbours.lengths(), (Lengths{3, 0, 0, 2, 0}));
  Handmade gathers;  // from a vector of the strip
  gathers.program.uniform[4].in[0] = {.rate = Rate::uniform, .table = 8};
  for (std::uint32_t i = 0; i < 8; ++i) gathers.program.tables.push_back(16 + i);
  EXPECT_EQ(gathers.lengths(), (Lengths{4, 0, 0, 0, 1}));
}

TEST(Strips, EndWhereAPieceWouldOverwriteWhatIsStillRead) {
  Handmade overwrites_gathered;
  overwrites_gathered.program.uniform[1].out = 0;
  EXPECT_EQ(overwrites_gathered.lengths(), (Lengths{1, 4, 0, 0, 0}));
  Handmade overlaps;
  overlaps.program.uniform[4].out = 12;
  EXPECT_EQ(overlaps.lengths(), (Lengths{4, 0, 0, 0, 0}));
  Handmade in_place;  // the same numbers, in step
  in_place.program.uniform[4].out = 8;
  EXPECT_EQ(in_place.lengths(), (Lengths{5, 0, 0, 0, 0}));
  Handmade gathers_itself;
  gathers_itself.program.uniform[0].out = 4;
  gathers_itself.program.uniform[1].in[0].place = 4;
  EXPECT_EQ(gathers_itself.lengths(), (Lengths{0, 4, 0, 0, 0}));
}

}  // namespace gradwalk::strips_test
