// SPDX-License-Identifier: MIT
// Walk: the record of both passes, chosen visiting orders and what they lose, and each broken rule.
#include "gradwalk/walk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "gradwalk/expression.hpp"
#include "gradwalk/graph.hpp"
#include "random_expression.hpp"
#include "support.hpp"

namespace gradwalk::walk_test {
namespace {

using testing::ElementsAre;

const char* const diamond = "a=2; b=a+1; c=3*a; d=b*c";
const char* const deep_diamond = "x=2; a=x*x; b=a+1; c=3*a; d=b*c";
const char* const square = "a=2; b=3; c=a*b; d=c+a; e=d**2";

Snapshot graph_of(const char* text) { return snapshot(parse(text).root); }
Walk walk_by(const char* text, WalkRule rule) { return Walk(graph_of(text), {.rule = rule}); }
double gradient(const Walk& walk, const char* name) {
  return walk.outcomes()[walk.graph().find(name).value()].gradient;
}
double right_gradient(const Walk& walk, const char* name) {
  return walk.outcomes()[walk.graph().find(name).value()].right_gradient;
}
std::vector<std::size_t> places(const Snapshot& graph) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (!graph.nodes[i].is_constant()) result.push_back(i);
  return result;
}

// Expects that the right gradient of each leaf minus the wrong one is the worth of the late deposits.
void expect_late_deposits_to_account_for_what_is_missing(const Walk& walk, double tolerance) {
  std::vector<double> missing(walk.graph().nodes.size()), scale(missing.size(), 1.0);
  for (const Walk::Late& late : walk.late())
    for (const auto& [leaf, amount] : walk.worth(late)) {
      missing[leaf] += amount;
      scale[leaf] += std::abs(amount);
    }
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (!walk.graph().nodes[i].is_leaf()) continue;
    const Walk::Outcome& outcome = walk.outcomes()[i];
    const double bound = tolerance * (scale[i] + std::abs(outcome.right_gradient) + std::abs(outcome.gradient));
    EXPECT_NEAR(outcome.right_gradient - outcome.gradient, missing[i], bound) << walk.graph().nodes[i].name;
  }
}

TEST(Walk, RecordsBothPassesStepByStep) {
  const Walk walk = walk_by("a=2; b=-3; c=10; e=a+b; f=e*c", WalkRule::right);
  using Kind = Walk::Step::Kind;
  std::vector<std::pair<Kind, std::string>> kinds;
  for (const Walk::Step& step : walk.steps()) kinds.emplace_back(step.kind, walk.graph().nodes[step.node].name);
  EXPECT_THAT(kinds,
              ElementsAre(std::pair(Kind::forward, "e"), std::pair(Kind::forward, "f"), std::pair(Kind::seed, "f"),
                          std::pair(Kind::visit, "f"), std::pair(Kind::visit, "c"), std::pair(Kind::visit, "e"),
                          std::pair(Kind::visit, "b"), std::pair(Kind::visit, "a")));
  EXPECT_THAT(walk.steps()[0].operands, ElementsAre(2, -3));
  EXPECT_EQ(walk.steps()[0].after, -1);
  const Walk::Deposit& deposit = walk.steps()[3].deposits[0];
  EXPECT_EQ(walk.graph().nodes[deposit.to].name, "e");
  EXPECT_EQ(local_formula(walk.graph().nodes[deposit.from].op, deposit.operand), "y");
  EXPECT_EQ(deposit.local, 10);
  EXPECT_EQ(deposit.amount, 10);
  EXPECT_EQ(deposit.before, 0);
  EXPECT_EQ(deposit.after, 10);
  EXPECT_FALSE(walk.parting());
  EXPECT_TRUE(walk.late().empty());
  EXPECT_EQ(walk.visits(), 5u);
}

TEST(Walk, HasTheGradientsOfBackwardAndChangesNothing) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    const Expression expression = parse(random_expression(random, 25));
    std::vector<double> before;
    for (const Value& node : topological_order(expression.root)) before.push_back(node.grad());
    const Walk walk(expression.root);
    std::vector<double> after;
    for (const Value& node : topological_order(expression.root)) after.push_back(node.grad());
    EXPECT_EQ(before, after);
    expression.root.backward();
    const std::vector<Value> nodes = topological_order(expression.root);
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (nodes[k].op() != Op::constant) {
        // The bits may differ, because the engine may add the deposits of a node in another order.
        const double gradient = nodes[k].grad();
        EXPECT_NEAR(walk.outcomes()[k].gradient, gradient, 1e-12 * (1 + std::abs(gradient)));
      }
  }
}

TEST(Walk, MovesForwardsBackwardsAndToAnyStep) {
  for (const WalkRule rule : {WalkRule::right, WalkRule::recursion, WalkRule::twice, WalkRule::no_zeroing}) {
    Walk walk = walk_by(square, rule);
    const std::size_t last = walk.steps().size();
    std::vector<std::vector<std::tuple<bool, double, double, std::size_t>>> seen;
    const auto look = [&] {
      std::vector<std::tuple<bool, double, double, std::size_t>> states;
      for (const Walk::State& state : walk.state())
        states.emplace_back(state.has_data, state.data, state.grad, state.visits);
      return states;
    };
    EXPECT_EQ(walk.position(), 0u);
    EXPECT_FALSE(walk.back());
    seen.push_back(look());
    while (walk.forward()) seen.push_back(look());
    EXPECT_EQ(seen.size(), last + 1);
    for (std::size_t i = 0; i < walk.outcomes().size(); ++i) {
      EXPECT_EQ(walk.state()[i].grad, walk.outcomes()[i].gradient);
      EXPECT_EQ(walk.state()[i].data, walk.outcomes()[i].data);
    }
    for (std::size_t i = last; i-- > 0;) {
      EXPECT_TRUE(walk.back());
      EXPECT_EQ(look(), seen[i]);
    }
    walk.go_to(last / 2);
    EXPECT_EQ(look(), seen[last / 2]);
    walk.go_to(last + 100);
    EXPECT_EQ(walk.position(), last);
    EXPECT_EQ(look(), seen[last]);
  }
}

TEST(Walk, StartsWithDataInLeavesOnly) {
  Walk walk = walk_by(diamond, WalkRule::right);
  const std::size_t a = walk.graph().find("a").value(), d = walk.graph().find("d").value();
  EXPECT_TRUE(walk.state()[a].has_data);
  EXPECT_FALSE(walk.state()[d].has_data);
  walk.go_to(3);
  EXPECT_EQ(walk.state()[d].data, 18);
}

TEST(Walk, OfALeafSeedsItAndVisitsIt) {
  const Walk walk = walk_by("a=3", WalkRule::right);
  EXPECT_EQ(walk.steps().size(), 2u);
  EXPECT_EQ(gradient(walk, "a"), 1);
}

// ---- orders ----

std::map<double, int> tally_by_hand(const char* text, const char* leaf) {
  const Snapshot graph = graph_of(text);
  std::vector<std::size_t> order = places(graph);
  std::map<double, int> result;
  do {
    const Walk walk(graph, {.order = order});
    expect_late_deposits_to_account_for_what_is_missing(walk, 0);
    ++result[gradient(walk, leaf)];
  } while (std::next_permutation(order.begin(), order.end()));
  return result;
}

TEST(Orders, OfTheDiamondEndAt15Or9Or6Or0) {
  EXPECT_EQ(tally_by_hand(diamond, "a"), (std::map<double, int>{{15, 8}, {9, 4}, {6, 4}, {0, 8}}));
}

TEST(Orders, OfTheDeepDiamondAreRightInTenOf120) {
  EXPECT_EQ(tally_by_hand(deep_diamond, "x"), (std::map<double, int>{{108, 10}, {60, 10}, {48, 10}, {0, 90}}));
}

TEST(Orders, AreTalliedByTheLibrary) {
  const OrderTally tally = try_all_orders(graph_of(deep_diamond));
  EXPECT_EQ(tally.orders, 120u);
  std::map<double, std::size_t> counts;
  for (const OrderTally::Result& result : tally.results) counts[result.gradients[0]] = result.orders;
  EXPECT_EQ(counts, (std::map<double, std::size_t>{{108, 10}, {60, 10}, {48, 10}, {0, 90}}));
  EXPECT_TRUE(tally.results[0].right);
  EXPECT_EQ(tally.results[0].gradients[0], 108);
  for (const OrderTally::Result& result : tally.results)
    EXPECT_EQ(gradient(Walk(graph_of(deep_diamond), {.order = result.example}), "x"), result.gradients[0]);
  EXPECT_EQ(tests::error_of([] { try_all_orders(graph_of("a=1; b=a+a+a+a+a+a+a+a+a")); }),
            "walk: needs at most 8 nodes to try every order, got 9; try a smaller graph, or an order of your own");
}

TEST(Orders, ReportWhatWasLostAndWhy) {
  const Snapshot graph = graph_of(diamond);
  const Walk walk(graph, {.order = parse_order(graph, "b, d, c, a")});
  ASSERT_EQ(walk.late().size(), 1u);
  EXPECT_EQ(walk.late()[0].reason, "b was visited before the deposit from d arrived: 6 lost");
  EXPECT_EQ(walk.late()[0].amount, 6);
  const std::size_t a = graph.find("a").value(), b = graph.find("b").value();
  EXPECT_THAT(walk.worth(walk.late()[0]), ElementsAre(std::pair(a, 6.0)));
  EXPECT_EQ(walk.outcomes()[b].when_visited, 0);
  EXPECT_EQ(walk.outcomes()[b].gradient, 6);
  EXPECT_EQ(walk.outcomes()[a].gradient, 9);
  EXPECT_EQ(walk.outcomes()[a].right_gradient, 15);
  ASSERT_TRUE(walk.parting());
  EXPECT_EQ(walk.parting()->node, b);
  EXPECT_EQ(walk.parting()->reason, "b was visited with 0, before its full gradient of 6 had arrived");
}

TEST(Orders, ThatAreTopologicalNeverDifferFromTheRightGradients) {
  const Snapshot graph = graph_of(diamond);
  for (const char* order : {"d,b,c,a", "d,c,b,a", "a,d,c,b"}) {
    const Walk walk(graph, {.order = parse_order(graph, order)});
    EXPECT_FALSE(walk.parting()) << order;
    EXPECT_EQ(gradient(walk, "a"), 15) << order;
  }
}

TEST(Orders, LoseTheWorthOfTheirLateDeposits) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 500; ++i) {
    const Snapshot graph = snapshot(parse(random_expression(random, 20)).root);
    std::vector<std::size_t> order = places(graph);
    std::shuffle(order.begin(), order.end(), random);
    const Walk walk(graph, {.order = order});
    expect_late_deposits_to_account_for_what_is_missing(walk, 1e-12);
    EXPECT_EQ(walk.visits(), order.size());
  }
}

TEST(Orders, ThatAreIncompleteOrUnknownAreRefused) {
  const Snapshot graph = graph_of(diamond);
  const auto refuse = [&](const char* names) {
    return tests::error_of([&] { Walk(graph, {.order = parse_order(graph, names)}); });
  };
  EXPECT_EQ(refuse("d,c,b"), "walk: needs every node in the order, got none for 'a'; add it to the order");
  EXPECT_EQ(refuse("d,c,b,a,a"), "walk: needs each node once, got 'a' twice; visit it once");
  EXPECT_EQ(refuse("d,c,b,q"),
            "walk: needs an order of node names separated by commas, got 'q'; name each of: a, b, c, d");
  EXPECT_EQ(refuse("d,c,b,a,3"),
            "walk: needs an order of nodes that take a gradient, got the constant 3; leave "
            "constants out: a backward pass does not visit them");
  EXPECT_EQ(tests::error_of([&] { Walk(graph, {.order = {99}}); }),
            "walk: needs an order of nodes, got the number 99; there are 6 nodes, from 0");
  EXPECT_EQ(tests::error_of([&] { Walk(graph, {.rule = WalkRule::twice, .order = parse_order(graph, "a,b,c,d")}); }),
            "walk: needs either an order or a broken rule, got both; leave one of them out");
}

TEST(Orders, MayNameNodesByTheirExpressions) {
  const Snapshot graph = graph_of("a=1; b=2; max(a, b) * (a + b)");
  EXPECT_EQ(parse_order(graph, "max(a, b)*(a + b), a + b, max(a, b), b, a").size(), 5u);
}

// ---- broken rules ----

TEST(Overwriting, KeepsTheLastDepositOnly) {
  for (const auto& [text, wrong, right] : {std::tuple("a=3; a*a", 3.0, 6.0), std::tuple("a=3; a+a", 1.0, 2.0)}) {
    const Walk walk = walk_by(text, WalkRule::overwrite);
    EXPECT_EQ(gradient(walk, "a"), wrong);
    EXPECT_EQ(right_gradient(walk, "a"), right);
    ASSERT_TRUE(walk.parting());
    EXPECT_EQ(walk.graph().nodes[walk.parting()->node].name, "a");
    EXPECT_EQ(walk.parting()->wrong, wrong);
    EXPECT_EQ(walk.parting()->right, right);
  }
  EXPECT_EQ(walk_by("a=3; a*a", WalkRule::overwrite).parting()->reason,
            "a had 3, which the next deposit replaced: 3 instead of 6");
  EXPECT_FALSE(walk_by("a=2; b=-3; c=10; e=a+b; f=e*c", WalkRule::overwrite).parting());
}

TEST(Recursion, PassesGradientsOnAgain) {
  const Walk walk = walk_by(deep_diamond, WalkRule::recursion);
  EXPECT_EQ(gradient(walk, "x"), 156);
  EXPECT_EQ(right_gradient(walk, "x"), 108);
  EXPECT_EQ(walk.visits(), 9u);
  EXPECT_EQ(walk.visits_needed(), "9");
  ASSERT_TRUE(walk.parting());
  EXPECT_EQ(walk.parting()->reason, "a was visited with 12, before its full gradient of 27 had arrived");
  EXPECT_FALSE(walk_by("a=2; b=-3; c=10; e=a+b; f=e*c", WalkRule::recursion).parting());
}

TEST(TheSortWithoutAVisitedSet, ListsSharedNodesOncePerPath) {
  const Walk walk = walk_by(deep_diamond, WalkRule::no_visited);
  EXPECT_EQ(gradient(walk, "x"), 168);
  EXPECT_EQ(walk.visits(), 9u);
  EXPECT_EQ(walk.outcomes()[walk.graph().find("a").value()].visits, 2u);
  ASSERT_TRUE(walk.parting());
  EXPECT_EQ(walk.parting()->reason, "a was visited with 15, before its full gradient of 27 had arrived");
}

TEST(ForwardOrder, LosesAllButTheRootsDeposits) {
  const Walk walk = walk_by(diamond, WalkRule::forward_order);
  EXPECT_EQ(gradient(walk, "a"), 0);
  EXPECT_EQ(gradient(walk, "b"), 6);
  EXPECT_EQ(walk.late().size(), 2u);
  expect_late_deposits_to_account_for_what_is_missing(walk, 0);
  EXPECT_EQ(walk.graph().nodes[walk.parting()->node].name, "b");
}

TEST(BackwardTwice, CountsTwiceUnderMicrogradsRule) {
  const Walk walk = walk_by(square, WalkRule::twice);
  EXPECT_EQ(gradient(walk, "a"), 240);
  EXPECT_EQ(gradient(walk, "b"), 128);
  EXPECT_EQ(right_gradient(walk, "a"), 128);
  EXPECT_EQ(right_gradient(walk, "b"), 64);
  EXPECT_EQ(right_gradient(walk, "d"), 16);
  ASSERT_TRUE(walk.parting());
  EXPECT_EQ(walk.parting()->reason, "d still had 16 from the previous pass: 32 instead of 16");
  const Expression twice = parse(square);
  twice.root.backward(), twice.root.backward();
  EXPECT_EQ(right_gradient(walk, "a"), twice.names[0].second.grad());
}

TEST(ATrainingStepWithoutZeroing, AddsTheOldGradient) {
  const Walk walk = walk_by("a=3; a*a", WalkRule::no_zeroing);
  // The data goes from 3 to 3 - 0.1 * 6 = 2.4. The second gradient is 4.8, and the leaf has 6 + 4.8.
  EXPECT_NEAR(gradient(walk, "a"), 10.8, 1e-12);
  EXPECT_NEAR(right_gradient(walk, "a"), 4.8, 1e-12);
  const Walk::Outcome& a = walk.outcomes()[walk.graph().find("a").value()];
  EXPECT_NEAR(a.data, 2.4 - 1.08, 1e-12);
  EXPECT_NEAR(a.right_data, 2.4 - 0.48, 1e-12);
  ASSERT_TRUE(walk.parting());
  EXPECT_EQ(walk.parting()->reason, "a still had 6 from the previous pass: 8.4 instead of 2.4");
  Value x{1.0};
  const Value y = custom(2.0, {{x, 3.0}}, "twice");
  EXPECT_EQ(tests::error_of([&] { Walk(y, {.rule = WalkRule::no_zeroing}); }),
            "walk: needs ops with a rule of their own for a training step, got the custom node 'twice(t1)'; walk it by "
            "another rule");
}

TEST(BrokenRules, AreBoundedAndCountTheVisitsTheyNeed) {
  std::string text = "a=1;";
  for (int i = 0; i < 70; ++i) text += "a=a+a;";
  for (const WalkRule rule : {WalkRule::recursion, WalkRule::no_visited}) {
    const Walk walk(parse(text).root, {.rule = rule, .most_visits = 1000});
    EXPECT_FALSE(walk.is_complete());
    EXPECT_EQ(walk.visits(), 1000u);
    EXPECT_EQ(walk.visits_needed(), "2361183241434822606847");  // 2^71 - 1
  }
}

TEST(BrokenRules, HaveNames) {
  for (int i = 0; i <= static_cast<int>(WalkRule::no_zeroing); ++i) {
    const auto rule = static_cast<WalkRule>(i);
    EXPECT_EQ(walk_rule(info(rule).name), rule);
  }
  EXPECT_EQ(tests::error_of([] { walk_rule("wrong"); }),
            "walk: needs a rule of right, overwrite, recursion, no-visited, forward, twice, no-zeroing, got 'wrong'; "
            "choose one of them");
}

// ---- the sort ----

TEST(Sort, RecordsTheDepthFirstSearch) {
  const Snapshot graph = graph_of(diamond);
  const Sort sort(graph);
  std::string text;
  for (const Sort::Step& step : sort.steps())
    text += std::string(step.action == Sort::Step::Action::enter  ? "+"
                        : step.action == Sort::Step::Action::skip ? "?"
                                                                  : "-") +
            graph.nodes[step.node].name;
  EXPECT_EQ(text, "+d+b+a-a-b+c?a-c-d");
  const auto names = [&](const std::vector<std::size_t>& nodes) {
    std::string result;
    for (const std::size_t i : nodes) result += graph.nodes[i].name;
    return result;
  };
  EXPECT_EQ(names(sort.after(6).stack), "dc");
  EXPECT_EQ(names(sort.after(6).visited), "dbac");
  EXPECT_EQ(names(sort.after(6).list), "ab");
  EXPECT_EQ(names(sort.after(99).list), "abcd");
}

TEST(Sort, EndsInTheTopologicalOrder) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    const Snapshot graph = snapshot(parse(random_expression(random, 30)).root);
    const Sort sort(graph);
    EXPECT_EQ(sort.after(sort.steps().size()).list, places(graph));
    EXPECT_TRUE(sort.after(sort.steps().size()).stack.empty());
  }
}

// ---- sizes ----

TEST(Walk, OfALongChainDoesNotRecurse) {
  Value x{1.0};
  Value y = x;
  for (int i = 0; i < 40'000; ++i) y = sin(y);
  for (const WalkRule rule : {WalkRule::right, WalkRule::recursion, WalkRule::no_visited, WalkRule::forward_order}) {
    const Walk walk(y, {.rule = rule, .most_visits = 100'000});
    EXPECT_EQ(walk.visits(), 40'001u);
  }
  for (int i = 0; i < 100'000; ++i) y = sin(y);
  EXPECT_EQ(tests::error_of([&] { Walk{y}; }),
            "walk: needs a graph of at most 100000 nodes, got 140001; look at a part of it");
  for (int i = 0; i < 900'000; ++i) y = sin(y);
  EXPECT_EQ(tests::error_of([&] { snapshot(y); }),
            "snapshot: needs a graph of at most 1000000 nodes, got more; look at a part of it");
}

}  // namespace
}  // namespace gradwalk::walk_test
