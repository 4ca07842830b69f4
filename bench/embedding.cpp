// SPDX-License-Identifier: MIT
// kind-embedding: a step of training an embedding of 30,000 words by look-up, on 64 pairs of words. A step of the
// engine or of a program with look-ups uses only the vectors of these words. With one-hot inputs, it uses all of them.
#include <array>
#include <cmath>
#include <gradwalk/compile.hpp>
#include <gradwalk/gradwalk.hpp>
#include <span>

#include "cases.hpp"
#include "numbers.hpp"

namespace bench {
namespace {

using namespace gradwalk;

constexpr std::size_t columns = 8, pairs = 64, steps = 16;
constexpr double rate = 0.1;

struct Words {
  std::size_t count;
  std::vector<double> vectors, rows;  // of a row: two words, and how alike they are

  explicit Words(std::size_t words) : count(words), vectors(Numbers().uniform(words * columns, -1, 1)) {
    Numbers numbers;
    for (std::size_t i = 0; i < steps * pairs; ++i) {
      for (int k = 0; k < 2; ++k) rows.push_back(std::floor(numbers.uniform(0, static_cast<double>(words))));
      rows.push_back(numbers.uniform(-1, 1));
    }
  }
  std::array<std::size_t, 2> words_of(std::size_t row) const {
    return {static_cast<std::size_t>(rows[3 * row]), static_cast<std::size_t>(rows[3 * row + 1])};
  }
};

// The squared error of one pair, for any number type.
template <class T> T loss_of(std::span<const T> a, std::span<const T> b, const T& alike) {
  T product = a[0] * b[0];
  for (std::size_t k = 1; k < columns; ++k) product += a[k] * b[k];
  using std::tanh;
  const T difference = tanh(product) - alike;
  return difference * difference;
}

// Makes one step after another. The results are the loss of the first batch and, of what is trained, the vectors of its
// first words after the first run.
class Steps : public Task {
 public:
  explicit Steps(std::size_t words) : words_(words) {}
  void run() override {
    for (std::size_t step = 0; step < steps; ++step) {
      const double loss = make_step(step * pairs);
      if (runs_ == 0 && step == 0) loss_ = loss;
    }
    ++runs_;
  }
  std::vector<double> results() const override { return {loss_}; }

 protected:
  virtual double make_step(std::size_t begin) = 0;  // with the pairs from this row on
  std::span<const double> rows(std::size_t begin) const { return std::span(words_.rows).subspan(3 * begin, 3 * pairs); }
  Words words_;

 private:
  double loss_ = 0;
  int runs_ = 0;
};

class Primal final : public Steps {
 public:
  using Steps::Steps;

 private:
  double make_step(std::size_t begin) override {
    double loss = 0;
    const std::span<const double> all(words_.vectors);
    for (std::size_t row = begin; row < begin + pairs; ++row) {
      const auto [a, b] = words_.words_of(row);
      loss += loss_of<double>(all.subspan(a * columns, columns), all.subspan(b * columns, columns),
                              words_.rows[3 * row + 2]);
    }
    return loss;
  }
};

class Trained : public Steps {
 public:
  explicit Trained(std::size_t words) : Steps(words), vectors_(words_.vectors.begin(), words_.vectors.end()) {}
  std::vector<double> results() const override {
    std::vector<double> numbers = Steps::results();
    for (std::size_t row = 0; row < 4; ++row)
      for (const std::size_t word : words_.words_of(row))
        for (std::size_t k = 0; k < columns; ++k) numbers.push_back(vectors_[word * columns + k].data());
    return numbers;
  }

 protected:
  std::vector<Value> vectors_;
};

template <bool by_pick> class Engine final : public Trained {
 public:
  explicit Engine(std::size_t words) : Trained(words), table_(vectors_, columns) {}

 private:
  Value loss_of_row(std::size_t row) const {
    const double* const numbers = words_.rows.data() + 3 * row;
    if constexpr (by_pick) {
      return loss_of<Value>(pick_row(table_, numbers[0]), pick_row(table_, numbers[1]), numbers[2]);
    } else {
      const auto [a, b] = words_.words_of(row);
      const std::span<const Value> all(vectors_);
      return loss_of<Value>(all.subspan(a * columns, columns), all.subspan(b * columns, columns), numbers[2]);
    }
  }
  double make_step(std::size_t begin) override {
    double sum = 0;
    for (std::size_t row = begin; row < begin + pairs; ++row) {
      const Value loss = loss_of_row(row);
      loss.backward();
      sum += loss.data();
    }
    for (std::size_t row = begin; row < begin + pairs; ++row)
      for (const std::size_t word : words_.words_of(row))
        for (std::size_t k = 0; k < columns; ++k) {
          Value& p = vectors_[word * columns + k];
          p.data() -= rate * p.grad();
          p.grad() = 0;
        }
    return sum;
  }
  LookupTable table_;
};

class Compiled final : public Trained {
 public:
  explicit Compiled(std::size_t words)
      : Trained(words),
        table_(vectors_, columns),
        program_(compile(loss_of<Value>(pick_row(table_, inputs_[0]), pick_row(table_, inputs_[1]), inputs_[2]),
                         {.inputs = inputs_, .parameters = vectors_})),
        trainer_(program_, SGD{.lr = rate}) {}
  std::vector<double> results() const override {
    trainer_.write_back();
    return Trained::results();
  }

 private:
  double make_step(std::size_t begin) override { return trainer_.step(rows(begin)); }
  std::vector<Value> inputs_ = std::vector<Value>(3);
  LookupTable table_;
  Program program_;
  mutable Trainer trainer_;
};

// Each input is 1 for the word, and 0 for all others. It makes only one step per run.
class OneHot final : public Trained {
 public:
  explicit OneHot(std::size_t words)
      : Trained(words),
        inputs_(2 * words + 1),
        program_(compile(loss(), {.inputs = inputs_, .parameters = vectors_})),
        trainer_(program_, SGD{.lr = rate}),
        rows_(pairs * inputs_.size()) {
    for (std::size_t row = 0; row < pairs; ++row) {
      const auto [a, b] = words_.words_of(row);
      double* const to = rows_.data() + row * inputs_.size();
      to[a] = to[words + b] = 1;
      to[2 * words] = words_.rows[3 * row + 2];
    }
  }
  void run() override { trainer_.step(rows_); }
  std::vector<double> results() const override { return {}; }

 private:
  double make_step(std::size_t) override { return 0; }
  Value loss() const {
    std::array<std::vector<Value>, 2> vectors;
    for (std::size_t side = 0; side < 2; ++side)
      for (std::size_t k = 0; k < columns; ++k) {
        Value sum = 0;
        for (std::size_t word = 0; word < words_.count; ++word)
          sum += vectors_[word * columns + k] * inputs_[side * words_.count + word];
        vectors[side].push_back(sum);
      }
    return loss_of<Value>(vectors[0], vectors[1], inputs_.back());
  }
  std::vector<Value> inputs_;
  Program program_;
  mutable Trainer trainer_;
  std::vector<double> rows_;
};

}  // namespace

Case kind_embedding(const Sizes& sizes) {
  const std::size_t words = sizes.tiny ? 100 : 30'000;
  const double ops_of_step = pairs * (2.0 * columns + 2), ops = steps * ops_of_step;
  return {.name = "kind-embedding",
          .variants = {{"primal", ops, starting<Primal>(words)},
                       {"engine", ops, starting<Engine<false>>(words)},
                       {"engine-pick", ops, starting<Engine<true>>(words)},
                       {"compiled", ops, starting<Compiled>(words), {.ratio = 1, .goal = 0.6, .to = "engine"}},
                       {"one-hot", ops_of_step, starting<OneHot>(words)}},
          .alone = true,
          .measure_memory = false};
}

}  // namespace bench
