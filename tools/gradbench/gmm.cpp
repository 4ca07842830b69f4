// SPDX-License-Identifier: MIT
// gmm: the logarithm of the posterior probability of a mixture of Gaussians, with its constants.
#include "../../bench/objectives/gmm.hpp"

#include <algorithm>
#include <numbers>

#include "gradient.hpp"

namespace gradbench {
namespace {

// Returns the logarithm of the multivariate gamma function in d dimensions.
double log_gamma(std::size_t d, double at) {
  const auto dimensions = static_cast<double>(d);
  double sum = dimensions * (dimensions - 1) / 4 * std::log(std::numbers::pi);
  for (std::size_t j = 0; j < d; ++j) sum += std::lgamma(at - 0.5 * static_cast<double>(j));
  return sum;
}

struct Gmm {
  explicit Gmm(const Input& input) {
    data = {.d = input.count("d"),
            .k = input.count("k"),
            .n = input.count("n"),
            .points = flat(input.rows("x")),
            .gamma = input.number("gamma"),
            .m = input.number("m")};
    x = input.numbers("alpha");
    for (const char* const field : {"mu", "q", "l"}) {
      const Numbers more = flat(input.rows(field));
      x.insert(x.end(), more.begin(), more.end());
    }
    const auto d = static_cast<double>(data.d), freedom = d + data.m + 1;
    constant = -0.5 * static_cast<double>(data.n) * d * std::log(2 * std::numbers::pi) +
               static_cast<double>(data.k) *
                   (freedom * d * std::log(data.gamma / std::numbers::sqrt2) - log_gamma(data.d, 0.5 * freedom));
  }

  bench::GmmData data;
  Numbers x;
  double constant = 0;

  template <class T> T operator()(const std::vector<T>& at) const { return bench::gmm(at, data) + constant; }
  Numbers gradient_by_hand() const;
  void write_gradient(gradwalk::JsonWriter& json, const Numbers& gradient) const {
    const std::size_t d = data.d, k = data.k;
    const double* const mu = gradient.data() + k;
    json.object([&] {
      json("alpha");
      write(json, Numbers(gradient.data(), mu));
      json("mu");
      write_rows(json, mu, k, d);
      json("q");
      write_rows(json, mu + k * d, k, d);
      json("l");
      write_rows(json, mu + 2 * k * d, k, data.below());
    });
  }
};

// Let c = x - mu_j, z = Q_j c, and p_j be the share of component j in the likelihood of the point. A point adds p_j to
// the derivative with respect to a_j, p_j Q_j'z to that of mu_j, p_j (1 - exp(q_i) z_i c_i) to that of q_i, and -p_j
// z_i c_column to that of an entry of l.
Numbers Gmm::gradient_by_hand() const {
  const std::size_t d = data.d, k = data.k, below = data.below();
  const double *const a = x.data(), *const mu = a + k, *const q = mu + k * d, *const l = q + k * d;
  Numbers gradient(x.size());
  double *const by_a = gradient.data(), *const by_mu = by_a + k, *const by_q = by_mu + k * d,
                *const by_l = by_q + k * d;
  Numbers diagonal(k * d), sum_q(k), c(k * d), z(k * d), share(k);
  for (std::size_t i = 0; i < k * d; ++i) diagonal[i] = std::exp(q[i]), sum_q[i / d] += q[i];
  const auto to_shares = [&](Numbers& terms) {
    const double largest = *std::max_element(terms.begin(), terms.end());
    double sum = 0;
    for (double& one : terms) sum += one = std::exp(one - largest);
    for (double& one : terms) one /= sum;
  };

  for (std::size_t point = 0; point < data.n; ++point) {
    for (std::size_t j = 0; j < k; ++j) {
      double *const cj = &c[j * d], *const zj = &z[j * d];
      for (std::size_t i = 0; i < d; ++i) cj[i] = data.points[point * d + i] - mu[j * d + i];
      for (std::size_t i = 0; i < d; ++i) zj[i] = diagonal[j * d + i] * cj[i];
      const double* entry = l + j * below;
      for (std::size_t column = 0; column < d; ++column)
        for (std::size_t i = column + 1; i < d; ++i) zj[i] += *entry++ * cj[column];
      double square = 0;
      for (std::size_t i = 0; i < d; ++i) square += zj[i] * zj[i];
      share[j] = a[j] + sum_q[j] - 0.5 * square;
    }
    to_shares(share);
    for (std::size_t j = 0; j < k; ++j) {
      const double p = share[j], *const cj = &c[j * d], *const zj = &z[j * d];
      by_a[j] += p;
      for (std::size_t i = 0; i < d; ++i) {
        const double by_c = diagonal[j * d + i] * zj[i];
        by_mu[j * d + i] += p * by_c;
        by_q[j * d + i] += p * (1 - by_c * cj[i]);
      }
      const double* entry = l + j * below;
      double* by_entry = by_l + j * below;
      for (std::size_t column = 0; column < d; ++column)
        for (std::size_t i = column + 1; i < d; ++i) {
          by_mu[j * d + column] += p * *entry++ * zj[i];
          *by_entry++ -= p * zj[i] * cj[column];
        }
    }
  }

  Numbers weights(a, a + k);
  to_shares(weights);
  for (std::size_t j = 0; j < k; ++j) by_a[j] -= static_cast<double>(data.n) * weights[j];
  const double square = data.gamma * data.gamma;
  for (std::size_t i = 0; i < k * d; ++i) by_q[i] += data.m - square * diagonal[i] * diagonal[i];
  for (std::size_t i = 0; i < k * below; ++i) by_l[i] -= square * l[i];
  return gradient;
}

}  // namespace

const std::map<std::string, MakeTask> functions{{"objective", task<Primal<Gmm>>()},
                                                {"jacobian", task<Gradient<Gmm>>()}};

}  // namespace gradbench
