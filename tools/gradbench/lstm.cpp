// SPDX-License-Identifier: MIT
// lstm: the loss of a small LSTM on a sequence.
#include "../../bench/objectives/lstm.hpp"

#include "gradient.hpp"

namespace gradbench {
namespace {

struct Lstm {
  explicit Lstm(const Input& input) {
    const Rows main = input.rows("main_params"), extra = input.rows("extra_params"), sequence = input.rows("sequence");
    data = {.layers = main.size() / 2,
            .width = sequence.at(0).size(),
            .steps = sequence.size(),
            .sequence = flat(sequence),
            .state = flat(input.rows("state"))};
    x = flat(main);
    const Numbers more = flat(extra);
    x.insert(x.end(), more.begin(), more.end());
  }

  bench::LstmData data;
  Numbers x;

  template <class T> T operator()(const std::vector<T>& at) const { return bench::lstm(at, data); }
  Numbers gradient_by_hand() const;
  static void write_gradient(gradwalk::JsonWriter& json, const Numbers& gradient) { write(json, gradient); }
};

// The inputs, gates and previous state of a cell at one time.
struct Cell {
  double in, h_before, c_before, forget, ingate, outgate, change, squashed;
  double h() const { return outgate * squashed; }
};

Cell forward(const double* w, std::size_t width, double in, double h, double c) {
  const double* const b = w + 4 * width;
  const auto gate = [](double z) { return 1 / (1 + std::exp(-z)); };
  Cell cell{in,
            h,
            c,
            gate(in * w[0] + b[0]),
            gate(h * w[width] + b[width]),
            gate(in * w[2 * width] + b[2 * width]),
            std::tanh(h * w[3 * width] + b[3 * width]),
            0};
  cell.squashed = std::tanh(c * cell.forget + cell.ingate * cell.change);
  return cell;
}

// Takes the gradients by h and c after the cell, replaces them by those before the cell, and returns the gradient by
// its input.
double back(const Cell& at, const double* w, double* by_w, std::size_t width, double& by_h, double& by_c) {
  const double by_out = by_h * at.squashed * at.outgate * (1 - at.outgate);
  const double by_cell = by_c + by_h * at.outgate * (1 - at.squashed * at.squashed);
  const double by_forget = by_cell * at.c_before * at.forget * (1 - at.forget);
  const double by_in = by_cell * at.change * at.ingate * (1 - at.ingate);
  const double by_change = by_cell * at.ingate * (1 - at.change * at.change);
  double* const by_b = by_w + 4 * width;
  by_w[0] += by_forget * at.in, by_b[0] += by_forget;
  by_w[width] += by_in * at.h_before, by_b[width] += by_in;
  by_w[2 * width] += by_out * at.in, by_b[2 * width] += by_out;
  by_w[3 * width] += by_change * at.h_before, by_b[3 * width] += by_change;
  by_h = by_in * w[width] + by_change * w[3 * width];
  by_c = by_cell * at.forget;
  return by_forget * w[0] + by_out * w[2 * width];
}

Numbers Lstm::gradient_by_hand() const {
  const std::size_t width = data.width, layers = data.layers, cells = layers * width, times = data.steps - 1;
  const double *const in_weights = x.data() + 8 * cells, *const out_weights = in_weights + width;
  std::vector<Cell> path(times * cells);
  Numbers h(cells), c(cells), by_y(times * width);
  for (std::size_t layer = 0; layer < layers; ++layer)
    for (std::size_t i = 0; i < width; ++i) {
      h[layer * width + i] = data.state[2 * layer * width + i];
      c[layer * width + i] = data.state[(2 * layer + 1) * width + i];
    }
  const double count = static_cast<double>(times * width);
  for (std::size_t t = 0; t < times; ++t) {
    double sum = 2, wanted = 0;
    for (std::size_t i = 0; i < width; ++i) {
      double in = data.sequence[t * width + i] * in_weights[i];
      for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::size_t at = layer * width + i;
        const Cell cell = path[t * cells + at] = forward(&x[8 * layer * width + i], width, in, h[at], c[at]);
        c[at] = cell.c_before * cell.forget + cell.ingate * cell.change;
        in = h[at] = cell.h();
      }
      const double grown = std::exp(in * out_weights[i] + out_weights[width + i]);
      by_y[t * width + i] = grown;
      sum += grown;
      wanted += data.sequence[(t + 1) * width + i];
    }
    for (std::size_t i = 0; i < width; ++i) {
      double& one = by_y[t * width + i];
      one = (wanted * one / sum - data.sequence[(t + 1) * width + i]) / count;
    }
  }

  Numbers gradient(x.size()), by_h(cells), by_c(cells);
  double *const by_in_weights = gradient.data() + 8 * cells, *const by_out_weights = by_in_weights + width;
  for (std::size_t t = times; t-- > 0;)
    for (std::size_t i = 0; i < width; ++i) {
      const double by_one = by_y[t * width + i];
      const std::size_t last = (layers - 1) * width + i;
      by_out_weights[i] += by_one * path[t * cells + last].h();
      by_out_weights[width + i] += by_one;
      double by_above = by_one * out_weights[i];
      for (std::size_t layer = layers; layer-- > 0;) {
        const std::size_t at = layer * width + i, weights = 8 * layer * width + i;
        by_h[at] += by_above;
        by_above = back(path[t * cells + at], &x[weights], &gradient[weights], width, by_h[at], by_c[at]);
      }
      by_in_weights[i] += by_above * data.sequence[t * width + i];
    }
  return gradient;
}

}  // namespace

const std::map<std::string, MakeTask> functions{{"objective", task<Primal<Lstm>>()},
                                                {"jacobian", task<Gradient<Lstm>>()}};

}  // namespace gradbench
