// SPDX-License-Identifier: MIT
// compiled-mlp: a training step of a network with large matrices, MLP 784-128-64-10 with ReLU, on a batch of 64 rows in
// float32, with mean softmax cross-entropy and SGD. The baseline uses matrix products of OpenBLAS, on one thread or, in
// compiled-mlp-2, on two. One run is a few steps from the same first parameters. The results are the last loss and the
// parameters after it, neuron by neuron: its weights, then its bias.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <gradwalk/compile.hpp>
#include <span>
#include <string>
#include <utility>

#include "blas_threads.hpp"
#include "cases.hpp"
#include "differences.hpp"
#include "numbers.hpp"
#include "reference/mlp.hpp"

namespace bench {
namespace {

using namespace hand;

// The number of micrograd's nodes per row. A neuron with n inputs has 2n nodes and its ReLU. The loss of a row has the
// largest score, the differences from it, their exponentials and the sum of these, a logarithm, and two more.
constexpr double ops_per_row = mlp_hidden1 * (2 * mlp_inputs + 1) + mlp_hidden2 * (2 * mlp_hidden1 + 1) +
                               mlp_classes * 2 * mlp_hidden2 + 4 * mlp_classes + 3;
constexpr double ops_per_step = mlp_rows * (ops_per_row + 1) + 1;

struct Problem {
  std::vector<float> inputs, parameters;
  std::vector<int> classes;
};

const Problem& problem() {
  static const Problem made = [] {
    Numbers numbers;
    Problem problem;
    for (int i = 0; i < mlp_rows * mlp_inputs; ++i)
      problem.inputs.push_back(static_cast<float>(numbers.uniform(-1, 1)));
    for (int row = 0; row < mlp_rows; ++row)
      problem.classes.push_back(static_cast<int>(numbers.uniform(0, mlp_classes)));
    const auto layer = [&](int inputs, int outputs, double scale) {
      for (int neuron = 0; neuron < outputs; ++neuron) {
        for (int i = 0; i < inputs; ++i)
          problem.parameters.push_back(static_cast<float>(numbers.uniform(-scale, scale)));
        problem.parameters.push_back(0);
      }
    };
    layer(mlp_inputs, mlp_hidden1, 0.03);
    layer(mlp_hidden1, mlp_hidden2, 0.08);
    layer(mlp_hidden2, mlp_classes, 0.1);
    return problem;
  }();
  return made;
}

// The network as scalar code, for any number type. A layer removes its parameters from the front.
template <std::size_t outputs, class T, class Inputs>
std::array<T, outputs> layer(std::span<const T>& parameters, const Inputs& inputs) {
  std::array<T, outputs> sums;
  for (T& sum : sums) {
    sum = parameters[inputs.size()];
    for (std::size_t i = 0; i < inputs.size(); ++i) sum += parameters[i] * inputs[i];
    parameters = parameters.subspan(inputs.size() + 1);
  }
  return sums;
}

template <class T, std::size_t n> std::array<T, n> relu_of(std::array<T, n> sums) {
  using std::max;
  for (T& sum : sums) sum = max(sum, T(0));
  return sums;
}

template <class T, class Inputs> T row_loss(std::span<const T> parameters, const Inputs& inputs, int its_class) {
  using std::exp, std::log, std::max;
  const auto hidden1 = relu_of(layer<mlp_hidden1>(parameters, inputs));
  const auto hidden2 = relu_of(layer<mlp_hidden2>(parameters, hidden1));
  const std::array<T, mlp_classes> scores = layer<mlp_classes>(parameters, hidden2);
  T largest = scores[0], sum = 0;
  for (const T& score : scores) largest = max(largest, score);
  for (const T& score : scores) sum += exp(score - largest);
  return log(sum) + largest - scores[static_cast<std::size_t>(its_class)];
}

double mean_loss(const std::vector<double>& parameters) {
  double sum = 0;
  for (std::size_t row = 0; row < mlp_rows; ++row) {
    const std::span inputs(&problem().inputs[row * mlp_inputs], mlp_inputs);
    sum += row_loss(std::span<const double>(parameters), inputs, problem().classes[row]);
  }
  return sum / mlp_rows;
}

class Blas final : public Task {
 public:
  Blas(int steps, int threads) : steps_(steps), threads_(threads) {}
  ~Blas() override {
    if (threads_ > 1) wait_until_blas_rests();
  }

  void prepare() override {
    set_blas_threads(threads_);
    network_.set_parameters(problem().parameters.data());
  }
  void run() override { loss_ = network_.run(steps_); }

  std::vector<double> results() const override {
    std::vector<float> parameters(mlp_parameters);
    network_.get_parameters(parameters.data());
    std::vector<double> numbers{loss_};
    numbers.insert(numbers.end(), parameters.begin(), parameters.end());
    return numbers;
  }

 private:
  int steps_, threads_;
  Mlp network_{problem().inputs.data(), problem().classes.data()};
  double loss_ = 0;
};

// The loss of one row in scalar Values, compiled. The class is ten inputs that are 0 or 1.
class Compiled : public Task {
 public:
  Compiled(int steps, int threads) : steps_(steps), threads_(static_cast<std::size_t>(threads)) {
    for (int row = 0; row < mlp_rows; ++row) {
      const float* const first = &problem().inputs[static_cast<std::size_t>(row * mlp_inputs)];
      rows_.insert(rows_.end(), first, first + mlp_inputs);
      for (int k = 0; k < mlp_classes; ++k)
        rows_.push_back(problem().classes[static_cast<std::size_t>(row)] == k ? 1 : 0);
    }
  }
  void prepare() override {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameters_[i].data() = static_cast<double>(problem().parameters[i]);
  }
  std::vector<double> results() const override {
    std::vector<double> numbers{loss_};
    for (const gradwalk::Value& p : parameters_) numbers.push_back(p.data());
    return numbers;
  }

 protected:
  static constexpr gradwalk::RunOptions mean{.result = gradwalk::RunOptions::Result::mean};
  int steps_;
  std::size_t threads_;
  std::vector<float> rows_;
  std::vector<gradwalk::Value> parameters_{problem().parameters.begin(), problem().parameters.end()};
  std::vector<gradwalk::Value> inputs_ = std::vector<gradwalk::Value>(mlp_inputs + mlp_classes);
  gradwalk::Value row_loss_ = row_loss();
  gradwalk::Program program_ = compiled();
  double loss_ = 0;

  gradwalk::Program compiled() const {
    return compile(
        row_loss_,
        {.inputs = inputs_, .parameters = parameters_, .precision = gradwalk::Precision::float32, .threads = threads_});
  }

 private:
  gradwalk::Value row_loss() const {
    using gradwalk::Value;
    const std::vector<Value> inputs(inputs_.begin(), inputs_.begin() + mlp_inputs);
    const std::span<const Value> classes = std::span(inputs_).subspan(mlp_inputs);
    std::span<const Value> parameters(parameters_);
    const auto hidden1 = relu_of(layer<mlp_hidden1>(parameters, inputs));
    const auto hidden2 = relu_of(layer<mlp_hidden2>(parameters, hidden1));
    const std::array<Value, mlp_classes> scores = layer<mlp_classes>(parameters, hidden2);
    Value largest = scores[0], sum = 0, right = 0;
    for (const Value& score : scores) largest = max(largest, score);
    for (const Value& score : scores) sum += exp(score - largest);
    for (std::size_t k = 0; k < mlp_classes; ++k) right += classes[k] * scores[k];
    return log(sum) + largest - right;
  }
};

class ByTrainer final : public Compiled {
 public:
  ByTrainer(int steps, int threads) : Compiled(steps, threads), trainer_(program_, gradwalk::SGD{.lr = mlp_rate}) {}
  void prepare() override {
    Compiled::prepare();
    trainer_.read_again();
  }
  void run() override {
    for (int i = 0; i < steps_; ++i) loss_ = trainer_.step(rows_, mean);
  }
  std::vector<double> results() const override {
    const_cast<gradwalk::Trainer&>(trainer_).write_back();
    return Compiled::results();
  }

 private:
  gradwalk::Trainer trainer_;
};

// run() alone, once per step: it reads the parameters from their Values and adds to their gradients. The update of the
// parameters is not timed.
class ByRun final : public Compiled {
 public:
  ByRun(int steps, int threads) : Compiled(steps, threads), numbers_(rows_.begin(), rows_.end()) {}
  void run() override {
    for (int i = 0; i < steps_; ++i) loss_ = program_.run(numbers_, mean);
  }
  std::vector<double> results() const override { return {}; }

 private:
  std::vector<double> numbers_;
};

// Times compile(), with the recording of the row.
class Compiling final : public Compiled {
 public:
  explicit Compiling(int threads) : Compiled(0, threads) {}
  void run() override { compiled(); }
  std::vector<double> results() const override { return {}; }
};

// Returns the indices of a few parameters of each layer, spread over its neurons; every third is a bias.
std::vector<std::size_t> sampled_places() {
  constexpr int per_layer = 13;
  std::vector<std::size_t> places;
  int first = 0;
  const auto layer = [&](int inputs, int outputs) {
    for (int i = 0; i < per_layer; ++i) {
      const int neuron = i * outputs / per_layer, input = i % 3 == 2 ? inputs : i * inputs / per_layer;
      places.push_back(static_cast<std::size_t>(first + neuron * (inputs + 1) + input));
    }
    first += outputs * (inputs + 1);
  };
  layer(mlp_inputs, mlp_hidden1);
  layer(mlp_hidden1, mlp_hidden2);
  layer(mlp_hidden2, mlp_classes);
  return places;
}

// Returns the last loss and, by differences in doubles, a sample of the parameters after the last step.
std::vector<Known> last_step(int steps) {
  Blas before_it(steps - 1, 1);
  before_it.prepare();
  before_it.run();
  std::vector<double> parameters = before_it.results();
  parameters.erase(parameters.begin());

  const std::vector<std::size_t> places = sampled_places();
  std::vector<double> sample;
  for (const std::size_t place : places) sample.push_back(parameters[place]);
  const auto loss = [&](const std::vector<double>& moved) {
    std::vector<double> all = parameters;
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = moved[i];
    return mean_loss(all);
  };

  std::vector<Known> known{{0, loss(sample), 1e-6 * loss(sample)}};
  for (const Known& slope : central_differences(loss, sample, 0)) {
    const double from = sample[slope.result], by = mlp_rate * slope.number;
    known.push_back({1 + places[slope.result], from - by, 1e-7 * std::abs(from) + 1e-4 * std::abs(by) + 1e-9});
  }
  return known;
}

Case compiled_mlp_case(std::string name, int steps, int threads) {
  const double ops = ops_per_step * steps;
  return {.name = std::move(name),
          .variants = {{"blas", ops, starting<Blas>(steps, threads)},
                       {"trainer", ops, starting<ByTrainer>(steps, threads), {.ratio = 1.0}},
                       {"run", ops, starting<ByRun>(steps, threads), {.ratio = 1.4}},
                       {"compiling", ops, starting<Compiling>(threads), {.ms = 40}}},
          .known = [steps] { return last_step(steps); },
          .alone = threads > 1,     // threads that wait for work would take a core from another variant
          .measure_memory = false,  // it would measure OpenBLAS's buffers
          .tolerance = {.relative = 1e-5, .absolute = 1e-6},
          .steps = steps};
}

}  // namespace

Case compiled_mlp(const Sizes& sizes) { return compiled_mlp_case("compiled-mlp", sizes.mlp_steps, 1); }
Case compiled_mlp_2(const Sizes& sizes) { return compiled_mlp_case("compiled-mlp-2", sizes.mlp_steps, 2); }

}  // namespace bench
