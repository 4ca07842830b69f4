// SPDX-License-Identifier: MIT
// Goal: write your own operations. There are two ways. A function of Values needs no derivative of its own: the
// operations it calls have theirs. custom() makes one node from a result and local derivatives that you give as
// numbers. The program uses both, checks them against finite differences, and shows the check of a wrong derivative.
#include <cmath>
#include <cstdio>
#include <gradwalk/gradwalk.hpp>

using namespace gradwalk;

// x * sigmoid(x)
Value swish(const Value& x) { return x * sigmoid(x); }

// x * tanh(log(1 + exp(x)))
Value mish(const Value& x) { return x * tanh(softplus(x)); }

// sqrt(x*x + y*y) with its derivatives x/r and y/r. std::hypot does not overflow where the squares would.
Value length(const Value& x, const Value& y) {
  const double r = std::hypot(x.data(), y.data());
  return custom(r, {{x, x.data() / r}, {y, y.data() / r}}, "length");
}

// The derivative is 3x², not 2x.
Value wrong_cube(const Value& x) { return custom(pow(x, 3).data(), {{x, 2 * x.data()}}, "wrong_cube"); }

void show(const char* name, const ScalarFunction& f, const Numbers& at) {
  const auto [result, slopes] = value_and_gradient(f, at);
  std::printf("%-10s = %.4f, gradient", name, result);
  for (const double slope : slopes) std::printf(" %.4f", slope);
  std::printf(", %s\n", check_gradient(f, at) ? "confirmed by finite differences" : "which is WRONG");
}

int main() {
  show("swish", [](const std::vector<Value>& x) { return swish(x[0]); }, {1.5});
  show("mish", [](const std::vector<Value>& x) { return mish(x[0]); }, {1.5});
  show("length", [](const std::vector<Value>& x) { return length(x[0], x[1]); }, {3, 4});
  show("wrong_cube", [](const std::vector<Value>& x) { return wrong_cube(x[0]); }, {2});

  Value x{3e200}, y{4e200};
  const Value far = length(x, y);
  far.backward();
  std::printf("length(3e200, 4e200) = %.1e, a node named \"%s\" with gradients %.1f and %.1f\n", far.data(),
              std::string(far.op_name()).c_str(), x.grad(), y.grad());
}
