// SPDX-License-Identifier: MIT
// Emitted CUDA text as part of a C++ program that runs it with the shim.
#pragma once

#include "emitted.hpp"
#include "gradwalk/emit_cuda.hpp"

namespace gradwalk::tests {

// The text of one graph in a namespace of its own, and the code of main() that runs it on rows and prints the results:
// the sum, its gradient, the gradients of inputs, the outputs of each row, and the outputs of NAME_values.
struct Shimmed {
  std::string text, calls;
};
inline Shimmed shimmed(const CudaSource& source, const std::vector<double>& parameters,
                       const std::vector<double>& rows) {
  const std::string space = "of_" + source.name, of = space + "::";
  const std::size_t count = rows.size() / source.inputs;
  const auto text_of = [](std::size_t number) { return std::to_string(number) + "u"; };
  const std::string blocks = text_of(source.blocks(count)),
                    all = text_of((count + CudaSource::block - 1) / CudaSource::block),
                    block = std::to_string(CudaSource::block) + "u", n = std::to_string(count),
                    in = std::to_string(source.inputs), out = std::to_string(source.outputs),
                    sums = std::to_string(source.sums);
  const auto name = [&](const std::string& kernel) { return of + source.name + "_" + kernel; };
  Shimmed made;
  made.text = "namespace " + space + " {\n" + source.text + "}\n#undef gw_infinity_bits\n";
  std::string& calls = made.calls;
  const std::string real = "double";
  calls += " {\n  using real = " + of + "real;\n" + c_table("real", "p", parameters) + c_table("real", "x", rows);
  calls += "  const std::vector<real> z = shim::tiles(std::vector<real>(x, x + " + std::to_string(rows.size()) + "), " +
           n + ", " + in + ");\n";
  calls += "  std::vector<real> u(p, p + " + std::to_string(source.parameters) + "), dz(z.size()), partial(" + blocks +
           " * " + sums + "), sums(" + sums + "), out(" + n + " * " + out + "), result(1 + " +
           std::to_string(source.parameters) + ");\n";
  if (source.has_uniform)
    calls += "  u.resize(" + std::to_string(source.fronts) + ");\n  shim::launch(1, 1, [&] { " + name("uniform") +
             "(p, u.data()); });\n";
  calls += "  shim::launch(" + blocks + ", " + block + ", [&] { " + name("rows") + "(" + n +
           "u, u.data(), z.data(), partial.data(), out.data()" + (source.has_input_gradients ? ", dz.data()" : "") +
           "); });\n";
  calls += "  shim::launch(" + sums + ", " + std::to_string(CudaSource::sum_block) + "u, [&] { " + name("sum") + "(" +
           blocks + ", partial.data(), sums.data()); });\n";
  if (source.has_uniform)
    calls += "  shim::launch(1, 1, [&] { " + name("finish") + "(p, sums.data(), result.data()); });\n";
  else
    calls += "  result = sums;\n";
  calls += "  shim::print(result.data(), result.size());\n";
  if (source.has_input_gradients)
    calls += "  for (size_t r = 0; r < " + n + "; ++r)\n    for (size_t i = 0; i < " + in +
             "; ++i) shim::print(&dz[(r / 32 * " + in + " + i) * 32 + r % 32], 1);\n";
  const std::string print_outputs = "  for (size_t r = 0; r < " + n + "; ++r)\n    for (size_t i = 0; i < " + out +
                                    "; ++i) shim::print(&out[i * " + n + " + r], 1);\n";
  calls += print_outputs;
  calls += "  out.assign(out.size(), 0);\n  shim::launch(" + all + ", " + block + ", [&] { " + name("values") + "(" +
           n + "u, u.data(), z.data(), out.data()); });\n" + print_outputs + " }\n";
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
