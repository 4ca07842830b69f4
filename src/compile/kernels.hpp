// SPDX-License-Identifier: MIT
// What a program's instructions do to arrays of numbers, as one table of functions for each instruction set.
//
// Every function gives the same bits however often and on whatever thread it is called; sums are added up in an order
// that depends on the lengths alone. Nothing is read or written beyond what a comment says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "gradwalk/ops.hpp"

namespace gradwalk::detail {

// Numbers side by side (stride 1), or one for all (stride 0).
template <class T> struct In {
  const T* at = nullptr;
  std::size_t stride = 1;
};

// A term of a sum: factor * a * b. What is nullptr counts as 1.
template <class T> struct Term {
  In<T> factor, a, b;
};

// The same for several vectors: the numbers of the next one lie `step` further on.
template <class T> struct InSteps : In<T> {
  std::ptrdiff_t step = 0;
};
template <class T> struct TermInSteps {
  InSteps<T> factor, a, b;
};

// Y[i][j] = bias[i] + sum over t of A[i * a_row + t * a_column] * X[t][j], 0 <= i < rows, 0 <= j < columns.
template <class T> struct MatrixProduct {
  std::size_t rows = 0, depth = 0, columns = 0;
  const T* a = nullptr;
  std::size_t a_row = 0, a_column = 1;
  const T* x = nullptr;
  std::size_t x_row = 0;                  // X[t] begins at x + t * x_row,
  const std::uint32_t* x_rows = nullptr;  // or, where given, at x + x_rows[t] * x_row
  const T* bias = nullptr;                // bias[i * bias_step]; none: 0
  std::size_t bias_step = 1;
  T* y = nullptr;
  std::size_t y_row = 0;    // Y[i] begins at y + i * y_row
  bool add = false;         // to what Y holds, instead of bias
  bool relu = false;        // then Y = relu(Y), by the rule of the table
  bool skip_zeros = false;  // a term whose X is 0 counts as 0, whatever A is
};

// G[i * g_row + t * g_column] (+)= sum over j of D[i][j] * X[t][j], 0 <= i < rows, 0 <= t < depth, 0 <= j < columns;
// of several parts, over those of all.
template <class T> struct OuterProduct {
  std::size_t rows = 0, depth = 0, columns = 0;
  const T* d = nullptr;
  std::size_t d_row = 0;
  const T* x = nullptr;
  std::size_t x_row = 0;
  const std::uint32_t* x_rows = nullptr;  // as above, part after part
  std::size_t parts = 1, d_part = 0;      // D[i] of the next part begins d_part further on
  T* g = nullptr;
  std::size_t g_row = 0, g_column = 1;
  bool add = false;         // else G is written over
  bool skip_zeros = false;  // a term whose D is 0 counts as 0, whatever X is
};

template <class T> struct Kernels {
  std::string_view name;  // of the instruction set, as Highway calls it
  std::size_t lanes = 1;  // numbers in a vector

  // out[i] = op(in[0][i], in[1][i], in[2][i]); as many operands as the op has.
  using Value = void (*)(std::size_t n, const In<T>* in, T* out);
  Value (*value)(Op op) = nullptr;
  // out[i] (+)= g[i] * (the derivative of op by operand `by`), or 0 where g[i] is 0; r is the op's result. Of a choice,
  // what was not chosen gets 0, whatever g[i] is.
  using Local = void (*)(std::size_t n, const In<T>* in, In<T> r, In<T> g, T* out, bool add);
  Local (*local)(Op op, std::size_t by) = nullptr;  // nullptr where the table writes 0: nothing is passed on

  // out[i] = start[i] + the sum of terms[t][i] in order; start nullptr is 0.
  void (*sums)(std::size_t n, In<T> start, std::span<const Term<T>> terms, T* out) = nullptr;
  // The same, but a term is 0 where factor * a is 0, whatever b is.
  void (*sums_without_zeros)(std::size_t n, In<T> start, std::span<const Term<T>> terms, T* out) = nullptr;
  // sums for several vectors of n numbers each.
  void (*sums_in_steps)(std::size_t vectors, std::size_t n, InSteps<T> start, std::span<const TermInSteps<T>> terms,
                        T* out, std::size_t out_step) = nullptr;
  void (*sums_in_steps_without_zeros)(std::size_t vectors, std::size_t n, InSteps<T> start,
                                      std::span<const TermInSteps<T>> terms, T* out, std::size_t out_step) = nullptr;
  // sums[l] += the terms of all i with i % lanes == l, for each of the lanes.
  void (*row_sum)(std::size_t n, std::span<const Term<T>> terms, T* sums) = nullptr;
  // The sum over i of g[i] * factor[i] * b[i], 0 where g[i] * factor[i] is 0.
  T (*pass_sum)(std::size_t n, In<T> g, In<T> factor, In<T> b) = nullptr;
  // The sum over i of factor[i] * a[i] * b[i], no zero apart; nullptr counts as 1.
  T (*dot)(std::size_t n, In<T> factor, In<T> a, In<T> b) = nullptr;
  // The largest, or smallest, of n >= 1 numbers; NaN if one is NaN.
  T (*largest)(std::size_t n, const T* x) = nullptr;
  T (*smallest)(std::size_t n, const T* x) = nullptr;
  // out[i] = the largest (op: max) or smallest (min) terms[t].a[i]; NaN if one is NaN.
  using Extremes = void (*)(std::size_t n, std::span<const Term<T>> terms, T* out);
  Extremes (*extremes)(Op op) = nullptr;
  // out[t * n + i] = what max(max(a_0, a_1), a_2) ..., a_t being terms[t].a[i], passes on to a_t of the gradient g[i].
  using Shares = void (*)(std::size_t n, In<T> g, std::span<const Term<T>> terms, T* out);
  Shares (*shares)(Op op) = nullptr;
  bool (*has_nan)(std::size_t n, const T* x) = nullptr;

  void (*gather)(std::size_t n, const T* x, const std::uint32_t* at, T* out) = nullptr;  // out[i] = x[at[i]]
  void (*add)(std::size_t n, const T* x, T* out) = nullptr;                              // out[i] += x[i]

  void (*product)(const MatrixProduct<T>& product) = nullptr;
  void (*outer)(const OuterProduct<T>& product) = nullptr;
  // out[j * out_row + i] = x[i * x_row + j] for i < rows, j < columns.
  void (*transpose)(std::size_t rows, std::size_t columns, const T* x, std::size_t x_row, T* out,
                    std::size_t out_row) = nullptr;

  // Runs steps (steps.hpp) on the numbers of a program. Without zeros, a term is 0 where factor * a is 0.
  void (*steps)(std::span<const std::uint32_t> words, T* values) = nullptr;
  void (*steps_without_zeros)(std::span<const std::uint32_t> words, T* values) = nullptr;
};

// The best instruction set this machine has, or the one named; an Error if it has no such.
template <class T> const Kernels<T>& kernels(std::string_view name = "");
// All that this machine has and the library was built with, best first; plain scalar code is the last.
std::span<const std::string_view> instruction_sets();

}  // namespace gradwalk::detail
