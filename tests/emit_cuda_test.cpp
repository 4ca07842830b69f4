// SPDX-License-Identifier: MIT
// Emitted CUDA text: its loops and derivatives, run on the CPU, against compiled programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "../bench/gpu/simulations.hpp"
#include "cuda_text.hpp"
#include "support.hpp"

namespace gradwalk::emit_cuda_test {

using simulations::Recorded;
using testing::HasSubstr;
using tests::error_of, tests::Shimmed;
using Derivatives = CudaOptions::Derivatives;

std::vector<double> numbers_of(const std::vector<Value>& values) {
  std::vector<double> made;
  for (const Value& one : values) made.push_back(one.data());
  return made;
}

// Programs that run together in one compiled file, and what the CPU's programs compute for the same rows.
class Compared {
 public:
  void add(const std::string& what, const Recorded& graph, CudaOptions options, const std::vector<double>& rows,
           std::size_t most_blocks = 0) {
    options.name = "k" + std::to_string(sources_.size());
    options.inputs = graph.inputs;
    options.parameters = graph.parameters;
    sources_.push_back(emit_cuda(graph.loss, options));
    if (most_blocks != 0 && sources_.back().most_blocks != 0) sources_.back().most_blocks = most_blocks;
    texts_.push_back(tests::shimmed(sources_.back(), numbers_of(graph.parameters), rows));
    Program program = compile(graph.loss, {.inputs = graph.inputs, .parameters = graph.parameters});
    std::vector<double> gradient(graph.parameters.size()), inputs(rows.size()),
        outputs(rows.size() / graph.inputs.size());
    RunOptions run{.outputs = outputs};
    if (options.input_gradients) run.input_gradients = inputs;
    std::vector<double> wanted{program.gradients(rows, gradient, run)};
    wanted.insert(wanted.end(), gradient.begin(), gradient.end());
    if (options.input_gradients) wanted.insert(wanted.end(), inputs.begin(), inputs.end());
    for (int i = 0; i < 2; ++i) wanted.insert(wanted.end(), outputs.begin(), outputs.end());
    wanted_.push_back(std::move(wanted));
    about_.push_back(what + ": " + sources_.back().about);
  }
  const CudaSource& source(std::size_t i) const { return sources_[i]; }

  void expect_equal() const {
    const std::vector<double> numbers = tests::run_on_shim(texts_);
    std::size_t at = 0;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const bool is_float = sources_[i].precision == Precision::float32;
      for (std::size_t k = 0; k < wanted_[i].size(); ++k, ++at) {
        ASSERT_LT(at, numbers.size());
        const double wanted = wanted_[i][k], scale = std::max(std::abs(wanted), 1.0);
        ASSERT_NEAR(numbers[at], wanted, (is_float ? 1e-3 : 1e-12) * scale) << about_[i] << ", number " << k;
      }
    }
    EXPECT_EQ(at, numbers.size());
  }

 private:
  std::vector<CudaSource> sources_;
  std::vector<Shimmed> texts_;
  std::vector<std::vector<double>> wanted_;
  std::vector<std::string> about_;
};

std::vector<double> normal_rows(std::size_t count, std::size_t inputs, double mean = 0, double deviation = 1) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> rows(count * inputs);
  for (double& one : rows)
    one = static_cast<double>(
        static_cast<float>(mean + deviation * std::abs(normal(random)) * (random() % 2 == 0 ? 1 : -1)));
  return rows;
}

TEST(EmitCuda, RunsSimulationsWithLoops) {
  Compared all;
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    const Recorded heston = simulations::heston(40), lotka = simulations::lotka_volterra(41);
    const std::vector<double> paths = normal_rows(300, 80), starts = normal_rows(200, 3, 0.7, 0.1);
    for (const Derivatives how : {Derivatives::tangents, Derivatives::reverse}) {
      all.add("heston", heston, {.precision = precision, .derivatives = how}, paths);
      all.add("lotka", lotka, {.precision = precision, .derivatives = how}, starts);
    }
    all.add("heston", heston, {.precision = precision, .exact = false}, paths);
    all.add("heston", heston, {.precision = precision, .input_gradients = true}, paths);
    all.add("lotka", lotka, {.precision = precision, .input_gradients = true, .guard_zeros = true}, starts);
    all.add("heston straight", heston, {.precision = precision, .loops = false}, paths);
  }
  const Recorded network = simulations::network({2, 6, 6, 1});
  all.add("network", network, {.precision = Precision::float64}, normal_rows(200, 3));
  EXPECT_THAT(all.source(0).about, HasSubstr("a loop of 36 rounds of 1"));
  EXPECT_THAT(all.source(0).about, HasSubstr("carries 2 values, derivatives carried along"));
  EXPECT_THAT(all.source(1).about, HasSubstr("derivatives carried along"));
  EXPECT_THAT(all.source(2).about, HasSubstr("derivatives in reverse"));
  EXPECT_EQ(all.source(7).about, "one row per thread");
  all.expect_equal();
}

// One number per round from the parameters, numbers that follow no rule, values of several rounds before, an invariant
// node, two loops.
TEST(EmitCuda, RunsLoopsOfEveryKind) {
  Compared all;
  for (const Precision precision : {Precision::float64, Precision::float32})
    for (const bool has_many : {false, true}) {
      Recorded graph;
      for (std::size_t i = 0; i < (has_many ? 40U : 3U); ++i)
        graph.parameters.emplace_back(0.05 * static_cast<double>(i % 7) + 0.1);
      for (int i = 0; i < 42; ++i) graph.inputs.emplace_back(0.1);
      const Value scale = sin(graph.inputs[0]) * graph.parameters[0];
      Value now = graph.inputs[0] * graph.parameters[1], before = graph.inputs[1] * 0.5, long_before = graph.inputs[1];
      for (std::size_t i = 0; i < 40; ++i) {
        const Value& force = has_many ? graph.parameters[i] : graph.parameters[2];
        const Value next = 0.5 * now - 0.3 * before + sin(long_before) * graph.inputs[i + 2] * scale +
                           tanh(force) * (std::sqrt(0.1 + static_cast<double>(i)) * now) * 0.02;
        long_before = before, before = now, now = next;
      }
      Value other = now * before;
      for (std::size_t i = 0; i < 24; ++i) other = other + 0.1 * cos(other * scale) * graph.inputs[41 - i];
      graph.loss = other * other + long_before;
      const std::vector<double> rows = normal_rows(70, 42, 0, 0.5);
      all.add("loops", graph, {.precision = precision}, rows);
      all.add("loops", graph, {.precision = precision, .input_gradients = true}, rows);
      if (!has_many) all.add("loops", graph, {.precision = precision, .derivatives = Derivatives::tangents}, rows);
    }
  EXPECT_THAT(all.source(0).about, HasSubstr(" and a loop of 20 rounds"));
  EXPECT_TRUE(all.source(3).has_uniform);  // tanh of 40 parameters is computed once
  all.expect_equal();
}

TEST(EmitCuda, RunsRandomLoops) {
  Compared all;
  std::size_t loops = 0;
  const std::size_t graphs = tests::sized(60, 12);
  for (std::size_t seed = 0; seed < graphs; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const std::size_t rounds = 9 + below(20), states = 1 + below(3), nodes = 3 + below(10), of_round = below(3);
    Recorded graph;
    for (std::size_t i = 0; i < 1 + rounds * of_round; ++i) graph.inputs.emplace_back(0.1);
    for (std::size_t i = 0; i < 3; ++i) graph.parameters.emplace_back(0.3 * static_cast<double>(i) + 0.2);
    struct Choice {
      std::size_t op, x, y;
    };
    std::vector<Choice> choices;
    for (std::size_t i = 0; i < nodes; ++i) choices.push_back({below(6), below(99), below(99)});
    std::vector<Value> state;
    for (std::size_t i = 0; i < states; ++i) state.push_back(sin(graph.inputs[0] + static_cast<double>(i)));
    for (std::size_t t = 0; t < rounds; ++t) {
      std::vector<Value> known = state;
      for (const Value& one : graph.parameters) known.push_back(one);
      for (std::size_t i = 0; i < of_round; ++i) known.push_back(graph.inputs[1 + t * of_round + i]);
      for (const Choice& one : choices) {
        const Value &x = known[one.x % known.size()], &y = known[one.y % known.size()];
        known.push_back(one.op == 0   ? x + y
                        : one.op == 1 ? x * tanh(y)
                        : one.op == 2 ? tanh(x)
                        : one.op == 3 ? x - y
                        : one.op == 4 ? sin(y)
                                      : x / (1.5 + y * y));
      }
      for (std::size_t i = 0; i < states; ++i) state[i] = 0.5 * tanh(known[known.size() - 1 - i]) + 0.5 * state[i];
    }
    graph.loss = 0.1;
    for (const Value& one : state) graph.loss = graph.loss + one;
    CudaOptions options{.precision = Precision::float64, .input_gradients = seed % 3 == 0};
    if (seed % 3 == 1) options.derivatives = Derivatives::reverse;
    const std::vector<double> rows = normal_rows(5, graph.inputs.size(), 0.2, 0.4);
    all.add("seed " + std::to_string(seed), graph, options, rows);
    loops += all.source(seed).about.find("a loop of") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(loops, graphs * 3 / 4);
  all.expect_equal();
}

// Networks whose layers are smaller and larger than the blocks of an outer product, with and without biases, a weight
// that two layers share, a parameter that is no weight, and fewer blocks than the rows would fill.
TEST(EmitCuda, AddsUpGradientsOfLayersAsOuterProducts) {
  Compared all;
  struct Shape {
    std::vector<std::size_t> sizes;
    bool has_bias;
  };
  const std::vector<Shape> shapes{{{2, 16, 16, 1}, true}, {{5, 19, 3, 2}, true}, {{9, 7, 6, 1}, false}};
  for (const Precision precision : {Precision::float64, Precision::float32})
    for (const Shape& shape : shapes) {
      Recorded graph;
      for (std::size_t i = 0; i < shape.sizes[0]; ++i) graph.inputs.emplace_back(0.1);
      const auto weight = [&] {
        const auto i = static_cast<double>(graph.parameters.size());
        return graph.parameters.emplace_back(0.4 * std::sin(12.9898 * i));
      };
      std::vector<Value> values = graph.inputs;
      for (std::size_t k = 1; k < shape.sizes.size(); ++k) {
        std::vector<Value> next;
        for (std::size_t j = 0; j < shape.sizes[k]; ++j) {
          Value sum = shape.has_bias ? weight() : Value(0.25);
          for (const Value& value : values) sum = sum + weight() * value;
          next.push_back(tanh(sum));
        }
        values = next;
      }
      const Value scale = weight();
      graph.loss = scale * scale;
      for (const Value& value : values) graph.loss = graph.loss + value * (value - graph.inputs[0]) * scale;
      graph.loss = graph.loss - graph.parameters[1] * graph.inputs[0];  // a weight that is used twice
      const std::vector<double> rows = normal_rows(300, shape.sizes[0], 0, 0.7);
      all.add("network", graph, {.precision = precision}, rows);
      if (precision == Precision::float64) continue;
      all.add("network", graph, {}, rows, 1);
      if (shape.sizes[0] != 5) continue;
      all.add("network", graph, {.input_gradients = true}, rows);
      all.add("network", graph, {.guard_zeros = true}, rows);
    }
  EXPECT_EQ(all.source(0).about, "one row per thread");  // float64 has too little shared memory for it
  EXPECT_EQ(all.source(1).about, "one row per thread, gradients added up as 4 outer products");
  EXPECT_EQ(all.source(3).about, "one row per thread, gradients added up as 3 outer products");
  EXPECT_EQ(all.source(3).blocks(300), 3);
  EXPECT_EQ(all.source(4).blocks(300), 1);
  EXPECT_EQ(all.source(3).blocks(1000000), 1024);
  EXPECT_EQ(all.source(8).about, "one row per thread");  // guarded
  all.expect_equal();
}

// The zero-gradient rule: sqrt(0) passes no gradient on where its own gradient is 0.
TEST(EmitCuda, GuardsZeroGradientsOnRequest) {
  Recorded graph;
  graph.inputs.emplace_back(1.0);
  graph.parameters.emplace_back(2.0);
  const Value root = sqrt(graph.parameters[0] * graph.inputs[0]);
  graph.loss = select(graph.inputs[0] > 0.0, root, graph.parameters[0]);
  Compared all;
  all.add("guarded", graph, {.precision = Precision::float64, .guard_zeros = true}, {0, 1, 4});
  all.expect_equal();
}

TEST(EmitCuda, WritesOneValuePerOutputAndRow) {
  Value x = 1, y = 2, p = 3;
  const Value outputs[] = {x * y * p, x + y, Value(7.0), p * 2.0};
  const CudaSource source = emit_cuda(outputs, {.inputs = {x, y}, .parameters = {p}, .precision = Precision::float64});
  EXPECT_EQ(source.outputs, 4);
  const auto numbers = tests::run_on_shim({tests::shimmed(source, {3}, {1, 2, 3, 4})});
  EXPECT_EQ(numbers, (std::vector<double>{42, 14, 6, 3, 7, 6, 36, 7, 7, 6, 6, 3, 7, 6, 36, 7, 7, 6}));
}

// Exact mode rounds in one way everywhere. The bits of these sums and gradients were the same on a GPU (docs/gpu.md).
TEST(EmitCuda, GivesStoredBitsInExactMode) {
#ifdef __clang__
  GTEST_SKIP() << "the stored bits are of the order in which g++ evaluates, and so records, the operands of + and *";
#endif
  std::vector<Shimmed> texts;
  const auto add = [&](const std::string& name, const Recorded& graph, Precision precision, Derivatives how,
                       const std::vector<double>& rows) {
    const CudaSource source = emit_cuda(graph.loss, {.name = name + std::to_string(texts.size()),
                                                     .inputs = graph.inputs,
                                                     .parameters = graph.parameters,
                                                     .precision = precision,
                                                     .derivatives = how});
    Shimmed one = tests::shimmed(source, numbers_of(graph.parameters), rows);
    one.calls = one.calls.substr(0, one.calls.find("  for (size_t r")) + " }\n";  // sum and gradient only
    texts.push_back(one);
  };
  // Rows without random numbers, which differ between standard libraries.
  std::vector<double> paths(160 * 32), starts(160 * 3);
  for (std::size_t i = 0; i < paths.size(); ++i) paths[i] = static_cast<double>(i * 37 % 101) / 32.0 - 1.5625;
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = 0.5 + static_cast<double>(i * 29 % 64) / 128.0;
  for (const Precision precision : {Precision::float32, Precision::float64}) {
    add("heston", simulations::heston(16), precision, Derivatives::tangents, paths);
    add("heston", simulations::heston(16), precision, Derivatives::reverse, paths);
    add("lotka", simulations::lotka_volterra(20), precision, Derivatives::automatic, starts);
  }
  std::vector<std::string> got;
  for (const double number : tests::run_on_shim(texts)) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%a", number);
    got.emplace_back(digits);
  }
  const std::vector<std::string> stored{
#include "cuda_bits.inc"
  };
  std::string lines;  // for tests/cuda_bits.inc, after a change of the rules
  for (const std::string& one : got) lines += "\"" + one + "\",\n";
  EXPECT_EQ(got, stored) << "new bits:\n" << lines;
}

// The same of layers in shared memory, in the memory of the device, and as kernels of their own. A GPU has not given
// them yet.
TEST(EmitCuda, LayersGiveStoredBitsInExactMode) {
#ifdef __clang__
  GTEST_SKIP() << "the stored bits are of the order in which g++ evaluates, and so records, the operands of + and *";
#endif
  const auto bits_of = [](const std::vector<std::size_t>& widths, Precision precision) {
    std::vector<Value> inputs(widths[0] + 1), parameters, x(inputs.begin(), inputs.end() - 1);
    std::vector<double> rows(45 * inputs.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i * 37 % 101) / 64.0 - 0.78125;
    for (std::size_t layer = 1; layer < widths.size(); ++layer) {
      std::vector<Value> next;
      for (std::size_t k = 0; k < widths[layer]; ++k) {
        Value sum = 0.0;
        for (std::size_t i = 0; i <= x.size(); ++i) {
          const auto number = static_cast<double>(parameters.size() * 29 % 64) - 31.5;
          const Value weight = parameters.emplace_back(number / (x.size() > 100 ? 512.0 : 128.0));
          sum = sum + (i < x.size() ? weight * x[i] : weight);
        }
        next.push_back(layer + 1 < widths.size() ? relu(sum) : sum);
      }
      x = next;
    }
    const CudaSource source = emit_cuda(
        pow(x[0] - inputs.back(), 2.0),
        {.inputs = inputs, .parameters = parameters, .precision = precision, .rows = CudaOptions::Rows::by_blocks});
    Shimmed one = tests::shimmed(source, numbers_of(parameters), rows);
    one.calls = one.calls.substr(0, one.calls.find("  for (size_t r")) + " }\n";
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const double number : tests::run_on_shim({one}))
      hash = (hash ^ std::bit_cast<std::uint64_t>(number)) * 0x100000001b3;
    return source.about + ": " + std::to_string(hash);
  };
  EXPECT_EQ(bits_of({2, 64, 64, 1}, Precision::float32),
            "32 rows per block, 3 layers in shared memory: 15868440508688568557");
  EXPECT_EQ(bits_of({2, 64, 64, 1}, Precision::float64),
            "32 rows per block, 3 layers in the memory of the device: 10986136751337490076");
  EXPECT_EQ(bits_of({520, 40, 3}, Precision::float32),
            "32 rows per block, 2 layers in the memory of the device: 12507349872544711029");
}

// The largest error of exp and log in units in the last place, over many numbers.
TEST(EmitCuda, HasAccurateFunctions) {
  const std::string main = R"(
    template <class T, class F, class G> double worst(F f, G g, double from, double to) {
      double most = 0;
      for (int i = 0; i <= 200000; ++i) {
        const T x = (T)(from + (to - from) * i / 200000);
        const long double wanted = g((long double)x), got = f(x);
        if ((T)wanted == (T)got) continue;
        const T near = (T)wanted, unit = nextafter(near < 0 ? -near : near, (T)INFINITY) - (near < 0 ? -near : near);
        const double error = (double)(fabsl(got - wanted) / unit);
        if (error > most) most = error;
      }
      return most;
    }
    #define WORST(space, T) \
      printf("%a\n", worst<T>(space::gw_exp, expl, -80, 80)); \
      printf("%a\n", worst<T>(space::gw_log, logl, 1e-3, 3)); \
      printf("%a\n", worst<T>(space::gw_log, logl, 3, 1e6)); \
      printf("%a\n", (double)space::gw_exp((T)INFINITY)); \
      printf("%a\n", (double)space::gw_exp(-(T)INFINITY)); \
      printf("%a\n", (double)space::gw_exp((T)NAN)); \
      printf("%a\n", (double)space::gw_log((T)0)); \
      printf("%a\n", (double)space::gw_log((T)-1)); \
      printf("%a\n", (double)space::gw_log((T)INFINITY)); \
      printf("%a\n", (double)space::gw_exp(space::gw_log((T)1e-40)) / (T)1e-40); \
      printf("%a\n", (double)space::gw_exp((T)-100));
  )";
  Value x = 1;
  const auto text = [&](Precision precision) {
    return emit_cuda(exp(x) + log(x), {.inputs = {x}, .precision = precision}).text;
  };
  const tests::Folder folder;
  folder.write(
      "kernels.cpp",
      "#include \"" GRADWALK_SOURCE "/tests/cuda_shim.hpp\"\nnamespace f {\n" + text(Precision::float32) +
          "}\n#undef gw_infinity_bits\nnamespace d {\n" +
          "#define model_rows model_rows2\n#define model_values model_values2\n#define model_sum model_sum2\n" +
          text(Precision::float64) + "}\n" + main + "int main() { WORST(f, float) WORST(d, double) }\n");
  folder.run("g++ -std=c++17 -O1 -ffp-contract=off -Wno-unknown-pragmas kernels.cpp -o kernels");
  const std::vector<double> got = tests::numbers_in(folder.run("./kernels"));
  ASSERT_EQ(got.size(), 22);
  for (const std::size_t at : {std::size_t{0}, std::size_t{11}}) {
    EXPECT_LT(got[at], 1.0) << "exp";
    EXPECT_LT(got[at + 1], 1.0) << "log";
    EXPECT_LT(got[at + 2], 1.0) << "log";
    EXPECT_EQ(got[at + 3], std::numeric_limits<double>::infinity());
    EXPECT_EQ(got[at + 4], 0);
    EXPECT_TRUE(std::isnan(got[at + 5]));
    EXPECT_EQ(got[at + 6], -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(got[at + 7]));
    EXPECT_EQ(got[at + 8], std::numeric_limits<double>::infinity());
    EXPECT_NEAR(got[at + 9], 1, 1e-4);
    EXPECT_NEAR(got[at + 10] / std::exp(-100.0), 1, at == 0 ? 0.03 : 1e-14);
  }
}

TEST(EmitCuda, RefusesWhatItCannotEmit) {
  Value x = 1, p = 2;
  EXPECT_EQ(error_of([&] { emit_cuda(x * p, {.parameters = {p}}); }),
            "emit_cuda: needs inputs that differ from row to row, got none; name them in .inputs");
  EXPECT_EQ(
      error_of([&] { emit_cuda(x * p, {.inputs = {x}, .parameters = {p}, .derivatives = Derivatives::tangents}); }),
      "emit_cuda: needs a loop, few uniform numbers, and no input gradients or guard for tangents, got a graph or "
      "options without one of these; leave .derivatives as it is");
  const std::vector<Value> choices{p, p * p};
  EXPECT_THAT(error_of([&] { emit_cuda(pick(choices, x), {.inputs = {x}, .parameters = {p}}); }),
              HasSubstr("got a pick, whose index has to be checked"));
  const Value product = x * p;
  const Value chosen = product > 1.0 ? product * product : product;
  EXPECT_THAT(error_of([&] { emit_cuda(chosen, {.inputs = {x}, .parameters = {p}}); }),
              HasSubstr("emit_cuda: needs a graph that no comparison decided"));
  EXPECT_EQ(emit_cuda(chosen, {.inputs = {x}, .parameters = {p}, .ignore_comparisons = true}).fronts, 1);
  std::vector<Value> many(4000);
  Value sum = 0.0;
  for (const Value& one : many) sum = sum + x * one;
  const auto refused = [&](CudaOptions::Rows rows) {
    return error_of(
        [&] { emit_cuda(sum * sum, {.inputs = {x}, .parameters = many, .rows = rows, .ignore_comparisons = true}); });
  };
  EXPECT_EQ(refused(CudaOptions::Rows::automatic), "no error");
  EXPECT_EQ(refused(CudaOptions::Rows::by_threads),
            "emit_cuda: needs at most 3071 uniform numbers that rows read, got 4000; leave .rows as it is");
}

}  // namespace gradwalk::emit_cuda_test
