// SPDX-License-Identifier: MIT
// The methods of minimize(): gradient descent, BFGS, limited-memory BFGS and Newton's method.
#include "directions.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <deque>

namespace gradwalk::solver {
namespace {

// Returns the share of the gradient for a first step, when nothing is known about the curvature: a step of length 1, or
// the gradient itself if that is shorter.
double careful_step(const Point& point) { return std::min(1.0, 1.0 / point.gradient.norm()); }

class GradientDescent final : public Directions {
 public:
  Vector from(const Point& point) override { return -point.gradient; }
  void learn(const Point& from, const Point& to) override {
    // Assume that the function is a parabola along the line and that the next step lowers the value as much as the
    // last.
    const double fall = from.value - to.value;
    guess_ = fall > 0 ? 2 * fall / to.gradient.squaredNorm() : 0;
  }
  void forget() override { guess_ = 0; }
  double first_step(const Point& point) const override { return guess_ > 0 ? guess_ : careful_step(point); }

 private:
  double guess_ = 0;
};

// The curvature that a step has measured: along s, the gradient changed by y. It is useful if the slope grew.
struct Pair {
  Vector s, y;
  double product;
  Pair(const Point& from, const Point& to) : s(to.x - from.x), y(to.gradient - from.gradient), product(s.dot(y)) {}
  bool is_useful() const { return product > 1e-14 * s.norm() * y.norm(); }
  double scale() const { return product / y.squaredNorm(); }
};

class Bfgs final : public Directions {
 public:
  Vector from(const Point& point) override {
    if (inverse_.size() == 0) return -point.gradient;
    return -(inverse_.selfadjointView<Eigen::Lower>() * point.gradient);
  }
  void learn(const Point& from, const Point& to) override {
    const Pair pair(from, to);
    if (!pair.is_useful()) return;
    if (inverse_.size() == 0) inverse_ = pair.scale() * Matrix::Identity(pair.s.size(), pair.s.size());
    auto inverse = inverse_.selfadjointView<Eigen::Lower>();
    const Vector changed = inverse * pair.y;
    const double factor = (1 + pair.y.dot(changed) / pair.product) / pair.product;
    inverse.rankUpdate(pair.s, factor).rankUpdate(pair.s, changed, -1 / pair.product);
  }
  void forget() override { inverse_.resize(0, 0); }
  double first_step(const Point& point) const override { return inverse_.size() == 0 ? careful_step(point) : 1; }

 private:
  Matrix inverse_;  // the lower half of the estimated inverse Hessian; empty if there is no estimate yet
};

class LimitedBfgs final : public Directions {
 public:
  explicit LimitedBfgs(std::size_t memory) : memory_(std::max<std::size_t>(memory, 1)) {}

  // Applies the updates that BFGS would have made for the last steps to the gradient, by Nocedal's two loops.
  Vector from(const Point& point) override {
    Vector direction = -point.gradient;
    if (pairs_.empty()) return direction;
    std::vector<double> shares(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      shares[i] = pairs_[i].s.dot(direction) / pairs_[i].product;
      direction -= shares[i] * pairs_[i].y;
    }
    direction *= pairs_.back().scale();
    for (std::size_t i = 0; i < pairs_.size(); ++i)
      direction += (shares[i] - pairs_[i].y.dot(direction) / pairs_[i].product) * pairs_[i].s;
    return direction;
  }
  void learn(const Point& from, const Point& to) override {
    Pair pair(from, to);
    if (!pair.is_useful()) return;
    if (pairs_.size() == memory_) pairs_.pop_front();
    pairs_.push_back(std::move(pair));
  }
  void forget() override { pairs_.clear(); }
  double first_step(const Point& point) const override { return pairs_.empty() ? careful_step(point) : 1; }

 private:
  std::size_t memory_;
  std::deque<Pair> pairs_;
};

class Newton final : public Directions {
 public:
  explicit Newton(Function& function) : function_(function) {}

  Vector from(const Point& point) override {
    is_gradient_ = forgotten_;
    forgotten_ = false;
    if (is_gradient_) return -point.gradient;
    if (std::optional<SparseMatrix> sparse = function_.sparse_hessian(point.x))
      return from_sparse(*sparse, point.gradient);
    Matrix hessian = function_.hessian(point.x);
    is_gradient_ = !hessian.allFinite();
    if (is_gradient_) return -point.gradient;
    for (Eigen::Index i = 0; i < free_.size(); ++i)
      if (free_[i] == 0) {
        hessian.row(i).setZero();
        hessian.col(i).setZero();
        hessian(i, i) = 1;
      }
    const Eigen::LLT<Matrix> factors(hessian);
    if (factors.info() == Eigen::Success && factors.rcond() > 1e-14) return -factors.solve(point.gradient);
    // The function is not convex here. Take the magnitudes of the eigenvalues, with a lower bound that limits the step.
    const Eigen::SelfAdjointEigenSolver<Matrix> axes(hessian);
    const Vector sizes = axes.eigenvalues().cwiseAbs();
    is_gradient_ = sizes.maxCoeff() == 0;
    if (is_gradient_) return -point.gradient;
    const Vector along = axes.eigenvectors().transpose() * point.gradient;
    return -axes.eigenvectors() * along.cwiseQuotient(sizes.cwiseMax(1e-8 * sizes.maxCoeff()));
  }
  // Where the function is not convex, a multiple of the identity is added that is large enough for a descent.
  Vector from_sparse(SparseMatrix& hessian, const Vector& gradient) {
    if (free_.size() > 0)
      hessian.prune([&](Eigen::Index row, Eigen::Index column, double) {
        return row == column || (free_[row] != 0 && free_[column] != 0);
      });
    double largest = 0;
    for (Eigen::Index i = 0; i < hessian.rows(); ++i) {
      if (free_.size() > 0 && free_[i] == 0) hessian.coeffRef(i, i) = 1;
      largest = std::max(largest, std::abs(hessian.coeff(i, i)));
    }
    SparseMatrix identity(hessian.rows(), hessian.cols());
    identity.setIdentity();
    Eigen::SimplicialLLT<SparseMatrix> factors;
    const double first = 1e-8 * (largest > 0 ? largest : 1);
    for (double shift = 0; shift <= 1e4 * (largest + 1); shift = shift == 0 ? first : 10 * shift) {
      factors.compute(shift == 0 ? hessian : SparseMatrix(hessian + shift * identity));
      if (factors.info() != Eigen::Success) continue;
      const Vector step = -factors.solve(gradient);
      if (step.allFinite() && step.dot(gradient) <= 0) return step;
    }
    is_gradient_ = true;
    return -gradient;
  }
  void learn(const Point&, const Point&) override {}
  void forget() override { forgotten_ = true; }
  void restrict(const Vector& free) override { free_ = free; }
  double first_step(const Point& point) const override { return is_gradient_ ? careful_step(point) : 1; }

 private:
  Function& function_;
  Vector free_;               // empty if all parameters are free
  bool is_gradient_ = false;  // true if the last direction was the gradient's, because there was no usable Hessian
  bool forgotten_ = false;    // true if forget() asks for the gradient's direction
};

}  // namespace

std::unique_ptr<Directions> make_directions(const MinimizeOptions& options, Function& function) {
  switch (options.method) {
    case Method::gradient_descent: return std::make_unique<GradientDescent>();
    case Method::bfgs: return std::make_unique<Bfgs>();
    case Method::lbfgs: return std::make_unique<LimitedBfgs>(options.memory);
    case Method::newton: return std::make_unique<Newton>(function);
  }
  return nullptr;
}

}  // namespace gradwalk::solver
