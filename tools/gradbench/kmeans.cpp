// SPDX-License-Identifier: MIT
// kmeans: the cost of a clustering, and Newton's direction: the gradient divided by the diagonal of the Hessian. The
// Hessian is diagonal, so its diagonal is the Hessian times a vector of ones.
#include "../../bench/objectives/kmeans.hpp"

#include "gradient.hpp"

namespace gradbench {
namespace {

struct Kmeans {
  explicit Kmeans(const Input& input) : points(flat(input.rows("points"))) {
    const Rows centres = input.rows("centroids");
    d = centres.at(0).size();
    x = flat(centres);
  }
  std::size_t d;
  Numbers points, x;
  template <class T> T operator()(const std::vector<T>& at) const { return bench::kmeans(at, points, d); }

  Numbers direction_by_hand() const {
    Numbers sums(x.size()), counts(x.size() / d);
    for (std::size_t p = 0; p < points.size(); p += d) {
      std::size_t nearest = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < x.size(); c += d) {
        const double distance = bench::squared_distance(&points[p], &x[c], d);
        if (distance < least) least = distance, nearest = c;
      }
      counts[nearest / d] += 1;
      for (std::size_t i = 0; i < d; ++i) sums[nearest + i] += points[p + i];
    }
    Numbers direction(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) direction[i] = x[i] - sums[i] / counts[i / d];
    return direction;
  }
};

class Direction : public Task {
 public:
  explicit Direction(const Input& input) : kmeans_(input) {}
  void write(gradwalk::JsonWriter& json) const override {
    write_rows(json, direction_.data(), direction_.size() / kmeans_.d, kmeans_.d);
  }

 protected:
  Kmeans kmeans_;
  Numbers direction_;
};

#ifdef GRADBENCH_CODIPACK

class Newton final : public Direction {
 public:
  using Direction::Direction;
  void run() override {
    using Real = codi::RealReverseGen<codi::RealForward>;
    Real::Tape& tape = Real::getTape();
    std::vector<Real> x(kmeans_.x.begin(), kmeans_.x.end());
    tape.setActive();
    for (Real& one : x) {
      tape.registerInput(one);
      one.value().setGradient(1.0);
    }
    Real cost = kmeans_(x);
    tape.registerOutput(cost);
    tape.setPassive();
    cost.setGradient(1.0);
    tape.evaluate();
    direction_.clear();
    for (const Real& one : x) direction_.push_back(one.getGradient().getValue() / one.getGradient().getGradient());
    tape.reset();
  }
};

#else

using gradwalk::Value;

// A program must find the nearest centre for other numbers, too, so it uses min(); the eager objective compares.
Value recorded_cost(const std::vector<Value>& centres, const Numbers& points, std::size_t d) {
  Value cost = 0.0;
  for (std::size_t p = 0; p < points.size(); p += d) {
    Value closest = bench::squared_distance(&points[p], centres.data(), d);
    for (std::size_t c = d; c < centres.size(); c += d)
      closest = min(closest, bench::squared_distance(&points[p], &centres[c], d));
    cost += closest;
  }
  return cost;
}

class Newton final : public Direction {
 public:
  explicit Newton(const Input& input) : Direction(input), gradient_(kmeans_.x.size()), diagonal_(kmeans_.x.size()) {
    if (mode != Mode::compiled) return;
    const std::vector<Value> centres(kmeans_.x.begin(), kmeans_.x.end());
    const Value cost = recorded_cost(centres, kmeans_.points, kmeans_.d);
    cost_.emplace(gradwalk::compile(cost, {.parameters = centres}));
    slope_.emplace(gradwalk::compile_derivatives(cost, {.parameters = centres}));
    if (slope_->jacobian_pattern().column_indices.size() != centres.size())
      throw std::logic_error("kmeans: needs a diagonal Hessian");
  }

  void run() override {
    switch (mode) {
      case Mode::by_hand: direction_ = kmeans_.direction_by_hand(); return;
      case Mode::compiled: run_programs(); break;
      default: record();
    }
    direction_.resize(kmeans_.x.size());
    for (std::size_t i = 0; i < direction_.size(); ++i) direction_[i] = gradient_[i] / diagonal_[i];
  }

 private:
  void record() {
    const std::vector<Value> x(kmeans_.x.begin(), kmeans_.x.end());
    const std::vector<Value> slope = gradwalk::derivatives(kmeans_(x), x);
    Value sum = 0.0;
    for (const Value& one : slope) sum += one;
    sum.backward();
    for (std::size_t i = 0; i < x.size(); ++i) {
      diagonal_[i] = x[i].grad();
      gradient_[i] = slope[i].data();
    }
  }
  void run_programs() {
    cost_->gradient_at(kmeans_.x, gradient_);
    slope_->sparse_jacobian_at(kmeans_.x, diagonal_);
  }

  Numbers gradient_, diagonal_;  // of the cost, and of its Hessian
  std::optional<gradwalk::Program> cost_, slope_;
};

#endif

}  // namespace

const std::map<std::string, MakeTask> functions{{"cost", task<Primal<Kmeans>>()}, {"dir", task<Newton>()}};

}  // namespace gradbench
