// SPDX-License-Identifier: MIT
// Random functions with rows whose results are known, with a bound on their rounding error. Tests compare compiled
// programs and emitted code with them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "gradwalk/compile.hpp"
#include "random_function.hpp"
#include "rounded.hpp"

namespace gradwalk::tests {

// All results of a run: the sum and gradient of the first output; the input gradients and outputs of each row.
template <class N> struct Results {
  N sum = 0;
  std::vector<N> gradient, inputs, outputs;
};

enum class Magnitudes { moderate, all };

// A random function, its rows, and the results that a program must give, with bounds on their error.
class Subject {
 public:
  Subject(std::size_t seed, Precision precision, Magnitudes magnitudes = Magnitudes::moderate)
      : random_(seed), magnitudes_(magnitudes), rounding_(rounding(precision, magnitudes)) {
    const std::size_t inputs = seed % 5 == 0 ? 0 : 1 + seed % 4,
                      parameters = seed % 11 == 0 ? 90 : 1 + seed % (seed % 3 == 0 ? 31 : 7);
    function_ = tests::random_function(random_, inputs, parameters, 3 + seed % 97, decades());
    for (std::size_t i = 0; i < function_.leaves(); ++i) graph_.nodes.emplace_back();
    for (const RandomFunction::Step& step : function_.steps)
      graph_.nodes.push_back({step.op, {step.a, step.b, step.c}});
    outputs_.push_back(function_.nodes() - 1);
    while (outputs_.size() < 1 + seed % 3) outputs_.push_back(below(function_.nodes()));
  }

  const RandomFunction& function() const { return function_; }
  std::size_t outputs() const { return outputs_.size(); }

  // The function as Values.
  struct Recorded {
    std::vector<Value> inputs, parameters, outputs;
  };
  Recorded recorded() const {
    Recorded made{values(function_.inputs), values(function_.parameters), {}};
    const std::vector<Value> all = function_.all(made.inputs, made.parameters);
    for (const std::size_t output : outputs_) made.outputs.push_back(all[output]);
    return made;
  }
  Precision precision() const { return rounding_.is_float ? Precision::float32 : Precision::float64; }
  Program compiled(std::size_t threads, const std::string& instruction_set) const {
    const Recorded graph = recorded();
    return compile(graph.outputs, {.inputs = graph.inputs,
                                   .parameters = graph.parameters,
                                   .precision = precision(),
                                   .threads = threads,
                                   .instruction_set = instruction_set});
  }

  // Finds rows whose results are not in doubt; a large batch repeats them. Returns false if there are too few.
  bool find_rows(std::size_t count) {
    constexpr std::size_t most = 65;
    const std::size_t wanted = std::min(count, most);
    for (std::size_t tries = 0; rows_.size() < wanted; ++tries) {
      if (tries > 10 * most) return false;
      std::vector<double> numbers(function_.inputs);
      const double spread = tries % 2 == 0 ? 2 : 0.05;
      for (double& number : numbers) {
        const double change = std::uniform_real_distribution<>(-spread, spread)(random_);
        number = magnitudes_ == Magnitudes::moderate ? number + change : number * std::exp(change);
      }
      if (measure(numbers)) add_row(numbers);
    }
    for (std::size_t r = 0; r < count; ++r) order_.push_back(r < wanted ? r : below(wanted));
    return true;
  }

  std::vector<double> rows() const {
    std::vector<double> all;
    for (const std::size_t r : order_) all.insert(all.end(), rows_[r].inputs.begin(), rows_[r].inputs.end());
    return all;
  }

  // Adds up the results of the rows, with a weight per row or none.
  Results<Rounded> wanted(const std::vector<double>& weights) const {
    Rounded::precision = &rounding_;
    Results<Rounded> all;
    all.gradient.resize(function_.parameters.size());
    for (std::size_t r = 0; r < order_.size(); ++r) {
      const Row& row = rows_[order_[r]];
      const Rounded weight = weights.empty() ? Rounded(1) : Rounded::leaf(weights[r]);
      all.sum += weight * row.results.sum;
      for (std::size_t i = 0; i < all.gradient.size(); ++i) all.gradient[i] += weight * row.results.gradient[i];
      for (const Rounded& gradient : row.results.inputs) all.inputs.push_back(weight * gradient);
      all.outputs.insert(all.outputs.end(), row.results.outputs.begin(), row.results.outputs.end());
    }
    return all;
  }

  // The results of one row.
  Results<Rounded> wanted_of_row(std::size_t r) const {
    Rounded::precision = &rounding_;
    return rows_[order_[r]].results;
  }

 private:
  struct Row {
    std::vector<double> inputs;
    Results<Rounded> results;
  };

  static const Rounded::Precision& rounding(Precision precision, Magnitudes magnitudes) {
    const bool is_moderate = magnitudes == Magnitudes::moderate;
    if (precision == Precision::float64) return is_moderate ? Rounded::float64 : Rounded::wide_float64;
    return is_moderate ? Rounded::float32 : Rounded::wide_float32;
  }
  int decades() const { return magnitudes_ == Magnitudes::moderate ? 0 : rounding_.is_float ? 35 : 300; }
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  static std::vector<Value> values(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

  // Returns true if all results of a row are finite and none is in doubt.
  bool measure(const std::vector<double>& numbers) {
    Rounded::precision = &rounding_;
    Rounded::in_doubt = false;
    graph_.values.clear();
    for (const auto* some : {&numbers, &std::as_const(function_.parameters), &std::as_const(function_.constants)})
      for (const double number : *some) graph_.values.push_back(Rounded::leaf(number));
    graph_.forward(outputs_);
    graph_.backward(outputs_[0], 1);
    bool is_finite = true;
    for (const std::size_t output : outputs_) is_finite &= std::isfinite(graph_.values[output].value);
    for (std::size_t i = 0; i < function_.leaves(); ++i) is_finite &= std::isfinite(graph_.gradients[i].value);
    return is_finite && !Rounded::in_doubt;
  }

  // Adds a row with its results, and checks that they equal those of the engine.
  void add_row(const std::vector<double>& numbers) {
    const std::vector<Value> in = values(numbers), of = values(function_.parameters), all = function_.all(in, of);
    all[outputs_[0]].backward();
    Row row{numbers, {}};
    for (const std::size_t output : outputs_) {
      const Rounded& measured = graph_.values[output];
      EXPECT_EQ(measured.value, std::as_const(all[output]).data());
      row.results.outputs.push_back(measured);
    }
    row.results.sum = row.results.outputs[0];
    for (std::size_t i = 0; i < in.size() + of.size(); ++i) {
      const Rounded& measured = graph_.gradients[i];
      EXPECT_LE(std::abs(measured.value - all[i].grad()), 1e-14 * measured.error);
      (i < in.size() ? row.results.inputs : row.results.gradient).push_back(measured);
    }
    rows_.push_back(std::move(row));
  }

  std::mt19937_64 random_;
  Magnitudes magnitudes_;
  const Rounded::Precision& rounding_;
  RandomFunction function_;
  RoundedGraph graph_;
  std::vector<std::size_t> outputs_, order_;
  std::vector<Row> rows_;
};

// Counts the numbers that were compared, and those that were compared with a tight bound.
struct Compared {
  std::size_t all = 0, closely = 0;

  void expect(double got, const Rounded& wanted, const char* what) {
    EXPECT_TRUE(wanted.allows(got)) << what << ": got " << got << ", wanted " << wanted.value << " but for "
                                    << Rounded::precision->tolerance * wanted.error;
    ++all;
    closely += Rounded::precision->tolerance * wanted.error <= 0.01 * std::abs(wanted.value) ? 1 : 0;
  }
  void expect(const std::vector<double>& got, const std::vector<Rounded>& wanted, const char* what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i) expect(got[i], wanted[i], what);
  }
};

}  // namespace gradwalk::tests
