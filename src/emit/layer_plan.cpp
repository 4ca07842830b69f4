// SPDX-License-Identifier: MIT
#include "layer_plan.hpp"

#include <algorithm>

#include "compile/passes.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Instruction, compiler::Instructions, compiler::none, compiler::Rate;

constexpr std::size_t most_shared_bytes = 64 * 1024;  // of a block; every GPU that CUDA 13 supports has as much
constexpr std::uint32_t split_depth = 256;            // inputs of a wide layer that one block adds up
constexpr std::size_t most_sums_of_thread = 80;       // that stay in registers

Instructions instructions_of(compiler::Scalars scalars) {
  compiler::Terms terms = compiler::simplify(scalars);
  scalars = {};
  compiler::Groups groups = compiler::lift(terms);
  compiler::differentiate(terms, groups);
  compiler::lift_backward(terms, groups);
  return compiler::schedule(terms, groups);
}

}  // namespace

bool is_mostly_layers(const compiler::Scalars& scalars) {
  constexpr std::size_t least_products = 512, least_width = 8;
  const compiler::Terms terms = compiler::simplify(scalars);
  std::size_t all = 0, of_layers = 0;
  for (const compiler::Group& group : compiler::lift(terms).groups) {
    if (group.rate != Rate::varying) continue;
    std::size_t own = 0;
    for (const compiler::Id id : group.members) own += std::max<std::size_t>(1, terms.nodes[id].count);
    all += own;
    if (group.form == compiler::Group::Form::layer && group.count >= least_width && group.members.size() >= least_width)
      of_layers += own;
  }
  return of_layers >= least_products && 2 * of_layers >= all;
}

LayerPlan::LayerPlan(compiler::Scalars scalars, const CudaOptions& options)
    : settings_(options), program_(instructions_of(std::move(scalars))) {
  if (program_.outputs.empty() || program_.outputs[0].rate != Rate::varying)
    throw Error("emit_cuda", "a first output that depends on the inputs, where blocks compute rows",
                "one that does not", "use compile() for this graph");
  places_ = program_.varying_places + (options.input_gradients ? program_.input_places : 0);
  const StretchOptions forward{.for_inputs = options.input_gradients},
      backward{.is_backward = true, .for_inputs = options.input_gradients, .first_sum = places_ + 1};
  uniform_ = pieces_of(program_, program_.uniform, forward);
  forward_ = pieces_of(program_, program_.varying, forward);
  backward_ = pieces_of(program_, program_.varying_backward, backward);
  uniform_backward_ = pieces_of(program_, program_.uniform_backward, backward);
  advance_wide_layers(forward_);
  advance_wide_layers(backward_);
  find_outers();
  choose_memory();
}

bool LayerPlan::is_wide(const Instruction& layer) {
  constexpr std::size_t wide = std::size_t{1} << 14;  // weights
  return std::size_t{layer.count} * layer.depth * layer.copies > wide;
}

std::vector<std::uint32_t> LayerPlan::inputs_of(const Instruction& layer) const {
  std::vector<std::uint32_t> made;
  for (std::uint32_t c = 0; c < layer.copies; ++c)
    for (std::uint32_t t = 0; t < layer.depth; ++t) made.push_back(program_.input(layer, t, c));
  return made;
}

std::vector<std::uint32_t> LayerPlan::varying_outputs() const {
  std::vector<std::uint32_t> made;
  for (const auto& one : program_.outputs)
    if (one.rate == Rate::varying) made.push_back(one.place);
  return made;
}

void LayerPlan::find_outers() {
  outers_.push_back({.count = 1, .g = places_++, .has_bias = true});
  for (const Instruction& one : program_.outers) {
    const bool has_weights = one.in[0].rate == Rate::uniform;
    const bool has_bias = one.in[2].exists() && one.in[2].rate == Rate::uniform;
    Outer made{.count = one.count, .copies = one.copies, .g = one.in[3].place, .g_step = one.copies};
    if (has_bias && one.bias_copy == 0) {
      made.has_bias = true;
      made.bias = one.in[2].place + 1;
      made.bias_step = one.in[2].stride;
    }
    if (has_weights) {
      made.depth = one.depth;
      made.inputs = inputs_of(one);
      made.at = one.in[0].place + 1;
      made.row = one.row;
      made.column = one.column;
    }
    if (made.depth > 0 || made.has_bias) outers_.push_back(made);
    for (std::uint32_t c = 0; has_bias && one.bias_copy != 0 && c < one.copies; ++c)
      outers_.push_back({.count = one.count,
                         .g = one.in[3].place + c,
                         .g_step = one.copies,
                         .has_bias = true,
                         .bias = Instructions::bias(one, 0, c) + 1,
                         .bias_step = one.in[2].stride});
  }
  for (const Instruction& one : program_.varying_backward) {
    if (one.form != Instruction::Form::row_sums) continue;
    for (std::uint32_t i = 0; i < one.count; ++i) add_row_sum(places_++, program_.place(one.targets, i) + 1);
  }
  for (std::size_t n = 0; n < outers_.size(); ++n) {
    std::size_t same = 0;
    while (same < targets_.size() && !outers_[targets_[same][0]].has_target_of(outers_[n])) ++same;
    if (same == targets_.size()) targets_.emplace_back();
    targets_[same].push_back(n);
  }
  std::vector<unsigned> writers(1);
  for (const std::vector<std::size_t>& same : targets_)
    each_sum(outers_[same[0]], [&](std::size_t sum) {
      if (writers.size() <= sum) writers.resize(sum + 1);
      ++writers[sum];
    });
  for (const Instructions::Pack& pack : program_.packs)
    for (std::uint32_t i = 0; i < pack.count; ++i)
      writers.resize(std::max<std::size_t>(writers.size(), std::max(program_.place(pack.a, i), pack.out + i) + 2));
  sums_ = writers.size();
  overlap_ = std::ranges::any_of(writers, [](unsigned count) { return count > 1; });
  fills_sums_ =
      targets_.size() < outers_.size() || std::ranges::any_of(writers, [](unsigned count) { return count != 1; });
}

void LayerPlan::add_row_sum(std::uint32_t place, std::uint32_t sum) {
  Outer& last = outers_.back();
  const bool goes_on = last.depth == 0 && last.copies == 1 && last.bias != 0 && last.g_step == 1 &&
                       place == last.g + last.count && sum > last.bias &&
                       (last.count == 1 || sum == last.bias + last.count * last.bias_step);
  if (!goes_on) {
    outers_.push_back({.count = 1, .g = place, .has_bias = true, .bias = sum});
    return;
  }
  if (last.count == 1) last.bias_step = sum - last.bias;
  ++last.count;
}

Share LayerPlan::share_of(const Outer& one, std::uint32_t depth) {
  Share best;
  std::size_t least = ~std::size_t{0};
  for (const std::uint32_t a : {1U, 2U, 4U, 8U})
    for (const std::uint32_t b : {1U, 2U, 4U, 8U}) {
      const std::size_t all = ((one.count + a - 1) / a) * std::size_t{(depth + b - 1) / b};
      const std::size_t times = (all + CudaSource::block - 1) / CudaSource::block, reads = times * (a + b);
      if (reads >= least || a * b > 32) continue;
      least = reads;
      best = {a, b, static_cast<std::uint32_t>(times)};
    }
  return best;
}

void LayerPlan::choose_memory() {
  std::size_t sums = 0;
  for (const Outer& one : outers_) {
    if (one.depth > 0) sums += share_of(one, one.depth).sums();
    if (one.has_bias) sums += share_of(one, 1).sums();
  }
  bool has_wide = false;
  for (const auto* pieces : {&forward_, &backward_})
    for (const Piece& piece : *pieces)
      if (const auto* layer = std::get_if<Layer>(&piece)) has_wide |= is_wide(layer->instruction);
  const std::size_t bytes = resident_bytes() + (shared_pitch + staged_by_layer) * number_size();
  is_resident_ = !has_wide && sums <= most_sums_of_thread && bytes <= most_shared_bytes;
  // Inputs are read where the rows are, unless something reads them together with other numbers.
  copies_inputs_ = is_resident_ || has_random();
  const std::size_t inputs = program_.inputs;
  each_read([&](const std::vector<std::uint32_t>& places) {
    const auto is_input = [&](std::uint32_t place) { return place < inputs; };
    if (std::ranges::any_of(places, is_input) && !std::ranges::all_of(places, is_input)) copies_inputs_ = true;
  });
  const auto meet_store = [&](std::uint32_t first) { copies_inputs_ = copies_inputs_ || first < inputs; };
  for (const auto* pieces : {&forward_, &backward_})
    for (const Piece& piece : *pieces) {
      if (const auto* layer = std::get_if<Layer>(&piece)) meet_store(layer->instruction.out);
      if (const auto* stretch = std::get_if<Stretch>(&piece))
        for (const Stretch::Store& store : stretch->stores) meet_store(store.first);
    }
  for (auto* pieces : {&forward_, &backward_})
    for (Piece& piece : *pieces)
      if (auto* layer = std::get_if<Layer>(&piece)) split_inputs(*layer);
  shift_ = copies_inputs_ ? 0 : static_cast<std::uint32_t>(inputs);
  places_ -= shift_;
  each_read([&](const std::vector<std::uint32_t>& places) { read_.insert(places.begin(), places.end()); });
  if (settings_.input_gradients)
    for (const std::uint32_t place : program_.input_gradients)
      if (place != none) read_.insert(place);
}

void LayerPlan::split_inputs(Layer& layer) {
  const Instruction& one = layer.instruction;
  if (!is_wide(one) || one.copies > 1 || one.count == 1) return;
  layer.splits = std::max(one.depth / split_depth, std::uint32_t{1});
  layer.sums = places_;
  places_ += (layer.splits - 1) * one.count;
}

void LayerPlan::advance_wide_layers(std::vector<Piece>& pieces) const {
  const auto is_wide_layer = [](const Piece& piece) {
    const auto* layer = std::get_if<Layer>(&piece);
    return layer != nullptr && is_wide(layer->instruction);
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!is_wide_layer(pieces[i])) continue;
    std::size_t to = i;
    while (to > 0 && !is_wide_layer(pieces[to - 1]) && are_independent(pieces[to - 1], pieces[i])) --to;
    std::rotate(pieces.begin() + static_cast<std::ptrdiff_t>(to), pieces.begin() + static_cast<std::ptrdiff_t>(i),
                pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

bool LayerPlan::are_independent(const Piece& one, const Piece& other) const {
  const auto [reads, writes] = places_of(one);
  const auto [other_reads, other_writes] = places_of(other);
  const auto meet = [](const std::set<std::uint32_t>& x, const std::set<std::uint32_t>& y) {
    return std::ranges::any_of(x, [&](std::uint32_t place) { return y.contains(place); });
  };
  return !meet(reads, other_writes) && !meet(writes, other_reads) && !meet(writes, other_writes);
}

std::pair<std::set<std::uint32_t>, std::set<std::uint32_t>> LayerPlan::places_of(const Piece& piece) const {
  std::set<std::uint32_t> reads, writes;
  if (const auto* layer = std::get_if<Layer>(&piece)) {
    const Instruction& one = layer->instruction;
    const std::vector<std::uint32_t> inputs = inputs_of(one);
    reads.insert(inputs.begin(), inputs.end());
    for (std::uint32_t i = 0; i < one.count * one.copies; ++i) writes.insert(one.out + i);
  } else if (const auto* stretch = std::get_if<Stretch>(&piece)) {
    for (const Column& leaf : stretch->leaves)
      if (leaf.rate == Rate::varying) reads.insert(leaf.places.begin(), leaf.places.end());
    for (const Stretch::Store& store : stretch->stores)
      for (std::uint32_t i = 0; i < stretch->count; ++i) writes.insert(store.first + i);
  }
  return {reads, writes};
}

}  // namespace gradwalk::emit
