// SPDX-License-Identifier: MIT
// Parsing expressions: the presets of the lesson, precedence, names, and error messages.
#include "gradwalk/expression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "gradwalk/graph.hpp"

namespace gradwalk::expression_test {
namespace {

std::map<std::string, double> gradients(const char* text) {
  const Expression expression = parse(text);
  expression.root.backward();
  std::map<std::string, double> result;
  for (const auto& [name, value] : expression.names) result[name] = value.grad();
  return result;
}

double value(const std::string& text) { return parse(text).root.data(); }

std::string message(const std::string& text) {
  try {
    parse(text);
  } catch (const ExpressionError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Presets, HaveTheLessonsNumbers) {
  using Numbers = std::map<std::string, double>;
  EXPECT_EQ(gradients("a=2; b=-3; c=10; e=a+b; f=e*c"),
            (Numbers{{"a", 10}, {"b", 10}, {"c", -1}, {"e", 10}, {"f", 1}}));
  EXPECT_EQ(gradients("a=3; a*a"), (Numbers{{"a", 6}}));
  EXPECT_EQ(gradients("a=3; a+a"), (Numbers{{"a", 2}}));
  EXPECT_EQ(gradients("a=-2; b=3; d=a*b; e=a+b; f=d*e"),
            (Numbers{{"a", -3}, {"b", -8}, {"d", 1}, {"e", -6}, {"f", 1}}));
  EXPECT_EQ(gradients("a=2; b=3; c=a*b; d=c+a; e=d**2"),
            (Numbers{{"a", 64}, {"b", 32}, {"c", 16}, {"d", 16}, {"e", 1}}));
  EXPECT_EQ(gradients("a=2; b=a+1; c=3*a; d=b*c"), (Numbers{{"a", 15}, {"b", 6}, {"c", 3}, {"d", 1}}));
  EXPECT_EQ(gradients("x=2; a=x*x; b=a+1; c=3*a; d=b*c")["x"], 108);
}

TEST(Presets, IncludeTheNeuron) {
  const auto numbers = gradients("x1=2; x2=0; w1=-3; w2=1; b=6.8813735870195432; n=x1*w1 + x2*w2 + b; o=tanh(n)");
  EXPECT_NEAR(numbers.at("x1"), -1.5, 1e-12);
  EXPECT_NEAR(numbers.at("w1"), 1.0, 1e-12);
  EXPECT_NEAR(numbers.at("x2"), 0.5, 1e-12);
  EXPECT_EQ(numbers.at("w2"), 0);
}

TEST(Precedence, IsPythons) {
  EXPECT_EQ(value("a=3; -a**2"), -9);
  EXPECT_EQ(value("2**3**2"), 512);
  EXPECT_EQ(value("2**-1"), 0.5);
  EXPECT_EQ(value("2**-2**2"), 0.0625);
  EXPECT_EQ(value("8/4/2"), 1);
  EXPECT_EQ(value("8-4-2"), 2);
  EXPECT_EQ(value("2+3*4"), 14);
  EXPECT_EQ(value("(2+3)*4"), 20);
  EXPECT_EQ(value("--2"), 2);
  EXPECT_EQ(value("-2*-3"), 6);
  EXPECT_EQ(value("+2"), 2);
  EXPECT_EQ(value("2^3"), 8);
}

TEST(Expressions, AcceptPastedSigns) {
  EXPECT_EQ(value("a=3; a² − 2·a"), 3);
  EXPECT_EQ(value("a=2; -a³"), -8);
  EXPECT_EQ(value("6 × 2 ÷ 3"), 4);
}

TEST(Expressions, AcceptGreekLettersAndSubscriptsInNames) {
  EXPECT_EQ(value("α=2; β₁=3; x₂=α*β₁"), 6);
  EXPECT_EQ(value("θ_1=2; Ω=θ_1; Ω²"), 4);
  EXPECT_EQ(value("wₙ=5; wₙ-1"), 4);
  EXPECT_EQ(parse("ϕ=1; ϕ+1").names[0].first, "ϕ");
  for (const char* no : {"₁=2", "é=2", "a=1; a–1", "\xce", "\xe2\x82", "a=1; a\xe2\x82"})
    EXPECT_THAT(message(no), testing::HasSubstr("names consist of letters, also Greek ones, digits, subscripts and _"))
        << no;
  EXPECT_THAT(message("₁=2"), testing::HasSubstr("got '₁'"));
}

TEST(Expressions, KnowPiAndEUnlessTheyAreGivenAValue) {
  EXPECT_EQ(value("2*pi"), 2 * std::acos(-1.0));
  EXPECT_EQ(value("π"), std::acos(-1.0));
  EXPECT_EQ(value("log(e)"), 1);
  EXPECT_EQ(value("e=3; e*2"), 6);
  EXPECT_EQ(value("x=e; e=5; x+e"), std::exp(1.0) + 5);
  EXPECT_EQ(value("pi=3; pi"), 3);
  EXPECT_EQ(parse("x=2; x*pi").names.size(), 1u);
  EXPECT_THAT(message("pi(2)"), testing::HasSubstr("needs a function of the op table"));
}

TEST(Expressions, KeepANodeForAResultThatIsNotFinite) {
  const std::optional<NonFinite> found = find_nonfinite(parse("a=2; a*log(-1)").root);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->message, "a node is nan: log(-1); log needs x > 0");
  EXPECT_EQ(find_nonfinite(parse("a=-1; b=log(a); c=b*2").root)->message, "'b' is nan: log(a=-1); log needs x > 0");
  EXPECT_FALSE(find_nonfinite(parse("a=2; a*log(1)").root));
}

TEST(Expressions, ListTheEarlierValuesOfNames) {
  const Expression expression = parse("a=2; b=a; a=a*3; a=a+b");
  ASSERT_EQ(expression.earlier.size(), 2u);
  EXPECT_EQ(expression.earlier[0].first, "a");
  EXPECT_EQ(expression.earlier[0].second.data(), 2);
  EXPECT_EQ(expression.earlier[1].second.data(), 6);
  EXPECT_EQ(expression.names[0].second.data(), 8);
  EXPECT_TRUE(parse("a=1; b=a").earlier.empty());
}

TEST(Expressions, CallEveryFunctionOfTheTable) {
  for (const OpInfo& op : op_table) {
    if (op.operands == 0) continue;
    const std::string call = std::string(op.name) + (op.operands == 1   ? "(x)"
                                                     : op.operands == 2 ? "(x, 0.25)"
                                                                        : "(x, 1, 2)");
    const Expression expression = parse((op.domain == "x >= 1" ? "x=1.5; " : "x=0.5; ") + call);
    EXPECT_EQ(info(expression.root.op()).name, op.name);
    EXPECT_TRUE(std::isfinite(expression.root.data())) << call;
  }
}

TEST(Expressions, LabelTheNodesTheyName) {
  const Expression expression = parse("a=2; b=a; c=a*3 # a comment; not = read\nd=c+b");
  EXPECT_EQ(expression.names[2].second.label(), "c");
  EXPECT_TRUE(same_node(expression.names[0].second, expression.names[1].second));
  EXPECT_EQ(expression.names[1].second.label(), "a");
  EXPECT_TRUE(same_node(expression.root, expression.names[3].second));
}

TEST(Expressions, KeepNumbersConstantsAndNamedNumbersLeaves) {
  const Expression expression = parse("a=2*3; b=a*2");
  const std::vector<Value> inputs = expression.root.inputs();
  EXPECT_EQ(inputs[0].op(), Op::leaf);
  EXPECT_EQ(inputs[0].data(), 6);
  EXPECT_EQ(inputs[1].op(), Op::constant);
}

TEST(Expressions, MayRebindANameAndSpanLinesInParentheses) {
  EXPECT_EQ(value("a=2; a=a+1; a*a"), 9);
  EXPECT_EQ(value("a=(1 +\n 2)\n\na*2;;"), 6);
}

TEST(Errors, PointAtThePlaceWithACaret) {
  EXPECT_EQ(message("a=2; b=a)"),
            "expression: needs an operator or the end, got ')'; open a parenthesis first\n  a=2; b=a)\n          ^");
  EXPECT_EQ(message("a=1\nb=a*\nc=2"),
            "expression: needs a number, a name or '(', got the end of the statement; write one here\n  b=a*\n      ^");
  EXPECT_EQ(message("q+1"),
            "expression: needs a name that has a value, got 'q'; give it one first: q = 2;\n  q+1\n  ^");
  EXPECT_EQ(message("a=2; · a"),
            "expression: needs a number, a name or '(', got '·'; write one before the operator\n  a=2; · a\n       ^");
}

TEST(Errors, StayShortForAnyWord) {
  EXPECT_EQ(message(std::string(1'000'000, 'q')),
            "expression: needs a name that has a value, got '" + std::string(40, 'q') + "...'; give it one first: " +
                std::string(40, 'q') + "... = 2;\n  " + std::string(30, 'q') + "...\n  ^");
}

TEST(Errors, NameWhatTheParserExpected) {
  const auto starts = [](const char* text) { return testing::StartsWith(std::string("expression: needs ") + text); };
  EXPECT_THAT(message(""), starts("an expression, got the end"));
  EXPECT_THAT(message("2 3"), starts("an operator, ';' or the end, got '3'"));
  EXPECT_THAT(message("(2"), starts("')' for this '(', got none"));
  EXPECT_THAT(message("(2;3)"), starts("')' for this '(', got none"));
  EXPECT_THAT(message("(2, 3)"), starts("')', got ','"));
  EXPECT_THAT(message("2, 3"), starts("an operator, ';' or the end, got ','"));
  EXPECT_THAT(message("tanh 2"), starts("a number, a name or '(', got 'tanh'"));
  EXPECT_THAT(message("max(2)"), starts("max of 2 operands, got 1"));
  EXPECT_THAT(message("tanh()"), starts("a number, a name or '(', got ')'"));
  EXPECT_THAT(message("foo(2)"), starts("a function of the op table, got 'foo'"));
  EXPECT_THAT(message("max=2"), starts("a name that is not a function's, got 'max'"));
  EXPECT_THAT(message("1e999"), starts("a number between 5e-324 and 1.8e308, got 1e999"));
  EXPECT_THAT(message("a=$"), starts("a number, a name or a sign, got '$'"));
  EXPECT_THAT(message(std::string("a=\0b", 4)), starts("a number, a name or a sign, got byte 0;"));
  EXPECT_THAT(message("a=\xff"), starts("a number, a name or a sign, got byte 255;"));
}

TEST(Errors, CountLinesAndCharacters) {
  try {
    parse("a=1\n  é");
    FAIL();
  } catch (const ExpressionError& error) {
    EXPECT_EQ(error.line, 2u);
    EXPECT_EQ(error.column, 3u);
  }
}

std::string repeated(std::string_view part, std::size_t size) {
  std::string text;
  while (text.size() < size) text += part;
  return text;
}

TEST(Hostile, TextsOfAMegabyteAreParsedOrRefused) {
  constexpr std::size_t megabyte = 1u << 20;
  EXPECT_THAT(message(repeated("(", megabyte)), testing::HasSubstr("got the end"));
  EXPECT_THAT(message(repeated("-", megabyte)), testing::HasSubstr("got the end"));
  EXPECT_THAT(message(repeated("a=a+a;", megabyte)), testing::HasSubstr("a name that has a value"));
  EXPECT_EQ(message("a=0.5;" + repeated("a=a+a;", megabyte)), "no error");
  EXPECT_THAT(message(repeated("-", megabyte) + "1"), testing::HasSubstr("at most 1000000 operations"));
  EXPECT_EQ(message(repeated("(", megabyte) + "1" + repeated(")", megabyte)), "no error");
  EXPECT_EQ(message("a=1;" + repeated("tanh(", megabyte) + "a" + std::string((megabyte + 4) / 5, ')')), "no error");
}

TEST(Hostile, SizesAreBounded) {
  EXPECT_THAT(message(std::string(longest_expression + 1, ' ')),
              testing::HasSubstr("needs at most 4194304 bytes, got 4194305"));
  EXPECT_THAT(message("a=1;a" + repeated("+a", 2 * largest_expression + 2)),
              testing::HasSubstr("needs at most 1000000 operations"));
}

}  // namespace
}  // namespace gradwalk::expression_test
