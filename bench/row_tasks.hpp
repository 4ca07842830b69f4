// SPDX-License-Identifier: MIT
// Tasks for a function of parameters and of the numbers of a row, over many rows: in plain doubles without gradients,
// and by the engine. The results are the sum over the rows and its gradient with respect to the parameters.
//
// A model has a template `of(parameters, row)`, the number of `inputs` of a row, the parameters' numbers `start`, and
// `draw(random, row)`.
#pragma once

#include <cstddef>
#include <gradwalk/value.hpp>
#include <random>
#include <vector>

#include "cases.hpp"

namespace bench {

template <class Model> class OfRows : public Task {
 public:
  explicit OfRows(std::size_t rows) : numbers_(rows * Model::inputs) {
    std::mt19937_64 random(5);
    for (std::size_t i = 0; i < rows; ++i) Model::draw(random, numbers_.data() + i * Model::inputs);
  }
  std::vector<double> results() const override { return results_; }

 protected:
  template <class T> std::vector<T> row(std::size_t i) const {
    const double* const at = numbers_.data() + i * Model::inputs;
    return {at, at + Model::inputs};
  }
  std::size_t rows() const { return numbers_.size() / Model::inputs; }

  std::vector<double> numbers_, results_;
};

template <class Model> class Doubles final : public OfRows<Model> {
 public:
  using OfRows<Model>::OfRows;
  void run() override {
    const std::vector<double> parameters(std::begin(Model::start), std::end(Model::start));
    double sum = 0;
    for (std::size_t i = 0; i < this->rows(); ++i) sum += Model::of(parameters, this->template row<double>(i));
    this->results_ = {sum};
  }
};

template <class Model> class OfValues : public OfRows<Model> {
 public:
  using OfRows<Model>::OfRows;

 protected:
  void set_results(double sum, const std::vector<double>& gradient) {
    this->results_ = {sum};
    this->results_.insert(this->results_.end(), gradient.begin(), gradient.end());
  }
  std::vector<gradwalk::Value> parameters_ =
      std::vector<gradwalk::Value>(std::begin(Model::start), std::end(Model::start));
};

template <class Model> class EagerRows final : public OfValues<Model> {
 public:
  using OfValues<Model>::OfValues;
  void run() override {
    double sum = 0;
    for (gradwalk::Value& parameter : this->parameters_) parameter.grad() = 0;
    for (std::size_t i = 0; i < this->rows(); ++i) {
      const gradwalk::Value result = Model::of(this->parameters_, this->template row<gradwalk::Value>(i));
      result.backward();
      sum += result.data();
    }
    std::vector<double> gradient;
    for (const gradwalk::Value& parameter : this->parameters_) gradient.push_back(parameter.grad());
    this->set_results(sum, gradient);
  }
};

}  // namespace bench
