// SPDX-License-Identifier: MIT
// The rows of a batch: what a run is given, the inputs that it reads, and the results that it writes.
#pragma once

#include "ir.hpp"
#include "kernels.hpp"
#include "uniform.hpp"

namespace gradwalk::compiler {

struct Rows {
  std::size_t count = 0;
  const double* numbers = nullptr;  // the inputs of all rows, row by row,
  const float* floats = nullptr;    // in one of two precisions
  const double* seeds = nullptr;    // for each row: its share of the result; nullptr: 1

  void set(const double* from) { numbers = from; }
  void set(const float* from) { floats = from; }
  template <class T> T number(std::size_t i) const {
    return floats != nullptr ? static_cast<T>(floats[i]) : static_cast<T>(numbers[i]);
  }
  template <class T> T seed(std::size_t row) const { return seeds == nullptr ? T(1) : static_cast<T>(seeds[row]); }
};

struct Wanted {  // of a run; results that are nullptr are not written
  bool gradients = false;
  double *input_gradients = nullptr, *outputs = nullptr;
};

struct Columns {
  std::size_t begin, end;
};

inline std::size_t places_of_rows(const Instructions& program) {
  return std::size_t{program.varying_places} + program.input_places;
}

// The varying numbers of rows: each place has `width` numbers, of which these rows have the first ones.
template <class T> struct Varying {
  const T* numbers = nullptr;
  std::size_t width = 0, rows = 0;
};

// Reads and writes the numbers of rows. In these functions, `begin` is the number of the first row in the batch.
template <class T> class RowNumbers {
 public:
  RowNumbers(const Instructions& program, const detail::Kernels<T>& kernels, const UniformPart<T>& uniform)
      : program_(program), kernels_(kernels), uniform_(uniform) {}

  // Writes each input side by side for all columns. If there are more columns than rows, the last row is repeated: what
  // it computes is as good as any.
  void load(const Rows& rows, std::size_t begin, std::size_t count, Columns columns, T* to, std::size_t to_width) const;
  // Throws an Error if a comparison differs from the recorded one, or an index is out of range.
  void check(std::size_t begin, const Varying<T>& varying, Columns columns) const;
  void write_outputs(std::size_t begin, const Varying<T>& varying, Columns columns, double* outputs) const;
  void write_input_gradients(std::size_t begin, const Varying<T>& varying, Columns columns, double* to) const;
  // The number of an output in a row; a uniform output needs no varying numbers.
  T output(const Instructions::Output& output, const Varying<T>& varying, std::size_t row) const;

 private:
  void check_indices(std::size_t begin, const Varying<T>& varying, std::size_t row) const;

  const Instructions& program_;
  const detail::Kernels<T>& kernels_;
  const UniformPart<T>& uniform_;
};

}  // namespace gradwalk::compiler
