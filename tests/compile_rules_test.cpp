// SPDX-License-Identifier: MIT
// The guarantees of a program: it selects for each row, treats numbers that are not finite as the engine does, passes
// nothing on from a gradient of 0, and leaves every gradient unchanged when it throws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gradwalk/compile.hpp"
#include "gradwalk/emit.hpp"
#include "random_function.hpp"
#include "support.hpp"

namespace gradwalk::compile_rules_test {

using testing::HasSubstr;
using tests::error_of;

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

// Returns true for numbers that are equal up to rounding, or the same infinity, or both NaN.
bool is_alike(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y || std::abs(x - y) <= 1e-14 * std::abs(x);
}

class EverySet : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Compile, EverySet, testing::ValuesIn(instruction_sets()),
                         [](const auto& instance) { return instance.param; });

TEST_P(EverySet, ChoosesForEachRow) {
  const std::vector<std::pair<const char*, std::function<Value(const Value&, const Value&)>>> choices{
      {"max", [](const Value& w, const Value& x) { return max(w, x); }},
      {"min", [](const Value& w, const Value& x) { return min(x, w); }},
      {"relu", [](const Value& w, const Value& x) { return relu(x) * w; }},
      {"abs", [](const Value& w, const Value& x) { return abs(x) * w; }},
      {"select <", [](const Value& w, const Value& x) { return select(x < w, w * 3, x * x); }},
      {"select <=", [](const Value& w, const Value& x) { return select(x <= w, w * 3, x * x); }},
      {"select ==", [](const Value& w, const Value& x) { return select(x == w, w * 3, x * x); }},
      {"select !=", [](const Value& w, const Value& x) { return select(x != w, w, x); }},
      {"in each other", [](const Value& w, const Value& x) { return max(select(x < 0, w, x), min(x, abs(w - x))); }},
  };
  const std::vector rows{-2.0, -0.5, 0.0, 0.25, 0.5, 1.0, 3.0, -1.0, 0.5, -4.0, 8.0};  // with ties
  for (const auto& [name, choice] : choices)
    for (const Precision precision : {Precision::float64, Precision::float32}) {
      Value w{0.5}, x;
      Program program = compile(
          choice(w, x), {.inputs = {x}, .parameters = {w}, .precision = precision, .instruction_set = GetParam()});
      std::vector<double> outputs(rows.size()), inputs(rows.size()), gradient(1);
      program.gradients(rows, gradient, {.input_gradients = inputs, .outputs = outputs});
      Value own{0.5};
      for (std::size_t r = 0; r < rows.size(); ++r) {
        Value in{rows[r]};
        const Value out = choice(own, in);
        out.backward();
        EXPECT_EQ(outputs[r], out.data()) << name << " of " << rows[r];
        EXPECT_EQ(inputs[r], in.grad()) << name << " of " << rows[r];
      }
      EXPECT_EQ(gradient[0], own.grad()) << name;
    }
}

const std::vector special{0.0, -0.0, 1.0, -1.0, 0.5, -2.0, infinity, -infinity, nan};

// Every op on every kind of number, once plainly and once with an incoming gradient of 0.
template <class Check> void each_op(Check check) {
  for (auto op = static_cast<std::size_t>(Op::add); op < static_cast<std::size_t>(Op::custom); ++op)
    for (const double from_above : {1.0, 0.0}) {
      SCOPED_TRACE(std::string(name(Op(op))) + " times " + std::to_string(from_above));
      check([op, from_above](const std::vector<Value>& in) {
        const Value zero = from_above;
        return tests::applied(Op(op), in[0], in[1], in[2]) * zero;
      });
      if (testing::Test::HasFailure()) return;
    }
}

std::vector<double> all_special() {
  std::vector<double> rows;
  for (const double a : special)
    for (const double b : special)
      for (const double c : special) rows.insert(rows.end(), {a, b, c});
  return rows;
}

// Returns the value and its gradient with respect to each of the three operands.
std::vector<double> by_the_engine(const RowFunction& function, std::span<const double> row) {
  const std::vector<Value> in(row.begin(), row.end());
  const Value out = function(in);
  out.backward();
  return {out.data(), in[0].grad(), in[1].grad(), in[2].grad()};
}

TEST_P(EverySet, FollowsTheEngineForNumbersThatAreNotFinite) {
  const std::vector<double> rows = all_special();
  each_op([&](const RowFunction& function) {
    std::vector<Value> in(3);
    Program program = compile(function(in), {.inputs = in, .instruction_set = GetParam()});
    std::vector<double> outputs(rows.size() / 3), inputs(rows.size());
    program.gradients(rows, {}, {.input_gradients = inputs, .outputs = outputs});
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      const std::vector<double> wanted = by_the_engine(function, std::span(rows).subspan(3 * r, 3));
      EXPECT_TRUE(is_alike(outputs[r], wanted[0]) && is_alike(inputs[3 * r], wanted[1]) &&
                  is_alike(inputs[3 * r + 1], wanted[2]) && is_alike(inputs[3 * r + 2], wanted[3]))
          << "of " << rows[3 * r] << ", " << rows[3 * r + 1] << ", " << rows[3 * r + 2] << ": " << outputs[r] << ", "
          << inputs[3 * r] << ", " << inputs[3 * r + 1] << ", " << inputs[3 * r + 2] << ", not "
          << testing::PrintToString(wanted);
    }
  });
}

TEST_P(EverySet, FollowsTheEngineAsAFunctionOfParameters) {
  const std::vector<double> rows = all_special();
  each_op([&](const RowFunction& function) {
    std::vector<Value> in(3);
    Program program = compile(function(in), {.parameters = in, .instruction_set = GetParam()});
    std::vector<double> gradient(3);
    for (std::size_t r = 0; r < rows.size() / 3; ++r) {
      const auto row = std::span(rows).subspan(3 * r, 3);
      const double value = program.gradient_at(row, gradient);
      const std::vector<double> wanted = by_the_engine(function, row);
      EXPECT_TRUE(is_alike(value, wanted[0]) && is_alike(gradient[0], wanted[1]) && is_alike(gradient[1], wanted[2]) &&
                  is_alike(gradient[2], wanted[3]))
          << "of " << row[0] << ", " << row[1] << ", " << row[2] << ": " << value << ", "
          << testing::PrintToString(gradient) << ", not " << testing::PrintToString(wanted);
    }
  });
}

TEST_P(EverySet, PassesNoGradientThroughInfiniteWeightsOfInactiveUnits) {
  // The layer below infinite weights has inactive units, and one row has the weight 0.
  std::vector<Value> w{infinity, -1.0, -infinity, 2.0, 1.0, -3.0}, v{1.0, 1.0, -1.0}, x(2);
  std::vector<Value> parameters(w);
  parameters.insert(parameters.end(), v.begin(), v.end());
  const auto network = [&](const std::vector<Value>& in) {
    Value sum = 0;
    for (std::size_t o = 0; o < 3; ++o) sum += v[o] * relu(w[2 * o] * in[0] + w[2 * o + 1] * in[1]);
    return min(sum, 10);
  };
  Program program = compile(network(x), {.inputs = x, .parameters = parameters, .instruction_set = GetParam()});
  const std::vector rows{-1.0, 2.0, 1.0, 1.0, -0.5, -1.0}, weights{1.0, 0.0, 2.0};
  std::vector<double> gradient(parameters.size()), inputs(rows.size());
  program.gradients(rows, gradient, {.weights = weights, .input_gradients = inputs});
  for (std::size_t r = 0; r < 3; ++r) {
    const std::vector<Value> in{rows[2 * r], rows[2 * r + 1]};
    network(in).backward(weights[r]);
    EXPECT_TRUE(is_alike(inputs[2 * r], in[0].grad()) && is_alike(inputs[2 * r + 1], in[1].grad())) << "row " << r;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    EXPECT_TRUE(is_alike(gradient[i], parameters[i].grad()))
        << "parameter " << i << ": " << gradient[i] << ", not " << parameters[i].grad();
}

TEST(Constants, CanBeFactorsAndDivisorsOfAnySize) {
  for (const double number : {0.0, -0.0, 1e-310, 1e100, infinity, nan, 3.0})
    for (const double again : {1e-100, -2.0, 0.0}) {
      Value w{0.75}, x;
      const auto function = [&](const Value& in) { return (in / number + number * (again * (in * w))) / again; };
      Program program = compile(function(x), {.inputs = {x}, .parameters = {w}});
      std::vector<double> gradient(1), inputs(2), outputs(2);
      const std::vector rows{1.5, -0.25};
      program.gradients(rows, gradient, {.input_gradients = inputs, .outputs = outputs});
      for (std::size_t r = 0; r < 2; ++r) {
        Value in{rows[r]};
        const Value out = function(in);
        out.backward();
        EXPECT_TRUE(is_alike(outputs[r], out.data()))
            << number << ", " << again << ": " << outputs[r] << ", not " << out.data();
        EXPECT_TRUE(is_alike(inputs[r], in.grad()))
            << number << ", " << again << ": " << inputs[r] << ", not " << in.grad();
      }
    }
}

TEST(Constants, AreNotMultipliedIfTheirProductOverflows) {
  Value x;
  Program program = compile(1e200 * (1e200 * x) + x / 1e-200 / 1e-200, {.inputs = {x}});
  std::vector<double> outputs(2);
  program.evaluate(std::vector{1e-300, 0.0}, outputs);
  EXPECT_NEAR(outputs[0], 2e100, 1e86);
  EXPECT_EQ(outputs[1], 0);
}

TEST(Constants, ThatAreSubnormalCanBeInSumsWithPlainTerms) {
  std::vector<Value> p;
  for (int i = 0; i < 40; ++i) p.emplace_back(0.25 * i + 1);
  for (const int every : {2, 3, 20}) {
    const auto sum_of = [&](const std::vector<Value>& x) {
      Value sum = x[0];
      for (int i = 1; i < 40; ++i)
        sum += i % every == 0 ? x[static_cast<std::size_t>(i)] * 1e-310 : x[static_cast<std::size_t>(i)];
      return sum;
    };
    std::vector<double> gradient(p.size());
    const double result = compile(sum_of(p), {.parameters = p}).gradients(gradient);
    const Value root = sum_of(p);
    const Gradients wanted = pass(root);
    EXPECT_NEAR(result, root.data(), 1e-12);
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_EQ(gradient[i], wanted.of(p[i])) << i;
  }
}

TEST(MaxReductions, OfEqualOperandsPassOnTheGradientOfTheEngine) {
  Value p{3.0}, own{3.0};
  const auto most = [](const Value& x) {
    Value found = x;
    for (int i = 0; i < 11; ++i) found = max(found, x);
    return found;
  };
  std::vector<double> gradient(1);
  EXPECT_EQ(compile(most(p), {.parameters = {p}}).gradients(gradient), 3);
  most(own).backward();
  EXPECT_EQ(gradient[0], own.grad());
}

// Maxima and minima side by side, of as many operands each: with ties, with constants, and where the operands of the
// next ones are these.
TEST(MaxReductions, SideBySidePassOnTheGradientsOfTheEngine) {
  for (const std::size_t states : {4u, 9u, 17u}) {
    for (const bool largest : {true, false}) {
      const auto path = [&](const std::vector<Value>& p) {
        std::vector<Value> best(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(states));
        for (int step = 0; step < 3; ++step) {
          std::vector<Value> next;
          for (std::size_t j = 0; j < states; ++j) {
            Value found = best[0] + p[states + j];
            for (std::size_t i = 1; i < 10; ++i) {
              const Value other = i == 7 ? Value(0.75) : best[i % states] + p[states + (i * 5 + j) % states];
              found = largest ? max(found, other) : min(found, other);
            }
            next.push_back(found * 0.5);
          }
          best = next;
        }
        return std::accumulate(best.begin(), best.end(), Value(0.0));
      };
      std::vector<Value> parameters, own;
      for (std::size_t i = 0; i < 2 * states; ++i) parameters.emplace_back(static_cast<double>(i % 5) / 4);
      for (const Value& one : parameters) own.emplace_back(one.data());
      std::vector<double> gradient(parameters.size()), wanted;
      const Value result = path(own);
      result.backward();
      for (const Value& one : own) wanted.push_back(one.grad());
      for (const std::string& set : instruction_sets()) {
        Program program = compile(path(parameters), {.parameters = parameters, .instruction_set = set});
        EXPECT_EQ(program.gradients(gradient), result.data()) << set;
        EXPECT_EQ(gradient, wanted) << set << ", " << states << (largest ? " largest" : " smallest");
      }
    }
  }
}

TEST(AnError, LeavesEveryGradientUnchanged) {
  Value w{2.0}, x, c{3.0};
  const RowFunction function = [&](const std::vector<Value>& in) { return in[0] < 1 ? w * in[0] / c : w + in[0]; };
  Program program = compile(function, {{0.5}, {-3}}, {.parameters = {w}});
  w.grad() = 7;
  const std::vector rows{0.25, 0.5}, bad{0.25, 2.0};
  std::vector<double> three(3), two(2), one{5.0};
  using Result = RunOptions::Result;
  const std::vector<std::function<void()>> calls{
      [&] { program.run(bad); },
      [&] { program.gradients(bad, one); },
      [&] { program.gradients(bad, one, {.input_gradients = two, .outputs = two}); },
      [&] { program.run(); },
      [&] { program.gradients(rows, two); },
      [&] { program.run(rows, {.weights = three}); },
      [&] { program.run(rows, {.result = Result::mean, .weights = std::vector{1.0, -1.0}}); },
      [&] { program.run(rows, {.input_gradients = three}); },
      [&] { program.run(rows, {.outputs = three}); },
      [&] { program.evaluate(bad, two); },
      [&] { program.evaluate(rows, three); },
      [&] { program.gradient_at(one, one); },
      [&] { compile(custom(1.0, {{w, 2.0}}, "mine") * x, {.inputs = {x}, .parameters = {w}}); },
      [&] { compile(w * x, {.inputs = {x, x}, .parameters = {w}}); },
      [&] { compile(function, {{0.5}, {3}}, {.parameters = {w}}); }};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_NE(error_of(calls[i]), "no error") << i;
    EXPECT_EQ(w.grad(), 7) << i;
    EXPECT_EQ(one[0], 5) << i;
  }
  EXPECT_EQ(program.run(rows), 0.5) << "and the next run is right";
  EXPECT_EQ(w.grad(), 7.25);
}

TEST(AnError, LeavesATrainerUnchanged) {
  Value w{2.0};
  const RowFunction function = [&](const std::vector<Value>& in) { return in[0] < 1 ? w * in[0] : w + in[0]; };
  Trainer trainer(compile(function, {{0.5}, {-3}}, {.parameters = {w}}), SGD{.lr = 1});
  EXPECT_NE(error_of([&] { trainer.step(std::vector{0.5, 2.0}); }), "no error");
  EXPECT_EQ(trainer.steps(), 0);
  trainer.step(std::vector{0.5});
  trainer.write_back();
  EXPECT_EQ(w.data(), 1.5);
  EXPECT_EQ(w.grad(), 0);
}

TEST(AConstant, MakesEveryCallThrowAfterItChanged) {
  Value w{2.0}, x, c{3.0};
  c.label("c");
  Program rows_of = compile(w * x / c, {.inputs = {x}, .parameters = {w}}),
          program = compile(w / c, {.parameters = {w}});
  Trainer trainer(rows_of, SGD{.lr = 1});
  const std::vector rows{6.0};
  std::vector<double> one(1);
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"Program::run", [&] { rows_of.run(rows); }},
      {"Program::run", [&] { program.run(); }},
      {"Program::gradients", [&] { rows_of.gradients(rows, one); }},
      {"Program::gradients", [&] { program.gradients(one); }},
      {"Program::evaluate", [&] { rows_of.evaluate(rows, one); }},
      {"Program::gradient_at", [&] { program.gradient_at(std::vector{1.0}, one); }},
      {"Program::value_at", [&] { program.value_at(std::vector{1.0}); }},
      {"Program::jacobian_at", [&] { program.jacobian_at(std::vector{1.0}, one); }},
      {"Trainer::step", [&] { trainer.step(rows); }}};
  for (const double changed : {4.0, nan}) {
    c.data() = changed;
    for (const auto& [name, call] : calls)
      EXPECT_EQ(error_of(call), name + ": needs constants as they were compiled, got \"c\" with " +
                                    (changed == 4 ? "4" : "nan") +
                                    " in place of 3; make it an input or a parameter, or compile again");
  }
  EXPECT_EQ(w.grad(), 0);
  c.data() = 3;
  for (const auto& [name, call] : calls) EXPECT_EQ(error_of(call), "no error") << name;
}

TEST(AnEmptyBatch, ReturnsZeroAndChangesNothing) {
  Value w{2.0}, x;
  for (const Value& output : {w * x, w * w, w + x * 0}) {
    Program program = compile(output, {.inputs = {x}, .parameters = {w}});
    std::vector<double> gradient{5.0};
    EXPECT_EQ(program.run({}), 0);
    EXPECT_EQ(program.run({}, {.result = RunOptions::Result::mean}), 0);
    EXPECT_EQ(program.gradients({}, gradient), 0);
    EXPECT_EQ(gradient[0], 0);
    program.evaluate({}, {});
    Trainer trainer(program, Adam{.lr = 1});
    EXPECT_EQ(trainer.step(std::span<const double>()), 0);
    EXPECT_EQ(trainer.steps(), 0);
    trainer.write_back();
  }
  EXPECT_EQ(w.grad(), 0);
  EXPECT_EQ(w.data(), 2);
}

// With other numbers, the code would perhaps have recorded another graph.
TEST(AGraphThatAComparisonDecided, IsRefusedByName) {
  const Value x(2.0), y(3.0);
  const CompileOptions options{.parameters = {x, y}};
  const auto refused = [&](const Value& loss) { return tests::error_of([&] { compile(loss, options); }); };
  EXPECT_THAT(refused([&] { return x < y ? Value(x * y) : Value(x + y); }()),
              testing::HasSubstr("while 2 < 3 became a bool"));
  EXPECT_THAT(refused([&] { return x * x > y ? Value(x * y) : Value(x + y); }()), testing::HasSubstr("3 < 4"));
  EXPECT_THAT(refused(exp(std::max(x * y, y)) + x), testing::HasSubstr("select(condition, a, b)"));
  EXPECT_THAT(refused([&] {
                Value sum = 1;
                while (sum < 10) sum = sum * x + y;
                return sum;
              }()),
              testing::HasSubstr(" and others became bools"));
  EXPECT_THAT(refused([&] { return sin(x * x + y) * exp(y) < y ? Value(x * y) : Value(x + y); }()),
              testing::HasSubstr("became a bool"));
  EXPECT_THAT(tests::error_of([&] { emit_c(x < y ? Value(x * y) : Value(x + y), {.parameters = {x, y}}); }),
              testing::HasSubstr("emit_c: needs a graph that no comparison decided"));
  EXPECT_EQ(refused(select(x < y, x * y, x + y)), "no error");
  EXPECT_EQ(refused(exp(max(x * y, y)) + x), "no error");
}

TEST(AGraphThatAComparisonDecided, IsCompiledIfComparisonsAreIgnored) {
  const Value x(2.0), y(3.0);
  const Value most = std::max(x, y), loss = log(exp(x - most) + exp(y - most)) + most;
  Program program = compile(loss, {.parameters = {x, y}, .ignore_comparisons = true});
  EXPECT_EQ(program.describe().ignored_comparisons, std::vector<std::string>{"2 < 3"});
  std::vector<double> gradient(2);
  EXPECT_NEAR(program.gradient_at(std::vector{5.0, 1.0}, gradient), std::log(std::exp(5.0) + std::exp(1.0)), 1e-14);
}

// Comparisons of an earlier step, whose records are gone, do not count; nor do those after the graph.
TEST(AGraphThatAComparisonDecided, IsNotTakenForAnotherOne) {
  const Value x(2.0), y(3.0), lasting = x - y;
  for (int i = 0; i < 3; ++i) {
    Value sum = x < y ? Value(1.0) : Value(x);
    while (sum < 10) sum = sum * x + y;
    if (x * y < sum) sum = sum / y;
  }
  const Value loss = exp(x * y) + tanh(x) * y;
  const Value later = sin(x * y);
  EXPECT_TRUE(later < loss);
  EXPECT_NO_THROW(compile(loss, {.parameters = {x, y}}));
}

TEST(ACustomNode, IsNamedInTheError) {
  Value w{2.0}, x;
  const Value mine = custom(1.0, {{w, 1.0}}, "mine");
  EXPECT_EQ(error_of([&] { compile(tanh(mine * x), {.inputs = {x}, .parameters = {w}}); }),
            "compile: needs operations of the table, got the custom node 'mine', whose derivatives are its user's; "
            "write it with operations of Values, or leave it outside");
}

}  // namespace gradwalk::compile_rules_test
