// SPDX-License-Identifier: MIT
// Loops in scalar code become layers: convolutions, recurrent steps, attention, with weights that all positions of a
// text, series or picture share. Each program is described, and compared with the engine row by row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "../examples/gpt.hpp"
#include "gradwalk/compile.hpp"
#include "support.hpp"

namespace gradwalk::lift_test {

using testing::ElementsAre;
using Vector = std::vector<Value>;
using Matrix = std::vector<Vector>;  // one Vector per row

std::vector<double> random_numbers(std::size_t count, std::size_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = std::uniform_real_distribution<>(-1, 1)(random);
  return numbers;
}

struct Sums {
  double loss = 0;
  std::vector<double> gradient, inputs;  // with respect to the parameters, and to the inputs of each row
  bool operator==(const Sums&) const = default;
};

// Scalar code and the parameters that it uses, which parameter() makes.
struct Model {
  std::function<Value(const Vector& inputs)> loss = {};
  std::size_t inputs = 0;
  Vector parameters = {};

  Vector vector(std::size_t count) {
    const std::vector<double> numbers = random_numbers(count, 7 + parameters.size());
    const Vector made(numbers.begin(), numbers.end());
    parameters.insert(parameters.end(), made.begin(), made.end());
    return made;
  }
  Matrix matrix(std::size_t rows, std::size_t columns) {
    Matrix made;
    for (std::size_t i = 0; i < rows; ++i) made.push_back(vector(columns));
    return made;
  }

  Program compiled(CompileOptions options = {}) const {
    options.inputs.resize(inputs);
    options.parameters = parameters;
    return compile(loss(options.inputs), options);
  }
  Sums run(const std::vector<double>& rows, const CompileOptions& options) const {
    Sums sums{0, std::vector<double>(parameters.size()), std::vector<double>(rows.size())};
    sums.loss = compiled(options).gradients(rows, sums.gradient, {.input_gradients = sums.inputs});
    return sums;
  }
  Sums eager(const std::vector<double>& rows) {
    for (Value& p : parameters) p.grad() = 0;
    Sums sums;
    for (std::size_t first = 0; first < rows.size(); first += inputs) {
      const Vector row(rows.begin() + static_cast<std::ptrdiff_t>(first),
                       rows.begin() + static_cast<std::ptrdiff_t>(first + inputs));
      const Value row_loss = loss(row);
      row_loss.backward();
      sums.loss += row_loss.data();
      for (const Value& x : row) sums.inputs.push_back(x.grad());
    }
    for (const Value& p : parameters) sums.gradient.push_back(p.grad());
    return sums;
  }
};

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance) {
  double size = 1;
  for (const double number : wanted) size = std::max(size, std::abs(number));
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance * size) << "number " << i;
}

void expect_near(const Sums& got, const Sums& wanted, double tolerance) {
  EXPECT_NEAR(got.loss, wanted.loss, tolerance * (1 + std::abs(wanted.loss)));
  expect_near(got.gradient, wanted.gradient, tolerance);
  expect_near(got.inputs, wanted.inputs, tolerance);
}

// Expects the results of the engine for every instruction set and both precisions, and the same bits for any number of
// threads.
void expect_right(Model& model) {
  for (const std::size_t count : {1u, 5u, 70u}) {
    const std::vector<double> rows = random_numbers(count * model.inputs, count);
    const Sums wanted = model.eager(rows);
    for (const std::string& set : instruction_sets()) {
      SCOPED_TRACE(std::to_string(count) + " rows, " + set);
      expect_near(model.run(rows, {.instruction_set = set}), wanted, 1e-13);
      expect_near(model.run(rows, {.precision = Precision::float32, .instruction_set = set}), wanted, 2e-5);
    }
    for (const std::size_t threads : {2u, 5u})
      EXPECT_EQ(model.run(rows, {.threads = threads}), model.run(rows, {})) << count << " rows, " << threads;
  }
}

Value dot(const Vector& x, const Vector& y) { return gpt::dot(x, y); }
Value sum_of_squares(const Vector& x) { return gpt::dot(x, x); }

// ---- convolutions ----

// A series of channels side by side: out[o][i] = bias[o] + sum over channels and width of weight * in[c][i + k].
Matrix convolved(const Matrix& in, const std::vector<Matrix>& weights, const Vector& bias) {
  Matrix out(weights.size());
  const std::size_t width = weights[0][0].size();
  for (std::size_t o = 0; o < weights.size(); ++o)
    for (std::size_t i = 0; i + width <= in[0].size(); ++i) {
      Value sum = bias[o];
      for (std::size_t c = 0; c < in.size(); ++c)
        for (std::size_t k = 0; k < width; ++k) sum += weights[o][c][k] * in[c][i + k];
      out[o].push_back(sum);
    }
  return out;
}

Matrix cut(const Vector& row, std::size_t parts) {
  Matrix made(parts);
  for (std::size_t i = 0; i < row.size(); ++i) made[i / (row.size() / parts)].push_back(row[i]);
  return made;
}

Vector joined(const Matrix& parts) {
  Vector all;
  for (const Vector& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(AConvolution, OverASeriesIsOneLayerForAnyLength) {
  Model model{.inputs = 2 * 10};
  const std::vector<Matrix> first{model.matrix(2, 3), model.matrix(2, 3), model.matrix(2, 3)},
      second{model.matrix(3, 3), model.matrix(3, 3)};
  const Vector first_bias = model.vector(3), second_bias = model.vector(2), last = model.vector(2 * 6);
  model.loss = [=](const Vector& x) {
    Matrix h = convolved(cut(x, 2), first, {first_bias[2], first_bias[0], first_bias[1]});
    for (Vector& channel : h)
      for (Value& output : channel) output = tanh(output);
    Vector out = joined(convolved(h, second, second_bias));
    for (Value& output : out) output = relu(output);
    return pow(dot(last, out), 2);
  };
  EXPECT_THAT(model.compiled().describe().layers, ElementsAre("3 x 6, 8 times", "2 x 9, 6 times", "1 x 12"));
  expect_right(model);
}

TEST(AConvolution, OverAPictureIsOneLayerForAnySize) {
  constexpr std::size_t side = 6, channels = 2, filters = 4, inner = side - 2;
  Model model{.inputs = channels * side * side};
  std::vector<Matrix> weights;
  for (std::size_t f = 0; f < filters; ++f) weights.push_back(model.matrix(channels, 9));
  const Vector bias = model.vector(filters), last = model.vector(filters);
  model.loss = [=](const Vector& x) {
    Value loss = 0;
    for (std::size_t f = 0; f < filters; ++f) {
      Value mean = 0;  // the mean of the filter's outputs, which is all that the next layer uses
      for (std::size_t row = 0; row < inner; ++row)
        for (std::size_t column = 0; column < inner; ++column) {
          Value sum = bias[f];
          for (std::size_t c = 0; c < channels; ++c)
            for (std::size_t k = 0; k < 9; ++k)
              sum += weights[f][c][k] * x[(c * side + row + k / 3) * side + column + k % 3];
          mean += relu(sum);
        }
      loss += last[f] * mean / (inner * inner);
    }
    return exp(loss);
  };
  EXPECT_THAT(model.compiled().describe().layers, testing::Contains("4 x 18, 16 times"));
  expect_right(model);
}

TEST(AConvolution, WithPaddingHasSeparateLayersAtTheEdges) {
  Model model{.inputs = 8};
  const Matrix weights = model.matrix(3, 3);
  model.loss = [=](const Vector& x) {
    Vector out;
    for (const Vector& filter : weights)
      for (std::size_t i = 0; i < x.size(); ++i) {
        Value sum = filter[1] * x[i];
        if (i > 0) sum += filter[0] * x[i - 1];
        if (i + 1 < x.size()) sum += filter[2] * x[i + 1];
        out.push_back(tanh(sum));
      }
    return sum_of_squares(out);
  };
  EXPECT_THAT(model.compiled().describe().layers, testing::UnorderedElementsAre("3 x 2", "3 x 3, 6 times", "3 x 2"));
  expect_right(model);
}

TEST(ALayer, MayHaveOneBiasPerCopyOrOneForAll) {
  using Bias = std::function<Value(const Vector& all, std::size_t output, std::size_t copy)>;
  const std::vector<std::pair<const char*, Bias>> ways{
      {"one each, evenly", [](const Vector& all, std::size_t o, std::size_t c) { return all[4 * o + c]; }},
      {"the other way round", [](const Vector& all, std::size_t o, std::size_t c) { return all[3 * c + o]; }},
      {"of the copy", [](const Vector& all, std::size_t, std::size_t c) { return all[3 * c % 4]; }},
      {"on each other", [](const Vector& all, std::size_t o, std::size_t c) { return all[o + c]; }},
      {"one for all", [](const Vector& all, std::size_t, std::size_t) { return all[5]; }},
      {"of the output, uneven", [](const Vector& all, std::size_t o, std::size_t) { return all[o * o]; }},
      {"and a number",
       [](const Vector& all, std::size_t o, std::size_t c) { return 2 * all[o] + static_cast<double>(c); }},
      {"numbers alone",
       [](const Vector&, std::size_t o, std::size_t c) { return Value(static_cast<double>(2 * o + c)); }},
  };
  for (const auto& [name, bias] : ways) {
    SCOPED_TRACE(name);
    Model model{.inputs = 4 * 5};
    const Matrix weights = model.matrix(3, 5);
    const Vector biases = model.vector(12);
    model.loss = [=, &bias](const Vector& x) {
      Vector out;
      const Matrix places = cut(x, 4);
      for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t o = 0; o < 3; ++o) out.push_back(tanh(dot(weights[o], places[c]) + bias(biases, o, c)));
      return sum_of_squares(out);
    };
    EXPECT_THAT(model.compiled().describe().layers, ElementsAre("3 x 5, 4 times"));
    expect_right(model);
  }
}

TEST(ALayer, IsPartOfALargerOneIfItUsesSomeOfItsWeights) {
  Model model{.inputs = 3 * 4};
  const Matrix keys = model.matrix(5, 4), query = model.matrix(2, 4);
  model.loss = [=](const Vector& x) {
    const Matrix places = cut(x, 3);
    Vector out;
    for (const Vector& place : places)
      for (const Vector& key : keys) out.push_back(tanh(dot(key, place)));
    for (const Vector& one : query) out.push_back(tanh(dot(one, places.back())));
    return sum_of_squares(out);
  };
  EXPECT_THAT(model.compiled().describe().layers, testing::UnorderedElementsAre("5 x 4, 3 times", "2 x 4"));
  expect_right(model);
}

// Pairs of sums that lift once confused: a sum with a bias and one with another input; p5 and 1.5 * p13.
TEST(ALayer, IsNotConfusedWithAnother) {
  Model one{.inputs = 5};
  const Vector bias = one.vector(1);
  one.loss = [=](const Vector& x) {
    return tanh(x[1] + x[2] + x[3] + x[4] + bias[0]) * tanh(x[0] + x[1] + x[2] + x[3] + x[4]);
  };
  expect_right(one);

  Model other{.inputs = 4};
  const Vector p = other.vector(16);
  other.loss = [=](const Vector& x) {
    Value sum = tanh(p[5] * x[0] + p[0] * x[1]) * tanh(1.5 * p[13] * x[2] + p[0] * x[3]);
    for (const Value& one_of_all : p) sum += one_of_all * one_of_all;
    return sum;
  };
  expect_right(other);
}

// ---- recurrent steps ----

Vector rnn_step(const Matrix& weights, const Vector& bias, const Vector& x, const Vector& h) {
  const Vector in = joined({x, h});
  Vector next;
  for (std::size_t i = 0; i < h.size(); ++i) next.push_back(tanh(dot(weights[i], in) + bias[i]));
  return next;
}

TEST(ARecurrentStep, IsALayer) {
  Model model{.inputs = 4 * 3};
  const Matrix weights = model.matrix(5, 3 + 5);
  const Vector bias = model.vector(5), first = model.vector(5), last = model.vector(5);
  model.loss = [=](const Vector& x) {
    Vector h = first;
    for (const Vector& now : cut(x, 4)) h = rnn_step(weights, bias, now, h);
    return pow(dot(last, h), 2);
  };
  EXPECT_THAT(model.compiled().describe().layers, ElementsAre("5 x 3", "5 x 8", "5 x 8", "5 x 8", "1 x 5"))
      << "the first state is the same for all rows";
  expect_right(model);
}

TEST(ARecurrentStep, OfAnLstmIsOneLayerForAllItsGates) {
  constexpr std::size_t size = 4, steps = 3;
  Model model{.inputs = size + steps * 2};
  std::vector<Matrix> of_input, of_state;
  Matrix biases;
  for (std::size_t gate = 0; gate < 4; ++gate) {
    of_input.push_back(model.matrix(size, 2));
    of_state.push_back(model.matrix(size, size));
    biases.push_back(model.vector(size));
  }
  model.loss = [=](const Vector& in) {
    Vector h(in.begin(), in.begin() + size), cell(size);
    for (const Vector& x : cut({in.begin() + size, in.end()}, steps)) {
      const auto gate = [&](std::size_t g, std::size_t i) {
        return dot(of_input[g][i], x) + dot(of_state[g][i], h) + biases[g][i];
      };
      Vector next;
      for (std::size_t i = 0; i < size; ++i) {
        cell[i] = sigmoid(gate(0, i)) * cell[i] + sigmoid(gate(1, i)) * tanh(gate(2, i));
        next.push_back(sigmoid(gate(3, i)) * tanh(cell[i]));
      }
      h = next;
    }
    return sum_of_squares(h);
  };
  EXPECT_THAT(model.compiled().describe().layers, ElementsAre("16 x 6", "16 x 6", "16 x 6"));
  expect_right(model);
}

// ---- a GPT ----

std::vector<std::vector<std::size_t>> documents(std::size_t count, std::size_t tokens, std::size_t vocabulary) {
  std::mt19937_64 random(count);
  std::vector<std::vector<std::size_t>> made(count, std::vector<std::size_t>(tokens));
  for (auto& document : made)
    for (std::size_t& token : document) token = random() % vocabulary;
  return made;
}

TEST(AGpt, HasSixLayersForAnyLengthOfText) {
  Random random(1);
  const gpt::Model model({}, random);
  for (const std::size_t positions : {8u, 13u}) {
    const gpt::OneHot document(positions + 1, model.shape().vocabulary);
    const Program program =
        compile(model.loss(document.tokens), {.inputs = document.inputs(), .parameters = model.parameters()});
    std::vector<std::string> layers{"16 x 27", "48 x 16", "16 x 16", "64 x 16", "16 x 64", "27 x 16"};
    for (std::string& layer : layers) layer += ", " + std::to_string(positions) + " times";
    EXPECT_EQ(program.describe().layers, layers);
    EXPECT_LT(program.describe().instructions, 20 * positions);
  }
}

TEST(AGpt, HasTheLossesAndGradientsOfTheEngine) {
  Random random(2);
  const gpt::Shape shape{.vocabulary = 11, .context = 6, .embedding = 8, .heads = 2, .layers = 2};
  const gpt::Model model(shape, random);
  Vector parameters = model.parameters();
  for (const std::size_t positions : {1u, 2u, 6u}) {
    const gpt::OneHot document(positions + 1, shape.vocabulary);
    const auto texts = documents(50, positions + 1, shape.vocabulary);
    std::vector<double> rows, wanted, losses;
    for (Value& p : parameters) p.grad() = 0;
    for (const std::vector<std::size_t>& text : texts) {
      gpt::append_one_hot(rows, text, shape.vocabulary);
      const Value loss = model.loss(text);
      loss.backward();
      losses.push_back(loss.data());
    }
    for (const Value& p : parameters) wanted.push_back(p.grad());
    for (const std::size_t threads : {1u, 3u}) {
      Program program = compile(model.loss(document.tokens),
                                {.inputs = document.inputs(), .parameters = parameters, .threads = threads});
      std::vector<double> gradient(parameters.size()), outputs(texts.size());
      program.gradients(rows, gradient, {.outputs = outputs});
      expect_near(outputs, losses, 1e-13);
      expect_near(gradient, wanted, 1e-13);
    }
  }
}

// ---- overlapping operands ----

TEST(Sums, OfOverlappingNeighboursPassGradientsToAllOfThem) {
  Model model{.inputs = 12};
  const Vector scale = model.vector(2);
  model.loss = [=](const Vector& x) {
    Vector h, out;
    for (const Value& one : x) h.push_back(exp(one));
    for (std::size_t i = 0; i + 3 < h.size(); ++i)
      out.push_back(sin(h[i] * h[i + 1] + h[i + 2] - h[i + 3] * h[i + 3] + scale[0] * h[i] * scale[1]));
    for (std::size_t i = 0; i + 1 < out.size(); ++i) out[i] = out[i] * out[i + 1] + max(h[i], h[i + 1]);
    return sum_of_squares(out);
  };
  expect_right(model);
}

TEST(Layers, WithOverlappingWeightsAddTheirGradients) {
  for (const std::size_t depth : {4u, 40u}) {
    Model model{.inputs = depth};
    const Vector weights = model.vector(depth + 2), bias = model.vector(1);
    model.loss = [=](const Vector& x) {
      Vector out;
      for (std::size_t o = 0; o < 3; ++o) {
        Value sum = bias[0];
        for (std::size_t t = 0; t < depth; ++t) sum += weights[o + t] * x[t];
        out.push_back(tanh(sum));
      }
      return sum_of_squares(out);
    };
    EXPECT_THAT(model.compiled().describe().layers, ElementsAre("3 x " + std::to_string(depth)));
    expect_right(model);
  }
}

TEST(Layers, OfParametersAndOfConstantsAreSeparate) {
  Model model{.inputs = 5};
  const Vector weights = model.vector(5);
  model.loss = [=](const Vector& x) {
    Value mean = 0;
    for (const Value& one : x) mean += 0.2 * one;
    return tanh(dot(weights, x)) * exp(mean);
  };
  EXPECT_THAT(model.compiled().describe().layers, ElementsAre("1 x 5", "1 x 5"));
  expect_right(model);
}

TEST(AFactor, OfASumWithManyUsersIsNotDistributed) {
  Model model{.inputs = 4};
  model.loss = [=](const Vector& x) {
    const Value score = (x[0] * x[1] + x[2] * x[3]) / 2;
    return max(score, x[0]) * exp(score - x[1]);
  };
  EXPECT_EQ(model.compiled().describe().computed, 5u) << "the score once, max, -, exp and *";
  expect_right(model);
}

// ---- recursions of programs without inputs ----

std::string schedule_of(const Value& loss, const Vector& parameters) {
  for (const PassText& pass : compile_passes({&loss, 1}, {.parameters = parameters}))
    if (pass.pass == "schedule") return pass.text;
  return "";
}
std::size_t count_of(const std::string& what, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// Each entry of the table needs its three neighbours above and to the left. So a diagonal is computed at once.
std::size_t instructions_of_table(std::size_t size, bool is_soft) {
  const std::vector<double> numbers = random_numbers(2 * size, 3);
  const Vector x(numbers.begin(), numbers.end());
  Vector above(size + 1), here(size + 1);
  for (std::size_t j = 0; j <= size; ++j) above[j] = 0.7 * static_cast<double>(j);
  for (std::size_t i = 0; i < size; ++i) {
    here[0] = 0.7 * static_cast<double>(i + 1);
    for (std::size_t j = 0; j < size; ++j) {
      const Value cost = pow(x[i] - x[size + j], 2);
      here[j + 1] = is_soft ? cost - log(exp(-above[j + 1]) + exp(-here[j]) + exp(-above[j]))
                            : min(min(above[j + 1] + 0.7, here[j] + 0.7), above[j] + cost);
    }
    above = here;
  }
  return compile(above[size], {.parameters = x}).describe().instructions;
}

TEST(ARecursion, OverATableIsComputedByDiagonals) {
  for (const bool is_soft : {false, true})
    EXPECT_LT(instructions_of_table(48, is_soft), 3 * instructions_of_table(24, is_soft)) << is_soft;
}

TEST(ARecursion, LeavesWhatItDoesNotNeedToOneVector) {
  const std::vector<double> numbers = random_numbers(3, 5);
  const Vector p(numbers.begin(), numbers.end());
  Value x = p[0], loss = 0;
  for (int k = 0; k < 20; ++k) {
    x = p[1] * x + sin(p[2] * (k + 2.0));  // The sines come before the recursion, the logarithms after it.
    loss += log(1 + x * x);
  }
  const std::string schedule = schedule_of(loss, p);
  EXPECT_EQ(count_of("= sin(", schedule), 1U) << schedule;
  EXPECT_EQ(count_of("= log(", schedule), 1U) << schedule;
}

}  // namespace gradwalk::lift_test
