// SPDX-License-Identifier: MIT
// emit_cuda: chooses between kernels with a thread per row and kernels in which a block computes 32 rows.
#include <algorithm>

#include "compile/passes.hpp"
#include "gradwalk/emit_cuda.hpp"
#include "gradwalk/error.hpp"
#include "layer_kernels.hpp"
#include "names.hpp"
#include "row_kernels.hpp"

namespace gradwalk {
namespace emit {
namespace {

using compiler::Id, compiler::none;

// The number of parameters, and of numbers computed from them, that rows read.
std::size_t uniform_numbers(const compiler::Scalars& scalars) {
  std::vector<bool> is_read(scalars.nodes.size());
  for (const compiler::Scalar& node : scalars.nodes) {
    if (node.op == Op::leaf || node.op == Op::constant || node.rate != compiler::Rate::varying) continue;
    for (const Id operand : node.operands)
      if (operand != none && scalars.nodes[operand].rate == compiler::Rate::uniform) is_read[operand] = true;
  }
  return static_cast<std::size_t>(std::ranges::count(is_read, true));
}

}  // namespace
}  // namespace emit

CudaSource emit_cuda(std::span<const Value> outputs, const CudaOptions& options) {
  std::vector<Value> inputs = options.inputs;
  for (const std::vector<Value>* random : {&options.normals, &options.uniforms})
    inputs.insert(inputs.end(), random->begin(), random->end());
  if (inputs.empty()) throw Error("emit_cuda", "inputs that differ from row to row", "none", "name them in .inputs");
  if (inputs.size() > options.inputs.size() && options.input_gradients)
    throw Error("emit_cuda", "inputs of the rows alone for input gradients", "random inputs",
                "leave out .input_gradients, or give the numbers in the rows");
  compiler::Recorded recorded = compiler::record(outputs, inputs, options.parameters);
  compiler::check_comparisons("emit_cuda", recorded.decisions, options.ignore_comparisons);
  if (!recorded.scalars.index_sizes.empty())
    throw Error("emit_cuda", "operations that are CUDA expressions", "a pick, whose index has to be checked",
                "write it as select(index == 0, a, select(index == 1, b, ...))");
  const std::string name = emit::Names::prefix(options.name, "model");
  const std::size_t most = CudaSource::most_fronts(options.precision), read = emit::uniform_numbers(recorded.scalars);
  if (options.rows != CudaOptions::Rows::by_blocks && read <= most) {
    emit::RowKernels kernels(recorded.scalars, options, name);
    if (kernels.fits()) {
      kernels.plan();
      // A thread with many sums spills its registers: a 2-40-40-1 network spilled 31 KB, and compiling it took 42 s.
      const bool is_slow = options.rows == CudaOptions::Rows::automatic && kernels.has_many_sums() &&
                           emit::is_mostly_layers(recorded.scalars);
      if (!is_slow) return kernels.run();
    }
  }
  if (options.rows == CudaOptions::Rows::by_threads)
    throw Error("emit_cuda", "at most " + std::to_string(most) + " uniform numbers that rows read",
                std::to_string(read), "leave .rows as it is");
  if (options.derivatives == CudaOptions::Derivatives::tangents) emit::refuse_tangents();
  return emit::LayerKernels(std::move(recorded.scalars), options, name).run();
}
CudaSource emit_cuda(const Value& output, const CudaOptions& options) {
  return emit_cuda(std::span(&output, 1), options);
}

}  // namespace gradwalk
