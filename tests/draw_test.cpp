// SPDX-License-Identifier: MIT
// Drawings: the whole text of small ones, labels of any bytes as they appear in the picture, and limits for large
// graphs.
#include "gradwalk/draw.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "gradwalk/expression.hpp"
#include "gradwalk/graph.hpp"
#include "support.hpp"

#ifdef GRADWALK_TESTS_SANITIZED
// Graphviz 2.42 leaks 72 bytes for each text of an HTML-like label, and fontconfig keeps its data about fonts. Leaks of
// gradwalk do not match these patterns.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\nleak:libgvc\n"; }
#endif

namespace gradwalk::draw_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using tests::error_of;

Snapshot graph_of(const char* text) {
  const Expression expression = parse(text);
  expression.root.backward();
  return snapshot(expression.root);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

std::string decoded(std::string text) {
  const std::pair<const char*, const char*> entities[] = {
      {"&#160;", " "}, {"&#45;", "-"}, {"&#39;", "'"}, {"&quot;", "\""}, {"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}};
  for (const auto& [entity, character] : entities)
    for (std::size_t at = 0; (at = text.find(entity, at)) != std::string::npos; at += 1)
      text.replace(at, std::string(entity).size(), character);
  return text;
}

// Returns the texts of an SVG, decoded.
std::vector<std::string> texts(const std::string& svg) {
  std::vector<std::string> result;
  for (std::size_t at = 0; (at = svg.find("<text", at)) != std::string::npos;) {
    const std::size_t from = svg.find('>', at) + 1;
    at = svg.find("</text>", from);
    result.push_back(decoded(svg.substr(from, at - from)));
  }
  return result;
}

// Returns the label of a leaf as it appears in the picture.
std::string drawn(std::string_view label) {
  testing::internal::CaptureStderr();
  const std::vector<std::string> seen = texts(draw_svg(Value(2).label(label)));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(seen.size(), 3);
  return seen.empty() ? "" : seen[0];
}

TEST(Dot, OfASmallGraphIsExactlyThisText) {
  EXPECT_EQ(draw_dot(graph_of("a=3; b=a/2")), R"(digraph gradwalk {
  rankdir=LR
  bgcolor=white; pad=0.15; nodesep=0.18; ranksep=0.28
  fontname="DejaVu Sans,Helvetica,Arial,sans-serif"; fontsize=13; fontcolor="#4a5361"; labelloc=b
  node [fontname="DejaVu Sans,Helvetica,Arial,sans-serif", fontsize=11, fontcolor="#1b222c", shape=box, style="rounded,filled", margin=0, height=0.3, width=0.3, color="#8a94a3", fillcolor=white]
  edge [fontname="DejaVu Sans,Helvetica,Arial,sans-serif", fontsize=8, fontcolor="#4a5361", color="#6b7585", arrowsize=0.6, tailport=e, labelangle=35, labeldistance=1.4]
  n0 [label=<<table border="0" cellborder="0" cellspacing="0" cellpadding="5"><tr><td>a</td><vr/><td>data 3.0000</td><vr/><td>grad 0.5000</td></tr></table>>, color="#4a78b0", fillcolor="#e3eefa"]
  n1 [label=<2>, fontsize=9, fontcolor="#4a5361", color="#c3c9d2", height=0.24, margin="0.06,0.02"]
  n2 [label=<<table border="0" cellborder="0" cellspacing="0" cellpadding="5"><tr><td>b</td><vr/><td>data 1.5000</td><vr/><td>grad 1.0000</td></tr></table>>, color="#1b222c", fillcolor="#fbe7b8", penwidth=2]
  op2 [label=</>, shape=circle, fixedsize=true, fillcolor="#eceff3", color="#4a5361"]
  op2 -> n2 [weight=4, headport=w]
  n0 -> op2
  n1 -> op2 [headlabel="2nd"]
}
)");
}

TEST(Dot, HasTwoEdgesForANodeUsedTwice) { EXPECT_EQ(count(draw_dot(graph_of("a=3; a*a")), "n0 -> op1\n"), 2); }

TEST(Dot, NumbersOperandsIfTheirOrderMatters) {
  EXPECT_THAT(draw_dot(graph_of("a=3; b=2; a-b")), HasSubstr("  n0 -> op2\n  n1 -> op2 [headlabel=\"2nd\"]\n"));
  EXPECT_THAT(draw_dot(graph_of("a=3; b=2; a+b")), HasSubstr("  n0 -> op2\n  n1 -> op2\n"));
  EXPECT_THAT(draw_dot(graph_of("a=3; a-a")), Not(HasSubstr("headlabel")));
  const std::vector<Value> inputs{1, 2, 3};
  const std::vector<double> slopes{1, 1, 1};
  EXPECT_THAT(draw_dot(custom(6, inputs, slopes)), HasSubstr("headlabel=\"3rd\""));
}

TEST(Dot, RunsInEveryDirection) {
  const Snapshot graph = graph_of("a=3; -a");
  using enum DrawOptions::Direction;
  EXPECT_THAT(draw_dot(graph, {.direction = right}), HasSubstr("rankdir=LR\n"));
  EXPECT_THAT(draw_dot(graph, {.direction = down}), HasSubstr("rankdir=TB\n"));
  EXPECT_THAT(draw_dot(graph, {.direction = left}), HasSubstr("rankdir=RL\n"));
  EXPECT_THAT(draw_dot(graph, {.direction = up}), HasSubstr("rankdir=BT\n"));
}

TEST(Dot, WritesHiddenConstantsIntoTheirOperations) {
  const DrawOptions hide{.hide_constants = true};
  EXPECT_THAT(draw_dot(graph_of("a=3; a**2"), hide), HasSubstr("[label=<** 2>"));
  EXPECT_THAT(draw_dot(graph_of("a=3; 10/a"), hide), HasSubstr("[label=<10 />"));
  EXPECT_THAT(draw_dot(graph_of("a=3; max(a, 0.5)"), hide), HasSubstr("[label=<max 0.5>"));
  EXPECT_EQ(count(draw_dot(graph_of("a=3; a**2"), hide), " -> "), 2);
  EXPECT_EQ(count(draw_dot(graph_of("a=3; a**2"), hide), "headlabel"), 0);
  const Value product = Value(3) * 2;
  EXPECT_THAT(texts(draw_svg(product.inputs()[1], hide)), ElementsAre("2"));  // the root is always drawn
}

TEST(Numbers, HaveFixedDecimalsUnlessTooSmallOrLarge) {
  const auto shown = [](double number, int digits = 4) {
    const std::string dot = draw_dot(Value(number), {.digits = digits});
    const std::size_t from = dot.find("<td>data ") + 9;
    return dot.substr(from, dot.find("</td>", from) - from);
  };
  EXPECT_EQ(shown(2), "2.0000");
  EXPECT_EQ(shown(-0.5, 0), "-5e-01");
  EXPECT_EQ(shown(1.5, 0), "2");
  EXPECT_EQ(shown(-0.0), "0.0000");
  EXPECT_EQ(shown(1234567.125), "1234567.1250");
  EXPECT_EQ(shown(1.23456789e20), "1.2346e+20");
  EXPECT_EQ(shown(-1.23456789e-20, 2), "-1.23e-20");
  EXPECT_EQ(shown(0.0001), "0.0001");
  EXPECT_EQ(shown(std::numeric_limits<double>::denorm_min(), 17), "4.94065645841246544e-324");
  EXPECT_EQ(shown(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(shown(std::nan("")), "nan");
}

TEST(Labels, AreShownUnchanged) {
  for (const char* label :
       {"plain", "\"quoted\" 'twice'", "{a|b}", "<b>bold</b>", "a < b > c", "</td></tr></table>>",
        "\\N \\G \\E \\L \\l \\n \\r", "ends in \\", "\\\\", "&amp; &lt; &#65; & &&amp;", "]]>", "<!-- -->",
        "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "%s %n", "a -> b; c [x=y]", "w\xE2\x82\x81", "a - b", "two  spaces"})
    EXPECT_EQ(drawn(label), label);
}

TEST(Labels, ShowReplacementCharactersForInvalidBytes) {
  EXPECT_EQ(drawn("a\xFF"
                  "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(drawn("\xC3"), "\xEF\xBF\xBD");                                  // a truncated character
  EXPECT_EQ(drawn("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // an overlong encoding
  EXPECT_EQ(drawn("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(drawn("\xF4\x90\x80\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(drawn("\xEF\xBF\xBF"), "\xEF\xBF\xBD");  // not a character of XML
  EXPECT_EQ(drawn("\xC2\x85"), "\xEF\xBF\xBD");
  EXPECT_EQ(drawn("a\nb\tc"),
            "a\xE2\x86\xB5"
            "b\xE2\x87\xA5"
            "c");
  EXPECT_EQ(drawn(std::string_view("\0\x1F\x7F", 3)), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Labels, AreShortenedInTheMiddleIfLong) {
  EXPECT_EQ(drawn(std::string(40, 'x')), std::string(40, 'x'));
  EXPECT_EQ(drawn(std::string(30, 'a') + std::string(30, 'z')),
            std::string(26, 'a') + "\xE2\x80\xA6" + std::string(13, 'z'));
  std::string wide;
  for (int i = 0; i < 50; ++i) wide += "\xC3\xA9";
  EXPECT_EQ(drawn(wide).size(), 2 * 39 + 3);
}

TEST(Labels, MayContainAnyByteWithoutAMessage) {
  for (int byte = 0; byte < 256; ++byte) EXPECT_NE(drawn(std::string("x").append(1, static_cast<char>(byte))), "");
}

TEST(Labels, OfCustomNodesAreShownUnchanged) {
  const Value a{2};
  const std::vector<std::string> seen = texts(draw_svg(custom(4, {{a, 4}}, "<&lt;\\N>")));
  EXPECT_THAT(seen, testing::Contains("<&lt;\\N>"));
  EXPECT_THAT(texts(draw_svg(custom(4, {{a, 4}}, ""))), testing::Contains("custom"));
}

TEST(Svg, HasATitleAndTheNumbersButNotGraphvizsHeader) {
  const std::string svg = draw_svg(graph_of("a=2; b=-3; c=a*b"));
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  EXPECT_THAT(svg, HasSubstr("<title>c = -6.0000</title>"));
  EXPECT_THAT(texts(svg), ElementsAre("a", "data 2.0000", "grad -3.0000", "*", "b", "data -3.0000", "grad 2.0000", "c",
                                      "data -6.0000", "grad 1.0000"));
}

TEST(Svg, OfNonFiniteNumbersIsDrawn) {
  EXPECT_THAT(texts(draw_svg(graph_of("a=0; b=1/a; b-b"))), testing::Contains("data nan"));
}

TEST(Png, IsAPicture) {
  const std::string png = draw_png(graph_of("a=2; b=-3; c=a*b"));
  EXPECT_THAT(png, testing::StartsWith("\x89PNG\r\n\x1A\n"));
  EXPECT_GT(png.size(), 1000);
}

TEST(LargeGraphs, ShowTheNodesNearestToTheRootAndCountTheOthers) {
  Value sum{0};
  for (int i = 0; i < 2500; ++i) {
    const Value leaf(i);
    sum = (sum + leaf).label("s" + std::to_string(i));
  }
  const std::string dot = draw_dot(sum, {.limit = 5});
  EXPECT_EQ(count(dot, "data "), 5);
  EXPECT_THAT(dot, HasSubstr("label=<4,996 of 5,001 nodes are not drawn; a higher limit draws more>\n"));
  EXPECT_THAT(dot, HasSubstr("more [label=<\xE2\x80\xA6 4,996 more nodes>"));
  EXPECT_THAT(dot, HasSubstr("s2499"));
  EXPECT_THAT(dot, Not(HasSubstr("s2400")));
  EXPECT_THAT(draw_dot(sum, {.limit = 5001}), Not(HasSubstr("not drawn")));
}

TEST(LargeGraphs, HaveOneBoxPerCutOperationIfThereAreMany) {
  std::vector<Value> row;
  for (int i = 0; i < 32; ++i) row.emplace_back(i);
  while (row.size() > 1) {
    std::vector<Value> next;
    for (std::size_t i = 0; i < row.size(); i += 2) next.push_back(row[i] * row[i + 1]);
    row = next;
  }
  const std::string dot = draw_dot(row[0], {.limit = 31});
  EXPECT_EQ(count(dot, "_more [label=<\xE2\x80\xA6>"), 16);
  EXPECT_THAT(dot, HasSubstr("32 of 63 nodes are not drawn"));
}

TEST(LargeGraphs, NameADistantOperandInsteadOfDrawingALongEdge) {
  Value a = Value(1.5).label("a"), sum = a * 2;
  for (int i = 0; i < 20; ++i) sum = sum * a;
  const std::string dot = draw_dot(sum, {});
  EXPECT_EQ(count(dot, "[label=<a>, style=\"rounded,dashed\""), 13);
  EXPECT_THAT(dot, HasSubstr("label=<a dashed name stands for the box of that name>\n"));
}

TEST(LargeGraphs, AreLaidOutInSecondsByDefault) {  // with the edges of `a` drawn, it would take minutes
  Value a = Value(1).label("a"), sum = a;
  for (int i = 0; i < 5000; ++i) sum = (sum + a).label("s");
  EXPECT_THAT(draw_svg(sum), HasSubstr("4,601 of 5,001 nodes are not drawn"));
}

TEST(Options, OutOfRangeThrowAnError) {
  const Value a{1};
  EXPECT_EQ(error_of([&] { draw_dot(a, {.digits = 18}); }), "draw: needs 0 to 17 digits, got 18; try 4");
  EXPECT_EQ(error_of([&] { draw_dot(a, {.limit = 0}); }),
            "draw: needs a limit of at least 1, got 0; the root is always drawn");
  EXPECT_EQ(error_of([&] { draw_dot(Snapshot{}); }),
            "draw: needs a graph, got a snapshot without nodes; take one with snapshot(root)");
  EXPECT_EQ(
      error_of([&] { draw_svg(a, {.limit = 2001}); }),
      "draw_svg: needs a limit of at most 2000 nodes, got 2001; lower it, or give the text of draw_dot to a layout "
      "program for large graphs");
}

TEST(Threads, DrawOneAfterAnother) {
  const Snapshot graph = graph_of("a=2; b=-3; c=a*b");
  const std::string expected = draw_svg(graph);
  std::vector<std::string> drawings(4);
  std::vector<std::thread> threads;
  for (std::string& drawing : drawings) threads.emplace_back([&] { drawing = draw_svg(graph); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(drawings, testing::Each(expected));
}

}  // namespace
}  // namespace gradwalk::draw_test
