// SPDX-License-Identifier: MIT
// Tests the components together where each is a library of its own: threads of compiled programs, model files, and
// errors that one library throws and another catches. Prints "ok", or what is wrong.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "gradwalk/compiled_step.hpp"
#include "gradwalk/gradwalk.hpp"
#include "gradwalk/model_file.hpp"
#include "gradwalk/solve.hpp"

using namespace gradwalk;

namespace {

int faults = 0;

void expect(bool is_right, const char* what) {
  if (is_right) return;
  std::printf("wrong: %s\n", what);
  ++faults;
}

void test_threads_of_programs() {
  const MLP model(8, {32, 32, 1});
  std::vector<Value> inputs(8);
  const Value out = model(inputs)[0];
  std::vector<double> rows(8 * 4000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<double>(i));
  std::vector<std::vector<double>> gradients(2, std::vector<double>(model.parameters().size()));
  for (const std::size_t threads : {1, 4}) {
    Program program = compile(out * out, {.inputs = inputs, .parameters = model.parameters(), .threads = threads});
    for (int i = 0; i < 500; ++i) program.gradients(rows, gradients[threads == 4 ? 1 : 0]);
  }
  expect(gradients[0] == gradients[1], "the gradient by four threads");
}

void test_model_files() {
  const Dataset data = make_moons(100, 0.1, 7);
  const MakeStep make_step = [](const Model& model) { return compiled_step(model); };
  const Recipe recipe{.hidden = {8}, .optimizer = Adam{.lr = 0.01}, .rate = {.steps = 40}, .batch = 20};
  TrainingRun whole(data, recipe, make_step), half(data, recipe, make_step);
  for (int i = 0; i < 40; ++i) whole.step();
  for (int i = 0; i < 20; ++i) half.step();
  const DataSource source{R"({"data":"moons"})", fingerprint(data)};
  save_model("half \xc3\xa9.safetensors", half, 40, source);
  TrainingRun resumed = resume(load_model("half \xc3\xa9.safetensors"), data, make_step);
  while (resumed.steps() < 40) resumed.step();
  save_model("whole.safetensors", whole, 40, source);
  save_model("resumed.safetensors", resumed, 40, source);
  expect(read_file("whole.safetensors", 1 << 20) == read_file("resumed.safetensors", 1 << 20),
         "a training that was saved and resumed");
}

// Expects that a call of a component throws the library's Error.
template <class F> void expect_error(F call, const char* what) {
  try {
    call();
    expect(false, what);
  } catch (const Error& error) {
    expect(std::string(error.what()).find(": needs ") != std::string::npos, error.what());
  }
}

void test_errors() {
  Value a, b;
  expect_error([&] { compile(a + b, {.inputs = {a, a}}); }, "the error of compile()");
  expect_error([] { load_model("there is none"); }, "the error of load_model()");
  expect_error([] { minimize([](const std::vector<Value>& x) { return x[0]; }, {}); }, "the error of minimize()");
}

}  // namespace

int main() {
  test_threads_of_programs();
  test_model_files();
  test_errors();
  if (faults == 0) std::printf("ok\n");
  return faults;
}
