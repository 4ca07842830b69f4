// SPDX-License-Identifier: MIT
// A GPT on scalar Values, after Karpathy's microgpt: every parameter is a Value, every step plain arithmetic.
//
// It reads one token at a time. A Memory holds one key and one value for each earlier token, for attention.
// It uses RMSNorm instead of LayerNorm, ReLU instead of GELU, and no biases; otherwise it is GPT-2.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <gradwalk/gradwalk.hpp>
#include <span>
#include <vector>

namespace gpt {

using gradwalk::Random, gradwalk::Value;
using Vector = std::vector<Value>;
using Matrix = std::vector<Vector>;  // one Vector per row

// Returns {f(0), f(1), ..., f(n - 1)}.
template <class F> Vector vector_of(std::size_t n, F f) {
  Vector result;
  result.reserve(n);
  for (std::size_t i = 0; i < n; ++i) result.push_back(f(i));
  return result;
}

inline Value dot(std::span<const Value> x, std::span<const Value> y) {
  Value sum = x[0] * y[0];
  for (std::size_t i = 1; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

inline Vector linear(const Matrix& weights, const Vector& x) {
  return vector_of(weights.size(), [&](std::size_t i) { return dot(weights[i], x); });
}

inline Vector add(const Vector& x, const Vector& y) {
  return vector_of(x.size(), [&](std::size_t i) { return x[i] + y[i]; });
}

inline Vector relu(const Vector& x) {
  return vector_of(x.size(), [&](std::size_t i) { return relu(x[i]); });
}

// Divides x by the root of its mean square.
inline Vector rms_norm(const Vector& x) {
  const Value scale = 1 / sqrt(dot(x, x) / x.size() + 1e-5);
  return vector_of(x.size(), [&](std::size_t i) { return x[i] * scale; });
}

inline Value total(const Vector& x) {
  Value sum = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) sum += x[i];
  return sum;
}

// Returns the largest element. It is recorded, so that a compiled program finds it for each row; no gradient passes
// through it.
inline Value largest(const Vector& x) {
  Value found = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) found = max(found, x[i]);
  return stop(found);
}

// Returns exp() of each score, divided by exp(most), which prevents overflow.
inline Vector powers(const Vector& scores, const Value& most) {
  return vector_of(scores.size(), [&](std::size_t i) { return exp(scores[i] - most); });
}

// Turns scores into probabilities.
inline Vector softmax(const Vector& scores) {
  const Vector parts = powers(scores, largest(scores));
  const Value sum = total(parts);
  return vector_of(parts.size(), [&](std::size_t i) { return parts[i] / sum; });
}

// Returns -log of the probability that softmax(scores) gives to a token. The token is an index, or a one-hot Vector.
// Inputs of a compiled program can form a one-hot Vector, so that each row has its own token.
inline Value surprise(const Vector& scores, std::size_t token) { return softmax_cross_entropy(scores, token); }
inline Value surprise(const Vector& scores, const Vector& token) {
  const Value most = largest(scores);
  return log(total(powers(scores, most))) + most - dot(token, scores);
}

// A document whose tokens are inputs of a compiled program: one one-hot Vector per token.
struct OneHot {
  std::vector<Vector> tokens;
  OneHot(std::size_t count, std::size_t vocabulary) {
    for (std::size_t i = 0; i < count; ++i) tokens.emplace_back(vocabulary);
  }
  Vector inputs() const {
    Vector leaves;
    for (const Vector& token : tokens) leaves.insert(leaves.end(), token.begin(), token.end());
    return leaves;
  }
};

// Appends a document as one row of such a program: one one-hot vector of numbers per token.
template <class Number>
void append_one_hot(std::vector<Number>& rows, std::span<const std::size_t> tokens, std::size_t vocabulary) {
  for (const std::size_t token : tokens) {
    rows.resize(rows.size() + vocabulary);
    rows[rows.size() - vocabulary + token] = 1;
  }
}

struct Shape {
  std::size_t vocabulary = 27;
  std::size_t context = 16;    // tokens it can look back on, including the current one
  std::size_t embedding = 16;  // numbers per token
  std::size_t heads = 4;
  std::size_t layers = 1;  // at least one
};

struct Layer {
  Matrix query, key, value, output;  // attention
  Matrix up, down;                   // the two layers of the MLP
};

// The keys and values of the tokens so far, for each layer.
struct Memory {
  std::vector<Matrix> keys, values;
  explicit Memory(const Shape& shape) : keys(shape.layers), values(shape.layers) {}
  std::size_t position() const { return keys[0].size(); }
};

class Model {
 public:
  Model(const Shape& shape, Random& random) : shape_(shape) {
    const std::size_t n = shape.embedding;
    const auto matrix = [&](std::size_t rows, std::size_t columns) {
      Matrix weights(rows);
      for (Vector& row : weights)
        for (std::size_t i = 0; i < columns; ++i) row.emplace_back(random.normal(0, 0.08));
      return weights;
    };
    tokens_ = matrix(shape.vocabulary, n);
    positions_ = matrix(shape.context, n);
    for (std::size_t i = 0; i < shape.layers; ++i)
      layers_.push_back({matrix(n, n), matrix(n, n), matrix(n, n), matrix(n, n), matrix(4 * n, n), matrix(n, 4 * n)});
    head_ = matrix(shape.vocabulary, n);
  }

  // Returns the scores of the next token, and adds this token's keys and values to the memory.
  template <class Token> Vector operator()(const Token& token, Memory& memory) const {
    Vector x = rms_norm(add(embedding(token), positions_[memory.position()]));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = add(x, attention(layers_[i], rms_norm(x), memory.keys[i], memory.values[i]));
      x = add(x, linear(layers_[i].down, relu(linear(layers_[i].up, rms_norm(x)))));
    }
    return linear(head_, x);
  }

  // Returns the mean surprise() of the tokens after the first; there are at least two tokens. Tokens are indices, or
  // one-hot Vectors: then this is the loss of any document of this length.
  template <class Token> Value loss(const std::vector<Token>& tokens) const {
    const std::size_t count = std::min(tokens.size() - 1, shape_.context);
    Memory memory(shape_);
    Value sum = surprise((*this)(tokens[0], memory), tokens[1]);
    for (std::size_t i = 1; i < count; ++i) sum += surprise((*this)(tokens[i], memory), tokens[i + 1]);
    return sum / count;
  }

  const Shape& shape() const { return shape_; }

  Vector parameters() const {
    Vector leaves;
    const auto append = [&](const Matrix& matrix) {
      for (const Vector& row : matrix) leaves.insert(leaves.end(), row.begin(), row.end());
    };
    append(tokens_), append(positions_);
    for (const Layer& layer : layers_)
      for (const Matrix* matrix : {&layer.query, &layer.key, &layer.value, &layer.output, &layer.up, &layer.down})
        append(*matrix);
    append(head_);
    return leaves;
  }

 private:
  const Vector& embedding(std::size_t token) const { return tokens_[token]; }
  Vector embedding(const Vector& token) const {
    const auto column = [&](std::size_t i) {
      return vector_of(token.size(), [&](std::size_t k) { return tokens_[k][i]; });
    };
    return vector_of(shape_.embedding, [&](std::size_t i) { return dot(token, column(i)); });
  }

  // Each head works on its own slice of the embedding. It compares its query with the keys of all tokens so far, and
  // returns the mean of their values, weighted by how well the keys fit.
  Vector attention(const Layer& layer, const Vector& x, Matrix& keys, Matrix& values) const {
    const Vector query = linear(layer.query, x);
    keys.push_back(linear(layer.key, x));
    values.push_back(linear(layer.value, x));

    const std::size_t size = shape_.embedding / shape_.heads;
    Vector taken;
    for (std::size_t first = 0; first < shape_.embedding; first += size) {
      const auto part = [&](const Vector& whole) { return std::span(whole).subspan(first, size); };
      const Vector shares = softmax(vector_of(keys.size(), [&](std::size_t t) {
        return dot(part(query), part(keys[t])) / std::sqrt(static_cast<double>(size));
      }));
      for (std::size_t i = first; i < first + size; ++i) {
        Value sum = shares[0] * values[0][i];
        for (std::size_t t = 1; t < values.size(); ++t) sum += shares[t] * values[t][i];
        taken.push_back(std::move(sum));
      }
    }
    return linear(layer.output, taken);
  }

  Shape shape_;
  Matrix tokens_, positions_;  // embeddings
  std::vector<Layer> layers_;
  Matrix head_;
};

}  // namespace gpt
