// SPDX-License-Identifier: MIT
// kind-data: the squared error of a line over 100,000 points, compiled as one row. The points are numbers or, as an
// outsider may write it, 200,000 Values that are neither inputs nor parameters. Both programs should take the same
// time.
#include <gradwalk/compile.hpp>
#include <gradwalk/gradwalk.hpp>
#include <span>

#include "cases.hpp"
#include "numbers.hpp"

namespace bench {
namespace {

using namespace gradwalk;

template <class T, class Number> T squared_error(std::span<const T> line, const std::vector<Number>& points) {
  T sum = 0.0;
  for (std::size_t i = 0; i < points.size(); i += 2) {
    const T difference = line[0] * points[i] + line[1] - points[i + 1];
    sum += difference * difference;
  }
  return sum;
}

// The results are the error and its gradient.
class Line : public Task {
 public:
  explicit Line(std::size_t points) : points_(Numbers().uniform(2 * points, -1, 1)) {}
  std::vector<double> results() const override { return results_; }

 protected:
  std::vector<double> points_, line_{0.5, -0.25}, results_;
};

class Primal final : public Line {
 public:
  using Line::Line;
  void run() override { results_ = {squared_error<double>(line_, points_)}; }
};

class Engine final : public Line {
 public:
  using Line::Line;
  void run() override {
    const std::vector<Value> line(line_.begin(), line_.end());
    const Value error = squared_error<Value>(line, points_);
    error.backward();
    results_ = {error.data(), line[0].grad(), line[1].grad()};
  }
};

template <class Number> class Compiled final : public Line {
 public:
  explicit Compiled(std::size_t points)
      : Line(points),
        data_(points_.begin(), points_.end()),
        program_(compile(squared_error<Value>(parameters_, data_), {.parameters = parameters_})) {
    results_.resize(3);
  }
  void run() override { results_[0] = program_.gradients(std::span(results_).subspan(1)); }

 private:
  std::vector<Value> parameters_{line_[0], line_[1]};
  std::vector<Number> data_;
  Program program_;
};

}  // namespace

Case kind_data(const Sizes& sizes) {
  const std::size_t points = sizes.tiny ? 10 : 100'000;
  const double ops = 5.0 * static_cast<double>(points);
  return {.name = "kind-data",
          .variants = {{"primal", ops, starting<Primal>(points)},
                       {"engine", ops, starting<Engine>(points)},
                       {"numbers", ops, starting<Compiled<double>>(points)},
                       {"values", ops, starting<Compiled<Value>>(points), {.ratio = 1.1, .goal = 1, .to = "numbers"}}},
          .alone = true,
          .measure_memory = false};
}

}  // namespace bench
