// SPDX-License-Identifier: MIT
// Emitted CUDA text as part of a C++ program that runs it with the shim.
#pragma once

#include <algorithm>

#include "emitted.hpp"
#include "gradwalk/emit_cuda.hpp"

namespace gradwalk::tests {

inline std::string unsigned_text(std::size_t number) { return std::to_string(number) + "u"; }
inline std::string launch_text(const std::string& grid, std::size_t threads, const std::string& kernel,
                               const std::string& arguments) {
  return "  shim::launch(" + grid + ", " + unsigned_text(threads) + ", [&] { " + kernel + "(" + arguments + "); });\n";
}
inline std::string kernel_name(const CudaSource& source, const std::string& kernel) {
  return "of_" + source.name + "::" + source.name + "_" + kernel;
}

// Runs the kernels that compute a row per thread.
inline std::string row_calls(const CudaSource& source, std::size_t count) {
  const std::string blocks = unsigned_text(source.blocks(count));
  std::string calls;
  if (source.has_uniform) calls += launch_text("1", 1, kernel_name(source, "uniform"), "p, u.data()");
  calls += launch_text(blocks, CudaSource::block, kernel_name(source, "rows"),
                       unsigned_text(count) + ", u.data(), z.data(), partial.data(), out.data()" +
                           (source.has_input_gradients ? ", dz.data()" : ""));
  calls += launch_text(unsigned_text(source.sums), CudaSource::sum_block, kernel_name(source, "sum"),
                       blocks + ", partial.data(), sums.data()");
  if (source.has_uniform)
    return calls + launch_text("1", 1, kernel_name(source, "finish"), "p, sums.data(), result.data()");
  return calls + "  result = sums;\n";
}
// Runs the kernels in which a block computes rows: all of them, or those that compute the outputs.
inline std::string layer_rows(const CudaSource& source, std::size_t count, bool has_gradients) {
  const std::size_t tiles = (count + 31) / 32;
  std::string calls;
  for (const CudaLayers::Step& one : source.layers.uniform)
    calls += launch_text(unsigned_text(one.blocks), CudaSource::block, "of_" + source.name + "::" + one.kernel,
                         "u.data(), sums.data()");
  for (std::size_t i = 0; i < (has_gradients ? source.layers.rows.size() : source.layers.forward); ++i) {
    const CudaLayers::Step& one = source.layers.rows[i];
    const std::size_t blocks = one.blocks == 0 ? tiles : std::min(tiles, one.blocks);
    calls += launch_text(unsigned_text(blocks) + ", " + unsigned_text(one.parts), CudaSource::block,
                         "of_" + source.name + "::" + one.kernel,
                         unsigned_text(count) + ", 0, " + std::to_string(count) + ", u.data(), z.data(), v.data(), " +
                             (has_gradients ? "partial.data()" : "0") + ", out.data(), dz.data()");
  }
  return calls;
}
inline std::string layer_calls(const CudaSource& source, std::size_t count) {
  const std::size_t tiles = (count + 31) / 32, parts = source.layers.weights == 0 ? source.blocks(count) : tiles;
  std::string calls = "  std::vector<real> v(" + std::to_string(tiles * 32 * source.layers.places) +
                      ");\n  partial.assign(" + std::to_string(parts * source.sums) + ", 0);\n" +
                      layer_rows(source, count, true);
  if (source.layers.weights > 0)
    calls += launch_text(
        unsigned_text(source.layers.weights) + ", " + unsigned_text(parts), CudaSource::block,
        kernel_name(source, "weights"),
        unsigned_text(count) + (source.layers.fills_sums ? ", 0u" : ", 1u") + ", z.data(), v.data(), partial.data()");
  calls += launch_text(unsigned_text((source.sums + 31) / 32), CudaSource::sum_block, kernel_name(source, "sum"),
                       unsigned_text(parts) + ", partial.data(), sums.data()");
  for (const CudaLayers::Step& one : source.layers.backward)
    calls += launch_text(unsigned_text(one.blocks), CudaSource::block, "of_" + source.name + "::" + one.kernel,
                         "u.data(), sums.data()");
  if (source.layers.has_finish)
    return calls + launch_text(unsigned_text(source.parameters / CudaSource::block + 1), CudaSource::block,
                               kernel_name(source, "finish"), "u.data(), sums.data(), result.data()");
  return calls + "  std::copy(sums.begin(), sums.begin() + result.size(), result.begin());\n";
}
// Runs the kernels that compute outputs alone.
inline std::string value_calls(const CudaSource& source, std::size_t count) {
  if (source.has_layers()) return layer_rows(source, count, false);
  return launch_text(unsigned_text((count + CudaSource::block - 1) / CudaSource::block), CudaSource::block,
                     kernel_name(source, "values"), unsigned_text(count) + ", u.data(), z.data(), out.data()");
}

// The text of one graph in a namespace of its own, and the code of main() that runs it on rows and prints the results:
// the sum, its gradient, the gradients of inputs, the outputs of each row, and the outputs of NAME_values.
struct Shimmed {
  std::string text, calls;
};
inline Shimmed shimmed(const CudaSource& source, const std::vector<double>& parameters,
                       const std::vector<double>& rows) {
  const std::string space = "of_" + source.name, of = space + "::";
  const std::size_t count = rows.size() / source.inputs;
  const std::string n = std::to_string(count), in = std::to_string(source.inputs), out = std::to_string(source.outputs),
                    sums = std::to_string(source.sums);
  Shimmed made;
  made.text = "namespace " + space + " {\n" + source.text + "}\n#undef gw_infinity_bits\n";
  std::string& calls = made.calls;
  const std::string real = "double";
  calls += " {\n  using real = " + of + "real;\n" + c_table("real", "p", parameters) + c_table("real", "x", rows);
  calls += "  const std::vector<real> z = shim::tiles(std::vector<real>(x, x + " + std::to_string(rows.size()) + "), " +
           n + ", " + in + ");\n";
  calls += "  std::vector<real> u(p, p + " + std::to_string(source.parameters) + "), dz(z.size()), partial(" +
           std::to_string(source.blocks(count) * source.sums) + "), sums(" + sums + "), out(" + n + " * " + out +
           "), result(1 + " + std::to_string(source.parameters) + ");\n  u.resize(" +
           std::to_string(std::max(source.parameters, source.fronts)) + ");\n";
  if (source.has_layers())
    calls += layer_calls(source, count);
  else
    calls += row_calls(source, count);
  calls += "  shim::print(result.data(), result.size());\n";
  if (source.has_input_gradients)
    calls += "  for (size_t r = 0; r < " + n + "; ++r)\n    for (size_t i = 0; i < " + in +
             "; ++i) shim::print(&dz[(r / 32 * " + in + " + i) * 32 + r % 32], 1);\n";
  const std::string print_outputs = "  for (size_t r = 0; r < " + n + "; ++r)\n    for (size_t i = 0; i < " + out +
                                    "; ++i) shim::print(&out[i * " + n + " + r], 1);\n";
  calls += print_outputs;
  calls += "  out.assign(out.size(), 0);\n" + value_calls(source, count) + print_outputs + " }\n";
  return made;
}

// Compiles and runs such texts, and returns the numbers that they print.
inline std::vector<double> run_on_shim(const std::vector<Shimmed>& all, const std::string& compiler = "g++ -O1") {
  std::string text = "#include \"" GRADWALK_SOURCE "/tests/cuda_shim.hpp\"\n", calls;
  for (const Shimmed& one : all) text += one.text, calls += one.calls;
  const Folder folder;
  folder.write("kernels.cpp", text + "int main() {\n" + calls + "return 0;\n}\n");
  folder.run(compiler + " -std=c++17 -ffp-contract=off -Wno-unknown-pragmas kernels.cpp -o kernels");
  return numbers_in(folder.run("./kernels"));
}

}  // namespace gradwalk::tests
