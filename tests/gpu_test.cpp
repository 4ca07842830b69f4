// SPDX-License-Identifier: MIT
// gradwalk::gpu without a GPU: its Errors, NVRTC on every operation, registers of reference programs, and the cache. On
// a machine with a GPU, random graphs and simulations also run there.
#include "gradwalk/gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "../bench/gpu/simulations.hpp"
#include "emitted.hpp"
#include "gpu/cache.hpp"
#include "gpu/update_text.hpp"
#include "gradwalk/loss.hpp"
#include "gradwalk/nn.hpp"
#include "random_subject.hpp"
#include "support.hpp"

namespace gradwalk::gpu_test {

using simulations::Recorded;
using testing::HasSubstr, testing::StartsWith;
using tests::error_of;

// Why kernels cannot be compiled here, or nothing.
std::string missing_nvrtc() {
  Value x = 1;
  const std::string error = error_of([&] { gpu::machine_code(emit_cuda(x * x, {.inputs = {x}}), "compute_90"); });
  return error == "no error" ? "" : error;
}
std::string ptxas() {
  for (const char* name : {"ptxas", "/usr/local/cuda/bin/ptxas"})
    if (std::system((std::string("command -v ") + name + " >/dev/null 2>&1").c_str()) == 0) return name;
  return "";
}

TEST(Gpu, NamesTheDriverThatIsMissing) {
  if (!gpu::devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  Value x = 1;
  const std::string error = error_of([&] { gpu::compile(x * x, {.inputs = {x}}); });
  if (error.find("libcuda") == std::string::npos) GTEST_SKIP() << "a driver is installed: " << error;
  EXPECT_EQ(error,
            "gpu::compile: needs the driver of an NVIDIA GPU, got none: tried libcuda.so.1, libcuda.so; install the "
            "driver, or use compile() for the CPU");
  const std::string of_rows = "gpu::DeviceRows: needs the driver of an NVIDIA GPU, got none: tried libcuda.so.1";
  EXPECT_THAT(error_of([&] { gpu::DeviceRows(std::vector<double>{1, 2}, 2); }), StartsWith(of_rows));
  EXPECT_THAT(error_of([&] { gpu::DeviceRows(gpu::DeviceArray{.address = 1, .rows = 1, .columns = 1}); }),
              StartsWith(of_rows));
}

TEST(Gpu, NamesTheFilesThatItTriedForNvrtc) {
  // In a process of its own, because the library stays open.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("GRADWALK_NVRTC", "/nowhere/libnvrtc.so", 1);
        const std::string error = missing_nvrtc();
        std::fputs(error.c_str(), stderr);
        std::exit(error.empty() ? 1 : 0);
      },
      testing::ExitedWithCode(0),
      "gpu::machine_code: needs NVRTC, the run-time compiler of CUDA 12 or 13, got none: tried /nowhere/libnvrtc.so; "
      "install it");
}

// Every operation with its derivatives, in both precisions and modes, to PTX.
TEST(Gpu, CompilesEveryOperation) {
  if (const std::string reason = missing_nvrtc(); !reason.empty()) GTEST_SKIP() << reason;
  for (const Precision precision : {Precision::float32, Precision::float64})
    for (const bool exact : {true, false}) {
      std::vector<Value> inputs{Value(0.3), Value(0.4), Value(0.5)}, parameters{Value(0.6), Value(0.7), Value(0.8)};
      Value sum = 0.0;
      std::size_t ops = 0;
      for (std::size_t i = 0; i < op_table.size(); ++i) {
        const Op op = static_cast<Op>(i);
        if (op_table[i].operands == 0 || op == Op::custom) continue;
        sum = sum + tests::applied(op, inputs[0] * parameters[0], inputs[1] * parameters[1], inputs[2] * parameters[2]);
        ++ops;
      }
      EXPECT_GT(ops, 45);
      for (const CudaOptions::Rows rows : {CudaOptions::Rows::by_threads, CudaOptions::Rows::by_blocks}) {
        const CudaSource source = emit_cuda(sum, {.inputs = inputs,
                                                  .parameters = parameters,
                                                  .precision = precision,
                                                  .exact = exact,
                                                  .input_gradients = true,
                                                  .guard_zeros = exact,
                                                  .rows = rows});
        EXPECT_EQ(source.has_layers(), rows == CudaOptions::Rows::by_blocks);
        EXPECT_THAT(gpu::machine_code(source, "compute_90", exact), HasSubstr(".visible .entry model_rows("));
      }
    }
}

TEST(Gpu, CompilesRandomInputsAndUpdates) {
  if (const std::string reason = missing_nvrtc(); !reason.empty()) GTEST_SKIP() << reason;
  const Recorded graph = simulations::heston(16);
  const Value uniform = 0.5;
  for (const Precision precision : {Precision::float32, Precision::float64}) {
    const CudaSource random = emit_cuda(
        graph.loss * uniform,
        {.parameters = graph.parameters, .precision = precision, .normals = graph.inputs, .uniforms = {uniform}});
    for (const bool exact : {true, false})
      EXPECT_THAT(gpu::machine_code(random, "compute_90", exact), HasSubstr(".visible .entry model_rows("));
    for (const OptimizerConfig& config : all_optimizers) {
      CudaSource update;
      update.text = gpu::update_text(detail::rule_of(config), precision);
      const std::string code = gpu::machine_code(update, "compute_90");
      for (const char* kernel : {"check", "update", "batch", "gather", "right"})
        EXPECT_THAT(code, HasSubstr(std::string(".visible .entry gradwalk_") + kernel + "("));
    }
  }
}

TEST(Gpu, ShowsTheMessagesOfNvrtc) {
  if (const std::string reason = missing_nvrtc(); !reason.empty()) GTEST_SKIP() << reason;
  CudaSource source;
  source.text = "this is no kernel";
  EXPECT_THAT(error_of([&] { gpu::machine_code(source, "compute_90"); }), HasSubstr("gradwalk.cu(1): error"));
}

// Registers of a kernel, and bytes that it spills to memory.
struct Resources {
  int registers = 0, spills = 0;
};
Resources resources_of(const CudaSource& source, bool exact, const std::string& kernel = "rows") {
  const tests::Folder folder;
  folder.write("a.ptx", gpu::machine_code(source, "compute_90", exact));
  const std::string text = folder.run(ptxas() + " -v -arch=sm_90 a.ptx -o a.cubin");
  const std::size_t begin = text.find("'" + source.name + "_" + kernel + "'");
  EXPECT_NE(begin, std::string::npos) << kernel;
  const auto number_before = [&](const char* what) {
    const std::size_t end = text.find(what, begin);
    std::size_t at = end - 1;
    while (at > 0 && text[at - 1] != ' ') --at;
    return std::atoi(text.c_str() + at);
  };
  return {number_before(" registers"), number_before(" bytes spill stores")};
}

TEST(Gpu, KeepsReferenceProgramsInRegisters) {
  if (const std::string reason = missing_nvrtc(); !reason.empty()) GTEST_SKIP() << reason;
  if (ptxas().empty()) GTEST_SKIP() << "ptxas is not installed";
  const auto expect = [](const char* what, const Recorded& graph, Precision precision, bool exact, int most,
                         bool is_random = false) {
    const std::vector<Value> none;
    const CudaSource source = emit_cuda(graph.loss, {.inputs = is_random ? none : graph.inputs,
                                                     .parameters = graph.parameters,
                                                     .precision = precision,
                                                     .exact = exact,
                                                     .normals = is_random ? graph.inputs : none});
    const Resources used = resources_of(source, exact);
    std::cout << what << ": " << used.registers << " registers, " << used.spills << " bytes spilled; " << source.about
              << "\n";
    EXPECT_LE(used.registers, most) << what;
    EXPECT_EQ(used.spills, 0) << what;
  };
  for (const int steps : {16, 64, 252}) {
    expect("heston, exact", simulations::heston(steps), Precision::float32, true, 64);
    expect("heston, fast", simulations::heston(steps), Precision::float32, false, 64);
  }
  expect("heston, float64", simulations::heston(64), Precision::float64, true, 128);
  expect("heston, random", simulations::heston(64), Precision::float32, true, 64, true);
  expect("lotka_volterra", simulations::lotka_volterra(100), Precision::float32, true, 128);
}

// A classifier or a network with a hinge loss.
CudaSource network(const std::vector<std::size_t>& widths, Precision precision, bool exact, bool guard_zeros = false) {
  const MLP model(widths[0], {widths.begin() + 1, widths.end()});
  const std::vector<Value> inputs(widths[0] + 1), scores = model(std::span(inputs).first(widths[0]));
  const Value loss =
      widths.back() == 1 ? hinge(scores[0], inputs.back()) : softmax_cross_entropy(scores, inputs.back());
  return emit_cuda(loss, {.inputs = inputs,
                          .parameters = model.parameters(),
                          .precision = precision,
                          .exact = exact,
                          .guard_zeros = guard_zeros});
}

TEST(Gpu, ChoosesHowRowsAreDivided) {
  const auto about = [](const std::vector<std::size_t>& widths) {
    return network(widths, Precision::float32, true).about;
  };
  EXPECT_EQ(about({2, 16, 16, 1}), "one row per thread, gradients added up as 3 outer products");
  EXPECT_EQ(about({2, 40, 40, 1}), "32 rows per block, 3 layers in shared memory");
  EXPECT_EQ(about({2, 64, 64, 1}), "32 rows per block, 3 layers in shared memory");
  EXPECT_EQ(about({784, 128, 64, 10}), "32 rows per block, 3 layers in the memory of the device");
}

TEST(Gpu, KeepsLayersInRegisters) {
  if (const std::string reason = missing_nvrtc(); !reason.empty()) GTEST_SKIP() << reason;
  if (ptxas().empty()) GTEST_SKIP() << "ptxas is not installed";
  const auto expect = [](const std::vector<std::size_t>& widths, Precision precision, bool exact, bool guard_zeros) {
    const CudaSource source = network(widths, precision, exact, guard_zeros);
    std::vector<std::string> kernels;
    for (const CudaLayers::Step& one : source.layers.rows) kernels.push_back(one.kernel.substr(source.name.size() + 1));
    if (source.layers.weights > 0) kernels.emplace_back("weights");
    EXPECT_EQ(kernels.size(), widths[0] == 2 && precision == Precision::float32 ? 1 : widths[0] == 2 ? 2 : 3);
    for (const std::string& kernel : kernels) {
      const Resources used = resources_of(source, exact, kernel);
      std::cout << source.about << ", " << kernel << ": " << used.registers << " registers, " << used.spills
                << " bytes spilled\n";
      EXPECT_LE(used.registers, 168) << kernel;
      EXPECT_EQ(used.spills, 0) << kernel;
    }
  };
  for (const std::vector<std::size_t>& widths : {std::vector<std::size_t>{2, 64, 64, 1}, {784, 128, 64, 10}}) {
    expect(widths, Precision::float32, true, false);
    expect(widths, Precision::float32, false, false);
    expect(widths, Precision::float32, true, true);
    expect(widths, Precision::float64, true, false);
  }
}

TEST(Gpu, CompilesLoopsOfAnyLengthInTheSameTime) {
  if (const std::string reason = missing_nvrtc(); !reason.empty()) GTEST_SKIP() << reason;
  const auto size = [](int steps) {
    const Recorded graph = simulations::heston(steps);
    return emit_cuda(graph.loss, {.inputs = graph.inputs, .parameters = graph.parameters}).text.size();
  };
  EXPECT_LT(size(1000), size(100) * 11 / 10);
}

TEST(GpuCache, KeepsCodeByItsWholeKey) {
  const tests::Folder folder;
  const gpu::Cache cache(folder / "cache");
  EXPECT_FALSE(cache.find("a"));
  cache.keep("a", "code of a");
  cache.keep("b", std::string("code\0of b", 9));
  EXPECT_EQ(cache.find("a"), "code of a");
  EXPECT_EQ(cache.find("b"), std::string("code\0of b", 9));
  EXPECT_FALSE(cache.find("c"));
  EXPECT_FALSE(gpu::Cache("").find("a"));
  gpu::Cache("").keep("a", "code");
}

TEST(GpuCache, IgnoresDamagedFiles) {
  const tests::Folder folder;
  const gpu::Cache cache(folder / "cache");
  cache.keep("key", "some code");
  for (const auto& entry : std::filesystem::directory_iterator(folder / "cache")) {
    const std::string name = "cache/" + entry.path().filename().string(), bytes = folder.read(name);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      folder.write(name, bytes.substr(0, cut));
      EXPECT_FALSE(cache.find("key")) << cut;
    }
    folder.write(name, bytes);
  }
  EXPECT_EQ(cache.find("key"), "some code");
}

TEST(GpuCache, DeletesTheOldestFiles) {
  const tests::Folder folder;
  const gpu::Cache cache(folder / "cache", 10000);
  for (int i = 0; i < 12; ++i) {
    cache.keep("key " + std::to_string(i), std::string(1000, 'x'));
    cache.find("key 0");  // was used last
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(cache.find("key 0"));
  EXPECT_FALSE(cache.find("key 1"));
  EXPECT_TRUE(cache.find("key 11"));
}

TEST(GpuCache, IsSafeForSeveralThreads) {
  const tests::Folder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const gpu::Cache cache(folder / "cache", 100000);
      for (int i = 0; i < 50; ++i) {
        const std::string key = std::to_string(i % 7), code(1000, static_cast<char>('a' + i % 7));
        const auto found = cache.find(key);
        EXPECT_TRUE(!found || *found == code);
        cache.keep(key, code);
      }
    });
  for (std::thread& one : threads) one.join();
}

// ---- on a GPU ----

TEST(OnAGpu, RandomGraphsGiveTheNumbersOfTheEngine) {
  if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  tests::Compared compared;
  for (std::size_t seed = 1; seed < 100; ++seed) {
    const Precision precision = seed % 2 == 0 ? Precision::float64 : Precision::float32;
    tests::Subject subject(seed, precision);
    if (subject.function().inputs.empty() || !subject.find_rows(seed % 7 == 0 ? 1500 : 3)) continue;
    const auto graph = subject.recorded();
    gpu::Program program = gpu::compile(
        graph.outputs,
        {.inputs = graph.inputs, .parameters = graph.parameters, .precision = precision, .input_gradients = true});
    const std::vector<double> rows = subject.rows();
    const gpu::DeviceRows on_device(rows, graph.inputs.size(), precision);
    std::vector<double> gradient(graph.parameters.size()), inputs(rows.size()),
        outputs(on_device.size() * graph.outputs.size()), again(outputs.size());
    SCOPED_TRACE(seed);
    const double sum = program.gradients(on_device, gradient, {.input_gradients = inputs, .outputs = outputs});
    program.evaluate(on_device, again);
    const auto wanted = subject.wanted({});
    compared.expect(sum, wanted.sum, "sum");
    compared.expect(gradient, wanted.gradient, "gradient");
    compared.expect(inputs, wanted.inputs, "input gradients");
    compared.expect(outputs, wanted.outputs, "outputs");
    compared.expect(again, wanted.outputs, "evaluate");
    if (HasFailure()) break;
  }
  EXPECT_GT(compared.closely, compared.all / 2);
}

TEST(OnAGpu, ExactModeGivesTheStoredBits) {
  if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  std::vector<double> paths(160 * 32), starts(160 * 3);  // those of emit_cuda_test.cpp
  for (std::size_t i = 0; i < paths.size(); ++i) paths[i] = static_cast<double>(i * 37 % 101) / 32.0 - 1.5625;
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = 0.5 + static_cast<double>(i * 29 % 64) / 128.0;
  std::vector<std::string> got;
  const auto run = [&](const Recorded& graph, Precision precision, const std::vector<double>& rows) {
    gpu::Program program =
        gpu::compile(graph.loss, {.inputs = graph.inputs, .parameters = graph.parameters, .precision = precision});
    std::vector<double> gradient(graph.parameters.size());
    gradient.insert(gradient.begin(), 0.0);
    gradient[0] =
        program.gradients(gpu::DeviceRows(rows, graph.inputs.size(), precision), std::span(gradient).subspan(1));
    for (const double number : gradient) {
      char digits[40];
      std::snprintf(digits, sizeof digits, "%a", number);
      got.emplace_back(digits);
    }
  };
  for (const Precision precision : {Precision::float32, Precision::float64}) {
    run(simulations::heston(16), precision, paths);
    run(simulations::lotka_volterra(20), precision, starts);
  }
  std::vector<std::string> stored{
#include "cuda_bits.inc"
  };
  // Those of the file in reverse mode, which gpu::compile() does not choose for this program, are left out.
  ASSERT_EQ(stored.size(), 38);
  stored.erase(stored.begin() + 19 + 7, stored.begin() + 19 + 14);
  stored.erase(stored.begin() + 7, stored.begin() + 14);
  EXPECT_EQ(got, stored);
}

TEST(OnAGpu, TwoRunsGiveTheSameBits) {
  if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  const Recorded graph = simulations::heston(64);
  std::vector<double> rows(100000 * graph.inputs.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i * 37 % 101) / 32.0 - 1.5625;
  const gpu::DeviceRows on_device(rows, graph.inputs.size());
  for (const bool exact : {true, false}) {
    gpu::Program program =
        gpu::compile(graph.loss, {.inputs = graph.inputs, .parameters = graph.parameters, .exact = exact});
    std::vector<double> first(6), second(6);
    const double sum = program.gradients(on_device, first);
    EXPECT_EQ(program.gradients(on_device, second), sum);
    EXPECT_EQ(first, second);
  }
}

// Arrays on the device with other steps between rows and columns, from the outputs of a program.
TEST(OnAGpu, TakesArraysThatAreOnTheDevice) {
  if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  constexpr std::size_t count = 75;
  std::vector<double> numbers(count * 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * i % 97) / 8;
  Value x = 0, y = 0;
  for (const Precision from : {Precision::float32, Precision::float64})
    for (const Precision to : {Precision::float32, Precision::float64}) {
      const std::vector<Value> same{x * 1.0, y * 1.0};
      gpu::Program source = gpu::compile(same, {.inputs = {x, y}, .precision = from});
      gpu::Program program = gpu::compile(same, {.inputs = {x, y}, .precision = to});
      gpu::DeviceArray array = source.evaluate_on_device(gpu::DeviceRows(numbers, 2, from));
      std::vector<double> read_back(numbers.size()), outputs(numbers.size());
      gpu::read(array, read_back);
      EXPECT_EQ(read_back, numbers);
      const gpu::DeviceRows rows(array, to);
      EXPECT_TRUE(rows.is_copy());
      program.evaluate(rows, outputs);
      EXPECT_EQ(outputs, numbers);
      // Backward, with the columns exchanged.
      const std::size_t size = from == Precision::float32 ? sizeof(float) : sizeof(double);
      array.address += (2 * count - 1) * size;
      array.row_step = -1;
      array.column_step = -static_cast<std::int64_t>(count);
      gpu::read(array, read_back);
      program.evaluate(gpu::DeviceRows(array, to), outputs);
      EXPECT_EQ(outputs, read_back);
      std::ranges::reverse(read_back);
      EXPECT_EQ(read_back, numbers);
    }
}

TEST(OnAGpu, UsesRowsOfOneNumberWhereTheyAre) {
  if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  Value x = 0;
  gpu::Program program = gpu::compile(x * 2.0, {.inputs = {x}});
  gpu::DeviceArray array = program.evaluate_on_device(gpu::DeviceRows(std::vector<double>{1, 2, 3, 4}, 1));
  EXPECT_TRUE(gpu::DeviceRows(array, Precision::float64).is_copy());
  const gpu::DeviceRows rows(array);
  EXPECT_FALSE(rows.is_copy());
  array.row_step = 2;
  array.rows = 2;
  EXPECT_TRUE(gpu::DeviceRows(array).is_copy());
  EXPECT_EQ(program.run(gpu::DeviceRows(array)), 2 * (2 + 6));
  array = {};  // the rows keep the memory
  EXPECT_EQ(program.run(rows), 2 * (2 + 4 + 6 + 8));
  EXPECT_THAT(error_of([] { gpu::DeviceRows(gpu::DeviceArray{.address = 64, .rows = 1, .columns = 1}); }),
              HasSubstr("needs an array in the memory of device 0, got an address of no device; copy the array"));
  EXPECT_EQ(error_of([] { gpu::DeviceRows(gpu::DeviceArray{.address = 64, .rows = 1}); }),
            "gpu::DeviceRows: needs rows of at least one number, got rows of none; give one number per row and input");
}

TEST(OnAGpu, RefusesRowsThatDoNotFit) {
  if (gpu::devices().empty()) GTEST_SKIP() << "this machine has no GPU";
  Value x = 1, p = 2;
  gpu::Program program = gpu::compile(x * p, {.inputs = {x}, .parameters = {p}});
  std::vector<double> gradient(1);
  const std::vector<double> numbers{1, 2, 3, 4};
  EXPECT_EQ(error_of([&] { program.gradients(gpu::DeviceRows(numbers, 2), gradient); }),
            "gpu::Program::gradients: needs rows of 1 numbers, got 2; give one number per input");
  EXPECT_THAT(error_of([&] { program.gradients(gpu::DeviceRows(numbers, 1, Precision::float64), gradient); }),
              HasSubstr("needs rows of the program's precision and device"));
  EXPECT_THAT(error_of([&] { gpu::compile(x * p, {.inputs = {x}, .parameters = {p}, .device = 99}); }),
              HasSubstr("needs a device of this machine, got 99 of "));
  const gpu::DeviceRows rows(numbers, 1);
  EXPECT_EQ(program.run(rows), 20);
  EXPECT_EQ(p.grad(), 10);
  EXPECT_EQ(program.run(rows, {.mean = true}), 5);
  EXPECT_EQ(p.grad(), 12.5);
  EXPECT_EQ(program.run(gpu::DeviceRows(std::vector<double>{}, 1)), 0);
  EXPECT_EQ(p.grad(), 12.5);
}

}  // namespace gradwalk::gpu_test
