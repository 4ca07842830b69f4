// SPDX-License-Identifier: MIT
// ba: the errors of bundle adjustment, and their Jacobian as a sparse matrix. Every observation is one camera's picture
// of one point, so its two errors depend on 15 numbers: eleven of the camera, three of the point and its weight.
#include "../../bench/objectives/ba.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "gradient.hpp"

namespace gradbench {
namespace {

constexpr std::size_t camera_size = bench::BaData::numbers_a_camera, point_size = 3;
constexpr std::size_t observed = camera_size + point_size + 1;  // the numbers that an observation depends on

struct Ba {
  explicit Ba(const Input& input)
      : cameras(input.count("n")),
        points(input.count("m")),
        observations(input.count("p")),
        camera(input.numbers("cam")),
        point(input.numbers("x")),
        feature(input.numbers("feat")),
        weight(input.number("w")) {
    all_cameras = repeated(camera, cameras);
    all_points = repeated(point, points);
    all_features = repeated(feature, observations);
    all_weights.assign(observations, weight);
  }
  static Numbers repeated(const Numbers& numbers, std::size_t times) {
    Numbers all;
    for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), numbers.begin(), numbers.end());
    return all;
  }

  // The numbers that observation i depends on.
  std::array<double, observed> inputs(std::size_t i) const {
    std::array<double, observed> all;
    std::copy_n(&all_cameras[camera_size * (i % cameras)], camera_size, all.begin());
    std::copy_n(&all_points[point_size * (i % points)], point_size, all.begin() + camera_size);
    all.back() = all_weights[i];
    return all;
  }
  std::span<const double, 2> features(std::size_t i) const {
    return std::span<const double, 2>(&all_features[2 * i], 2);
  }

  std::size_t cameras, points, observations;
  Numbers camera, point, feature;
  double weight;
  Numbers all_cameras, all_points, all_features, all_weights;
};

template <class T, class F> std::array<T, 2> errors(const T* inputs, const F* feature) {
  T seen[2];
  bench::project(inputs, inputs + camera_size, seen);
  const T& weight = inputs[camera_size + point_size];
  return {weight * (seen[0] - feature[0]), weight * (seen[1] - feature[1])};
}
template <class T> T weight_error(const T& weight) { return 1.0 - weight * weight; }

class Errors final : public Task {
 public:
  explicit Errors(const Input& input) : ba_(input), errors_(2 * ba_.observations), weight_errors_(ba_.observations) {}
  void run() override {
    for (std::size_t i = 0; i < ba_.observations; ++i) {
      const auto [x, y] = errors(ba_.inputs(i).data(), ba_.features(i).data());
      errors_[2 * i] = x;
      errors_[2 * i + 1] = y;
      weight_errors_[i] = weight_error(ba_.all_weights[i]);
    }
  }
  void write(gradwalk::JsonWriter& json) const override {
    json.object([&] {
      json("reproj_error").object([&] {
        json("elements");
        gradbench::write(json, {errors_[0], errors_[1]});
        json("repeated").value(ba_.observations);
      });
      json("w_err").object([&] { json("element").value(weight_errors_[0])("repeated").value(ba_.observations); });
    });
  }

 private:
  Ba ba_;
  Numbers errors_, weight_errors_;
};

// The rows are two errors per observation, then one error per weight. The columns are cameras, points and weights.
struct Sparse {
  std::vector<std::size_t> rows, columns;  // the start of each row, and the end; the column of each value
  Numbers values;

  void clear() {
    rows.assign(1, 0);
    columns.clear();
    values.clear();
  }
  void add(std::size_t column, double value) {
    columns.push_back(column);
    values.push_back(value);
  }
  void end_row() { rows.push_back(values.size()); }
};

class Jacobian : public Task {
 public:
  explicit Jacobian(const Input& input) : ba_(input) {}

  // GradBench asks for the first thirty entries of each list and the last.
  void write(gradwalk::JsonWriter& json) const override {
    const auto sample = [&](const char* name, const auto& all) {
      std::vector<typename std::decay_t<decltype(all)>::value_type> some(all.begin(), all.begin() + 2 * observed);
      some.push_back(all.back());
      json(name).array(some, [&](auto one) { json.value(one); });
    };
    json.object([&] {
      sample("rows", padded_rows());
      sample("cols", matrix_.columns);
      sample("vals", matrix_.values);
    });
  }

 protected:
  // The derivatives of error number `which` of an observation.
  void add_row(std::size_t i, const double* derivatives) {
    const std::size_t first_point = camera_size * ba_.cameras, first_weight = first_point + point_size * ba_.points;
    for (std::size_t k = 0; k < camera_size; ++k) matrix_.add(camera_size * (i % ba_.cameras) + k, derivatives[k]);
    for (std::size_t k = 0; k < point_size; ++k)
      matrix_.add(first_point + point_size * (i % ba_.points) + k, derivatives[camera_size + k]);
    matrix_.add(first_weight + i, derivatives[observed - 1]);
    matrix_.end_row();
  }
  void add_weight_row(std::size_t i, double derivative) {
    matrix_.add(camera_size * ba_.cameras + point_size * ba_.points + i, derivative);
    matrix_.end_row();
  }

  Ba ba_;
  Sparse matrix_;

 private:
  std::vector<std::size_t> padded_rows() const {  // for problems with fewer than ten observations
    std::vector<std::size_t> rows = matrix_.rows;
    while (rows.size() < 2 * observed) rows.push_back(rows.back());
    return rows;
  }
};

#ifdef GRADBENCH_CODIPACK

class ByPasses final : public Jacobian {
 public:
  using Jacobian::Jacobian;
  void run() override {
    using Real = codi::RealReverse;
    Real::Tape& tape = Real::getTape();
    matrix_.clear();
    for (std::size_t i = 0; i < ba_.observations; ++i) {
      const auto numbers = ba_.inputs(i);
      std::array<Real, observed> inputs;
      std::copy(numbers.begin(), numbers.end(), inputs.begin());
      tape.setActive();
      for (Real& one : inputs) tape.registerInput(one);
      std::array<Real, 2> results = errors(inputs.data(), ba_.features(i).data());
      for (Real& one : results) tape.registerOutput(one);
      tape.setPassive();
      for (Real& one : results) {
        one.setGradient(1.0);
        tape.evaluate();
        double derivatives[observed];
        for (std::size_t k = 0; k < observed; ++k) derivatives[k] = inputs[k].getGradient();
        add_row(i, derivatives);
        tape.clearAdjoints();
      }
      tape.reset();
    }
    for (std::size_t i = 0; i < ba_.observations; ++i) {
      Real weight = ba_.all_weights[i];
      tape.setActive();
      tape.registerInput(weight);
      Real result = weight_error(weight);
      tape.registerOutput(result);
      tape.setPassive();
      result.setGradient(1.0);
      tape.evaluate();
      add_weight_row(i, weight.getGradient());
      tape.reset();
    }
  }
};
using ByMode = ByPasses;

#else

using gradwalk::Value;

class ByMode final : public Jacobian {
 public:
  explicit ByMode(const Input& input) : Jacobian(input) {
    if (mode == Mode::by_hand) not_by_hand("ba");
    if (mode == Mode::compiled) make_programs();
  }
  void run() override {
    matrix_.clear();
    if (mode == Mode::compiled)
      run_programs();
    else
      walk_back();
  }

 private:
  void walk_back() {
    for (std::size_t i = 0; i < ba_.observations; ++i) {
      const auto numbers = ba_.inputs(i);
      std::vector<Value> inputs(numbers.begin(), numbers.end());
      for (const Value& error : errors(inputs.data(), ba_.features(i).data())) {
        error.backward();
        double derivatives[observed];
        for (std::size_t k = 0; k < observed; ++k) derivatives[k] = std::exchange(inputs[k].grad(), 0.0);
        add_row(i, derivatives);
      }
    }
    for (std::size_t i = 0; i < ba_.observations; ++i) {
      Value weight = ba_.all_weights[i];
      weight_error(weight).backward();
      add_weight_row(i, weight.grad());
    }
  }

  // One program per error. Its rows are the observations: the numbers they depend on, and the measured point.
  static constexpr std::size_t row_size = observed + 2;

  void make_programs() {
    const auto row = [&](std::size_t i) {
      const auto inputs = ba_.inputs(i);
      Numbers all(inputs.begin(), inputs.end());
      all.insert(all.end(), ba_.features(i).begin(), ba_.features(i).end());
      return all;
    };
    for (std::size_t i = 0; i < ba_.observations; ++i) {
      const Numbers one = row(i);
      rows_.insert(rows_.end(), one.begin(), one.end());
    }
    Numbers other = row(0);
    for (double& number : other) number *= 1.01;  // compile() needs two different rows, to notice branches
    for (std::size_t which = 0; which < 2; ++which)
      programs_.push_back(gradwalk::compile(
          [which](const std::vector<Value>& in) { return errors(in.data(), in.data() + observed)[which]; },
          {row(0), other}, {}));
    programs_.push_back(gradwalk::compile([](const std::vector<Value>& in) { return weight_error(in[0]); },
                                          {{ba_.weight}, {1.01 * ba_.weight}}, {}));
    for (std::size_t which = 0; which < 2; ++which) derivatives_[which].resize(rows_.size());
    derivatives_[2].resize(ba_.observations);
  }

  void run_programs() {
    for (std::size_t which = 0; which < 3; ++which)
      programs_[which].gradients(which < 2 ? rows_ : ba_.all_weights, {}, {.input_gradients = derivatives_[which]});
    for (std::size_t i = 0; i < ba_.observations; ++i)
      for (std::size_t which = 0; which < 2; ++which) add_row(i, &derivatives_[which][row_size * i]);
    for (std::size_t i = 0; i < ba_.observations; ++i) add_weight_row(i, derivatives_[2][i]);
  }

  std::vector<gradwalk::Program> programs_;
  Numbers rows_;
  std::array<Numbers, 3> derivatives_;
};

#endif

}  // namespace

const std::map<std::string, MakeTask> functions{{"objective", task<Errors>()}, {"jacobian", task<ByMode>()}};

}  // namespace gradbench
