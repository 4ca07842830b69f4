// SPDX-License-Identifier: MIT
// The loss of a small LSTM that predicts the next row of a sequence. A layer has `width` cells, each with one input.
//   forget = sigmoid(x w_f + b_f), in = sigmoid(h w_i + b_i), out = sigmoid(x w_o + b_o), change = tanh(h w_c + b_c),
//   c = c forget + in change,  h = out tanh(c);
//   loss = - mean over time and cells of next (y - log(2 + sum of exp(y))), y = h w + b of the last layer.
// Parameters: w_f w_i w_o w_c b_f b_i b_o b_c of each layer, then the rows w_in, w and b.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

struct LstmData {
  std::size_t layers = 0, width = 0, steps = 0;
  std::vector<double> sequence = {};  // `steps` rows of `width` numbers
  std::vector<double> state = {};     // h, then c, of each layer at the start

  std::size_t parameters() const { return (8 * layers + 3) * width; }
};

template <class T> T sigmoid_of(const T& x) {
  using std::exp;
  return 1.0 / (1.0 + exp(-x));
}

template <class T> void lstm_layer(const T* w, const T* x, T* h, T* c, std::size_t width) {
  using std::tanh;
  const T* b = w + 4 * width;
  for (std::size_t i = 0; i < width; ++i) {
    const T forget = sigmoid_of<T>(x[i] * w[i] + b[i]);
    const T in = sigmoid_of<T>(h[i] * w[width + i] + b[width + i]);
    const T out = sigmoid_of<T>(x[i] * w[2 * width + i] + b[2 * width + i]);
    const T change = tanh(h[i] * w[3 * width + i] + b[3 * width + i]);
    c[i] = c[i] * forget + in * change;
    h[i] = out * tanh(c[i]);
  }
}

template <class T> T lstm(const std::vector<T>& parameters, const LstmData& data) {
  using std::exp, std::log;
  const std::size_t width = data.width;
  const T* in_weights = parameters.data() + 8 * data.layers * width;
  const T* out_weights = in_weights + width;
  const T* out_biases = out_weights + width;

  std::vector<T> state(data.state.begin(), data.state.end());
  std::vector<T> x(width), y(width);
  T total = 0;
  for (std::size_t t = 0; t + 1 < data.steps; ++t) {
    for (std::size_t i = 0; i < width; ++i) x[i] = data.sequence[t * width + i] * in_weights[i];
    const T* input = x.data();
    for (std::size_t layer = 0; layer < data.layers; ++layer) {
      T* h = &state[2 * layer * width];
      lstm_layer(&parameters[8 * layer * width], input, h, h + width, width);
      input = h;
    }
    T sum = 2;
    for (std::size_t i = 0; i < width; ++i) {
      y[i] = input[i] * out_weights[i] + out_biases[i];
      sum += exp(y[i]);
    }
    const T normaliser = log(sum);
    for (std::size_t i = 0; i < width; ++i) total += data.sequence[(t + 1) * width + i] * (y[i] - normaliser);
  }
  return -total / static_cast<double>((data.steps - 1) * width);
}

}  // namespace bench
