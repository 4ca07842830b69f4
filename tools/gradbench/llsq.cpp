// SPDX-License-Identifier: MIT
// llsq: the squared distance of a polynomial from the sign of t, at n points from -1 to 1.
#include "../../bench/objectives/llsq.hpp"

#include "gradient.hpp"

namespace gradbench {
namespace {

struct Llsq {
  explicit Llsq(const Input& input) : x(input.numbers("x")), places(input.count("n")) {}
  Numbers x;
  std::size_t places;
  template <class T> T operator()(const std::vector<T>& at) const { return bench::llsq(at, places); }
  // The gradient of each residual r = sign(t) - sum of x_j t^j is -t^j.
  Numbers gradient_by_hand() const {
    Numbers gradient(x.size());
    for (std::size_t i = 0; i < places; ++i) {
      const double t = -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(places - 1);
      double residual = t > 0 ? 1 : t < 0 ? -1 : 0, power = 1;
      for (const double one : x) residual -= one * power, power *= t;
      power = 1;
      for (double& one : gradient) one -= residual * power, power *= t;
    }
    return gradient;
  }
  static void write_gradient(gradwalk::JsonWriter& json, const Numbers& gradient) { write(json, gradient); }
};

}  // namespace

const std::map<std::string, MakeTask> functions{{"primal", task<Primal<Llsq>>()}, {"gradient", task<Gradient<Llsq>>()}};

}  // namespace gradbench
