// SPDX-License-Identifier: MIT
// to_code(): graphs as programs. tests/python/test_code.py runs the programs.
#include "gradwalk/code.hpp"

#include <gmock/gmock.h>

#include "gradwalk/expression.hpp"
#include "gradwalk/graph.hpp"
#include "support.hpp"

namespace gradwalk::code_test {
namespace {

std::string code_of(const char* text, Language language) {
  return to_string(to_code(snapshot(parse(text).root), language));
}

constexpr const char* text = "a=2; b=-3; c=10; e=a+b; f=e*c";

TEST(Code, IsAWholeProgramInCpp) {
  EXPECT_EQ(code_of(text, Language::cpp), R"(#include <gradwalk/gradwalk.hpp>
#include <iostream>
using namespace gradwalk;

int main() {
  Value a = Value(2.0);
  Value b = Value(-3.0);
  Value e = a + b;
  Value c = Value(10.0);
  Value f = e * c;
  f.backward();
  std::cout << "a: " << a.grad() << '\n';
  std::cout << "b: " << b.grad() << '\n';
  std::cout << "c: " << c.grad() << '\n';
}
)");
}

TEST(Code, ReadsLikeMicrogradInPython) {
  EXPECT_EQ(code_of(text, Language::python), R"(from gradwalk import Value

a = Value(2.0)
b = Value(-3.0)
e = a + b
c = Value(10.0)
f = e * c
f.backward()
print("a:", a.grad)
print("b:", b.grad)
print("c:", c.grad)
)");
}

TEST(Code, HasDoublePrecisionInPyTorch) {
  EXPECT_EQ(code_of("a=1.5; b=tanh(a)", Language::pytorch), R"(import torch
torch.set_default_dtype(torch.float64)

a = torch.tensor(1.5, requires_grad=True)
b = torch.tanh(a)
b.backward()
print("a:", a.grad.item())
)");
}

TEST(Code, ListsTheNodeOfEachLineAndTheLineThatCallsBackward) {
  const Snapshot graph = snapshot(parse("a=2; b=a*3").root);
  for (const Language language : {Language::cpp, Language::python, Language::pytorch}) {
    const Code code = to_code(graph, language);
    std::vector<std::size_t> nodes;
    for (const Code::Line& line : code.lines)
      if (line.node) nodes.push_back(*line.node);
    EXPECT_EQ(nodes, (std::vector<std::size_t>{*graph.find("a"), *graph.find("b")})) << name(language);
    EXPECT_THAT(code.lines[code.backward].text, testing::HasSubstr("b.backward()"));
  }
}

TEST(Code, TurnsLabelsIntoValidIdentifiers) {
  EXPECT_THAT(code_of("lambda=1; int=lambda*lambda; EOF=int+lambda", Language::cpp),
              testing::HasSubstr(R"(  Value lambda_ = Value(1.0);
  Value int_ = lambda_ * lambda_;
  Value EOF_ = int_ + lambda_;
)"));
  Value a = 1.0, b = 2.0, c = 3.0, d = 4.0;
  a.label("w.0"), b.label("w 0"), c.label("__tanh"), d.label("7");
  Value r = (a + b) * (c + d);
  const std::string code = to_string(to_code(snapshot(r), Language::python));
  for (const char* line : {"w_0 = Value(1.0)", "w_0_2 = Value(2.0)", "tanh_ = Value(3.0)", "t2 = Value(4.0)"})
    EXPECT_THAT(code, testing::HasSubstr(std::string(line) + "\n"));
}

TEST(Code, ParenthesizesOrWrapsConstantsWhereNeeded) {
  EXPECT_THAT(code_of("a=2; b=a*-3; c=b**-2; d=2**c; e=max(d,-1)", Language::python),
              testing::HasSubstr(R"(b = a * (-3.0)
c = b ** (-2.0)
d = 2.0 ** c
e = gradwalk.max(d, -1.0)
)"));
  EXPECT_THAT(code_of("a=2; b=max(a,1)", Language::pytorch),
              testing::HasSubstr("b = torch.maximum(a, torch.tensor(1.0))"));
  EXPECT_THAT(code_of("a=2; b=a**3", Language::cpp), testing::HasSubstr("Value b = pow(a, 3.0);"));
}

TEST(Code, RefusesACustomOp) {
  const Value a = 2.0;
  const Value r = custom(4.0, {{a, 2.0}}, "mine");
  EXPECT_EQ(tests::error_of([&] { to_code(snapshot(r), Language::cpp); }),
            "to_code: needs operations of the table, got 'mine'; draw or walk the graph instead");
}

}  // namespace
}  // namespace gradwalk::code_test
