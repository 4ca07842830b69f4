// SPDX-License-Identifier: MIT
// The plan of kernels of layers: their pieces, the sums over rows, and whether numbers are in shared memory or in the
// memory of the device.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "cuda_products.hpp"
#include "gradwalk/emit_cuda.hpp"
#include "stretches.hpp"

namespace gradwalk::emit {

// Returns whether most of a row's work, and at least 512 products, are those of layers with 8 inputs and 8 outputs or
// more.
bool is_mostly_layers(const compiler::Scalars& scalars);

// A sum over rows for each pair of a gradient and an input: gradient o is at place g + o * g_step, and input t is one
// of the places. Each copy of a layer has the next gradient and other inputs. With a bias, the gradients are
// added up, too. Weight (o, t) has the sum at + o * row + t * column, and the bias bias + o * bias_step.
struct Outer {
  std::uint32_t count = 0, depth = 0, copies = 1, g = 0, g_step = 1;
  std::vector<std::uint32_t> inputs = {};  // of all copies
  std::uint32_t at = 0, row = 0, column = 0;
  bool has_bias = false;
  std::uint32_t bias = 0, bias_step = 0;
  // Whether the sums are at the same places.
  bool has_target_of(const Outer& other) const {
    return count == other.count && depth == other.depth && at == other.at && row == other.row &&
           column == other.column && has_bias == other.has_bias && bias == other.bias && bias_step == other.bias_step;
  }
  std::size_t parts() const {
    const auto tiles = [](std::size_t n) { return (n + outer_width - 1) / outer_width; };
    return tiles(count) * tiles(depth + (has_bias ? 1 : 0));
  }
};
// The part of an outer product that a thread computes: a rectangle of a x b products, for each of the `times`.
struct Share {
  std::uint32_t a = 1, b = 1, times = 1;
  std::size_t sums() const { return std::size_t{a} * b * times; }
};

class LayerPlan {
 protected:
  // Throws an Error for a first output that does not depend on inputs.
  LayerPlan(compiler::Scalars scalars, const CudaOptions& options);

  bool has_random() const { return settings_.normals.size() + settings_.uniforms.size() > 0; }
  std::size_t rows_inputs() const { return settings_.inputs.size(); }
  bool has_finish() const { return !program_.gradients.empty() || sums_ < program_.parameters + 1; }
  // Calls meet(places) for all varying places that pieces read from earlier pieces.
  template <class Meet> void each_read(Meet meet) const {
    for (const auto* pieces : {&forward_, &backward_})
      for (const Piece& piece : *pieces) {
        if (const auto* stretch = std::get_if<Stretch>(&piece)) {
          for (const Column& one : stretch->leaves)
            if (one.rate == compiler::Rate::varying) meet(one.places);
        } else if (const auto* layer = std::get_if<Layer>(&piece)) {
          meet(inputs_of(layer->instruction));
        }
      }
    for (const Outer& one : outers_) {
      std::vector<std::uint32_t> gradients;
      for (std::uint32_t o = 0; o < one.count; ++o)
        for (std::uint32_t c = 0; c < one.copies; ++c) gradients.push_back(one.g + o * one.g_step + c);
      meet(gradients);
      if (!one.inputs.empty()) meet(one.inputs);
    }
    const std::vector<std::uint32_t> outputs = varying_outputs();
    if (!outputs.empty()) meet(outputs);
  }
  std::vector<std::uint32_t> inputs_of(const compiler::Instruction& layer) const;
  std::vector<std::uint32_t> varying_outputs() const;

  // ---- sums over rows ----

  void find_outers();
  // Adds the sum over rows of a place to those before it, if it goes on evenly.
  void add_row_sum(std::uint32_t place, std::uint32_t sum);
  template <class Meet> static void each_sum(const Outer& one, Meet meet) {
    for (std::size_t o = 0; o < one.count; ++o) {
      for (std::size_t t = 0; t < one.depth; ++t) meet(one.at + o * one.row + t * one.column);
      if (one.has_bias) meet(one.bias + o * one.bias_step);
    }
  }

  // The shape with the fewest reads of shared memory. A thread reads a gradient or an input of four rows at a time.
  static Share share_of(const Outer& one, std::uint32_t depth);

  // ---- memory ----

  void choose_memory();
  // The bytes of the numbers of a tile in shared memory.
  std::size_t resident_bytes() const { return places_ * shared_pitch * number_size(); }
  std::size_t number_size() const { return settings_.precision == Precision::float32 ? sizeof(float) : sizeof(double); }
  // Whether a layer is a kernel of its own.
  static bool is_wide(const compiler::Instruction& layer);
  // Blocks that divide the inputs of a layer among them take less time where rows are few.
  void split_inputs(Layer& layer);
  // A wide layer that comes before what it does not need leaves fewer kernels.
  void advance_wide_layers(std::vector<Piece>& pieces) const;
  // Whether neither piece writes places that the other one reads or writes.
  bool are_independent(const Piece& one, const Piece& other) const;
  // The varying places that a piece reads, and those that it writes.
  std::pair<std::set<std::uint32_t>, std::set<std::uint32_t>> places_of(const Piece& piece) const;
  std::size_t pitch() const { return is_resident_ ? shared_pitch : tile_rows; }
  bool is_in_rows(std::uint32_t place) const { return !copies_inputs_ && place < program_.inputs; }

  const CudaOptions& settings_;
  compiler::Instructions program_;
  std::vector<Piece> uniform_, forward_, backward_, uniform_backward_;
  std::uint32_t places_ = 0;  // of a row, without inputs that are read where the rows are
  std::uint32_t shift_ = 0;   // from the places of the program to those of the kernels
  bool is_resident_ = false;  // whether they are in shared memory
  bool copies_inputs_ = false;
  std::set<std::uint32_t> read_;  // places that several pieces need
  std::vector<Outer> outers_;
  std::size_t sums_ = 0;
  std::vector<std::vector<std::size_t>> targets_;  // outers with the same targets
  bool overlap_ = false;                           // whether others have a target in common
  bool fills_sums_ = false;                        // whether sums must be 0 before: several are added to one, or none
};

}  // namespace gradwalk::emit
