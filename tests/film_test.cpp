// SPDX-License-Identifier: MIT
// Films: the file is an animation of the right length, and every scene shows the numbers of the record, for every rule.
#include "gradwalk/film.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "draw/film_scene.hpp"
#include "gradwalk/expression.hpp"
#include "support.hpp"

#ifdef GRADWALK_TESTS_SANITIZED
// Graphviz and fontconfig leak; see draw_test.cpp.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\nleak:libgvc\n"; }
#endif

namespace gradwalk::film_test {
namespace {

using namespace detail;
using testing::HasSubstr;
using tests::error_of;

constexpr const char* diamond = "x=2; a=x*x; b=a+1; c=3*a; d=b*c";

Walk walk_of(const char* text, WalkOptions options = {}) { return Walk(parse(text).root, std::move(options)); }

// Reads the chunks of an animated WebP: https://developers.google.com/speed/webp/docs/riff_container
struct File {
  std::size_t width = 0, height = 0, frames = 0, milliseconds = 0;
};
std::size_t little(std::string_view bytes, std::size_t at, std::size_t count) {
  std::size_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}
File read(std::string_view bytes) {
  File file;
  EXPECT_EQ(bytes.substr(0, 4), "RIFF");
  EXPECT_EQ(little(bytes, 4, 4), bytes.size() - 8);
  EXPECT_EQ(bytes.substr(8, 4), "WEBP");
  for (std::size_t at = 12; at + 8 <= bytes.size();) {
    const std::string_view name = bytes.substr(at, 4);
    const std::size_t size = little(bytes, at + 4, 4);
    if (name == "VP8X") file.width = little(bytes, at + 12, 3) + 1, file.height = little(bytes, at + 15, 3) + 1;
    if (name == "ANMF") ++file.frames, file.milliseconds += little(bytes, at + 20, 3);
    at += 8 + size + size % 2;
  }
  return file;
}

TEST(Film, IsAnAnimationAsLongAsItsMoments) {
  const Walk walk = walk_of("a=2; b=-3; c=10; e=a+b; f=e*c");
  double wanted = 0;
  for (const FilmMoment& moment : moments_of(walk)) wanted += moment.milliseconds;
  const File file = read(film_webp(walk));
  EXPECT_GT(file.frames, 60u);  // each place of a moving token is one picture
  EXPECT_NEAR(static_cast<double>(file.milliseconds), wanted, 1.0 * static_cast<double>(file.frames));
  EXPECT_GT(file.width, 500u);
  EXPECT_LT(file.width, 1000u);
  const File fast = read(film_webp(walk, {.speed = 2, .scale = 0.5}));
  EXPECT_NEAR(static_cast<double>(fast.milliseconds), wanted / 2, 1.0 * static_cast<double>(fast.frames));
  EXPECT_NEAR(static_cast<double>(fast.width), static_cast<double>(file.width) / 2, 1);
}

TEST(Film, RefusesLongWalksAndOptionsOutOfRange) {
  std::string sum = "x=1; y=x";
  for (int i = 0; i < 70; ++i) sum += "+x";
  EXPECT_EQ(error_of([&] { film_webp(walk_of(sum.c_str())); }),
            "film: needs a graph of at most 60 nodes, got 71; film a part of it");
  std::string tower = "x=1;b=x";
  for (int i = 0; i < 9; ++i) tower += ";b=b+b";
  EXPECT_THAT(error_of([&] { film_webp(walk_of(tower.c_str(), {.rule = WalkRule::recursion})); }),
              HasSubstr("film: needs a walk of at most 400 steps, got "));
  EXPECT_EQ(error_of([] { film_webp(walk_of("a=2"), {.speed = 0}); }),
            "film: needs a speed from 0.1 to 10, got 0.000000; try 1");
  EXPECT_EQ(error_of([] { film_webp(walk_of("a=2"), {.scale = std::nan("")}); }),
            "film: needs a scale from 0.25 to 4, got nan; try 1");
}

TEST(Film, TakesLabelsOfAnyBytesAndNumbersThatAreNotFinite) {
  Value a = Value(0).label("<b>\xff\n\"&"), c = log(a) * a;
  EXPECT_GT(read(film_webp(Walk(c))).frames, 5u);
  EXPECT_GT(read(film_webp(walk_of("2"))).frames, 0u);
  EXPECT_GT(read(film_webp(walk_of("a=2"))).frames, 0u);
}

// Returns the state of a walk after some steps and some deposits of the next step.
std::vector<double> gradients_at(Walk& walk, std::size_t step, std::size_t landed) {
  walk.go_to(std::min(step, walk.steps().size()));
  std::vector<double> result;
  for (const Walk::State& state : walk.state()) result.push_back(state.grad);
  if (step == walk.steps().size() || landed == 0) return result;
  const Walk::Step& now = walk.steps()[step];
  for (std::size_t k = 0; k < std::min(landed, now.deposits.size()); ++k)
    result[now.deposits[k].to] = now.deposits[k].after;
  if (now.kind == Walk::Step::Kind::seed) result[now.node] = now.after;
  if (now.kind == Walk::Step::Kind::forward) result[now.node] = 0;
  return result;
}

void check_scenes(Walk walk) {
  const FilmStage stage = lay_out(walk);
  const Snapshot& graph = walk.graph();
  std::size_t seen = 0;
  for (const FilmMoment& moment : moments_of(walk)) {
    SCOPED_TRACE(testing::Message() << "step " << moment.step << ", landed " << moment.landed);
    const FilmScene scene = scene_at(walk, stage, moment);
    const std::vector<double> gradients = gradients_at(walk, moment.step, moment.landed);
    for (const FilmCard& card : stage.cards) {
      const FilmScene::Card& now = scene.cards[card.node];
      if (!now.grad) {
        EXPECT_TRUE(now.coins.empty());
        continue;
      }
      EXPECT_EQ(*now.grad, gradients[card.node]);
      double sum = 0;
      for (const FilmCoin& coin : now.coins) sum += coin.is_wiped ? 0 : coin.amount;
      EXPECT_NEAR(sum, *now.grad, 1e-9 * std::max(1.0, std::abs(sum)));
    }
    for (const FilmScene::Token& token : scene.tokens) {
      ++seen;
      const Walk::Step& step = walk.steps()[moment.step];
      std::set<std::string> allowed;
      for (const double operand : step.operands) allowed.insert(film_number(operand));
      if (moment.landed < step.deposits.size()) {
        const Walk::Deposit& deposit = step.deposits[moment.landed];
        const std::string product = factor(step.before) + " \xC3\x97 " + factor(deposit.local);
        allowed.insert({signed_number(step.before), signed_number(deposit.amount), product,
                        product + " = " + signed_number(deposit.amount)});
      }
      EXPECT_TRUE(allowed.contains(token.text + token.result)) << token.text << token.result;
    }
    EXPECT_FALSE(scene.caption.empty());
  }
  std::size_t expected = 0;
  for (const Walk::Step& step : walk.steps()) expected += step.deposits.size();
  EXPECT_GE(seen, 2 * expected);
  for (std::size_t i = 0; i < stage.cards.size(); ++i) {
    const Box& box = stage.cards[i].box;
    EXPECT_GE(box.left, 0);
    EXPECT_LE(box.right(), stage.width);
    for (std::size_t k = i + 1; k < stage.cards.size(); ++k) {
      const Box& other = stage.cards[k].box;
      EXPECT_TRUE(box.right() <= other.left || other.right() <= box.left || box.bottom() <= other.top ||
                  other.bottom() <= box.top)
          << graph.nodes[stage.cards[i].node].name << " lies on " << graph.nodes[stage.cards[k].node].name;
    }
  }
}

TEST(Film, ShowsTheNumbersOfTheRecordForEveryRule) {
  for (int rule = 0; rule <= static_cast<int>(WalkRule::no_zeroing); ++rule) {
    SCOPED_TRACE(info(static_cast<WalkRule>(rule)).name);
    check_scenes(walk_of(diamond, {.rule = static_cast<WalkRule>(rule)}));
    check_scenes(walk_of("a=3; a*a", {.rule = static_cast<WalkRule>(rule)}));
  }
}

TEST(Film, ShowsLateDeposits) {
  const Expression expression = parse("a=2; b=a+1; c=3*a; d=b*c");
  const Snapshot graph = snapshot(expression.root);
  Walk walk(graph, {.order = parse_order(graph, "b,d,c,a")});
  check_scenes(walk);
  const FilmStage stage = lay_out(walk);
  const FilmScene end = scene_at(walk, stage, {.step = walk.steps().size()});
  const FilmScene::Card& b = end.cards[*graph.find("b")];
  EXPECT_TRUE(b.is_late);
  EXPECT_EQ(b.paid, 0.0);
  ASSERT_EQ(b.coins.size(), 1u);
  EXPECT_EQ(b.coins[0].text, "+6 late");
}

}  // namespace
}  // namespace gradwalk::film_test
