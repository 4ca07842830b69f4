// SPDX-License-Identifier: MIT
// emit_c(): the text, every operation, derivatives, names, limits, and errors. The C files are compiled and run.
#include "gradwalk/emit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "emitted.hpp"
#include "gradwalk/derivatives.hpp"
#include "gradwalk/emit_model.hpp"
#include "random_function.hpp"
#include "support.hpp"

namespace gradwalk::emit_test {

using testing::HasSubstr, testing::Not;

const std::string gcc = "gcc -O1 " + tests::c_flags;

// Compiles a file with gcc and clang, runs both, and returns the numbers that they print, which must be the same.
std::vector<double> numbers_of(const std::string& text) {
  const tests::Folder folder;
  folder.write("model.c", text);
  folder.run(tests::sanitized_gcc + tests::c_flags + " model.c -o by_gcc -lm");
  folder.run(tests::clang() + " -O1 " + tests::c_flags + " model.c -o by_clang -lm");
  const std::string printed = folder.run("./by_gcc");
  EXPECT_EQ(printed, folder.run("./by_clang"));
  return tests::numbers_in(printed);
}

std::string with_main(const std::string& text, const std::string& body) {
  return text + "#include <stdio.h>\nint main(void) {\n" + body + "  return 0;\n}\n";
}

Value labelled(double number, const char* label) { return Value(number).label(label); }

TEST(EmitC, WritesStraightCodeWithTheNamesOfTheLabels) {
  const Value angle = labelled(0.3, "angle"), rate = labelled(0.1, "rate"), gain = labelled(2, "gain");
  const Value drive = gain * rate;  // first, whichever operand of + a compiler evaluates first
  const Value cost = pow(sin(angle) + drive, 2);
  const std::string text = emit_c(cost, {.name = "cost", .inputs = {angle, rate}, .parameters = {gain}});
  EXPECT_THAT(text, HasSubstr(R"(
/* Returns the value and writes its gradient. */
double cost_gradient(const double *restrict parameters, const double *restrict inputs,
    double *restrict gradient, double *restrict work) {
  (void)work;
  const double gain = parameters[0];
  const double angle = inputs[0];
  const double rate = inputs[1];
  const double t0 = sin(angle);
  const double t1 = gain * rate + t0;
  const double t2 = 2.0 * t1;
  gradient[0] = t2 * rate;
  return t1 * t1;
}
)"));
  EXPECT_THAT(text, HasSubstr("Parameters in order: gain\nInputs in order: angle, rate\n"));
}

TEST(EmitC, WritesLayersAndTheirBackwardPassAsLoops) {
  const MLP network(2, {16, 16, 1}, {.seed = 1});
  const std::vector<Value> x(3);
  const Value loss = pow(network(std::vector{x[0], x[1]})[0] - x[2], 2);
  const std::string text =
      emit_c(loss, {.name = "net", .inputs = x, .parameters = network.parameters(), .rows = true, .step = true});
  EXPECT_LT(text.size(), 6000);
  EXPECT_THAT(text,
              HasSubstr("    for (int j = 0; j < 16; ++j)\n      t1 += parameters[17 * i + j + 48] * work[j];\n"));
  EXPECT_THAT(text, HasSubstr("      gradient[17 * i + j + 48] += work[47 - i] * work[j];\n"));
}

// Every operation, in both precisions: its value and derivatives at a few numbers, compared with the rules.
class EveryOp : public testing::TestWithParam<Precision> {};

TEST_P(EveryOp, GivesItsValueAndDerivatives) {
  const bool is_float = GetParam() == Precision::float32;
  const std::string real = is_float ? "float" : "double";
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers{0.5, -0.75, 1, 0, -1, 2.5, -3, infinity, std::nan("")};
  std::string text, calls;
  std::vector<double> wanted;
  std::vector<std::string> about;
  const auto rounded = [&](double number) {
    return is_float ? static_cast<double>(static_cast<float>(number)) : number;
  };
  for (auto op = Op::add; op != Op::custom; op = Op(static_cast<int>(op) + 1)) {
    const std::string name = "op_" + std::string(gradwalk::name(op));
    const auto count = static_cast<std::size_t>(info(op).operands);
    const std::vector<Value> of(count);
    const Value result = tests::applied(op, of[0], of[count > 1 ? 1 : 0], of[count - 1]);
    text += emit_c(result, {.name = name, .parameters = of, .precision = GetParam()});
    std::string upper = name;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
    calls += " {\n  " + real + " work[" + upper + "_WORKSPACE], g[3], r;\n";
    for (std::size_t i = 0; i < (count == 1 ? numbers.size() : numbers.size() * numbers.size()); ++i) {
      std::vector<double> in{numbers[i % numbers.size()]};
      if (count > 1) in.push_back(numbers[i / numbers.size()]);
      if (count > 2) in.push_back(0.25);
      std::vector<Value> leaves(in.begin(), in.end());
      const Value again = tests::applied(op, leaves[0], leaves[count > 1 ? 1 : 0], leaves[count - 1]);
      again.backward();
      wanted.push_back(again.data());
      for (const Value& leaf : leaves) wanted.push_back(leaf.grad());
      const std::string at = name + " " + std::to_string(in[0]) + (count > 1 ? " " + std::to_string(in[1]) : "");
      about.insert(about.end(), count + 1, at);
      calls += "  { " + real + " p[] = {";
      for (const double one : in)
        calls += std::isnan(one) ? "NAN, " : std::isinf(one) ? "HUGE_VAL, " : std::to_string(one) + ", ";
      calls +=
          "}; r = " + name + "_gradient(p, g, work); printf(\"%a\\n\", (double)r); }\n" + tests::c_print("g", count);
    }
    calls += " }\n";
  }
  const tests::Folder folder;
  folder.write("ops.c", with_main(text, calls));
  folder.run("gcc -O1 " + tests::c_flags + " ops.c -o ops -lm");
  const std::vector<double> got = tests::numbers_in(folder.run("./ops"));
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double bound = (is_float ? 4e-6 : 1e-14) * std::max(1.0, std::abs(wanted[i]));
    const bool is_same = std::isnan(wanted[i]) ? std::isnan(got[i])
                                               : got[i] == wanted[i] || std::abs(got[i] - rounded(wanted[i])) <= bound;
    EXPECT_TRUE(is_same) << about[i] << ": got " << got[i] << ", wanted " << wanted[i];
  }
}
INSTANTIATE_TEST_SUITE_P(Emit, EveryOp, testing::Values(Precision::float64, Precision::float32));

TEST(EmitC, GivesDenseAndSparseJacobiansAndHessians) {
  std::vector<Value> x(12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i].data() = 0.1 * static_cast<double>(i) - 0.4;
  std::vector<Value> outputs;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) outputs.push_back(x[i + 1] / (1 + x[i] * x[i]) + sin(x[i]));
  Value energy = 0;
  for (const Value& output : outputs) energy += output * output;
  const std::vector<double> point = [&] {
    std::vector<double> numbers;
    for (const Value& one : x) numbers.push_back(one.data());
    return numbers;
  }();
  const auto f = [](const std::vector<Value>& at) {
    std::vector<Value> made;
    for (std::size_t i = 0; i + 1 < at.size(); ++i) made.push_back(at[i + 1] / (1 + at[i] * at[i]) + sin(at[i]));
    return made;
  };
  const auto sum = [&](const std::vector<Value>& at) {
    Value total = 0;
    for (const Value& one : f(at)) total += one * one;
    return total;
  };
  const std::vector<Numbers> jacobian = gradwalk::jacobian(f, point), hessian = gradwalk::hessian(sum, point);
  for (const bool sparse : {false, true}) {
    const std::size_t straight = sparse ? 0 : 100000;
    const std::string text =
        emit_c(outputs, {.name = "f",
                         .parameters = x,
                         .gradient = false,
                         .jacobian = true,
                         .sparse = sparse,
                         .straight = straight}) +
        emit_c(energy, {.name = "e", .parameters = x, .hessian = true, .sparse = sparse, .straight = straight});
    const std::string matrix =
        sparse ? "  for (int r = 0; r < ROWS; ++r) for (int c = 0; c < 12; ++c) {\n    double at = 0;\n"
                 "    for (int k = NAME_starts[r]; k < NAME_starts[r + 1]; ++k) if (NAME_columns[k] == c) at = m[k];\n"
                 "    printf(\"%a\\n\", at);\n  }\n"
               : "  for (int k = 0; k < ROWS * 12; ++k) printf(\"%a\\n\", m[k]);\n";
    const auto printed = [&](const std::string& rows, const std::string& name) {
      std::string made = matrix;
      for (const auto& [from, to] : {std::pair<std::string, std::string>{"ROWS", rows}, {"NAME", name}})
        for (std::size_t at = 0; (at = made.find(from)) != std::string::npos;) made.replace(at, from.size(), to);
      return made;
    };
    const std::vector<double> got = numbers_of(
        with_main(text, tests::c_table("double", "p", point) +
                            "  double work[F_WORKSPACE > E_WORKSPACE ? F_WORKSPACE : E_WORKSPACE], m[144], out[12];\n"
                            "  f_jacobian(p, out, m, work);\n" +
                            printed("11", "f_jacobian") + "  printf(\"%a\\n\", e_hessian(p, out, m, work));\n" +
                            printed("12", "e_hessian") + tests::c_print("out", 12)));
    ASSERT_EQ(got.size(), 11 * 12 + 1 + 144 + 12);
    std::size_t at = 0;
    for (const Numbers& row : jacobian)
      for (const double one : row) EXPECT_NEAR(got[at++], one, 1e-14);
    EXPECT_NEAR(got[at++], energy.data(), 1e-14);
    for (const Numbers& row : hessian)
      for (const double one : row) EXPECT_NEAR(got[at++], one, 1e-13);
    const Numbers slope = gradwalk::gradient(sum, point);
    for (const double one : slope) EXPECT_NEAR(got[at++], one, 1e-14);
    EXPECT_THAT(text, HasSubstr(sparse ? "#define F_JACOBIAN_ENTRIES 22 " : "#define F_JACOBIAN_ENTRIES 132 "));
    EXPECT_THAT(text, HasSubstr(sparse ? "#define E_HESSIAN_ENTRIES 34 " : "#define E_HESSIAN_ENTRIES 144 "));
  }
}

TEST(EmitC, TrainsOnDeviceAsSgdDoes) {
  const MLP network(2, {6, 1}, {.seed = 3});
  const std::vector<Value> x(3);
  const Value loss = pow(network(std::vector{x[0], x[1]})[0] - x[2], 2);
  const std::vector<double> rows{0.5, -1, 1, 0.25, 2, -1, -0.5, 0.75, 0.5};
  const std::vector<Value> parameters = network.parameters();
  std::string text = emit_c(loss, {.name = "net", .inputs = x, .parameters = parameters, .step = true});
  std::vector<double> start;
  for (const Value& parameter : parameters) start.push_back(parameter.data());
  std::string table = tests::c_table("double", "p", start);
  table.replace(table.find("const "), 6, "");
  const std::vector<double> got = numbers_of(with_main(
      text, table + tests::c_table("double", "rows", rows) +
                "  double work[NET_STEP_WORKSPACE];\n  for (int i = 0; i < 20; ++i) printf(\"%a\\n\", net_step(p, "
                "rows, 3, 0.1, work));\n" +
                tests::c_print("p", parameters.size()) + "  printf(\"%a\\n\", net_step(p, rows, 0, 0.1, work));\n"));
  const Program program = compile(loss, {.inputs = x, .parameters = parameters});
  Trainer trainer(program, SGD{.lr = 0.1});
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_NEAR(got[i], trainer.step(rows, {.result = RunOptions::Result::mean}), 1e-12);
  trainer.write_back();
  for (std::size_t i = 0; i < parameters.size(); ++i) EXPECT_NEAR(got[20 + i], parameters[i].data(), 1e-12);
  EXPECT_EQ(got.back(), 0);
}

// The engine's rule: a node whose gradient is 0 contributes nothing, even if a local derivative is infinite.
TEST(EmitC, PassesNothingOnFromAGradientOfZero) {
  Value x = 0.0, y = 3.0;
  const Value result = select(x > 0, y * sqrt(x) / x, 2 * y) + 0 * log(x * x + 0 * y);
  const Value other = x * sqrt(x) + y;
  for (const Value& root : {result, other}) {
    x.grad() = 0, y.grad() = 0;
    root.backward();
    const std::string text = emit_c(root, {.name = "f", .parameters = {x, y}});
    const std::vector<double> got = numbers_of(with_main(
        text, "  double p[] = {0, 3}, g[2], work[F_WORKSPACE];\n  f_gradient(p, g, work);\n" + tests::c_print("g", 2)));
    for (const auto& [number, leaf] : {std::pair{got[0], x}, {got[1], y}})
      EXPECT_TRUE(number == leaf.grad() || (std::isnan(number) && std::isnan(leaf.grad())))
          << number << " " << leaf.grad();
    EXPECT_THAT(emit_c(root, {.name = "f", .parameters = {x, y}, .guard_zeros = false}), Not(HasSubstr("f_times")));
  }
}

TEST(EmitC, MakesIdentifiersOfAnyLabels) {
  std::vector<Value> leaves;
  for (const char* label :
       {"double",   "sin",  "work",  "t0",         "*/ int x; /*", "\n#error\n", "\xc3\xa4\xe2\x82\xac",
        "",         "a b",  "a-b",   "EOF",        "NULL",         "1st",        "__x",
        "i",        "main", "linux", "parameters", "\"",           "\\",         "?\?/",
        "restrict", "a_b",  "a_b_2"})
    leaves.push_back(labelled(0.5, label));
  leaves.push_back(Value(0.5).label(std::string(5000, 'x')));
  Value sum = 0;
  for (const Value& leaf : leaves) sum += sin(leaf) * leaf;
  const std::string text = emit_c(sum, {.name = "*/ \"hostile\" \\",
                                        .parameters = leaves,
                                        .main = true,
                                        .straight = 10000,
                                        .about = "a comment */ int broken; /* with ?\?/ trigraphs \\"});
  EXPECT_THAT(text, HasSubstr("double hostile_value("));
  const tests::Folder folder;
  folder.write("hostile.c", text);
  folder.run(gcc + " hostile.c -o hostile -lm");
  folder.run(tests::clang() + " " + tests::c_flags + " hostile.c -o hostile -lm");
  EXPECT_THAT(folder.run("./hostile"), HasSubstr("value = 5.99281"));
}

// A name is only the first part of others, so keywords and names of arguments serve as well.
TEST(EmitC, KeepsTheNameOfTheFile) {
  const Value x = labelled(2.0, "x"), w = labelled(3.0, "w");
  for (const std::string name : {"double", "outputs", "work", "main", "sin", "t0", "i"}) {
    const std::vector<Value> outputs{w * x, sin(w * x)};
    const CFiles files = emit_c_files(
        outputs, {.name = name, .inputs = {x}, .parameters = {w}, .rows = true, .jacobian = true, .main = true});
    EXPECT_EQ(files.name, name);
    EXPECT_THAT(files.source, HasSubstr("void " + name + "_outputs("));
    const tests::Folder folder;
    folder.write("file.c", files.source);
    folder.write("file.cc", files.header);
    folder.run(gcc + " file.c -o file -lm");
    folder.run("g++ -Wall -Wextra -Werror -pedantic -c file.cc");
    EXPECT_THAT(folder.run("./file"), HasSubstr("= 6"));
  }
}

TEST(EmitC, WritesDeepChainsAndWideSumsAsShortFiles) {
  const Value x = 0.5, a = 1.1;
  Value deep = x;
  for (int i = 0; i < 20000; ++i) deep = sin(deep) * a;
  std::vector<Value> leaves(20000);
  Value wide = 0, largest = leaves[0];
  for (const Value& leaf : leaves) wide += leaf * leaf;
  for (const Value& leaf : leaves) largest = max(largest, leaf);
  for (const auto& [root, parameters] : {std::pair{deep, std::vector{x, a}}, {wide, leaves}, {largest, leaves}}) {
    const std::string text = emit_c(root, {.name = "f", .parameters = parameters});
    ASSERT_LT(text.size(), 6000) << text.substr(0, 6000);
    const tests::Folder folder;
    folder.write("f.c", text);
    folder.run(gcc + " -c f.c -Wframe-larger-than=1024");
  }
}

TEST(EmitC, KeepsTheStackBoundInItsComment) {
  std::mt19937_64 random(7);
  for (const std::size_t steps : {20u, 400u}) {
    const tests::RandomFunction function = tests::random_function(random, 2, 20, steps);
    const std::vector<Value> in{1.0, 2.0}, of(function.parameters.begin(), function.parameters.end());
    const Value root = function.all(in, of).back();
    const std::string text = emit_c(root, {.name = "f", .inputs = in, .parameters = of});
    const std::size_t at = text.find("Stack:     at most ") + 19;
    const std::string bound = text.substr(at, text.find(' ', at) - at);
    const tests::Folder folder;
    folder.write("f.c", text);
    for (const char* level : {"-O0", "-O2"})
      folder.run("gcc " + tests::c_flags + " " + level + " -c f.c -Wframe-larger-than=" + bound);
  }
}

TEST(EmitC, WritesTheControllerOfTheExample) {
  std::stringstream text;
  text << std::ifstream(GRADWALK_SOURCE "/examples/expected/13_controller.txt").rdbuf();
  const tests::Folder folder;
  folder.write("pendulum.c", text.str());
  folder.run(gcc + " pendulum.c -o pendulum -lm");
  EXPECT_THAT(folder.run("./pendulum"), testing::StartsWith("value = 143.41"));
  EXPECT_THAT(text.str(), HasSubstr("  for (int i = 0; i < 19; ++i) {\n"));
}

// The classes and numbers of a model, for features that are not standardised.
TEST(EmitC, WritesModelsWithTheirScalingAndClasses) {
  const Standardisation scaling{{1.5, -2}, {0.5, 4}};
  const Classifier classifier{{MLP(2, {8, 3}, {.seed = 5}), LossKind::softmax, {"length", "width"}, scaling, {}},
                              {"setosa", "a \"quoted\" \\ name?\?/", "\xc3\xa4"}};
  const Regressor regressor{
      {MLP(2, {8, 1}, {.seed = 6}), LossKind::mse, {"length", "width"}, scaling, {}}, "price", 100, 20};
  std::string rows, classes;
  std::vector<double> numbers;
  for (int i = 0; i < 12; ++i) {
    const std::vector<double> row{0.25 * i, 3 - 1.0 * i};
    rows += std::to_string(row[0]) + "," + std::to_string(row[1]) + "\n";
    classes += classifier.label_names[classifier.predict(row)] + "\n";
    numbers.push_back(regressor.predict(row));
  }
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    const tests::Folder folder;
    folder.write("rows.csv", rows);
    folder.write("classifier.c",
                 emit_c(classifier, {.name = "classifier", .precision = precision, .step = true, .main = true}));
    folder.write("regressor.c",
                 emit_c(regressor, {.name = "regressor", .precision = precision, .step = true, .main = true}));
    folder.run(tests::sanitized_gcc + tests::c_flags + " classifier.c -o classifier -lm");
    folder.run(tests::clang() + " -O1 " + tests::c_flags + " regressor.c -o regressor -lm");
    EXPECT_EQ(folder.run("./classifier <rows.csv"), classes);
    const std::vector<double> got = tests::numbers_in(folder.run("./regressor <rows.csv"));
    ASSERT_EQ(got.size(), numbers.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], numbers[i], 1e-4);
  }
}

TEST(EmitC, DeclaresItsFunctionsForCAndCpp) {
  const Value x = 1.0, w = 2.0;
  const std::vector<Value> outputs{x * w, sin(w)};
  const EmitOptions options{
      .name = "pair", .inputs = {x}, .parameters = {w}, .rows = true, .step = true, .jacobian = true, .sparse = true};
  const tests::Folder folder;
  folder.write("pair.h", emit_c_header(outputs, options));
  folder.write("pair.c", "#include \"pair.h\"\n" + emit_c(outputs, options));
  folder.write("use.cc",
               "#include \"pair.h\"\nint main() { double p[1] = {2}, x[1] = {1}, out[2], work[PAIR_STEP_WORKSPACE];\n"
               "  pair_outputs(p, x, out, work);\n  return out[0] == 2 && pair_jacobian_starts[2] == 2 ? 0 : 1; }\n");
  folder.run(gcc + " -c pair.c");
  folder.run("g++ -std=c++20 -Wall -Wextra -Werror use.cc pair.o -o use -lm");
  folder.run("./use");
}

TEST(EmitC, DeclaresWhatModelsHave) {
  const Classifier classifier{{MLP(2, {3}, {.seed = 5}), LossKind::softmax, {}, {}, {}}, {"a", "b", "c"}};
  const Regressor regressor{{MLP(2, {1}, {.seed = 6}), LossKind::mse, {}, {}, {}}, "price", 100, 20};
  const CFiles classes = emit_c_files(classifier, {.name = "my kind", .step = true});
  const CFiles price = emit_c_files(regressor, {.name = "price", .precision = Precision::float32, .step = true});
  EXPECT_EQ(classes.name, "my_kind");
  EXPECT_EQ(classes.source, emit_c(classifier, {.name = "my kind", .step = true}));
  const tests::Folder folder;
  folder.write("my_kind.h", classes.header);
  folder.write("my_kind.c", "#include \"my_kind.h\"\n" + classes.source);
  folder.write("price.h", price.header);
  folder.write("price.c", "#include \"price.h\"\n" + price.source);
  folder.write("use.cc", R"(#include "my_kind.h"
#include "my_kind.h"
#include "price.h"
int main() {
  double x[] = {1, 2}, row[] = {1, 2, 0}, p[9] = {}, work[MY_KIND_LOSS_STEP_WORKSPACE];
  for (int i = 0; i < 9; ++i) p[i] = my_kind_parameters[i];
  row[2] = my_kind_targets[2][0];
  for (int i = 0; i < 100; ++i) my_kind_loss_step(p, row, 1, 0.1, work);
  return my_kind_predict(p, x, work) == 2 && my_kind_classes[2][0] == 'c' && price_target_mean == 100 &&
         price_target_deviation == 20 ? 0 : 1;
}
)");
  folder.run(gcc + " -c my_kind.c price.c");
  folder.run("g++ -std=c++20 -Wall -Wextra -Werror use.cc my_kind.o price.o -o use -lm");
  folder.run("./use");
}

TEST(EmitC, RefusesWhatItCannotDo) {
  const Value x = 1.0, w = 2.0;
  const Value y = x * w;
  EXPECT_EQ(tests::error_of([&] { emit_c(y, {.parameters = {w}, .rows = true}); }),
            "emit_c: needs inputs for rows, got none; name the numbers that differ from row to row in .inputs");
  EXPECT_EQ(tests::error_of([&] { emit_c(y, {.inputs = {x}, .step = true}); }),
            "emit_c: needs parameters for the gradient over rows, got none; name them in .parameters");
  EXPECT_EQ(
      tests::error_of([&] { emit_c(y, {.inputs = {x}, .parameters = {w}, .input_gradients = true, .step = true}); }),
      "emit_c: needs a step without input gradients, got both; emit two files, or leave one out");
  EXPECT_EQ(
      tests::error_of([&] { emit_c(y, {.jacobian = true}); }),
      "emit_c: needs parameters to differentiate by, got none; name them in .parameters, or set .input_gradients");
  EXPECT_THAT(tests::error_of([&] { emit_c(y, {.parameters = {w}, .max_bytes = 100}); }),
              HasSubstr("emit_c: needs a file of at most 100 bytes (.max_bytes), got one of more than "));
  EXPECT_THAT(tests::error_of([&] { emit_c(y, {.parameters = {y}}); }), HasSubstr("needs leaves as parameters"));
}

}  // namespace gradwalk::emit_test
