// SPDX-License-Identifier: MIT
// Goal: compute a value and its gradient. The expression is the one in micrograd's README.
// The program prints the value of g and its derivatives with respect to a and b, which backward() computes. The last
// lines check one of them: they move b a little, and g moves by that much times the gradient.
#include <cstdio>
#include <gradwalk/gradwalk.hpp>

using namespace gradwalk;

Value expression(const Value& a, const Value& b) {
  Value c = a + b;
  Value d = a * b + pow(b, 3);
  c += c + 1;
  c += 1 + c + (-a);
  d += d * 2 + relu(b + a);
  d += 3 * d + relu(b - a);
  const Value e = c - d;
  const Value f = pow(e, 2);
  return f / 2.0 + 10.0 / f;
}

int main() {
  Value a{-4.0}, b{2.0};
  const Value g = expression(a, b);
  g.backward();
  std::printf("g     = %.4f\n", g.data());
  std::printf("dg/da = %.4f\n", a.grad());
  std::printf("dg/db = %.4f\n", b.grad());

  const double step = 0.0001;
  const Value moved = expression(a, b.data() + step);
  std::printf("moving b by %.4f moves g by %.4f; the gradient says %.4f\n", step, moved.data() - g.data(),
              step * b.grad());
}
