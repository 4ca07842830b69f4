// SPDX-License-Identifier: MIT
// Reading whole graphs: every node that was written, in order, without changing anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support.hpp"

namespace gradwalk::reading_test {
namespace {

using Operand = Reading::Operand;

// The data of every record, computed from the nodes that read() lists.
std::vector<double> evaluated(const Reading& graph) {
  std::vector<double> data;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    std::vector<double> parts;
    for (const Reading::WrittenNode& part : graph.read(i)) {
      std::vector<Value> in;
      for (const Operand& one : part.operands) {
        EXPECT_TRUE(one.kind != Operand::Kind::node || one.index < i);
        in.emplace_back(one.kind == Operand::Kind::node      ? data[one.index]
                        : one.kind == Operand::Kind::earlier ? parts[one.index]
                                                             : one.value);
      }
      switch (part.op) {
        case Op::add: parts.push_back((in[0] + in[1]).data()); break;
        case Op::sub: parts.push_back((in[0] - in[1]).data()); break;
        case Op::mul: parts.push_back((in[0] * in[1]).data()); break;
        case Op::sin: parts.push_back(std::sin(in[0].data())); break;
        case Op::less: parts.push_back(in[0] < in[1] ? 1 : 0); break;
        case Op::select: parts.push_back(in[in[0] != 0 ? 1 : 2].data()); break;
        default: ADD_FAILURE() << name(part.op);
      }
    }
    data.push_back(parts.empty() ? graph.data(i) : parts.back());
  }
  return data;
}

Value random_graph(std::vector<Value>& leaves, std::mt19937& random) {
  std::vector<Value> live = leaves;
  const auto any = [&]() -> const Value& { return live[random() % live.size()]; };
  for (int i = 0; i < 60; ++i) {
    switch (random() % 7) {
      case 0: live.push_back(sin(any())); break;
      case 1: live.push_back(any() * any() + any()); break;
      case 2: live.push_back(any() - any() * 2.0); break;
      case 3: live.push_back(any() * any() - any()); break;
      case 4: {
        Value sum = any() * any();
        for (int k = 0; k < 5; ++k) sum += k == 2 ? any() : any() * (k == 3 ? Value(3.0) : any());
        live.push_back(sum + 1.5);
        break;
      }
      case 5: live.push_back(select(any() < 0.25, any(), 4)); break;
      default: live.push_back(select(any() < any(), 2, 3) * any());
    }
  }
  Value root = 0;
  for (const Value& one : live) root += one;
  return root;
}

TEST(Reading, ListsTheNodesThatWereWritten) {
  std::mt19937 random{7};
  for (int i = 0; i < 200; ++i) {
    std::vector<Value> leaves{0.5, -0.25, 1.5};
    const Value root = random_graph(leaves, random);
    const Reading graph(root);
    const std::vector<double> data = evaluated(graph);
    for (std::size_t k = 0; k < graph.size(); ++k) EXPECT_EQ(data[k], graph.data(k));
    EXPECT_EQ(graph.find(root), graph.size() - 1);
    ASSERT_TRUE(graph.find(leaves[0]));
    EXPECT_LT(*graph.find(leaves[0]), graph.leaves());
    EXPECT_FALSE(graph.find(Value(3.0)));
  }
}

TEST(Reading, ListsTheSameNodesOfAnExpandedGraph) {
  std::mt19937 random{8};
  for (int i = 0; i < 50; ++i) {
    std::vector<Value> leaves{0.5, -0.25, 1.5};
    const Value root = random_graph(leaves, random);
    const std::size_t nodes = topological_order(root).size();
    const Reading graph(root);
    EXPECT_EQ(graph.size(), nodes);
    const std::vector<double> data = evaluated(graph);
    EXPECT_EQ(data.back(), root.data());
  }
}

TEST(Reading, ExpandsNothing) {
  const Value a = 2, b = 3, c = 4;
  const Value root = (a * b + c * c) + 2.0;
  const Reading graph(root);
  EXPECT_EQ(graph.leaves(), 3u);
  EXPECT_EQ(graph.size(), 4u);
  const std::vector<Reading::WrittenNode> parts = graph.read(3);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].op, Op::mul);
  EXPECT_EQ(parts[2].op, Op::add);
  EXPECT_EQ(parts[2].operands[1].kind, Operand::Kind::earlier);
  EXPECT_EQ(parts[3].operands[1].kind, Operand::Kind::number);
  EXPECT_EQ(parts[3].operands[1].value, 2);
  root.backward();
  EXPECT_EQ(a.grad(), 3);
}

TEST(Reading, ReadsInterleavedGraphsAndSeveralRoots) {
  Value a = 0.5, x = a, y = a;
  for (int i = 0; i < 5000; ++i) {
    x = sin(x) + a;
    y = y * 0.5 + x;
  }
  std::vector<Value> kept;
  for (int i = 0; i < 40; ++i) {  // leaves gaps on the tape, which are reused
    Value z = x;
    for (int k = 0; k < 5000; ++k) z = sin(z);
    kept.push_back(z + y);
    if (kept.size() > 3) kept.erase(kept.begin() + 1);
  }
  const std::vector<Value> roots{x, y, kept[0], kept[2], a};
  const Reading graph(roots);
  EXPECT_EQ(graph.leaves(), 1u);
  const std::vector<double> data = evaluated(graph);
  for (const Value& root : roots) EXPECT_EQ(data[*graph.find(root)], root.data());
}

TEST(Reading, ListsANodeThatSeveralRootsOfAnExpandedGraphShareOnce) {
  const Value a = 2, b = 3;
  const Value x = a * b + a * a, y = x * a;
  const std::size_t nodes = topological_order(y).size();  // expands the sum of products
  const std::vector<Value> roots{x, y};
  const Reading graph(roots);
  EXPECT_EQ(graph.leaves(), 2u);
  EXPECT_EQ(graph.size(), nodes);
  EXPECT_EQ(evaluated(graph)[*graph.find(y)], 20);
}

TEST(Reading, ThrowsForAnUnknownNumberAndForNoRoots) {
  const Value a = 2;
  const Reading graph(a * a);
  EXPECT_EQ(tests::error_of([&] { graph.read(2); }), "Reading: needs a number below 2, got 2; count from 0 to size()");
  EXPECT_THROW(Reading(std::span<const Value>()), Error);
}

TEST(Reading, OfALeafIsTheLeaf) {
  const Value a = 2;
  const Reading graph(a);
  EXPECT_EQ(graph.size(), 1u);
  EXPECT_TRUE(same_node(graph.node(0), a));
  EXPECT_TRUE(graph.read(0).empty());
}

TEST(Reading, HasTheDerivativesOfACustomNode) {
  const Value a = 2, b = 3;
  const Reading graph(custom(7, {{a, 0.5}, {b, -1}}, "own"));
  const std::vector<Reading::WrittenNode> parts = graph.read(2);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].op, Op::custom);
  EXPECT_EQ(parts[0].operands[1].value, -1);
}

TEST(ASnapshot, ExpandsNothing) {
  const Value a = 2, b = 3, c = 4;
  Value sum = a * b;
  for (int i = 0; i < 1000; ++i) sum += b * c;
  const Snapshot graph = snapshot(sum);
  EXPECT_EQ(graph.nodes.size(), 3u + 1001 + 1000);
  EXPECT_EQ(Reading(sum).size(), 4u);
}

TEST(ASnapshot, FindsPartsThatWereExpandedLater) {
  const Value a = 2, b = 3, c = 4;
  const Value root = a * b + c * 2.0;
  root.backward();
  const Snapshot before = snapshot(root);
  const std::vector<Value> inputs = root.inputs();
  const Snapshot after = snapshot(root);
  ASSERT_EQ(before.nodes.size(), after.nodes.size());
  for (std::size_t i = 0; i < before.nodes.size(); ++i) {
    EXPECT_EQ(before.nodes[i].name, after.nodes[i].name);
    EXPECT_EQ(before.nodes[i].grad, after.nodes[i].grad);
    EXPECT_EQ(before.nodes[i].data, after.nodes[i].data);
  }
  for (const Value& input : inputs) {
    ASSERT_TRUE(before.find(input));
    EXPECT_EQ(before.find(input), after.find(input));
    EXPECT_EQ(before.nodes[*before.find(input)].data, input.data());
  }
}

TEST(ASnapshot, OfAnExpandedSumTakesLinearTime) {  // A search per part would take minutes.
  const Value a = 2;
  Value root = a;
  for (int i = 0; i < 60; ++i) {
    Value sum = a * a;
    for (int k = 0; k < 3'000; ++k) sum += a * a;
    root = root + sin(sum);
  }
  const std::size_t nodes = topological_order(root).size();
  EXPECT_EQ(snapshot(root).nodes.size(), nodes);
}

TEST(ASnapshot, MayHaveHundredsOfThousandsOfNodes) {
  Value x = 0.5;
  for (int i = 0; i < 150'000; ++i) x = sin(x) + 0.25;
  EXPECT_EQ(snapshot(x).nodes.size(), 450'001u);
}

}  // namespace
// Evaluates the listing node by node.
double listed_value(const Reading& reading) {
  const Listing all = reading.list();
  std::vector<double> data;
  for (std::size_t i = 0; i < all.nodes.size(); ++i) {
    const Listing::Node& node = all.nodes[i];
    if (i < all.leaves) {
      EXPECT_EQ(node.op, Op::leaf);
      data.push_back(reading.data(i));
      continue;
    }
    double in[3]{};
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t operand = node.operands[k];
      if (operand == Listing::none) continue;
      in[k] = (operand & Listing::number) != 0 ? all.numbers[operand - Listing::number] : data.at(operand);
    }
    switch (node.op) {
      case Op::add: data.push_back(in[0] + in[1]); break;
      case Op::sub: data.push_back(in[0] - in[1]); break;
      case Op::mul: data.push_back(in[0] * in[1]); break;
      case Op::tanh: data.push_back(std::tanh(in[0])); break;
      case Op::less: data.push_back(in[0] < in[1] ? 1 : 0); break;
      case Op::select: data.push_back(in[0] != 0 ? in[1] : in[2]); break;
      default: ADD_FAILURE() << name(node.op); data.push_back(0);
    }
  }
  return data.at(all.roots.at(0));
}

TEST(AListing, IsTheGraphAsItWasWritten) {
  const std::vector<Value> x{0.5, -1.5, 2.0};
  Value sum = 0.25;
  for (const Value& one : x) sum += one * x[0];
  const Value root = tanh(sum - x[1] * x[2]) * 3 + select(x[0] < x[1], x[2], 7.0) - 2 * x[1];
  EXPECT_EQ(listed_value(Reading(root)), root.data());
  EXPECT_EQ(Reading(root).list().leaves, Reading(root).leaves());
  topological_order(root);  // expands records
  EXPECT_EQ(listed_value(Reading(root)), root.data());
}

TEST(AReading, KnowsWhichLeavesAreHeld) {
  Value kept = 2.0, result;
  {
    const Value gone = 3.0;
    result = kept * gone;
  }
  const Reading reading(result);
  ASSERT_EQ(reading.leaves(), 2);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(reading.is_held(i), reading.data(i) == 2);
}

}  // namespace gradwalk::reading_test
