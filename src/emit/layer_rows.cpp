// SPDX-License-Identifier: MIT
// The kernels of rows.
#include <algorithm>

#include "layer_kernels.hpp"
#include "random_words.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Id, compiler::Instruction, compiler::Instructions, compiler::none, compiler::Rate;
using std::to_string;

}  // namespace

void LayerKernels::print_layer(const Instruction& one, bool is_backward, const std::string& first,
                               const std::string& end) {
  const std::uint32_t each = one.count > 32 ? 4 : one.count > 16 ? 2 : 1;
  const auto pointer = [&](const compiler::Operand& operand, std::uint32_t more) {
    if (operand.rate == Rate::constant) reads_constants_ = true;
    return std::string(operand.rate == Rate::constant ? "gw_constants" : "u") + " + " + to_string(operand.place + more);
  };
  const std::vector<std::uint32_t> inputs = inputs_of(one);
  const bool in_rows = is_in_rows(inputs[0]);
  for (std::uint32_t c = 0; c < one.copies; ++c) {
    const std::string bias = one.in[2].exists() ? pointer(one.in[2], c * one.bias_copy) : "0";
    const std::vector<std::uint32_t> own(inputs.begin() + c * one.depth, inputs.begin() + (c + 1) * one.depth);
    line("gw_layer<" + to_string(each) + ", " + text(one.count) + ", " + text(one.depth) + ", " +
         (one.relu ? "true" : "false") + ", " + careful(is_backward) + ", " + tensors(has_tensors() && each == 4) +
         ">(" + first + ", " + end + ", " + pointer(one.in[0], 0) + ", " + text(one.row) + ", " + text(one.column) +
         ", " + bias + ", " + text(one.in[2].stride) + ", " + (in_rows ? "z" : "v") + ", " +
         text(in_rows ? tile_rows : pitch()) + ", " + places_text(own) + ", " + (in_rows ? "last" : "31u") + ", v + " +
         to_string((one.out - shift_ + c) * pitch()) + ", " + text(one.copies * pitch()) + ", staged);");
  }
  line("__syncthreads();");
}

std::size_t LayerKernels::print_wide(const Layer& layer, bool is_backward) {
  const Instruction& all = layer.instruction;
  const std::size_t parts = (all.count + product_width - 1) / product_width;
  line("const unsigned part = blockIdx.y % " + text(parts) + " * " + text(product_width) + ";");
  const std::string end = "gw_least(part + " + text(product_width) + ", " + text(all.count) + ")";
  if (layer.splits == 1) {
    print_layer(all, is_backward, "part", end);
    return parts;
  }
  for (std::uint32_t s = 0; s < layer.splits; ++s) {
    const std::uint32_t first = all.depth * s / layer.splits;
    Instruction one = all;
    one.depth = all.depth * (s + 1) / layer.splits - first;
    one.in[0].place += first * all.column;
    if (one.in[1].table != none)
      one.in[1].table += first;
    else
      one.in[1].place += first * one.in[1].stride;
    one.relu = false;
    if (s > 0) one.in[2] = {}, one.out = layer.sums + (s - 1) * all.count;
    open("if (blockIdx.y / " + text(parts) + " == " + text(s) + ")");
    print_layer(one, is_backward, "part", end);
    close();
  }
  return parts * layer.splits;
}

void LayerKernels::add_splits(const Layer& layer) {
  const Instruction& one = layer.instruction;
  open_places(one.count);
  const std::string to = at("v", to_string(one.out - shift_) + " + i", pitch(), "r");
  line("real sum = " + to + ";");
  for (std::uint32_t s = 0; s + 1 < layer.splits; ++s)
    line("sum += " + at("v", to_string(layer.sums + s * one.count - shift_) + " + i", pitch(), "r") + ";");
  line(to + " = " + (one.relu ? "gw_relu(sum)" : "sum") + ";");
  close();
  line("__syncthreads();");
}

std::string LayerKernels::places_text(const std::vector<std::uint32_t>& places) {
  if (places.empty()) return "gw_places{0, 0u, 0u}";
  const Spaced made = spaced(places, is_in_rows(places[0]) ? 0 : shift_);
  if (made.table != none) return "gw_places{gw_tables + " + to_string(made.table) + ", 0u, 0u}";
  return "gw_places{0, " + text(made.first) + ", " + text(made.step) + "}";
}

void LayerKernels::print_piece(const Piece& piece, bool is_backward) {
  if (const auto* layer = std::get_if<Layer>(&piece))
    return print_layer(layer->instruction, is_backward, "0u", text(layer->instruction.count));
  const Stretch& one = std::get<Stretch>(piece);
  open_places(one.count);
  print_body(one, is_backward);
  close();
  line("__syncthreads();");
}

void LayerKernels::open_places(std::size_t count) {
  if (count == 1)
    open("if (threadIdx.x < 32u)");
  else
    open("for (unsigned i = threadIdx.x >> 5; i < " + text(count) + "; i += " + text(warps) + ")");
}

std::string LayerKernels::rows_arguments() const {
  return std::string(
             "unsigned count, unsigned long long first, unsigned long long all, const real* __restrict__ u, "
             "const real* __restrict__ rows, real* values, real* partial, real* __restrict__ outputs, "
             "real* __restrict__ input_gradients") +
         (has_random() ? ", unsigned long long seed, unsigned long long first_row" : "");
}

void LayerKernels::begin_tile() {
  line("const unsigned left = count - tile * 32u, last = (left < 32u ? left : 32u) - 1u;");
  line("const unsigned own = r < last ? r : last;");
  line("const real* const z = rows + (unsigned long long)tile * " + text(rows_inputs() * tile_rows) + ";");
}

void LayerKernels::begin_kernel() {
  begin_text();
  line("__shared__ __align__(16) real staged[" + to_string(staged_by_layer) + "];");
  line("const unsigned r = threadIdx.x & 31u, tile = blockIdx.x;");
  begin_tile();
  line("real* const v = values + (unsigned long long)tile * " + text(places_ * tile_rows) + ";");
}

void LayerKernels::copy_inputs() {
  if (!copies_inputs_) return;
  if (rows_inputs() > 0) {
    open("for (unsigned i = threadIdx.x >> 5; i < " + text(rows_inputs()) + "; i += " + text(warps) + ")");
    line(at("v", "i", pitch(), "r") + " = " + at("z", "i", tile_rows, "own") + ";");
    close();
  }
  if (has_random()) line("const unsigned long long number = first_row + tile * 32u + own;");
  make_random(Distribution::normal, rows_inputs(), options_.normals.size());
  make_random(Distribution::uniform, rows_inputs() + options_.normals.size(), options_.uniforms.size());
  line("__syncthreads();");
}

void LayerKernels::make_random(Distribution distribution, std::size_t first, std::size_t count) {
  if (count == 0) return;
  const std::size_t each = numbers_per_block(dialect_.is_float());
  open("for (unsigned i = threadIdx.x >> 5; i < " + text((count + each - 1) / each) + "; i += " + text(warps) + ")");
  line("real made[" + to_string(each) + "];");
  line(std::string(distribution == Distribution::normal ? "gw_normals" : "gw_uniforms") + "(gw_philox(number, i, " +
       to_string(stream_of(distribution)) + ", seed), made);");
  for (std::size_t k = 0; k < each; ++k)
    line("if (i * " + text(each) + " + " + text(k) + " < " + text(count) + ") " +
         at("v", to_string(first + k) + " + i * " + text(each), pitch(), "r") + " = made[" + to_string(k) + "];");
  close();
}

void LayerKernels::turn(const char* leave) {
  const std::vector<std::uint32_t> varying = varying_outputs();
  open("if (outputs != 0 && r <= last)");
  line("real* const to = outputs + first + tile * 32u + r;");
  if (varying.size() == program_.outputs.size()) {
    open("for (unsigned i = threadIdx.x >> 5; i < " + text(varying.size()) + "; i += " + text(warps) + ")");
    line("to[i * all] = " + leaf({Rate::varying, varying}) + ";");
    close();
  } else {
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      line("if (threadIdx.x < 32u) to[" + to_string(i) +
           "ull * all] = " + leaf({program_.outputs[i].rate, {program_.outputs[i].place}}) + ";");
  }
  close();
  line("if (partial == 0) " + std::string(leave) + ";");
  line("if (threadIdx.x < 32u) " + leaf({Rate::varying, {outers_[0].g}}) + " = " +
       leaf({Rate::varying, {program_.outputs[0].place}}) + ";");
  line("__syncthreads();");
  const auto fill = [&](std::uint32_t place, const char* number) {
    if (place != none) line("if (threadIdx.x < 32u) " + leaf({Rate::varying, {place}}) + " = " + number + ";");
  };
  fill(program_.row_seed, "r <= last ? 1 : 0");
  fill(program_.zero, "0");
  line("__syncthreads();");
}

void LayerKernels::write_input_gradients() {
  if (!options_.input_gradients) return;
  for (std::size_t begin = 0, end = 0; begin < program_.input_gradients.size(); begin = end) {
    const auto& all = program_.input_gradients;
    while (end < all.size() && (all[end] == none) == (all[begin] == none)) ++end;
    if (all[begin] == none) continue;
    const Column column{
        Rate::varying,
        {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)}};
    open("for (unsigned i = threadIdx.x >> 5; i < " + text(end - begin) + "; i += " + text(warps) + ")");
    line("input_gradients[((unsigned long long)tile * " + text(rows_inputs()) + " + " + text(begin) +
         " + i) * 32u + r] = " + leaf(column) + ";");
    close();
  }
}

std::string LayerKernels::rows_kernels(CudaLayers& layers) {
  if (is_resident_) return resident_kernel(layers);
  std::string made;
  bool is_open = false;
  const auto begin = [&] {
    if (!is_open) begin_kernel();
    is_open = true;
  };
  const auto finish = [&] {
    if (!is_open) return;
    is_open = false;
    add_rows_kernel(made, layers, 1);
  };
  const auto pass = [&](const std::vector<Piece>& pieces, bool is_backward) {
    for (const Piece& piece : pieces) {
      const auto* layer = std::get_if<Layer>(&piece);
      if (layer == nullptr || !is_wide(layer->instruction)) {
        begin();
        print_piece(piece, is_backward);
        continue;
      }
      finish();
      begin_kernel();
      const std::size_t parts = print_wide(*layer, is_backward);
      add_rows_kernel(made, layers, parts);
      if (layer->splits == 1) continue;
      begin();
      add_splits(*layer);
    }
  };
  if (copies_inputs_) begin(), copy_inputs();
  pass(forward_, false);
  begin();
  turn("return");
  layers.forward = layers.rows.size() + 1;
  pass(backward_, true);
  if (options_.input_gradients) begin(), write_input_gradients();
  finish();
  return made;
}

void LayerKernels::add_rows_kernel(std::string& made, CudaLayers& layers, std::size_t parts) {
  const std::string what = "rows" + to_string(layers.rows.size());
  made += kernel(what, threads, rows_arguments(), blocks_at_once());
  layers.rows.push_back({name_ + "_" + what, 0, parts});
}

}  // namespace gradwalk::emit
