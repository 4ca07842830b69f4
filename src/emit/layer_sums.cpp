// SPDX-License-Identifier: MIT
// Sums over rows.
#include "layer_kernels.hpp"

namespace gradwalk::emit {
namespace {

using std::to_string;

}  // namespace

std::string LayerKernels::weights_kernel() {
  begin_text();
  line("__shared__ __align__(16) real staged[" + to_string(staged_by_outer) + "];");
  line("const unsigned tiles = (count + 31u) / 32u;");
  line("const unsigned begin = (unsigned)((unsigned long long)tiles * blockIdx.y / gridDim.y);");
  line("const unsigned end = (unsigned)((unsigned long long)tiles * (blockIdx.y + 1u) / gridDim.y);");
  line("const gw_rows inputs{rows, " + text(rows_inputs()) + "}, v{values, " + text(places_) + "};");
  line("real* const to = partial + (unsigned long long)blockIdx.y * " + text(sums_) + ";");
  line("unsigned part = blockIdx.x;");
  // Sums with the same targets are added by one block, one after another; if others overlap, all are.
  weights_blocks_ = 0;
  for (const std::vector<std::size_t>& same : targets_) {
    const std::size_t parts = outers_[same[0]].parts();
    open(overlap_ ? "for (part = 0u; part < " + text(parts) + "; ++part)" : "if (part < " + text(parts) + ")");
    for (const std::size_t n : same) {
      const Outer& one = outers_[n];
      const bool in_rows = one.depth > 0 && is_in_rows(one.inputs[0]);
      line("gw_weights<" + text(one.count) + ", " + text(one.depth) + ", " + text(one.copies) + ", " +
           (one.has_bias ? "true" : "false") + ", " + careful(true) + ", " + tensors(has_tensors()) +
           ">(part, begin, end, count, v, " + text(one.g - shift_) + ", " + text(one.g_step) + ", " +
           (in_rows ? "inputs" : "v") + ", " + places_text(one.inputs) + ", " + text(one.depth) + ", to + " +
           to_string(one.at) + ", " + text(one.row) + ", " + text(one.column) + ", to + " + to_string(one.bias) + ", " +
           text(one.bias_step) + ", is_first != 0u, staged);");
    }
    line(overlap_ ? "__syncthreads();" : "return;");
    close();
    if (!overlap_) line("part -= " + text(parts) + ";");
    weights_blocks_ += parts;
  }
  if (overlap_) weights_blocks_ = 1;
  return kernel("weights", threads,
                "unsigned count, unsigned is_first, const real* __restrict__ rows, const real* __restrict__ values, "
                "real* partial",
                blocks_at_once());
}

std::string LayerKernels::sum_kernel() {
  begin_text();
  line("__shared__ real parts[8][32];");
  line("const unsigned r = threadIdx.x & 31u, group = threadIdx.x >> 5, i = blockIdx.x * 32u + r;");
  line("real sum = 0;");
  line("if (i < " + text(sums_) + ")");
  line("  for (unsigned b = group; b < blocks; b += 8u) sum += partial[(unsigned long long)b * " + text(sums_) +
       " + i];");
  line("parts[group][r] = sum;");
  line("__syncthreads();");
  line("if (group != 0u || i >= " + text(sums_) + ") return;");
  line("for (unsigned k = 1; k < 8u; ++k) sum += parts[k][r];");
  line("result[i] = sum;");
  return kernel("sum", CudaSource::sum_block,
                "unsigned blocks, const real* __restrict__ partial, real* __restrict__ result");
}

}  // namespace gradwalk::emit
