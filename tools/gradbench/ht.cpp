// SPDX-License-Identifier: MIT
// ht: hand tracking (hand.hpp). The Jacobian has one row per error and one column per entry of theta. If `us` is given,
// two columns come first, for the two numbers that belong to the point of the row.
#include <algorithm>
#include <array>
#include <span>

#include "gradient.hpp"
#include "hand.hpp"

namespace gradbench {
namespace {

Frame<double> frame(const Rows& rows) {
  Frame<double> result;
  for (std::size_t i = 0; i < 4; ++i) std::copy_n(rows.at(i).begin(), 4, result[i].begin());
  return result;
}

template <std::size_t n, class From> auto fixed(const From& row) {
  std::array<typename From::value_type, n> result{};
  std::copy_n(row.begin(), n, result.begin());
  return result;
}

struct Hand {
  explicit Hand(const Input& input) : theta(input.numbers("theta")), us(flat(input.rows("us"))) {
    const auto given = input.part("data"), model = given->part("model");
    data.matches = given->integers("correspondences");
    for (const Numbers& point : given->rows("points")) data.points.push_back(fixed<3>(point));
    data.model.parents = model->integers("parents");
    for (const Rows& one : model->matrices("base_relatives")) data.model.base.push_back(frame(one));
    for (const Rows& one : model->matrices("inverse_base_absolutes")) data.model.inverse.push_back(frame(one));
    for (const Numbers& one : model->rows("base_positions")) data.model.rest.push_back(fixed<4>(one));
    data.model.weights = model->rows("weights");
    for (const Numbers& one : model->rows("triangles")) {
      const auto corners = fixed<3>(one);
      data.model.triangles.push_back(
          {static_cast<int>(corners[0]), static_cast<int>(corners[1]), static_cast<int>(corners[2])});
    }
    data.model.is_mirrored = model->truth("is_mirrored");
  }
  std::size_t errors() const { return 3 * data.points.size(); }
  std::size_t first_theta() const { return us.empty() ? 0 : 2; }
  std::size_t columns() const { return first_theta() + theta.size(); }

  Numbers theta, us;
  HandData data;
};

class Errors final : public Task {
 public:
  explicit Errors(const Input& input) : hand_(input) {}
  void run() override { errors_ = hand(hand_.theta, hand_.us, hand_.data); }
  void write(gradwalk::JsonWriter& json) const override { gradbench::write(json, errors_); }

 private:
  Hand hand_;
  Numbers errors_;
};

class Jacobian : public Task {
 public:
  explicit Jacobian(const Input& input) : hand_(input), matrix_(hand_.errors() * hand_.columns()) {}
  void write(gradwalk::JsonWriter& json) const override {
    write_rows(json, matrix_.data(), hand_.errors(), hand_.columns());
  }

 protected:
  double& entry(std::size_t row, std::size_t column) { return matrix_[row * hand_.columns() + column]; }

  Hand hand_;
  Numbers matrix_;
};

#ifdef GRADBENCH_CODIPACK

// Computes the Jacobian in forward mode, four columns at a time.
class ByMode final : public Jacobian {
 public:
  using Jacobian::Jacobian;
  void run() override {
    constexpr std::size_t width = 4;
    using Real = codi::RealForwardVec<width>;
    std::vector<Real> theta(hand_.theta.begin(), hand_.theta.end()), us(hand_.us.begin(), hand_.us.end());
    const std::size_t before = hand_.first_theta();
    const auto seed = [&](std::size_t column, std::size_t lane, double number) {
      if (column >= before) {
        theta[column - before].gradient()[lane] = number;
      } else {
        for (std::size_t i = column; i < us.size(); i += 2) us[i].gradient()[lane] = number;
      }
    };
    for (std::size_t first = 0; first < hand_.columns(); first += width) {
      const std::size_t lanes = std::min(width, hand_.columns() - first);
      for (std::size_t lane = 0; lane < lanes; ++lane) seed(first + lane, lane, 1.0);
      const std::vector<Real> errors = hand(theta, us, hand_.data);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        for (std::size_t i = 0; i < errors.size(); ++i) entry(i, first + lane) = errors[i].getGradient()[lane];
        seed(first + lane, lane, 0.0);
      }
    }
  }
};

#else

using gradwalk::Value;

class ByMode final : public Jacobian {
 public:
  explicit ByMode(const Input& input) : Jacobian(input) {
    if (mode == Mode::by_hand) not_by_hand("ht");
    if (mode == Mode::compiled) make_program();
  }
  void run() override {
    if (mode == Mode::compiled)
      run_program();
    else
      backward_passes();
  }

 private:
  // Runs one backward pass per error.
  void backward_passes() {
    const std::vector<Value> theta(hand_.theta.begin(), hand_.theta.end()), us(hand_.us.begin(), hand_.us.end());
    const std::vector<Value> errors = hand(theta, us, hand_.data);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const gradwalk::Gradients gradients = pass(errors[i]);
      for (std::size_t k = 0; k < hand_.first_theta(); ++k) entry(i, k) = gradients.of(us[i / 3 * 2 + k]);
      for (std::size_t k = 0; k < theta.size(); ++k) entry(i, hand_.first_theta() + k) = gradients.of(theta[k]);
    }
  }

  // An error depends on theta and on the two numbers of its point, so the Jacobian has few columns that are not 0.
  void make_program() {
    numbers_ = hand_.theta;
    numbers_.insert(numbers_.end(), hand_.us.begin(), hand_.us.end());
    const std::vector<Value> all(numbers_.begin(), numbers_.end());
    const auto us = all.begin() + static_cast<std::ptrdiff_t>(hand_.theta.size());
    const std::vector<Value> errors =
        hand(std::vector<Value>(all.begin(), us), std::vector<Value>(us, all.end()), hand_.data);
    // A rotation by no angle is written apart from the others. The program is run at the point it was recorded at.
    program_.emplace(gradwalk::compile(errors, {.parameters = all, .ignore_comparisons = true}));
    pattern_ = program_->jacobian_pattern();
    entries_.resize(pattern_.column_indices.size());
  }

  void run_program() {
    program_->sparse_jacobian_at(numbers_, entries_);
    std::fill(matrix_.begin(), matrix_.end(), 0.0);
    for (std::size_t row = 0; row < pattern_.rows; ++row)
      for (std::size_t k = pattern_.row_starts[row]; k < pattern_.row_starts[row + 1]; ++k) {
        const std::size_t parameter = pattern_.column_indices[k], thetas = hand_.theta.size();
        entry(row, parameter < thetas ? hand_.first_theta() + parameter : (parameter - thetas) % 2) = entries_[k];
      }
  }

  Numbers numbers_, entries_;  // theta and us; the Jacobian's entries
  gradwalk::SparsePattern pattern_;
  std::optional<gradwalk::Program> program_;
};

#endif

}  // namespace

const std::map<std::string, MakeTask> functions{{"objective", task<Errors>()}, {"jacobian", task<ByMode>()}};

}  // namespace gradbench
