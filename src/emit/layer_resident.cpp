// SPDX-License-Identifier: MIT
// The kernel of a graph whose numbers fit into shared memory.
#include "layer_kernels.hpp"

namespace gradwalk::emit {
namespace {

using std::to_string;

}  // namespace

std::string LayerKernels::resident_kernel(CudaLayers& layers) {
  begin_text();
  line("gw_shared(v);");
  line("__shared__ __align__(16) real staged[" + to_string(staged_by_layer) + "], ones[" + to_string(shared_pitch) +
       "];");
  line("const unsigned r = threadIdx.x & 31u, tiles = (count + 31u) / 32u;");
  line("ones[r] = 1;");
  std::vector<std::string> sums;
  for (const Outer& one : outers_)
    for (const bool is_bias : {false, true}) {
      if (is_bias ? !one.has_bias : one.depth == 0) continue;
      const Share share = share_of(one, is_bias ? 1 : one.depth);
      sums.push_back(fresh("sum"));
      line("real " + sums.back() + "[" + to_string(share.times) + "][" + to_string(share.a) + "][" +
           to_string(share.b) + "] = {};");
    }
  text_ += "#pragma unroll 1\n";
  open("for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)");
  begin_tile();
  line("__syncthreads();");
  copy_inputs();
  for (const Piece& piece : forward_) print_piece(piece, false);
  turn("continue");
  for (const Piece& piece : backward_) print_piece(piece, true);
  write_input_gradients();
  open("if (last < 31u)");  // rows that do not exist add nothing
  line("__syncthreads();");
  line("if (r > last) for (unsigned i = threadIdx.x >> 5; i < " + text(places_) + "; i += " + text(warps) + ") " +
       at("v", "i", shared_pitch, "r") + " = 0;");
  line("__syncthreads();");
  close();
  add_own_sums(sums);
  close();
  line("if (partial == 0) return;");
  line("real* const to = partial + (unsigned long long)blockIdx.x * " + text(sums_) + ";");
  write_own_sums(sums);
  layers.rows.push_back({name_ + "_rows", most_blocks, 1});
  layers.forward = 1;
  return kernel("rows", threads, rows_arguments());
}

// A product on tensor cores has 64 x 64 sums, of which each thread has as many as one of 8 x 4 in other places.
std::string LayerKernels::shape(const Share& share, std::uint32_t count, std::uint32_t depth) const {
  const bool is_large = share.a == 8 && share.b == 4 && share.times == 1 && count > product_width / 4;
  return to_string(share.a) + ", " + to_string(share.b) + ", " + text(count) + ", " + text(depth) + ", " +
         tensors(has_tensors() && is_large && count <= product_width && depth <= product_width);
}

void LayerKernels::add_own_sums(const std::vector<std::string>& sums) {
  std::size_t at = 0;
  const std::string guards = careful(true);
  for (const Outer& one : outers_) {
    const std::string step = text(one.g_step * shared_pitch);
    const auto add = [&](std::uint32_t depth, std::uint32_t copy, const std::string& inputs,
                         const std::string& places) {
      line("gw_add_outer<" + shape(share_of(one, depth), one.count, depth) + ", " + guards + ">(v + " +
           to_string((one.g + copy) * shared_pitch) + ", " + step + ", " + inputs + ", " + places + ", " + sums[at] +
           ");");
    };
    for (std::uint32_t c = 0; one.depth > 0 && c < one.copies; ++c)
      add(one.depth, c, "v",
          places_text({one.inputs.begin() + c * one.depth, one.inputs.begin() + (c + 1) * one.depth}));
    if (one.depth > 0) ++at;
    for (std::uint32_t c = 0; one.has_bias && c < one.copies; ++c) add(1, c, "ones", "gw_places{0, 0u, 0u}");
    if (one.has_bias) ++at;
  }
}

void LayerKernels::write_own_sums(const std::vector<std::string>& sums) {
  std::size_t at = 0;
  const auto write = [&](const Outer& one, std::uint32_t depth, std::uint32_t to, std::uint32_t row,
                         std::uint32_t column) {
    if (fills_sums_) line("__syncthreads();");  // several sums can have one place
    line("gw_write_outer<" + shape(share_of(one, depth), one.count, depth) + ">(" + sums[at++] + ", to + " +
         to_string(to) + ", " + text(row) + ", " + text(column) + ", " + (fills_sums_ ? "false" : "true") + ");");
  };
  for (const Outer& one : outers_) {
    if (one.depth > 0) write(one, one.depth, one.at, one.row, one.column);
    if (one.has_bias) write(one, 1, one.bias, one.bias_step, 0);
  }
}

}  // namespace gradwalk::emit
