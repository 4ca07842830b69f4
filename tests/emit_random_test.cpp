// SPDX-License-Identifier: MIT
// Compares emitted C with the engine on 500 random graphs, in both precisions, straight and with loops, compiled by gcc
// with sanitizers and by clang. Many graphs share a C file.
#include <gtest/gtest.h>

#include "emitted.hpp"
#include "gradwalk/emit.hpp"
#include "random_subject.hpp"
#include "support.hpp"

namespace gradwalk::emit_random_test {

using tests::Compared, tests::Results, tests::Rounded, tests::Subject;

constexpr std::size_t shards = 10, rows_of_each = 3;

// One emitted function: its text, the code of main() that calls it, and what to expect.
struct Emitted {
  std::string text, calls;
  Results<Rounded> wanted;
  std::size_t inputs, outputs;
  bool has_rows;
};

Emitted emitted(const Subject& subject, std::size_t seed, const Results<Rounded>& wanted) {
  const Subject::Recorded graph = subject.recorded();
  const bool has_inputs = !graph.inputs.empty(), has_rows = has_inputs && seed % 3 == 0;
  EmitOptions options{.name = "g" + std::to_string(seed),
                      .inputs = graph.inputs,
                      .parameters = graph.parameters,
                      .precision = subject.precision(),
                      .input_gradients = has_inputs,
                      .rows = has_rows,
                      .jacobian = seed / shards % 2 == 0};
  if (seed % 4 < 2) options.straight = 0;
  Emitted made{emit_c(graph.outputs, options), "", wanted, graph.inputs.size(), graph.outputs.size(), has_rows};
  const std::string real = subject.precision() == Precision::float32 ? "float" : "double", name = options.name;
  const std::size_t rows = has_inputs ? rows_of_each : 1, in = graph.inputs.size(), of = graph.parameters.size();
  std::string& calls = made.calls;
  calls += " {\n" + tests::c_table(real, "p", subject.function().parameters);
  calls += tests::c_table(real, "x", subject.rows());
  const auto array = [&](const std::string& array_name, std::size_t count) {
    calls += "  " + real + " " + array_name + "[" + std::to_string(std::max<std::size_t>(count, 1)) + "];\n";
  };
  std::string workspace = name;
  workspace[0] = 'G';
  calls += "  " + real + " work[" + workspace + "_WORKSPACE];\n";
  array("g", of), array("dx", rows * in), array("out", graph.outputs.size()),
      array("jac", graph.outputs.size() * (of + in));
  calls += "  (void)x, (void)dx, (void)jac;\n";
  for (std::size_t r = 0; r < rows; ++r) {
    const std::string at = std::to_string(r * in), row = has_inputs ? ", x + " + at : "";
    if (graph.outputs.size() == 1)
      calls += "  out[0] = " + name + "_value(p" + row + ", work);\n";
    else
      calls += "  " + name + "_outputs(p" + row + ", out, work);\n";
    calls += tests::c_print("out", graph.outputs.size());
    calls += "  out[0] = " + name + "_gradient(p" + row + ", g" + (has_inputs ? ", dx" : "") + ", work);\n";
    calls += tests::c_print("out", 1) + tests::c_print("g", of) + tests::c_print("dx", in);
    if (!options.jacobian) continue;
    calls += "  " + name + "_jacobian(p" + row + ", out, jac, work);\n";
    calls += tests::c_print("out", graph.outputs.size()) + tests::c_print("jac", of + in);  // of the first output
  }
  if (has_rows)
    calls += "  out[0] = " + name + "_rows(p, x, " + std::to_string(rows) + ", g, dx, work);\n" +
             tests::c_print("out", 1) + tests::c_print("g", of) + tests::c_print("dx", rows * in);
  calls += " }\n";
  return made;
}

class RandomGraphs : public testing::TestWithParam<std::size_t> {};

TEST_P(RandomGraphs, GiveTheNumbersOfTheEngine) {
  const std::size_t shard = GetParam(), wanted_graphs = tests::sized(500, 40) / shards;
  const Precision precision = shard % 2 == 0 ? Precision::float64 : Precision::float32;
  std::vector<Subject> subjects;
  std::string text, calls;
  std::vector<Emitted> all;
  std::size_t seed = shard;
  for (; all.size() < wanted_graphs; seed += shards) {
    Subject& subject = subjects.emplace_back(seed, precision);
    if (!subject.find_rows(subject.function().inputs.empty() ? 1 : rows_of_each)) {
      subjects.pop_back();
      continue;
    }
    all.push_back(emitted(subject, seed, subject.wanted({})));
    text += all.back().text;
    calls += all.back().calls;
  }
  EXPECT_LT(seed / shards, all.size() * 5 / 4 + 2) << "too many were left out";
  const tests::Folder folder;
  folder.write("graphs.c", text + "#include <stdio.h>\nint main(void) {\n" + calls + "return 0;\n}\n");
  const std::string compiler = shard % 4 < 2 ? tests::sanitized_gcc : tests::clang() + " -O1 ";
  folder.run(compiler + tests::c_flags + " graphs.c -o graphs -lm");
  const std::vector<double> numbers = tests::numbers_in(folder.run("./graphs"));

  Compared compared;
  std::size_t at = 0;
  for (std::size_t i = 0; i < all.size() && !HasFailure(); ++i) {
    SCOPED_TRACE(all[i].text.substr(0, 20));
    const auto& [unused_text, unused_calls, unused, inputs, outputs, has_rows] = all[i];
    const std::size_t rows = inputs == 0 ? 1 : rows_of_each, of = subjects[i].function().parameters.size();
    const auto next = [&](const Rounded& wanted, const char* what) {
      ASSERT_LT(at, numbers.size());
      compared.expect(numbers[at++], wanted, what);
    };
    for (std::size_t r = 0; r < rows; ++r) {
      const Results<Rounded> wanted = subjects[i].wanted_of_row(r);
      for (const Rounded& output : wanted.outputs) next(output, "output");
      const auto expect_gradient = [&](const char* what) {
        for (const Rounded& one : wanted.gradient) next(one, what);
        for (const Rounded& one : wanted.inputs) next(one, what);
      };
      next(wanted.outputs[0], "value");
      expect_gradient("gradient");
      if (all[i].text.find("_jacobian(") == std::string::npos) continue;
      for (const Rounded& output : wanted.outputs) next(output, "output beside a Jacobian");
      expect_gradient("Jacobian");
    }
    if (!has_rows) continue;
    const Results<Rounded> wanted = subjects[i].wanted({});
    next(wanted.sum, "sum over rows");
    for (std::size_t k = 0; k < of; ++k) next(wanted.gradient[k], "gradient over rows");
    for (const Rounded& one : wanted.inputs) next(one, "input gradients of rows");
  }
  EXPECT_EQ(at, numbers.size());
  EXPECT_GT(compared.closely, compared.all / 2);
}
INSTANTIATE_TEST_SUITE_P(Emit, RandomGraphs, testing::Range<std::size_t>(0, shards));

}  // namespace gradwalk::emit_random_test
