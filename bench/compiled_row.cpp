// SPDX-License-Identifier: MIT
// compiled-row: the network of moons on one row, forward and backward: recorded anew, replayed by recompute(), and
// compiled. compiled-small: the fixed cost of a program, measured with ten instructions on 1 and on 8 rows.
#include <gradwalk/compile.hpp>
#include <gradwalk/gradwalk.hpp>
#include <span>

#include "cases.hpp"
#include "moons_score.hpp"
#include "reference/hand.hpp"

namespace bench {
namespace {

using namespace gradwalk;

constexpr int times = 1000;  // per run

Value loss_of_row(std::span<const Value> parameters, std::span<const Value> inputs) {
  return relu(1 - inputs[2] * moons_score(parameters, inputs.first(2)));
}

// A run uses one row after another. The results are the loss and the gradients of its last row.
class Row : public Task {
 public:
  void run() override {
    for (int i = 0; i < times; ++i) {
      const int row = i % hand::rows;
      for (Value& p : parameters_) p.grad() = 0;
      loss_ = of_row({hand::moons().X[row][0], hand::moons().X[row][1], hand::moons().y[row]});
    }
  }
  std::vector<double> results() const override {
    std::vector<double> numbers{loss_};
    for (const Value& p : parameters_) numbers.push_back(p.grad());
    return numbers;
  }

 protected:
  virtual double of_row(std::array<double, 3> row) = 0;
  std::vector<Value> parameters_ = std::vector<Value>(hand::moons().p0, hand::moons().p0 + hand::parameters);

 private:
  double loss_ = 0;
};

class Recorded final : public Row {
  double of_row(std::array<double, 3> row) override {
    const std::array<Value, 3> inputs{row[0], row[1], row[2]};
    const Value loss = loss_of_row(parameters_, inputs);
    loss.backward();
    return loss.data();
  }
};

class Replayed final : public Row {
  double of_row(std::array<double, 3> row) override {
    for (std::size_t i = 0; i < row.size(); ++i) inputs_[i].data() = row[i];
    recompute(loss_);
    loss_.backward();
    return loss_.data();
  }
  std::array<Value, 3> inputs_;
  Value loss_ = loss_of_row(parameters_, inputs_);
};

class Compiled final : public Row {
  double of_row(std::array<double, 3> row) override { return program_.run(row); }
  std::vector<Value> inputs_ = std::vector<Value>(3);
  Program program_ = compile(loss_of_row(parameters_, inputs_), {.inputs = inputs_, .parameters = parameters_});
};

class Small final : public Task {
 public:
  explicit Small(std::size_t rows) : rows_(2 * rows, 0.5) {
    if (program_.describe().instructions != 10) throw std::logic_error("compiled-small: is not of ten instructions");
  }
  void run() override {
    for (int i = 0; i < times; ++i) program_.run(rows_);
  }
  std::vector<double> results() const override { return {}; }

 private:
  Value loss() const {
    const Value a = tanh(w_[0] * x_[0] + w_[1] * x_[1]), b = exp(w_[2] * a), c = a / b;
    return log(b + c * c) * relu(a - c);
  }
  std::vector<double> rows_;
  std::vector<Value> x_{0.5, 0.25}, w_{0.5, -0.25, 0.75};
  Program program_ = compile(loss(), {.inputs = x_, .parameters = w_});
};

}  // namespace

Case compiled_row(const Sizes&) {
  constexpr double ops = 651.0 * times;  // 651 nodes per row
  return {.name = "compiled-row",
          .variants = {{"eager", ops, starting<Recorded>()},
                       {"replayed", ops, starting<Replayed>()},
                       {"run", ops, starting<Compiled>(), {.ratio = 1.0, .to = "replayed", .to_baseline = 0.5}}},
          .alone = true,
          .measure_memory = false};
}

Case compiled_small(const Sizes&) {
  return {.name = "compiled-small",
          .variants = {{"one-row", 10.0 * times, starting<Small>(std::size_t{1}), {.ms = 0.4}},
                       {"eight-rows", 80.0 * times, starting<Small>(std::size_t{8}), {.ms = 0.4}}},
          .measure_memory = false};
}

}  // namespace bench
