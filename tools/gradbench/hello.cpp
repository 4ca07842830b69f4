// SPDX-License-Identifier: MIT
// hello: x^2, and its derivative.
#include "gradient.hpp"

namespace gradbench {
namespace {

struct Hello {
  explicit Hello(const Input& input) : x{input.number()} {}
  Numbers x;
  template <class T> T operator()(const std::vector<T>& at) const { return at[0] * at[0]; }
  Numbers gradient_by_hand() const { return {2 * x[0]}; }
  static void write_gradient(gradwalk::JsonWriter& json, const Numbers& gradient) { json.value(gradient[0]); }
};

}  // namespace

const std::map<std::string, MakeTask> functions{{"square", task<Primal<Hello>>()}, {"double", task<Gradient<Hello>>()}};

}  // namespace gradbench
