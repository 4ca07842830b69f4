// SPDX-License-Identifier: MIT
// Snapshots: their nodes, and the names of nodes.
#include "gradwalk/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradwalk/expression.hpp"
#include "gradwalk/graph.hpp"

namespace gradwalk::snapshot_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(const Value& root) {
  std::vector<std::string> result;
  for (const Snapshot::Node& node : snapshot(root).nodes) result.push_back(node.name);
  return result;
}
std::string root_name(const char* text) { return names(parse(text).root).back(); }

TEST(Snapshot, HasNodesOperandsAndLocalDerivatives) {
  const Expression expression = parse("a=2; b=a*a; c=b/4");
  const Snapshot graph = snapshot(expression.root);
  EXPECT_THAT(names(expression.root), ElementsAre("a", "b", "4", "c"));
  EXPECT_THAT(graph.nodes[1].operands, ElementsAre(0, 0));
  EXPECT_THAT(graph.nodes[1].locals, ElementsAre(2, 2));
  EXPECT_THAT(graph.nodes[3].operands, ElementsAre(1, 2));
  EXPECT_THAT(graph.nodes[3].locals, ElementsAre(0.25, -0.25));
  EXPECT_TRUE(graph.nodes[0].is_leaf());
  EXPECT_TRUE(graph.nodes[2].is_constant());
  EXPECT_FALSE(graph.nodes[2].is_leaf());
  EXPECT_EQ(graph.root(), 3u);
  EXPECT_EQ(graph.find("b"), 1u);
  EXPECT_EQ(graph.find("z"), std::nullopt);
  EXPECT_EQ(graph.find(expression.names[1].second), 1u);
}

TEST(Snapshot, IsComputedAnewFromItsLeaves) {
  const Expression expression = parse("a=2; b=3; c=tanh(a*b+a)-max(a,b)/a");
  Snapshot graph = snapshot(expression.root);
  graph.nodes[*graph.find("a")].data = -0.5;
  recompute(graph);
  Value a = expression.names[0].second;
  a.data() = -0.5;
  recompute(expression.root);
  const Snapshot wanted = snapshot(expression.root);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(graph.nodes[i].data, wanted.nodes[i].data) << graph.nodes[i].name;
    EXPECT_EQ(graph.nodes[i].locals, wanted.nodes[i].locals) << graph.nodes[i].name;
  }
  const Value x = Value(2).label("x");
  Snapshot own = snapshot(custom(5, {{x, 7}}, "mine") * 2);
  own.nodes[0].data = 4;
  recompute(own);
  EXPECT_EQ(own.nodes[1].data, 5);
  EXPECT_THAT(own.nodes[1].locals, ElementsAre(7));
}

TEST(Snapshot, WritesOperationsOut) {
  const auto written = [](const char* text, const std::vector<std::string>& operands) {
    return written_out(snapshot(parse(text).root).nodes.back(), operands);
  };
  EXPECT_EQ(written("a=2; a*a", {"p", "q"}), "p * q");
  EXPECT_EQ(written("a=2; a**3", {"p", "3"}), "p ** 3");
  EXPECT_EQ(written("a=2; less_equal(a, 1)", {"p", "1"}), "p <= 1");
  EXPECT_EQ(written("a=2; -a", {"p"}), "-p");
  EXPECT_EQ(written("a=2; tanh(a)", {"p"}), "tanh(p)");
  EXPECT_EQ(written("a=2; max(a, 1)", {"(", "q"}), "max((, q)");
}

TEST(Snapshot, ExpandsFusedRecords) {
  Value a{2.0}, b{3.0}, c{4.0};
  a.label("a"), b.label("b"), c.label("c");
  Value sum = a * b + b * c + c;
  EXPECT_THAT(names(sum), ElementsAre("a", "b", "a*b", "c", "b*c", "a*b + b*c", "a*b + b*c + c"));
}

TEST(Names, AreExpressionsWithTheParenthesesTheyNeed) {
  EXPECT_EQ(root_name("a=1;b=2; (a+b)*a"), "(a + b)*a");
  EXPECT_EQ(root_name("a=1;b=2; a+b*a"), "a + b*a");
  EXPECT_EQ(root_name("a=1;b=2; a-(b-a)"), "a - (b - a)");
  EXPECT_EQ(root_name("a=1;b=2; a-b-a"), "a - b - a");
  EXPECT_EQ(root_name("a=1;b=2; a/(b*a)"), "a/(b*a)");
  EXPECT_EQ(root_name("a=1; -a**2"), "-a**2");
  EXPECT_EQ(root_name("a=1; (-a)**2"), "(-a)**2");
  EXPECT_EQ(root_name("a=1;b=2; a**b**a"), "a**b**a");
  EXPECT_EQ(root_name("a=1;b=2; (a**b)**a"), "(a**b)**a");
  EXPECT_EQ(root_name("a=1; a**-2"), "a**-2");
  EXPECT_EQ(root_name("a=1; a+-2"), "a + -2");
  EXPECT_EQ(root_name("a=1;b=2; max(a+b, tanh(a))"), "max(a + b, tanh(a))");
}

TEST(Names, ParseBackToTheSameGraph) {
  for (const char* text : {"(a+b)*a", "a-(b-a)", "-a**2", "(-a)**2", "(a**b)**a", "a**b**a", "a/(b*a)*-b", "-(a+b)",
                           "a--b", "max(a,b)**-a", "(a*b)*a-(b+a)"}) {
    const std::string leaves = "a=1.5; b=0.25; ";
    const Value root = parse(leaves + text).root;
    EXPECT_EQ(parse(leaves + names(root).back()).root.data(), root.data()) << text << " became " << names(root).back();
  }
}

TEST(Names, OfLongExpressionsAndUnlabelledLeavesAreNumbered) {
  Value x{1.0}, y{2.0};
  EXPECT_THAT(names(x * y), ElementsAre("t1", "t2", "t1*t2"));
  y.label("t1");
  EXPECT_THAT(names(x * y), ElementsAre("t2", "t1", "t2*t1"));
  EXPECT_EQ(root_name("alpha=1; beta=2; alpha*beta + alpha*beta + alpha*beta + 7"), "t1 + 7");
}

TEST(Names, AreUnique) {
  EXPECT_THAT(names(parse("a=1; a=a+1; a=a*a").root), ElementsAre("a", "1", "a#2", "a#3"));
  Value a{1.0}, b{2.0};
  a.label("x"), b.label("x#2");
  Value c{3.0};
  c.label("x");
  EXPECT_THAT(names(a + b + c), ElementsAre("x", "x#2", "x + x#2", "x#3", "x + x#2 + x#3"));
  EXPECT_THAT(names(parse("a=1; (a+1)*(a+1)").root), ElementsAre("a", "1", "a + 1", "1", "a + 1#2", "(a + 1)*(a + 1)"));
}

TEST(Snapshot, DoesNotConfuseALaterNodeWithItsOwn) {
  const Value a{0.5};
  Snapshot graph;
  {
    const Value root = tanh(a * 2);
    graph = snapshot(root);
  }
  const Value later = sin(a * 2), another = later + 1;
  EXPECT_EQ(graph.find(later), std::nullopt);
  EXPECT_EQ(graph.find(another), std::nullopt);
  EXPECT_NE(graph.find(a), std::nullopt);
}

}  // namespace
}  // namespace gradwalk::snapshot_test
