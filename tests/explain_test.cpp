// SPDX-License-Identifier: MIT
// explain(): deposits sum to the gradient, paths are listed largest first and are counted exactly.
#include "gradwalk/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "gradwalk/expression.hpp"
#include "gradwalk/graph.hpp"
#include "random_expression.hpp"
#include "support.hpp"

namespace gradwalk::explain_test {
namespace {

using testing::ElementsAre;

Explanation explain_name(const std::string& text, const char* name, std::size_t paths = default_paths) {
  Snapshot graph = snapshot(parse(text).root);
  const std::size_t node = graph.find(name).value();
  return explain(std::move(graph), node, paths);
}

std::vector<std::string> path_names(const Explanation& explanation, std::size_t i) {
  std::vector<std::string> names;
  for (const std::size_t node : explanation.paths[i].nodes) names.push_back(explanation.graph.nodes[node].name);
  return names;
}

// Returns all paths of a graph that has few, by enumerating them.
void each_path(const Snapshot& graph, std::size_t node, std::size_t target, double product, std::vector<double>& out) {
  if (node == target) out.push_back(product);
  for (std::size_t k = 0; k < graph.nodes[node].operands.size(); ++k)
    each_path(graph, graph.nodes[node].operands[k], target, product * graph.nodes[node].locals[k], out);
}

TEST(Explain, ShowsTheDepositsAndThePathsBehindThem) {
  const Explanation explanation = explain_name("a=2; b=a+1; c=3*a; d=b*c", "a");
  EXPECT_EQ(explanation.gradient, 15);
  ASSERT_EQ(explanation.deposits.size(), 2u);
  EXPECT_EQ(explanation.graph.nodes[explanation.deposits[0].from].name, "c");
  EXPECT_EQ(explanation.deposits[0].gradient, 3);
  EXPECT_EQ(explanation.deposits[0].local, 3);
  EXPECT_EQ(explanation.deposits[0].amount, 9);
  EXPECT_EQ(explanation.deposits[1].amount, 6);
  EXPECT_EQ(explanation.path_count, "2");
  ASSERT_EQ(explanation.paths.size(), 2u);
  EXPECT_THAT(path_names(explanation, 0), ElementsAre("d", "c", "a"));
  EXPECT_THAT(explanation.paths[0].locals, ElementsAre(3, 3));
  EXPECT_EQ(explanation.paths[0].product, 9);
  EXPECT_THAT(path_names(explanation, 1), ElementsAre("d", "b", "a"));
}

TEST(Explain, GivesTheRootOnePathAndNoDeposit) {
  const Explanation explanation = explain_name("a=3; f=a*a", "f");
  EXPECT_EQ(explanation.gradient, 1);
  EXPECT_TRUE(explanation.deposits.empty());
  EXPECT_EQ(explanation.path_count, "1");
  EXPECT_THAT(path_names(explanation, 0), ElementsAre("f"));
}

TEST(Explain, ListsDepositsThatSumToTheGradientExactlyAndPathsNearly) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 500; ++i) {
    const Expression expression = parse(random_expression(random, 14));
    const Snapshot graph = snapshot(expression.root);
    expression.root.backward();
    const Snapshot after = snapshot(expression.root);
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
      if (graph.nodes[node].is_constant()) continue;
      const Explanation explanation = explain(graph, node, 100'000);
      double deposits = node == graph.root() ? 1 : 0;
      for (const Explanation::Deposit& deposit : explanation.deposits) deposits += deposit.amount;
      EXPECT_EQ(deposits, explanation.gradient);
      EXPECT_NEAR(deposits, after.nodes[node].grad, 1e-12 * (1 + std::abs(deposits)));

      std::vector<double> products;
      each_path(graph, graph.root(), node, 1, products);
      EXPECT_EQ(explanation.path_count, std::to_string(products.size()));
      ASSERT_EQ(explanation.paths.size(), products.size());
      double sum = 0, scale = 1;
      for (const Explanation::Path& path : explanation.paths) {
        sum += path.product;
        scale += std::abs(path.product);
      }
      EXPECT_NEAR(sum, explanation.gradient, 1e-12 * scale);
    }
  }
}

TEST(Explain, ListsTheLargestPathsFirst) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 200; ++i) {
    const Snapshot graph = snapshot(parse(random_expression(random, 14)).root);
    const std::size_t a = graph.find("a").value();
    std::vector<double> products;
    each_path(graph, graph.root(), a, 1, products);
    std::sort(products.begin(), products.end(), [](double x, double y) { return std::abs(x) > std::abs(y); });
    const Explanation explanation = explain(graph, a, 7);
    ASSERT_EQ(explanation.paths.size(), std::min<std::size_t>(7, products.size()));
    for (std::size_t k = 0; k < explanation.paths.size(); ++k)
      EXPECT_NEAR(std::abs(explanation.paths[k].product), std::abs(products[k]), 1e-12 * std::abs(products[k]));
  }
}

TEST(Explain, CountsAnyNumberOfPathsExactly) {
  std::string text = "a=1; b=a;";
  for (int i = 0; i < 64; ++i) text += "b=b+b;";
  const Explanation explanation = explain_name(text, "a");
  EXPECT_EQ(explanation.path_count, "18446744073709551616");
  EXPECT_EQ(explanation.gradient, 18446744073709551616.0);
  EXPECT_EQ(explanation.paths.size(), default_paths);
  for (int i = 64; i < 200; ++i) text += "b=b+b;";
  EXPECT_EQ(explain_name(text, "a").path_count, "1606938044258990275541962092341162602522202993782792835301376");
}

TEST(Explain, FindsTheLargestOfVeryManyPaths) {
  // Each layer has a strong and a weak edge. The product of all strong edges is 3^100.
  std::string text = "a=1; b=a;";
  for (int i = 0; i < 100; ++i) text += "b=3*b+0.5*b;";
  const Explanation explanation = explain_name(text, "a", 3);
  EXPECT_EQ(explanation.path_count, "1267650600228229401496703205376");
  EXPECT_NEAR(explanation.paths[0].product / std::pow(3, 100), 1, 1e-12);
  EXPECT_NEAR(explanation.paths[1].product / (std::pow(3, 99) * 0.5), 1, 1e-12);
}

TEST(Explain, TakesInfiniteAndNaNDerivatives) {
  const Explanation explanation = explain_name("a=0; b=sqrt(a); c=b*0+a/0+log(a)*b; c+a", "a");
  EXPECT_EQ(explanation.path_count, "5");
  EXPECT_EQ(explanation.paths.size(), 5u);
}

TEST(Explain, RefusesNodesWithoutAGradient) {
  Value a{1.0}, b{2.0};
  a.label("a"), b.label("b");
  const Value c = a * 2;
  EXPECT_EQ(tests::error_of([&] { explain(c, b); }),
            "explain: needs a node below the root, got 'b'; its gradient from this root is 0");
  EXPECT_EQ(tests::error_of([&] { explain(c, c.inputs()[1]); }),
            "explain: needs a node that takes a gradient, got the constant 2; give it a name to make it a leaf");
  EXPECT_EQ(tests::error_of([&] { explain(snapshot(c), 7); }),
            "explain: needs a node of the graph, got the number 7; there are 3, from 0");
  EXPECT_EQ(explain(c, a).gradient, 2);
}

}  // namespace
}  // namespace gradwalk::explain_test
