// SPDX-License-Identifier: MIT
// The loops that find_rounds() finds: each is run again, round by round, and must give the numbers of the graph.
#include "compile/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>

#include "../bench/gpu/simulations.hpp"
#include "compile/passes.hpp"
#include "engine/by_op.hpp"
#include "random_subject.hpp"
#include "support.hpp"

namespace gradwalk::rounds_test {

using namespace compiler;
using simulations::Recorded;
using From = RoundOperand::From;

Scalars scalars_of(std::span<const Value> outputs, const std::vector<Value>& inputs,
                   const std::vector<Value>& parameters) {
  return record(outputs, inputs, parameters).scalars;
}
Scalars scalars_of(const Recorded& graph) { return scalars_of({&graph.loss, 1}, graph.inputs, graph.parameters); }

double value_of(Op op, const std::array<double, 3>& in) { return detail::rule_value(op, in); }

// The numbers of all nodes, for random leaves.
std::vector<double> numbers_of(const Scalars& scalars) {
  std::mt19937_64 random(1);
  std::vector<double> made;
  for (const Scalar& node : scalars.nodes) {
    if (node.op == Op::leaf) {
      made.push_back(std::uniform_real_distribution<>(0.1, 1)(random));
    } else if (node.op == Op::constant) {
      made.push_back(scalars.numbers[node.operands[0]]);
    } else {
      std::array<double, 3> in{};
      for (std::size_t q = 0; q < 3; ++q)
        if (node.operands[q] != none) in[q] = made[node.operands[q]];
      made.push_back(value_of(node.op, in));
    }
  }
  return made;
}

bool is_same(double x, double y) { return x == y || (x != x && y != y); }

// Runs each loop with nothing but what it says about its operands, and compares every node.
void expect_to_give_the_graph(const Scalars& scalars, const Rounds& rounds) {
  const std::vector<double> numbers = numbers_of(scalars);
  std::uint32_t before = 0;
  for (const Loop& loop : rounds.loops) {
    ASSERT_GE(loop.first, before);
    before = loop.end();
    ASSERT_LE(loop.end(), rounds.steps.size());
    std::vector<double> carried;
    for (const Carried& one : loop.carried) carried.push_back(one.initial == none ? 0.5 : numbers[one.initial]);
    for (std::uint32_t round = 0; round < loop.rounds; ++round) {
      std::vector<double> made;
      for (std::uint32_t place = 0; place < loop.period; ++place) {
        const Id id = rounds.node(loop, round, place);
        std::array<double, 3> in{};
        for (std::size_t q = 0; q < 3; ++q) {
          const RoundOperand& from = loop.operands[place][q];
          switch (from.from) {
            case From::nothing: break;
            case From::inside: in[q] = made.at(from.index); break;
            case From::carried:
              ASSERT_NE(loop.carried.at(from.index).initial, none);
              in[q] = carried[from.index];
              break;
            case From::same: in[q] = numbers[from.index]; break;
            case From::even: in[q] = numbers[from.index + round * static_cast<std::uint32_t>(from.step)]; break;
            case From::listed: in[q] = numbers[ordered_operands(scalars, id)[q]]; break;
          }
        }
        made.push_back(value_of(scalars.nodes[rounds.node(loop, 0, place)].op, in));
        ASSERT_TRUE(is_same(made.back(), numbers[id])) << "round " << round << ", place " << place;
      }
      const std::vector<double> old = carried;
      for (std::size_t i = 0; i < carried.size(); ++i) {
        const Carried& one = loop.carried[i];
        carried[i] = one.lag == 1 ? made[one.next] : old[one.next];
      }
    }
    // The carried values include everything that outputs and the nodes after the loop read.
    std::vector<bool> is_available(scalars.nodes.size(), true);
    for (std::uint32_t step = loop.first; step < loop.end(); ++step) is_available[rounds.steps[step]] = false;
    for (const Carried& one : loop.carried) is_available[rounds.node(loop, loop.rounds - one.lag, one.place)] = true;
    for (std::uint32_t step = loop.end(); step < rounds.steps.size(); ++step)
      for (const Id id : scalars.nodes[rounds.steps[step]].operands) ASSERT_TRUE(id == none || is_available[id]);
    for (const Id id : scalars.outputs) ASSERT_TRUE(is_available[id]);
  }
}

TEST(Rounds, OfHestonCarryTwoValues) {
  for (const int steps : {16, 64, 252}) {
    const Scalars scalars = scalars_of(simulations::heston(steps));
    const Rounds rounds = find_rounds(scalars);
    ASSERT_EQ(rounds.loops.size(), 1);
    const Loop& loop = rounds.loops[0];
    EXPECT_EQ(loop.carried.size(), 2);
    EXPECT_GE(loop.rounds, static_cast<std::uint32_t>(steps) - 3);
    EXPECT_LE(loop.period, 20);
    expect_to_give_the_graph(scalars, rounds);
    int even = 0;
    for (const auto& operands : loop.operands)
      for (const RoundOperand& one : operands)
        if (one.from == From::even) {
          ++even;
          EXPECT_EQ(one.step, 2);
        }
    EXPECT_EQ(even, 3);  // z1 twice, z2 once
  }
}

TEST(Rounds, OfLotkaVolterraCarryTwoValues) {
  const Scalars scalars = scalars_of(simulations::lotka_volterra(100));
  const Rounds rounds = find_rounds(scalars);
  ASSERT_EQ(rounds.loops.size(), 1);
  EXPECT_EQ(rounds.loops[0].carried.size(), 2);
  EXPECT_GE(rounds.loops[0].rounds, 98);
  expect_to_give_the_graph(scalars, rounds);
}

TEST(Rounds, AreFoundInAGraphWithoutInputs) {
  Value x = 0.3;
  std::vector<Value> forces(30);
  Value angle = x, rate = 0.0, cost = 0.0;
  for (const Value& force : forces) {
    rate = rate + (sin(angle) + force) * 0.1;
    angle = angle + rate * 0.1;
    cost = cost + angle * angle + 0.01 * force * force;
  }
  std::vector<Value> parameters = forces;
  parameters.push_back(x);
  const Scalars scalars = scalars_of({&cost, 1}, {}, parameters);
  const Rounds rounds = find_rounds(scalars);
  ASSERT_EQ(rounds.loops.size(), 1);
  EXPECT_GE(rounds.loops[0].rounds, 28);
  EXPECT_EQ(rounds.loops[0].carried.size(), 3);
  expect_to_give_the_graph(scalars, rounds);
}

TEST(Rounds, TakeNumbersFromAListAndInvariantNodesFromOutside) {
  Value a = 0.5, b = 0.25;
  std::vector<Value> inputs{a, b}, parameters(24);
  const Value scale = exp(b);
  Value x = a;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    x = tanh(x * scale + std::sqrt(static_cast<double>(i)) * tanh(parameters[i * 7 % 24]) * b);
  const Scalars scalars = scalars_of({&x, 1}, inputs, parameters);
  const Rounds rounds = find_rounds(scalars);
  ASSERT_EQ(rounds.loops.size(), 1);
  bool has_listed = false, has_same = false;
  for (const auto& operands : rounds.loops[0].operands)
    for (const RoundOperand& one : operands) {
      has_listed = has_listed || one.from == From::listed;
      has_same = has_same || one.from == From::same;
    }
  EXPECT_TRUE(has_listed);
  EXPECT_TRUE(has_same);
  expect_to_give_the_graph(scalars, rounds);
}

TEST(Rounds, ReadValuesOfSeveralRoundsBefore) {
  std::vector<Value> inputs(40);
  Value now = inputs[0] * 0.5, before = inputs[1] * 0.5, long_before = inputs[2] * 0.5;
  for (std::size_t i = 3; i < inputs.size(); ++i) {
    const Value next = 2.0 * now - before + sin(long_before) * inputs[i];
    long_before = before, before = now, now = next;
  }
  const Value outputs[] = {now + long_before, before};
  const Scalars scalars = scalars_of(outputs, inputs, {});
  const Rounds rounds = find_rounds(scalars);
  ASSERT_EQ(rounds.loops.size(), 1);
  EXPECT_EQ(rounds.loops[0].carried.size(), 3);
  expect_to_give_the_graph(scalars, rounds);
}

TEST(Rounds, OfTwoLoopsAreBothFound) {
  std::vector<Value> inputs(60);
  Value x = inputs[0];
  for (std::size_t i = 0; i < 30; ++i) x = x + sin(x) * inputs[i];
  Value y = exp(x);
  for (std::size_t i = 30; i < 60; ++i) y = tanh(y * inputs[i] + 1) - cos(y);
  const Scalars scalars = scalars_of({&y, 1}, inputs, {});
  const Rounds rounds = find_rounds(scalars);
  EXPECT_EQ(rounds.loops.size(), 2);
  expect_to_give_the_graph(scalars, rounds);
}

TEST(Rounds, AreNotFoundWhereThereIsNoLoop) {
  Value x = 0.5, y = 0.2;
  const Value out = sin(x) * cos(y) + tanh(x * y) - exp(x) / sqrt(y + 2);
  EXPECT_TRUE(find_rounds(scalars_of({&out, 1}, {x, y}, {})).loops.empty());
}

TEST(Rounds, WhoseValuesAreAllReadLaterStayStraight) {
  std::vector<Value> inputs(40), seen;
  Value x = 0.5;
  for (const Value& input : inputs) seen.push_back(x = tanh(x + input * x));
  const Scalars scalars = scalars_of(seen, inputs, {});
  const Rounds rounds = find_rounds(scalars);
  EXPECT_TRUE(rounds.loops.empty());
}

TEST(Rounds, StopWhereInputsAreNotEvenlySpaced) {
  std::vector<Value> inputs(64);
  Value x = 0.5;
  for (std::size_t i = 0; i < 64; ++i) x = tanh(x + x * inputs[i < 40 ? i : 63 - (i * i) % 23]);
  const Scalars scalars = scalars_of({&x, 1}, inputs, {});
  const Rounds rounds = find_rounds(scalars);
  ASSERT_FALSE(rounds.loops.empty());
  EXPECT_GE(rounds.loops[0].rounds, 38);
  EXPECT_LE(rounds.loops[0].rounds, 41);
  expect_to_give_the_graph(scalars, rounds);
}

TEST(Rounds, OfRandomGraphsGiveTheGraph) {
  std::size_t loops = 0;
  for (std::size_t seed = 0; seed < tests::sized(400, 40); ++seed) {
    const tests::Subject subject(seed, Precision::float64);
    const auto graph = subject.recorded();
    const Scalars scalars = scalars_of(graph.outputs, graph.inputs, graph.parameters);
    const Rounds rounds = find_rounds(scalars);
    loops += rounds.loops.size();
    expect_to_give_the_graph(scalars, rounds);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(loops, 0);  // layers and long sums repeat
}

// A random body, repeated, with random reads of earlier rounds.
TEST(Rounds, OfRandomLoopsAreFound) {
  for (std::size_t seed = 0; seed < tests::sized(200, 20); ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const std::size_t rounds = 6 + below(20), states = 1 + below(4), nodes = 3 + below(12), of_round = below(3);
    std::vector<Value> inputs(1 + rounds * of_round), parameters(3);
    struct Choice {
      std::size_t op, x, y;
    };
    std::vector<Choice> choices;
    for (std::size_t i = 0; i < nodes; ++i) choices.push_back({below(5), below(99), below(99)});
    std::vector<Value> state;
    for (std::size_t i = 0; i < states; ++i) state.push_back(sin(inputs[0] + static_cast<double>(i)));
    for (std::size_t t = 0; t < rounds; ++t) {
      std::vector<Value> known = state;
      for (const Value& one : parameters) known.push_back(one);
      for (std::size_t i = 0; i < of_round; ++i) known.push_back(inputs[1 + t * of_round + i]);
      for (const Choice& one : choices) {
        const Value &x = known[one.x % known.size()], &y = known[one.y % known.size()];
        known.push_back(one.op == 0   ? x + y
                        : one.op == 1 ? x * y
                        : one.op == 2 ? tanh(x)
                        : one.op == 3 ? x - y
                                      : sin(y));
      }
      for (std::size_t i = 0; i < states; ++i) state[i] = tanh(known[known.size() - 1 - i]) + state[i];
    }
    Value loss = 0.0;
    for (const Value& one : state) loss = loss + one;
    const Scalars scalars = scalars_of({&loss, 1}, inputs, parameters);
    const Rounds found = find_rounds(scalars);
    EXPECT_TRUE(found.steps.size() <= 60 || !found.loops.empty()) << seed << ", " << found.steps.size();
    expect_to_give_the_graph(scalars, found);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

// Eight times the nodes take about eight times as long.
TEST(Rounds, AreFoundInLinearTime) {
  if (tests::sanitized || tests::emulated) GTEST_SKIP() << "compares times";
  const auto seconds = [](int steps) {
    const Scalars scalars = scalars_of(simulations::heston(steps));
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
      const std::clock_t start = std::clock();
      EXPECT_EQ(find_rounds(scalars).loops.size(), 1);
      least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
  };
  EXPECT_LT(seconds(16000), 30 * seconds(2000));
}

}  // namespace gradwalk::rounds_test
