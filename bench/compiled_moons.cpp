// SPDX-License-Identifier: MIT
// compiled-moons: the training step of moons (moons.cpp) in float64, with the batch of 100 rows at once: forward,
// backward, L2 and SGD update. The baseline is hand-written SIMD with eight rows per vector. Another variant uses
// OpenBLAS. One run is a few steps from the same first parameters. The results are the last loss and the parameters
// after it.
#include <algorithm>
#include <array>
#include <cmath>
#include <gradwalk/compile.hpp>
#include <span>

#include "blas_threads.hpp"
#include "cases.hpp"
#include "moons_score.hpp"
#include "reference/hand.hpp"

namespace bench {
namespace {

using namespace gradwalk;

constexpr double ops_per_step = 65'077;  // as in moons.cpp

using Steps = double (*)(int steps, double* parameters, double* gradients);

class Hand final : public Task {
 public:
  Hand(Steps take, int steps) : take_(take), steps_(steps) {}

  void prepare() override { set_blas_threads(1); }

  void run() override {
    std::copy_n(hand::moons().p0, hand::parameters, parameters_.begin());
    loss_ = take_(steps_, parameters_.data(), gradients_.data());
  }

  std::vector<double> results() const override {
    std::vector<double> numbers{loss_};
    numbers.insert(numbers.end(), parameters_.begin(), parameters_.end());
    return numbers;
  }

 private:
  Steps take_;
  int steps_;
  std::array<double, hand::parameters> parameters_{}, gradients_{};
  double loss_ = 0;
};

// The loss of one row in scalar Values, compiled.
class Compiled : public Task {
 public:
  explicit Compiled(int steps) : steps_(steps) {
    for (int row = 0; row < hand::rows; ++row) {
      rows_.insert(rows_.end(), std::begin(hand::moons().X[row]), std::end(hand::moons().X[row]));
      rows_.push_back(hand::moons().y[row]);
    }
  }

  std::vector<double> results() const override {
    std::vector<double> numbers{loss_};
    for (const Value& p : parameters_) numbers.push_back(p.data());
    return numbers;
  }

 protected:
  static constexpr RunOptions mean{.result = RunOptions::Result::mean};

  void set_parameters() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].data() = hand::moons().p0[i];
  }

  Program compiled() const { return compile(row_loss_, {.inputs = inputs_, .parameters = parameters_}); }

  int steps_;
  std::vector<double> rows_;
  std::vector<Value> inputs_{0.0, 0.0, 0.0};
  std::vector<Value> parameters_ = std::vector<Value>(hand::moons().p0, hand::moons().p0 + hand::parameters);
  Value row_loss_ = row_loss();
  Program program_ = compiled();
  double loss_ = 0;

 private:
  Value row_loss() const {
    const Value score = moons_score(parameters_, std::span(inputs_).first(2));
    Value squares = 0;
    for (const Value& p : parameters_) squares += p * p;
    return relu(1 - inputs_[2] * score) + 1e-4 * squares;
  }
};

class ByTrainer final : public Compiled {
 public:
  explicit ByTrainer(int steps) : Compiled(steps), trainer_(program_, SGD{.lr = 0.05}) {}
  void run() override {
    set_parameters();
    trainer_.read_again();
    for (int i = 0; i < steps_; ++i) loss_ = trainer_.step(rows_, mean);
    trainer_.write_back();
  }

 private:
  Trainer trainer_;
};

class ByRun final : public Compiled {
 public:
  using Compiled::Compiled;
  void run() override {
    set_parameters();
    for (int i = 0; i < steps_; ++i) {
      for (Value& p : parameters_) p.grad() = 0;
      loss_ = program_.run(rows_, mean);
      for (Value& p : parameters_) p.data() -= 0.05 * p.grad();
    }
  }
};

// Times compile(), with the recording of the row.
class Compiling final : public Compiled {
 public:
  Compiling() : Compiled(0) {}
  void run() override { compiled(); }
  std::vector<double> results() const override { return {}; }
};

// Returns the results of the plain loops, whose gradient the case moons compares with differences.
std::vector<Known> by_plain_loops(int steps) {
  Hand plain(hand::moons_steps, steps);
  plain.run();
  std::vector<Known> known;
  for (const double number : plain.results()) known.push_back({known.size(), number, 1e-9 * std::abs(number)});
  return known;
}

}  // namespace

// The variant "trainer" keeps the parameters in the program. "run" reads them from their Values at each step, and its
// user updates them.
Case compiled_moons(const Sizes& sizes) {
  const int steps = sizes.moons_steps;
  const double ops = ops_per_step * steps;
  return {.name = "compiled-moons",
          .variants = {{"lanes", ops, starting<Hand>(hand::moons_steps_lanes, steps)},
                       {"blas", ops, starting<Hand>(hand::moons_steps_blas, steps)},
                       {"trainer", ops, starting<ByTrainer>(steps), {.ratio = 0.8, .to = "blas", .to_baseline = 1.0}},
                       {"run", ops, starting<ByRun>(steps), {.ratio = 1.2}},
                       {"compiling", ops, starting<Compiling>(), {.ms = 1}}},
          .known = [steps] { return by_plain_loops(steps); },
          .measure_memory = false,  // it would measure OpenBLAS's buffers
          .steps = steps};
}

}  // namespace bench
