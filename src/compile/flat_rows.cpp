// SPDX-License-Identifier: MIT
// compile() for sample rows that are stored one after another, as run() takes them.
#include "gradwalk/compile.hpp"
#include "gradwalk/error.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

std::vector<std::vector<double>> divided(std::span<const double> rows, std::size_t inputs) {
  if (inputs == 0) throw Error("compile", "at least one input per row", "0", "give the number of inputs");
  if (rows.size() % inputs != 0)
    throw Error("compile", "rows of " + detail::counted(inputs, "number", "numbers") + " each",
                detail::counted(rows.size(), "number", "numbers"), "give one number per row and input");
  std::vector<std::vector<double>> result;
  for (; !rows.empty(); rows = rows.subspan(inputs))
    result.emplace_back(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(inputs));
  return result;
}

}  // namespace

Program compile(const RowFunction& function, std::span<const double> rows, std::size_t inputs,
                const CompileOptions& options) {
  return compile(function, divided(rows, inputs), options);
}

Program compile(const RowOutputs& function, std::span<const double> rows, std::size_t inputs,
                const CompileOptions& options) {
  return compile(function, divided(rows, inputs), options);
}

}  // namespace gradwalk
