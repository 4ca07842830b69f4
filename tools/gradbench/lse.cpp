// SPDX-License-Identifier: MIT
// lse: log(exp(x_1) + ... + exp(x_n)).
#include <algorithm>

#include "../../bench/objectives/logsumexp.hpp"

#include "gradient.hpp"

namespace gradbench {
namespace {

struct Lse {
  explicit Lse(const Input& input) : x(input.numbers("x")) {}
  Numbers x;
  template <class T> T operator()(const std::vector<T>& at) const { return bench::logsumexp(at); }
  Numbers gradient_by_hand() const {
    const double largest = *std::max_element(x.begin(), x.end());
    Numbers gradient(x.size());
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += gradient[i] = std::exp(x[i] - largest);
    for (double& one : gradient) one /= sum;
    return gradient;
  }
  static void write_gradient(gradwalk::JsonWriter& json, const Numbers& gradient) { write(json, gradient); }
};

}  // namespace

const std::map<std::string, MakeTask> functions{{"primal", task<Primal<Lse>>()}, {"gradient", task<Gradient<Lse>>()}};

}  // namespace gradbench
