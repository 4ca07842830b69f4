// SPDX-License-Identifier: MIT
#include "layer_kernels.hpp"

#include <algorithm>

#include "cuda_prelude.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Id, compiler::Instruction, compiler::Instructions, compiler::none, compiler::Rate;
using std::to_string;

}  // namespace

CudaSource LayerKernels::run() {
  CudaSource made;
  made.name = name_;
  made.precision = options_.precision;
  made.inputs = options_.inputs.size();
  made.normals = options_.normals.size();
  made.uniforms = options_.uniforms.size();
  made.parameters = program_.parameters;
  made.outputs = program_.outputs.size();
  made.fronts = program_.uniform_places;
  made.has_input_gradients = options_.input_gradients;
  made.sums = sums_;
  made.most_blocks = is_resident_ ? most_blocks : 0;
  made.about = about();
  std::string kernels = uniform_kernels("uniform", uniform_, made.layers.uniform, false);
  kernels += rows_kernels(made.layers);
  if (!is_resident_) kernels += weights_kernel();
  kernels += sum_kernel();
  kernels += unpack_kernels(made.layers.backward);
  kernels += uniform_kernels("backward", uniform_backward_, made.layers.backward, true);
  if (has_finish()) kernels += finish_kernel();
  made.layers.weights = is_resident_ ? 0 : weights_blocks_;
  made.layers.places = is_resident_ ? 0 : places_;
  made.layers.shared_bytes = is_resident_ ? resident_bytes() : 0;
  made.layers.fills_sums = fills_sums_;
  made.layers.has_finish = has_finish();
  made.text = "// Written by emit_cuda(): " + about() + ".\n" + cuda_prelude(dialect_.is_float()) + relu_function() +
              functions() + (has_random() ? cuda_random(dialect_.is_float()) : "") +
              cuda_products(dialect_.is_float(), has_tensors()) + tables() + kernels;
  return made;
}

std::string LayerKernels::about() const {
  std::size_t layers = 0;
  for (const Instruction& one : program_.varying) layers += one.form == Instruction::Form::layer ? 1 : 0;
  return "32 rows per block, " + to_string(layers) + (layers == 1 ? " layer" : " layers") +
         (is_resident_ ? " in shared memory" : " in the memory of the device") +
         (has_tensors() ? " on tensor cores" : "");
}

std::string LayerKernels::relu_function() {
  compiler::Terms terms;
  terms.parameters = 1;
  terms.nodes = {{compiler::Kind::parameter}, {compiler::Kind::function, Op::relu, Rate::uniform, 0, 0, 1}};
  terms.operands = {0};
  begin_text();
  const std::vector<std::string> names = print(terms, {1}, false, [](std::size_t) { return std::string("x"); });
  line("return " + names[0] + ";");
  return "__device__ static inline real gw_relu(real x) {\n" + text_ + "}\n";
}

std::string LayerKernels::tables() const {
  std::string made = "\n";
  const auto add = [&](const std::string& type, const char* name, std::size_t count, auto text_of) {
    if (count == 0) return;
    made += "__device__ static const " + type + " " + name + "[] = {";
    for (std::size_t i = 0; i < count; ++i) made += (i % 8 == 0 ? "\n  " : " ") + text_of(i) + ",";
    made += "};\n";
  };
  add("unsigned", "gw_tables", tables_.size(), [&](std::size_t i) { return to_string(tables_[i]); });
  if (reads_constants_)
    add("real", "gw_constants", program_.constants.size(),
        [&](std::size_t i) { return dialect_.literal(program_.constants[i]); });
  return made + "\n";
}

Spaced LayerKernels::spaced(const std::vector<std::uint32_t>& places, std::uint32_t shift) {
  Spaced made{places[0] - shift, places.size() > 1 ? places[1] - places[0] : 0, none};
  bool is_even = made.step < 0x80000000;
  for (std::uint32_t i = 0; is_even && i < places.size(); ++i)
    is_even = places[i] - shift == made.first + i * made.step;
  if (is_even) return made;
  const auto [known, is_new] = table_of_.try_emplace({places, shift}, static_cast<std::uint32_t>(tables_.size()));
  if (is_new)
    for (const std::uint32_t place : places) tables_.push_back(place - shift);
  return {0, 0, known->second};
}

std::string LayerKernels::index(const Spaced& places) {
  if (places.table != none) return "gw_tables[" + to_string(places.table) + " + i]";
  if (places.step == 0) return to_string(places.first);
  const std::string more = (places.step == 1 ? "" : to_string(places.step) + " * ") + "i";
  return places.first == 0 ? more : to_string(places.first) + " + " + more;
}

std::string LayerKernels::at(const char* base, const std::string& index, std::size_t pitch, const char* row) const {
  const bool is_number = index.find_first_not_of("0123456789") == std::string::npos;
  const std::string offset = is_number ? to_string(std::stoull(index) * pitch) : "(" + index + ") * " + text(pitch);
  return std::string(base) + "[" + offset + " + " + row + "]";
}

std::string LayerKernels::leaf(const Column& column) {
  switch (column.rate) {
    case Rate::constant: reads_constants_ = true; return "gw_constants[" + index(spaced(column.places, 0)) + "]";
    case Rate::uniform: return "u[" + index(spaced(column.places, 0)) + "]";
    case Rate::row_gradient: return "sums[1 + " + index(spaced(column.places, 0)) + "]";
    case Rate::varying: break;
  }
  if (is_in_rows(column.places[0])) return at("z", index(spaced(column.places, 0)), tile_rows, "own");
  return at("v", index(spaced(column.places, shift_)), pitch(), "r");
}

void LayerKernels::print_body(const Stretch& one, bool is_backward) {
  std::vector<std::string> leaves;
  for (const Column& column : one.leaves) {
    leaves.push_back(fresh("x"));
    line("const real " + leaves.back() + " = " + leaf(column) + ";");
  }
  const auto is_read = [&](std::uint32_t first) {
    if (one.rate != Rate::varying) return true;
    for (std::uint32_t i = 0; i < one.count; ++i)
      if (read_.contains(first + i)) return true;
    return false;
  };
  std::vector<Id> nodes;
  std::vector<std::string> targets;
  for (const Stretch::Store& store : one.stores) {
    if (!is_read(store.first)) continue;
    Column to{one.rate, {}};
    for (std::uint32_t i = 0; i < one.count; ++i) to.places.push_back(store.first + i);
    nodes.push_back(store.node);
    targets.push_back(leaf(to));
  }
  const std::vector<std::string> names = print(one.terms, nodes, is_backward, [&](std::size_t i) { return leaves[i]; });
  for (std::size_t i = 0; i < names.size(); ++i) line(targets[i] + " = " + names[i] + ";");
}

}  // namespace gradwalk::emit
