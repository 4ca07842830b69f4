// SPDX-License-Identifier: MIT
// Goal: linear algebra. A Gaussian process fits a curve to noisy points and estimates its own error. It also finds its
// three parameters (smoothness, height and noise): Newton's method maximises the log likelihood of the points, whose
// gradient and Hessian come through Eigen's Cholesky decomposition.
// The program prints how the likelihood rises to its maximum, and then the fitted curve beside the true one. The
// estimated error is largest where there are no points.
#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <gradwalk/eigen.hpp>

using namespace gradwalk;
using Eigen::VectorXd, Eigen::Vector3d, Eigen::Matrix3d, Eigen::Index;

// The same code serves numbers and Values, so that training and prediction use one model.
template <class T> using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T> using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T> using Parameters = Eigen::Matrix<T, 3, 1>;  // the logarithms of smoothness, height and noise

double curve(double x) { return std::sin(2 * x) + x / 2; }
double noise(Index i) { return 0.04 * static_cast<double>((i * 37) % 11 - 5); }  // the same on every machine

const Index count = 24;
const VectorXd places =
    VectorXd::NullaryExpr(count, [](Index i) { return (i < 12 ? 0.0 : 1.2) + 0.14 * static_cast<double>(i); });
const VectorXd heights = VectorXd::NullaryExpr(count, [](Index i) { return curve(places(i)) + noise(i); });

// Returns the covariance of the curve at the points a with the curve at the points b.
template <class T> Matrix<T> covariance(const VectorXd& a, const VectorXd& b, const Parameters<T>& p) {
  using std::exp;
  const T variance = exp(2 * p(1)), scale = -0.5 * exp(-2 * p(0));
  return Matrix<T>::NullaryExpr(a.size(), b.size(), [&](Index i, Index j) {
    const double distance = a(i) - b(j);
    return variance * exp(scale * (distance * distance));
  });
}

template <class T> Eigen::LLT<Matrix<T>> decomposed(const Parameters<T>& p) {
  using std::exp;
  Matrix<T> k = covariance<T>(places, places, p);
  k.diagonal().array() += exp(2 * p(2));
  return Eigen::LLT<Matrix<T>>(k);
}

template <class T> T log_likelihood(const Parameters<T>& p) {
  const Eigen::LLT<Matrix<T>> llt = decomposed<T>(p);
  const Vector<T> solved = llt.solve(heights.cast<T>().eval());
  const T fit = heights.dot(solved), log_determinant = 2 * llt.matrixLLT().diagonal().array().log().sum();
  return -0.5 * (fit + log_determinant + static_cast<double>(count) * std::log(2 * M_PI));
}

// Returns the parameters after Newton's step, which is shortened until the likelihood rises.
Vector3d improved(const Vector3d& p, double value, const Vector3d& slope) {
  const Matrix3d bend = hessian(log_likelihood<Value>, p);
  for (double damping = 1e-3;; damping *= 4) {
    const Vector3d moved = p + (damping * Matrix3d::Identity() - bend).ldlt().solve(slope);
    if (log_likelihood<double>(moved) > value) return moved;
  }
}

int main() {
  Vector3d p(0, 0, 0);
  std::printf("step  log likelihood  smooth  height   noise\n");
  for (int step = 0;; ++step) {
    const auto [value, slope] = value_and_gradient(log_likelihood<Value>, p);
    std::printf("%4d  %14.3f  %6.3f  %6.3f  %6.3f\n", step, value, std::exp(p(0)), std::exp(p(1)), std::exp(p(2)));
    if (slope.norm() < 1e-4) break;
    p = improved(p, value, slope);
  }

  const Eigen::LLT<Matrix<double>> llt = decomposed<double>(p);
  std::printf("\n   x   curve  learned  +-\n");
  for (const double at : {0.35, 1.05, 2.1, 2.8, 3.85, 5.5}) {
    const VectorXd k = covariance<double>(places, VectorXd::Constant(1, at), p);
    const double learned = k.dot(llt.solve(heights)), variance = std::exp(2 * p(1)) - k.dot(llt.solve(k));
    std::printf("%4.2f  %6.2f  %7.2f  %4.2f\n", at, curve(at), learned, 2 * std::sqrt(variance));
  }
}
