// SPDX-License-Identifier: MIT
#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "gradwalk/error.hpp"
#include "text/numbers.hpp"

namespace gradwalk::compiler {

template <class T> void RowNumbers<T>::load(const Rows& rows, std::size_t begin, std::size_t count, Columns columns,
                                            T* to, std::size_t to_width) const {
  const std::size_t inputs = program_.inputs, width = columns.end - columns.begin;
  T* const values = to + columns.begin;
  const std::size_t first = std::min(columns.begin, count - 1), own = std::min(width, count - first);
  const auto load_from = [&]<class N>(const N* from) {
    from += (begin + first) * inputs;
    if constexpr (std::is_same_v<N, T>) {
      kernels_.transpose(own, inputs, from, inputs, values, to_width);
    } else {
      constexpr std::size_t piece = 16;  // rows, so that what is written stays in the cache until it is whole
      for (std::size_t top = 0; top < own; top += piece)
        for (std::size_t i = 0; i < inputs; ++i)
          for (std::size_t r = top; r < std::min(top + piece, own); ++r)
            values[i * to_width + r] = static_cast<T>(from[r * inputs + i]);
    }
  };
  rows.floats != nullptr ? load_from(rows.floats) : load_from(rows.numbers);
  for (std::size_t i = 0; own < width && i < inputs; ++i)
    std::fill(values + i * to_width + own, values + i * to_width + width, values[i * to_width + own - 1]);
}

template <class T>
T RowNumbers<T>::output(const Instructions::Output& output, const Varying<T>& varying, std::size_t row) const {
  if (output.rate == Rate::varying) return varying.numbers[output.place * varying.width + row];
  return (output.rate == Rate::uniform ? uniform_.values() : uniform_.constants())[output.place];
}

template <class T> void RowNumbers<T>::check(std::size_t begin, const Varying<T>& varying, Columns columns) const {
  if (program_.guards.empty() && program_.index_sizes.empty()) return;
  const std::size_t first = program_.wanted_outputs();
  for (std::size_t r = columns.begin; r < std::min(columns.end, varying.rows); ++r) {
    check_indices(begin, varying, r);
    for (std::size_t i = 0; i < program_.guards.size(); ++i)
      if ((output(program_.outputs[first + i], varying, r) != 0) != program_.guards[i])
        throw Error(
            "Program", "rows on which every comparison comes out as it was recorded",
            "row " + std::to_string(begin + r) + ", where comparison " + std::to_string(i + 1) + " does not",
            "write select(condition, a, b), or use a Function (in Python @compile), which follows every branch");
  }
}

template <class T> void RowNumbers<T>::write_outputs(std::size_t begin, const Varying<T>& varying, Columns columns,
                                                     double* outputs) const {
  const std::size_t width = program_.wanted_outputs();
  for (std::size_t r = columns.begin; r < std::min(columns.end, varying.rows); ++r)
    for (std::size_t o = 0; o < width; ++o)
      outputs[(begin + r) * width + o] = static_cast<double>(output(program_.outputs[o], varying, r));
}

template <class T> void RowNumbers<T>::write_input_gradients(std::size_t begin, const Varying<T>& varying,
                                                             Columns columns, double* to) const {
  for (std::size_t i = 0; i < program_.inputs; ++i) {
    const std::uint32_t place = program_.input_gradients[i];
    for (std::size_t r = columns.begin; r < std::min(columns.end, varying.rows); ++r)
      to[(begin + r) * program_.inputs + i] =
          place == none ? 0.0 : static_cast<double>(varying.numbers[place * varying.width + r]);
  }
}

template <class T>
void RowNumbers<T>::check_indices(std::size_t begin, const Varying<T>& varying, std::size_t row) const {
  const std::size_t first = program_.outputs.size() - program_.index_sizes.size();
  for (std::size_t i = 0; i < program_.index_sizes.size(); ++i) {
    const T index = output(program_.outputs[first + i], varying, row);
    const std::size_t size = program_.index_sizes[i];
    if (index >= 0 && index < static_cast<T>(size) && index == std::floor(index)) continue;
    throw Error("Program", "a whole number from 0 to " + std::to_string(size - 1) + " as the index of each pick",
                detail::format_number(static_cast<double>(index)) + " in row " + std::to_string(begin + row),
                "check the index, and count from 0");
  }
}

template class RowNumbers<float>;
template class RowNumbers<double>;

}  // namespace gradwalk::compiler
