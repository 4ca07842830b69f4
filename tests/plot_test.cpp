// SPDX-License-Identifier: MIT
// Training plots: the whole text of terminal pictures, the contents of SVGs, and extreme data.
#include "gradwalk/plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

#include "support.hpp"

namespace gradwalk::plot_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;
using tests::error_of;

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

// Returns the texts of an SVG, still escaped.
std::vector<std::string> texts(const std::string& svg) {
  std::vector<std::string> result;
  for (std::size_t at = 0; (at = svg.find("<text", at)) != std::string::npos;) {
    const std::size_t from = svg.find('>', at) + 1;
    at = svg.find("</text>", from);
    result.push_back(svg.substr(from, at - from));
  }
  return result;
}

// Returns an error of an XML text, or "": elements that are not nested, control characters, or unescaped signs.
std::string fault_of(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size(); ++at) {
    if (static_cast<unsigned char>(xml[at]) < ' ' && xml[at] != '\n') return "a control character";
    if (xml[at] == '&' && !std::set<std::string>{"&am", "&lt", "&gt", "&qu"}.contains(xml.substr(at, 3)))
      return "a bare &";
    if (xml[at] != '<') continue;
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos || xml.find('<', at + 1) < end) return "a bare <";
    const std::string name = xml.substr(at + 1, xml.find_first_of(" >", at) - at - 1);
    if (name[0] == '/') {
      if (open.empty() || "/" + open.back() != name) return "a stray <" + name + ">";
      open.pop_back();
    } else if (xml[end - 1] != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty() ? "" : "an open <" + open.back() + ">";
}

// A plot with a border through the middle, four points, and a curve of three steps.
TrainingPlot small_plot() {
  TrainingPlot plot;
  plot.title = "Two sides";
  plot.subtitle = "and a border";
  plot.curve = {{1, 2, 3}, {1.5, 0.75, 0.5}, {0.5, 0.75, 1}};
  plot.train = {2, {-1, -1, 1, 1, -1, 1, 1, -1}, {0, 1, 0, 1}, {"width", "height"}, {"left", "right"}};
  plot.scores = [](std::span<const double> xy) { return std::vector<double>{4 * xy[0]}; };
  return plot;
}

TrainingPlot curve_of(std::vector<double> steps, std::vector<double> loss) {
  TrainingPlot plot;
  plot.curve = {std::move(steps), std::move(loss), {}};
  return plot;
}

// Draws the plot in both formats, checks that the files are well-formed, and returns the SVG.
std::string drawn(const TrainingPlot& plot) {
  const std::string svg = plot_svg(plot), png = plot_png(plot);
  EXPECT_EQ(fault_of(svg), "");
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""));
  EXPECT_LT(svg.size(), 300'000);
  const std::string outside = svg.substr(0, svg.find("base64")) + svg.substr(std::min(svg.find("</svg>"), svg.size()));
  EXPECT_EQ(count(outside, "nan\"") + count(outside, "inf\"") + count(outside, "nan ") + count(outside, "inf "), 0);
  EXPECT_THAT(png, StartsWith("\x89PNG\r\n\x1A\n"));
  EXPECT_THAT(png, testing::EndsWith(std::string("IEND\xAE\x42\x60\x82")));
  return svg;
}

TEST(TextPlot, OfALineThroughTheMiddleIsExactlyThisText) {
  EXPECT_EQ(plot_text(small_plot(), {.width = 40, .height = 7}),
            " 1.14 ..A............    ------------B--\n"
            "      ...............    ---------------\n"
            "      ...............    ---------------\n"
            "      ...............    ---------------\n"
            "      ...............    ---------------\n"
            "      ...............    ---------------\n"
            "-1.14 ..A............    ------------B--\n"
            "      -1.14  height against width   1.14\n"
            "      A . left   B - right\n");
}

// Returns the text in readable form: {f110} and {b110} for colours, {} for their end, ^ for a half block, o and x for
// points.
std::string readable(std::string text) {
  const std::pair<const char*, const char*> names[] = {
      {"\x1b[0m", "{}"},     {"\x1b[38;5;", "{f"},  {"\x1b[48;5;", "{b"}, {"m", "}"},
      {"\xE2\x96\x80", "^"}, {"\xE2\x97\x8F", "o"}, {"\xE2\x97\x86", "x"}};
  for (const auto& [from, to] : names)
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;)
      text.replace(at, std::string(from).size(), to);
  return text;
}

TEST(TextPlot, HasTwoPixelsPerCellInColour) {
  TrainingPlot plot = small_plot();
  plot.test = {2, {0.9, 0}, {0}, {}, {}};
  plot.scores = [](std::span<const double> xy) { return std::vector<double>{4 * xy[0] + 3 * xy[1]}; };
  EXPECT_EQ(readable(plot_text(plot, {.width = 20, .height = 2, .colour = true, .unicode = true})),
            " 1.14 {b110}{f25}o{f153}^{f255}^^{f223}{b153}^{f222}{b255}^{b223}^^{b222}^^^^^{f130}o{}\n"
            "-1.14 {b110}{f25}o{f110}^^^^^{f153}^^{f255}^{f223}{b153}^{f222}{b255}^^{b222}{f25}x{f130}o{}\n"
            "      -1.14     1.14\n"
            "      {f25;48;5;110} o {} left\n"
            "      {f130;48;5;222} o {} right\n");
}

TEST(TextPlot, IsAsciiInColourWithoutUnicode) {
  TrainingPlot plot = small_plot();
  plot.train.label_names[0] =
      "gau\xC3\xAF"
      "che";
  const std::string text = plot_text(plot, {.width = 60, .height = 5, .colour = true});
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
  EXPECT_THAT(text, HasSubstr(" gau?che   "));
}

TEST(TextPlot, ShowsTestPointsAsSmallLettersAndTheLargestOfManyScores) {
  TrainingPlot plot = small_plot();
  plot.scores = [](std::span<const double> xy) { return std::vector<double>{0, 9 * xy[0], 9 * xy[1]}; };
  plot.train.label_names.emplace_back("up");
  plot.test = {2, {0, 0.9}, {2}, {}, {}};
  EXPECT_EQ(plot_text(plot, {.width = 40, .height = 8}),
            " 1.14 ++A++++++++++++++c+++++++++++++B--\n"
            "      ++++++++++++++++++++++++++++------\n"
            "      +++++++++++++++++++++++-----------\n"
            "      +++++++++++++++++++---------------\n"
            "      .................-----------------\n"
            "      .................-----------------\n"
            "      .................-----------------\n"
            "-1.14 ..A..............--------------B--\n"
            "      -1.14  height against width   1.14\n"
            "      A . left   B - right   C + up\n"
            "      small letters: test\n");
}

TEST(TextPlot, ShowsWhereScoresAreNaN) {
  TrainingPlot plot = small_plot();
  plot.train = {2, {}, {}, {}, {}};
  plot.scores = [](std::span<const double> xy) { return std::vector<double>{xy[0] > 0 ? nan : -inf}; };
  EXPECT_EQ(plot_text(plot, {.width = 20, .height = 2}),
            " 1 .........????????\n"
            "-1 .........????????\n"
            "   -1              1\n");
}

// Returns the number of characters that a terminal shows of a line, without escape sequences.
std::size_t shown_width(const std::string& line) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b')
      i = line.find('m', i);
    else if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80)
      ++width;
  }
  return width;
}

TEST(TextPlot, HasNoLineWiderThanItsWidth) {
  TrainingPlot plot = small_plot();
  plot.test = plot.train;
  plot.train.feature_names = {std::string(300, 'x'), "\x1b[31m\n\xE4\xB8\xAD"};
  plot.train.label_names = {std::string(300, 'y'), "\xFF\n", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  plot.train.x[0] = -123456.789;
  plot.train.x[1] = 1e-30;
  for (const std::size_t width : {20u, 21u, 33u, 72u, 200u}) {
    for (const bool colour : {false, true}) {
      const std::string text = plot_text(plot, {.width = width, .height = 6, .colour = colour, .unicode = true});
      std::istringstream lines(text);
      std::size_t number = 0;
      for (std::string line; std::getline(lines, line); ++number) EXPECT_LE(shown_width(line), width) << line;
      EXPECT_LE(number, 9);
      EXPECT_THAT(text, Not(HasSubstr("\x1b[31m")));
    }
  }
}

TEST(Svg, HasTheTitleTheAxesAndTheLegend) {
  const std::string svg = drawn(small_plot());
  EXPECT_THAT(svg, HasSubstr("<title>Two sides</title>"));
  EXPECT_THAT(texts(svg), testing::ElementsAre("Two sides", "and a border", "Decision regions",  //
                                               "\xE2\x88\x92"
                                               "1.0",
                                               "\xE2\x88\x92"
                                               "0.5",
                                               "0.0", "0.5", "1.0",
                                               "\xE2\x88\x92"
                                               "1.0",
                                               "\xE2\x88\x92"
                                               "0.5",
                                               "0.0", "0.5", "1.0", "width", "height", "left", "right", "0.0", "0.5",
                                               "1.0", "1.5", "1", "2", "3", "Loss", "0.5 at step 3", "60%", "80%",
                                               "100%", "1", "2", "3", "Accuracy", "100% at step 3", "step"));
}

TEST(Svg, HasThePointsAndTheBorder) {
  TrainingPlot plot = small_plot();
  plot.test = {2, {0.5, 0.5}, {1}, {}, {}};
  const std::string svg = drawn(plot);
  EXPECT_EQ(count(svg, "<circle"), 4 + 3 + 2);  // four points, three in the legend, and the ends of two curves
  EXPECT_EQ(count(svg, "l5.1 5.1 -5.1 5.1 -5.1 -5.1 z"), 1);
  EXPECT_THAT(texts(svg), IsSupersetOf({"left", "right", "train", "test"}));
  const std::size_t border = svg.find("<path fill=\"none\" stroke=\"#1b222c\"");
  ASSERT_NE(border, std::string::npos);
  const std::string path = svg.substr(border, svg.find("/>", border) - border);
  EXPECT_EQ(count(path, "M"), 159);  // straight down the middle of the grid
}

TEST(Svg, EscapesAndShortensText) {
  TrainingPlot plot = small_plot();
  plot.title = "<b>&amp;\x01\xFF";
  plot.subtitle = std::string(1000, 'W');
  plot.train.feature_names = {"a<b", std::string(500, 'M')};
  plot.train.label_names = {"</text><script>", "\"\n"};
  const std::string svg = drawn(plot);
  const std::vector<std::string> seen = texts(svg);
  EXPECT_EQ(seen[0], "&lt;b&gt;&amp;amp;\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_THAT(seen, IsSupersetOf({"a&lt;b", "&lt;/text&gt;&lt;script&gt;", "&quot;\xE2\x86\xB5"}));
  for (const std::string& text : seen) EXPECT_LT(text.size(), 120);
}

TEST(Svg, OfTheCurveAloneIsWide) {
  TrainingPlot plot = small_plot();
  plot.scores = nullptr;
  const std::vector<std::string> seen = texts(drawn(plot));
  EXPECT_THAT(seen, IsSupersetOf({"Loss", "Accuracy", "step", "0.5 at step 3", "100% at step 3"}));
  EXPECT_THAT(seen, Not(Contains("Decision regions")));
  plot.curve.accuracy.clear();
  EXPECT_THAT(texts(drawn(plot)), Not(Contains("Accuracy")));
}

TEST(Svg, OfTheRegionsAloneHasNoCurve) {
  TrainingPlot plot = small_plot();
  plot.curve = {};
  EXPECT_THAT(texts(drawn(plot)), Not(Contains("Loss")));
}

TEST(Png, IsTwiceTheSizeOfTheSvg) {
  const std::string svg = plot_svg(small_plot()), png = plot_png(small_plot());
  const auto number = [&](std::size_t at) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value * 256 + static_cast<unsigned char>(png[at + i]);
    return value;
  };
  EXPECT_THAT(svg, HasSubstr(" width=\"" + std::to_string(number(16) / 2) + "\" height=\"" +
                             std::to_string(number(20) / 2) + "\""));
}

TEST(Curves, HaveALogarithmicAxisIfTheyFallFar) {
  EXPECT_THAT(texts(drawn(curve_of({1, 2, 3}, {50, 10, 1}))), Contains("Loss"));
  EXPECT_THAT(texts(drawn(curve_of({1, 2, 3}, {51, 10, 1}))),
              IsSupersetOf({"Loss (log scale)", "1", "2", "5", "10", "20", "50"}));
  EXPECT_THAT(texts(drawn(curve_of({1, 2, 3}, {1, 1e-3, 1e-6}))),
              IsSupersetOf({"1", "0.1", "0.01", "0.001", "0.0001", "10\xE2\x81\xBB\xE2\x81\xB5"}));
  EXPECT_THAT(texts(drawn(curve_of({1, 2, 3}, {100, 1, -1}))), Contains("Loss"));  // negative numbers have no logarithm
  EXPECT_THAT(texts(drawn(curve_of({1, 2, 3}, {100, 1, 0}))), IsSupersetOf({"Loss (log scale)", "1 zero"}));
}

TEST(Curves, HaveGapsWhereTheLossIsNotFinite) {
  const std::string svg = drawn(curve_of({1, 2, 3, 4, 5, 6, 7}, {3, 2, nan, 1, inf, 2, 1}));
  EXPECT_THAT(texts(svg), IsSupersetOf({"2 not finite", "1 at step 7"}));
  EXPECT_EQ(count(svg, "<circle"), 2);  // the point between gaps, and the end of the curve
  EXPECT_THAT(texts(drawn(curve_of({1, 2}, {nan, nan}))), IsSupersetOf({"2 not finite", "no finite number"}));
}

TEST(Curves, OfAnyNumbersAreDrawn) {
  const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  for (const TrainingPlot& plot :
       {curve_of({1}, {0.5}), curve_of({0}, {0}), curve_of({1, 2, 3}, {2, 2, 2}), curve_of({5, 5}, {1, 2}),
        curve_of({1, 2}, {most, -most}), curve_of({1, 2}, {most, least}), curve_of({-most, most}, {1, 2}),
        curve_of({nan, inf}, {1, 2}), curve_of({1, 2}, {least, 0}), curve_of({1e9, 1e9 + 1}, {1, 1 + 1e-12}),
        curve_of({3, 1, 2}, {-1, -2, -3}), curve_of({0.25, 0.5}, {1e-9, 2e-9})})
    drawn(plot);
  TrainingPlot strange = curve_of({1, 2, 3, 4}, {1, 2, 3, 4});
  strange.curve.accuracy = {nan, -3, 7, inf};
  drawn(strange);
}

TEST(Curves, OfManyStepsStaySmall) {
  TrainingPlot plot;
  for (int i = 0; i < 100'000; ++i) {
    plot.curve.steps.push_back(i);
    plot.curve.loss.push_back(std::exp(-i / 1e4) * (1 + 0.5 * std::sin(i * 12.9898)));
  }
  EXPECT_THAT(texts(drawn(plot)), IsSupersetOf({"0", "20,000", "80,000", "4.833e-05 at step 99,999"}));
  for (std::size_t i = 0; i < plot.curve.loss.size(); i += 3) plot.curve.loss[i] = nan;
  drawn(plot);
}

TEST(Points, AreThinnedWithANoteIfThereAreTooMany) {
  TrainingPlot plot = small_plot();
  plot.train = make_moons(100'000, 0.1, 1);
  plot.test = make_moons(100, 0.1, 2);
  const std::string svg = drawn(plot);
  EXPECT_THAT(texts(svg), Contains("2,000 of 100,100 points are drawn"));
  EXPECT_EQ(count(svg, "<circle"), 1998 + 3 + 2);
  EXPECT_THAT(plot_text(plot), HasSubstr(" of 100,100 points\n"));
}

TEST(Points, AreDrawnAnywhere) {
  const double most = std::numeric_limits<double>::max();
  const std::vector<std::vector<double>> places{{2, 3, 2, 3},   {1e15, 1, 1e15 + 1, 1}, {most, most, -most, -most},
                                                {nan, 1, 1, 2}, {1e-320, 0, 0, 0},      {1e300, -1e300, -1e300, 1e300}};
  for (const std::vector<double>& x : places) {
    TrainingPlot plot = small_plot();
    plot.train.x = x;
    plot.train.labels = {0, 77};  // a class without a name
    drawn(plot);
    plot_text(plot);
  }
  TrainingPlot none = small_plot();
  none.train.x.clear();
  none.train.labels.clear();
  drawn(none);
}

TEST(Scores, OfAnyNumbersAreDrawn) {
  using List = std::vector<double>;
  const std::vector<Scores> all{[](auto) { return List{nan}; },
                                [](auto) { return List{0}; },
                                [](auto) { return List{0, 0, 0}; },
                                [](auto) { return List{inf, inf, -inf}; },
                                [](auto) { return List{-inf, -inf}; },
                                [](auto xy) { return List{xy[0] > 0 ? inf : -inf}; },
                                [](auto xy) { return List{std::sin(1e6 * xy[0]), std::sin(1e6 * xy[1])}; }};
  for (const Scores& scores : all) {
    TrainingPlot plot = small_plot();
    plot.scores = scores;
    drawn(plot);
    plot_text(plot);
  }
}

TEST(Scores, OfManyClassesAreDrawn) {
  TrainingPlot plot = small_plot();
  plot.scores = [](std::span<const double> xy) {
    std::vector<double> scores(30);
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = std::cos(xy[0] * static_cast<double>(i) + xy[1]);
    return scores;
  };
  for (int i = 2; i < 30; ++i) plot.train.label_names.push_back(std::string(40, 'n') + std::to_string(i));
  EXPECT_THAT(texts(drawn(plot)), Contains("and 20 more"));
}

TEST(Mistakes, ThrowErrors) {
  TrainingPlot plot = small_plot();
  plot.curve.loss.pop_back();
  EXPECT_EQ(
      error_of([&] { plot_svg(plot); }),
      "plot_svg: needs one loss per step, and one accuracy per step or none, got 3 steps, 2 losses and 3 accuracies; "
      "give lists of one length");
  EXPECT_EQ(error_of([] { plot_png({}); }),
            "plot_png: needs a learning curve, or scores of 2-D data, got neither; fill in curve.steps and curve.loss");
  EXPECT_EQ(error_of([] { plot_text({}); }),
            "plot_text: needs scores to ask about points, got none; fill in scores, or draw the curve with plot_svg");
  plot = small_plot();
  EXPECT_EQ(error_of([&] { plot_text(plot, {.width = 19}); }),
            "plot_text: needs 20 to 1000 columns and 2 to 1000 rows, got 19 and 20; 72 and 20 suit most terminals");
  plot.train.columns = 3;
  EXPECT_EQ(error_of([&] { plot_svg(plot); }),
            "plot_svg: needs data of 2 columns where there are scores, got 3; give no scores, and only the curve is "
            "drawn");
  plot = small_plot();
  plot.train.x.pop_back();
  EXPECT_EQ(error_of([&] { plot_text(plot); }),
            "plot_text: needs 8 numbers for the data's labels, got 7; give two numbers per label");
  plot = small_plot();
  plot.scores = [](auto) { return std::vector<double>{}; };
  EXPECT_EQ(error_of([&] { plot_svg(plot); }),
            "plot_svg: needs scores() to return as many numbers at every point, got 0; return one score for two "
            "classes, or one per class");
}

TEST(Threads, PlotAtTheSameTime) {
  const TrainingPlot plot = small_plot();
  const std::string expected = plot_png(plot);
  std::vector<std::string> pictures(4);
  std::vector<std::thread> threads;
  for (std::string& picture : pictures) threads.emplace_back([&] { picture = plot_png(plot); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(pictures, testing::Each(expected));
}

TEST(Pictures, ShowAConfusionMatrix) {
  TrainingPlot plot;
  plot.confusion = {"Rows kept for testing", {"setosa", "a<b", std::string(300, 'y')}, {9, 1, 0, 2, 7, 0, 0, 0, 123}};
  const std::string svg = plot_svg(plot);
  for (const char* text : {">Rows kept for testing<", ">setosa<", ">a&lt;b<", ">123<", ">predicted as<", ">class<"})
    EXPECT_THAT(svg, testing::HasSubstr(text));
  plot.curve = {{1, 2}, {3, 1}, {}};
  EXPECT_GT(plot_png(plot).size(), 1000u);
  const std::string counts = "plot_svg: needs 2 to 20 names of classes, and a count for each pair, got ";
  const auto with = [&](std::size_t names, std::size_t numbers) {
    plot.confusion.names.assign(names, "x");
    plot.confusion.counts.assign(numbers, 1);
    return tests::error_of([&] { plot_svg(plot); });
  };
  EXPECT_EQ(with(3, 8), counts + "3 and 8; give all of them, or none");
  EXPECT_EQ(with(1, 1), counts + "1 and 1; give all of them, or none");
  EXPECT_EQ(with(21, 441), counts + "21 and 441; give all of them, or none");
  EXPECT_EQ(with(20, 400), "no error");
  EXPECT_EQ(with(0, 0), "no error");
}

}  // namespace
}  // namespace gradwalk::plot_test
