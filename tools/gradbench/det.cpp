// SPDX-License-Identifier: MIT
// det: a determinant by expansion along rows.
#include "../../bench/objectives/det.hpp"

#include "gradient.hpp"

namespace gradbench {
namespace {

struct Det {
  explicit Det(const Input& input) : x(input.numbers("A")), n(input.count("ell")) {}
  Numbers x;
  std::size_t n;
  template <class T> T operator()(const std::vector<T>& at) const { return bench::det(at, n); }
  // The derivative by an entry is its cofactor: the determinant without its row and column, with a sign.
  Numbers gradient_by_hand() const {
    Numbers gradient(x.size()), rest((n - 1) * (n - 1));
    for (std::size_t row = 0; row < n; ++row) {
      for (std::size_t column = 0; column < n; ++column) {
        std::size_t next = 0;
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < n; ++j)
            if (i != row && j != column) rest[next++] = x[i * n + j];
        const double minor = n == 1 ? 1 : bench::det(rest, n - 1);
        gradient[row * n + column] = (row + column) % 2 == 0 ? minor : -minor;
      }
    }
    return gradient;
  }
  static void write_gradient(gradwalk::JsonWriter& json, const Numbers& gradient) { write(json, gradient); }
};

}  // namespace

const std::map<std::string, MakeTask> functions{{"primal", task<Primal<Det>>()}, {"gradient", task<Gradient<Det>>()}};

}  // namespace gradbench
