// SPDX-License-Identifier: MIT
// Kernels of graphs with large layers, from the instructions of compile(). A block computes a tile of 32 rows: the
// numbers of the rows lie place by place, layers are products that all threads compute together, and everything else
// is a loop over the places with one thread per row.
//
// The numbers of a small graph stay in shared memory, and one kernel computes everything. Those of a large graph lie in
// the memory of the device: wide layers are kernels of their own, and the gradients of weights are computed at the end.
#include "cuda_layers.hpp"

#include <algorithm>
#include <map>

#include "cuda_prelude.hpp"
#include "cuda_products.hpp"
#include "gradwalk/error.hpp"
#include "kernel_text.hpp"
#include "random_words.hpp"
#include "stretches.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Id, compiler::Instruction, compiler::Instructions, compiler::none, compiler::Rate;
using std::to_string;

constexpr std::size_t threads = CudaSource::block, warps = threads / 32;
constexpr std::size_t shared_bytes = 64 * 1024;     // of a block; every GPU that CUDA 13 supports has as much
constexpr std::size_t wide = std::size_t{1} << 14;  // weights of a layer that is a kernel of its own
constexpr std::uint32_t split_depth = 256;          // inputs of a wide layer that one block adds up
constexpr std::size_t most_sums_of_thread = 80;     // that stay in registers
constexpr std::size_t most_blocks = 512;            // that go from tile to tile

// Evenly spaced places, or an index into the table of places.
struct Spaced {
  std::uint32_t first = 0, step = 0, table = none;
};

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

Instructions instructions_of(compiler::Scalars scalars) {
  compiler::Terms terms = compiler::simplify(scalars);
  scalars = {};
  compiler::Groups groups = compiler::lift(terms);
  compiler::differentiate(terms, groups);
  compiler::lift_backward(terms, groups);
  return compiler::schedule(terms, groups);
}

class LayerKernels : KernelText {
 public:
  LayerKernels(Instructions program, const CudaOptions& options, std::string name)
      : KernelText(options, std::move(name)), program_(std::move(program)) {
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

  CudaSource run() {
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
                cuda_products(dialect_.is_float()) + tables() + kernels;
    return made;
  }

 private:
  // ---- what there is ----

  static std::string text(std::size_t number) { return to_string(number) + "u"; }
  bool has_random() const { return options_.normals.size() + options_.uniforms.size() > 0; }
  std::size_t rows_inputs() const { return options_.inputs.size(); }
  bool has_finish() const { return !program_.gradients.empty() || sums_ < program_.parameters + 1; }
  std::string about() const {
    std::size_t layers = 0;
    for (const Instruction& one : program_.varying) layers += one.form == Instruction::Form::layer ? 1 : 0;
    return "32 rows per block, " + to_string(layers) + (layers == 1 ? " layer" : " layers") +
           (is_resident_ ? " in shared memory" : " in the memory of the device");
  }

  // Calls meet(places) for all varying places that pieces read from earlier pieces.
  template <class Meet> void each_read(Meet meet) const {
    for (const auto* pieces : {&forward_, &backward_})
      for (const Piece& piece : *pieces) {
        if (const auto* stretch = std::get_if<Stretch>(&piece)) {
          for (const Column& one : stretch->leaves)
            if (one.rate == Rate::varying) meet(one.places);
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
  std::vector<std::uint32_t> inputs_of(const Instruction& layer) const {
    std::vector<std::uint32_t> made;
    for (std::uint32_t c = 0; c < layer.copies; ++c)
      for (std::uint32_t t = 0; t < layer.depth; ++t) made.push_back(program_.input(layer, t, c));
    return made;
  }
  std::vector<std::uint32_t> varying_outputs() const {
    std::vector<std::uint32_t> made;
    for (const auto& one : program_.outputs)
      if (one.rate == Rate::varying) made.push_back(one.place);
    return made;
  }

  // ---- sums over rows ----

  void find_outers() {
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
  // Adds the sum over rows of a place to those before it, if it goes on evenly.
  void add_row_sum(std::uint32_t place, std::uint32_t sum) {
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
  template <class Meet> static void each_sum(const Outer& one, Meet meet) {
    for (std::size_t o = 0; o < one.count; ++o) {
      for (std::size_t t = 0; t < one.depth; ++t) meet(one.at + o * one.row + t * one.column);
      if (one.has_bias) meet(one.bias + o * one.bias_step);
    }
  }

  // The shape with the fewest reads of shared memory. A thread reads a gradient or an input of four rows at a time.
  static Share share_of(const Outer& one, std::uint32_t depth) {
    Share best;
    std::size_t least = ~std::size_t{0};
    for (const std::uint32_t a : {1U, 2U, 4U, 8U})
      for (const std::uint32_t b : {1U, 2U, 4U, 8U}) {
        const std::size_t all = ((one.count + a - 1) / a) * std::size_t{(depth + b - 1) / b};
        const std::size_t times = (all + threads - 1) / threads, reads = times * (a + b);
        if (reads >= least || a * b > 32) continue;
        least = reads;
        best = {a, b, static_cast<std::uint32_t>(times)};
      }
    return best;
  }

  // ---- memory ----

  void choose_memory() {
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
    is_resident_ = !has_wide && sums <= most_sums_of_thread && bytes <= shared_bytes;
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
    if (options_.input_gradients)
      for (const std::uint32_t place : program_.input_gradients)
        if (place != none) read_.insert(place);
  }
  // The bytes of the numbers of a tile in shared memory.
  std::size_t resident_bytes() const { return places_ * shared_pitch * number_size(); }
  std::size_t number_size() const { return dialect_.is_float() ? sizeof(float) : sizeof(double); }
  static bool is_wide(const Instruction& layer) { return std::size_t{layer.count} * layer.depth * layer.copies > wide; }
  // Blocks that divide the inputs of a layer among them take less time where rows are few.
  void split_inputs(Layer& layer) {
    const Instruction& one = layer.instruction;
    if (!is_wide(one) || one.copies > 1 || one.count == 1) return;
    layer.splits = std::max(one.depth / split_depth, std::uint32_t{1});
    layer.sums = places_;
    places_ += (layer.splits - 1) * one.count;
  }
  // A wide layer that comes before what it does not need leaves fewer kernels.
  void advance_wide_layers(std::vector<Piece>& pieces) const {
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
  // Whether neither piece writes places that the other one reads or writes.
  bool are_independent(const Piece& one, const Piece& other) const {
    const auto [reads, writes] = places_of(one);
    const auto [other_reads, other_writes] = places_of(other);
    const auto meet = [](const std::set<std::uint32_t>& x, const std::set<std::uint32_t>& y) {
      return std::ranges::any_of(x, [&](std::uint32_t place) { return y.contains(place); });
    };
    return !meet(reads, other_writes) && !meet(writes, other_reads) && !meet(writes, other_writes);
  }
  // The varying places that a piece reads, and those that it writes.
  std::pair<std::set<std::uint32_t>, std::set<std::uint32_t>> places_of(const Piece& piece) const {
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
  std::size_t pitch() const { return is_resident_ ? shared_pitch : tile_rows; }
  bool is_in_rows(std::uint32_t place) const { return !copies_inputs_ && place < program_.inputs; }

  // ---- text ----

  // The rule of relu, which layers apply to their outputs.
  std::string relu_function() {
    compiler::Terms terms;
    terms.parameters = 1;
    terms.nodes = {{compiler::Kind::parameter}, {compiler::Kind::function, Op::relu, Rate::uniform, 0, 0, 1}};
    terms.operands = {0};
    begin_text();
    const std::vector<std::string> names = print(terms, {1}, false, [](std::size_t) { return std::string("x"); });
    line("return " + names[0] + ";");
    return "__device__ static inline real gw_relu(real x) {\n" + text_ + "}\n";
  }
  std::string tables() const {
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

  Spaced spaced(const std::vector<std::uint32_t>& places, std::uint32_t shift) {
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
  // The place of iteration i.
  static std::string index(const Spaced& places) {
    if (places.table != none) return "gw_tables[" + to_string(places.table) + " + i]";
    if (places.step == 0) return to_string(places.first);
    const std::string more = (places.step == 1 ? "" : to_string(places.step) + " * ") + "i";
    return places.first == 0 ? more : to_string(places.first) + " + " + more;
  }
  // A number of a row at a place that `index` says.
  std::string at(const char* base, const std::string& index, std::size_t pitch, const char* row) const {
    const bool is_number = index.find_first_not_of("0123456789") == std::string::npos;
    const std::string offset = is_number ? to_string(std::stoull(index) * pitch) : "(" + index + ") * " + text(pitch);
    return std::string(base) + "[" + offset + " + " + row + "]";
  }
  std::string leaf(const Column& column) {
    switch (column.rate) {
      case Rate::constant: reads_constants_ = true; return "gw_constants[" + index(spaced(column.places, 0)) + "]";
      case Rate::uniform: return "u[" + index(spaced(column.places, 0)) + "]";
      case Rate::row_gradient: return "sums[1 + " + index(spaced(column.places, 0)) + "]";
      case Rate::varying: break;
    }
    if (is_in_rows(column.places[0])) return at("z", index(spaced(column.places, 0)), tile_rows, "own");
    return at("v", index(spaced(column.places, shift_)), pitch(), "r");
  }

  // Prints what computes these nodes, and returns their names.
  template <class LeafText> std::vector<std::string> print(const compiler::Terms& terms, const std::vector<Id>& nodes,
                                                           bool is_backward, LeafText leaf_text) {
    std::vector<Store> stores;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) stores.push_back({{Array::output, i, 0}, nodes[i]});
    const Code code =
        lower(terms, stores, dialect_, {terms.parameters, true, false, is_backward && options_.guard_zeros});
    return print_code(
        code, nodes.size(), [&](const Operand& operand) { return leaf_text(operand.index); },
        [&](const std::string& value) { return assign(value); });
  }
  void print_body(const Stretch& one, bool is_backward) {
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
    const std::vector<std::string> names =
        print(one.terms, nodes, is_backward, [&](std::size_t i) { return leaves[i]; });
    for (std::size_t i = 0; i < names.size(); ++i) line(targets[i] + " = " + names[i] + ";");
  }

  // ---- rows ----

  // Outputs first ... end of a layer.
  void print_layer(const Instruction& one, bool is_backward, const std::string& first, const std::string& end) {
    const std::uint32_t each = one.count > 32 ? 4 : one.count > 16 ? 2 : 1;
    const auto pointer = [&](const compiler::Operand& operand, std::uint32_t more) {
      if (operand.rate == Rate::constant) reads_constants_ = true;
      return std::string(operand.rate == Rate::constant ? "gw_constants" : "u") + " + " +
             to_string(operand.place + more);
    };
    const std::vector<std::uint32_t> inputs = inputs_of(one);
    const bool in_rows = is_in_rows(inputs[0]);
    for (std::uint32_t c = 0; c < one.copies; ++c) {
      const std::string bias = one.in[2].exists() ? pointer(one.in[2], c * one.bias_copy) : "0";
      const std::vector<std::uint32_t> own(inputs.begin() + c * one.depth, inputs.begin() + (c + 1) * one.depth);
      line("gw_layer<" + to_string(each) + ", " + text(one.count) + ", " + text(one.depth) + ", " +
           (one.relu ? "true" : "false") + ", " + careful(is_backward) + ">(" + first + ", " + end + ", " +
           pointer(one.in[0], 0) + ", " + text(one.row) + ", " + text(one.column) + ", " + bias + ", " +
           text(one.in[2].stride) + ", " + (in_rows ? "z" : "v") + ", " + text(in_rows ? tile_rows : pitch()) + ", " +
           places_text(own) + ", " + (in_rows ? "last" : "31u") + ", v + " +
           to_string((one.out - shift_ + c) * pitch()) + ", " + text(one.copies * pitch()) + ", staged);");
    }
    line("__syncthreads();");
  }
  // A layer whose outputs, and inputs if they are many, are divided among blocks. Returns the number of blocks per
  // tile.
  std::size_t print_wide(const Layer& layer, bool is_backward) {
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
  void add_splits(const Layer& layer) {
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
  std::string careful(bool is_backward) const { return is_backward && options_.guard_zeros ? "true" : "false"; }
  std::string places_text(const std::vector<std::uint32_t>& places) {
    if (places.empty()) return "gw_places{0, 0u, 0u}";
    const Spaced made = spaced(places, is_in_rows(places[0]) ? 0 : shift_);
    if (made.table != none) return "gw_places{gw_tables + " + to_string(made.table) + ", 0u, 0u}";
    return "gw_places{0, " + text(made.first) + ", " + text(made.step) + "}";
  }
  void print_piece(const Piece& piece, bool is_backward) {
    if (const auto* layer = std::get_if<Layer>(&piece))
      return print_layer(layer->instruction, is_backward, "0u", text(layer->instruction.count));
    const Stretch& one = std::get<Stretch>(piece);
    open_places(one.count);
    print_body(one, is_backward);
    close();
    line("__syncthreads();");
  }
  // A loop over some places, for all rows of the tile.
  void open_places(std::size_t count) {
    if (count == 1)
      open("if (threadIdx.x < 32u)");
    else
      open("for (unsigned i = threadIdx.x >> 5; i < " + text(count) + "; i += " + text(warps) + ")");
  }

  std::string rows_arguments() const {
    return std::string(
               "unsigned count, unsigned long long first, unsigned long long all, const real* __restrict__ u, "
               "const real* __restrict__ rows, real* values, real* partial, real* __restrict__ outputs, "
               "real* __restrict__ input_gradients") +
           (has_random() ? ", unsigned long long seed, unsigned long long first_row" : "");
  }
  // The rows of a tile, whose number is known.
  void begin_tile() {
    line("const unsigned left = count - tile * 32u, last = (left < 32u ? left : 32u) - 1u;");
    line("const unsigned own = r < last ? r : last;");
    line("const real* const z = rows + (unsigned long long)tile * " + text(rows_inputs() * tile_rows) + ";");
  }
  void begin_kernel() {
    begin_text();
    line("__shared__ __align__(16) real staged[" + to_string(staged_by_layer) + "];");
    line("const unsigned r = threadIdx.x & 31u, tile = blockIdx.x;");
    begin_tile();
    line("real* const v = values + (unsigned long long)tile * " + text(places_ * tile_rows) + ";");
  }

  // The numbers of random inputs come after those of the rows.
  void copy_inputs() {
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
  void make_random(Distribution distribution, std::size_t first, std::size_t count) {
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

  // Between the passes: outputs are written, and gradients begin with 1 for each row. The place of the first output can
  // be used again, so its number is kept.
  void turn(const char* leave) {
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
  void write_input_gradients() {
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

  std::string rows_kernels(CudaLayers& layers) {
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
  void add_rows_kernel(std::string& made, CudaLayers& layers, std::size_t parts) {
    const std::string what = "rows" + to_string(layers.rows.size());
    made += kernel(what, threads, rows_arguments());
    layers.rows.push_back({name_ + "_" + what, 0, parts});
  }

  // One kernel for a small graph: a block goes from tile to tile.
  std::string resident_kernel(CudaLayers& layers) {
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
  static std::string shape(const Share& share, std::uint32_t count, std::uint32_t depth) {
    return to_string(share.a) + ", " + to_string(share.b) + ", " + text(count) + ", " + text(depth);
  }
  void add_own_sums(const std::vector<std::string>& sums) {
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
  void write_own_sums(const std::vector<std::string>& sums) {
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

  // ---- sums over rows ----

  // The first dimension of the grid divides the sums, the second one the rows.
  std::string weights_kernel() {
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
             (one.has_bias ? "true" : "false") + ", " + careful(true) + ">(part, begin, end, count, v, " +
             text(one.g - shift_) + ", " + text(one.g_step) + ", " + (in_rows ? "inputs" : "v") + ", " +
             places_text(one.inputs) + ", " + text(one.depth) + ", to + " + to_string(one.at) + ", " + text(one.row) +
             ", " + text(one.column) + ", to + " + to_string(one.bias) + ", " + text(one.bias_step) +
             ", is_first != 0u, staged);");
      }
      line(overlap_ ? "__syncthreads();" : "return;");
      close();
      if (!overlap_) line("part -= " + text(parts) + ";");
      weights_blocks_ += parts;
    }
    if (overlap_) weights_blocks_ = 1;
    return kernel("weights", threads,
                  "unsigned count, unsigned is_first, const real* __restrict__ rows, const real* __restrict__ values, "
                  "real* partial");
  }

  std::string sum_kernel() {
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

  // ---- uniform numbers ----

  // A kernel for each stretch, with a thread per number.
  std::string uniform_kernels(const std::string& what, const std::vector<Piece>& pieces,
                              std::vector<CudaLayers::Step>& steps, bool is_backward) {
    std::string made;
    for (const Piece& piece : pieces) {
      begin_text();
      std::size_t blocks = 1;
      if (const auto* stretch = std::get_if<Stretch>(&piece)) {
        blocks = (stretch->count + threads - 1) / threads;
        line("const unsigned i = blockIdx.x * " + text(threads) + " + threadIdx.x;");
        line("if (i >= " + text(stretch->count) + ") return;");
        print_body(*stretch, is_backward);
      } else {
        print_dot(std::get<Dot>(piece).instruction, is_backward);
      }
      const std::string name = what + to_string(steps.size());
      made += kernel(name, threads, "real* u, real* sums");
      steps.push_back({name_ + "_" + name, blocks, 1});
    }
    return made;
  }
  // The gradients of packed numbers are added to those of the numbers that they are copies of.
  std::string unpack_kernels(std::vector<CudaLayers::Step>& steps) {
    std::string made;
    for (const Instructions::Pack& pack : program_.packs) {
      if (pack.a.rate != Rate::uniform) continue;
      const Column to = column_of(program_, pack.a, pack.count);
      const bool are_apart = std::set(to.places.begin(), to.places.end()).size() == pack.count;
      begin_text();
      if (are_apart) {
        line("const unsigned i = blockIdx.x * " + text(threads) + " + threadIdx.x;");
        open("if (i < " + text(pack.count) + ")");
      } else {
        open("for (unsigned i = 0; threadIdx.x == 0u && i < " + text(pack.count) + "; ++i)");
      }
      const std::string factor =
          pack.factor.exists() ? leaf(column_of(program_, pack.factor, pack.count)) + " * " : std::string();
      line("sums[1 + " + index(spaced(to.places, 0)) + "] += " + factor + "sums[" + to_string(pack.out + 1) + " + i];");
      close();
      const std::string name = "backward" + to_string(steps.size());
      made += kernel(name, threads, "real* u, real* sums");
      steps.push_back({name_ + "_" + name, are_apart ? (pack.count + threads - 1) / threads : 1, 1});
    }
    return made;
  }
  // A sum over many numbers, by one block.
  void print_dot(const Instruction& one, bool is_backward) {
    line("__shared__ real parts[" + to_string(threads) + "];");
    line("real sum = 0;");
    for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
      const compiler::Factors& factors = program_.factors[t];
      const auto text_of = [&](const compiler::Operand& operand) {
        return operand.exists() ? leaf(column_of(program_, operand, factors.count)) : dialect_.literal(1);
      };
      open("for (unsigned i = threadIdx.x; i < " + text(factors.count) + "; i += " + text(threads) + ")");
      line("sum = gw_more<" + careful(is_backward) + ">(" + text_of(factors.factor) + " * " + text_of(factors.a) +
           ", " + text_of(factors.b) + ", sum);");
      close();
    }
    line("parts[threadIdx.x] = sum;");
    open("for (unsigned half = " + text(threads / 2) + "; half > 0u; half >>= 1)");
    line("__syncthreads();");
    line("if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];");
    close();
    const std::string start = one.start.exists() ? leaf(column_of(program_, one.start, 1)) + " + " : "";
    line("if (threadIdx.x == 0u) u[" + to_string(one.out) + "] = " + start + "parts[0];");
  }
  // The gradients of the parameters: what rows have added up, or a uniform number.
  std::string finish_kernel() {
    begin_text();
    line("const unsigned p = blockIdx.x * " + text(threads) + " + threadIdx.x;");
    line("if (p > " + text(program_.parameters) + ") return;");
    line("real number = p < " + text(sums_) + " ? sums[p] : " + dialect_.literal(0) + ";");
    std::vector<Column> runs;  // of gradients that follow each other and have one rate
    std::vector<std::uint32_t> firsts;
    for (const Instructions::Gradient& one : program_.gradients) {
      const bool goes_on = !runs.empty() && runs.back().rate == one.at.rate &&
                           firsts.back() + runs.back().places.size() == one.parameter + 1;
      if (!goes_on) runs.push_back({one.at.rate, {}}), firsts.push_back(one.parameter + 1);
      runs.back().places.push_back(one.at.place);
    }
    for (std::size_t n = 0; n < runs.size(); ++n) {
      open("if (p >= " + text(firsts[n]) + " && p < " + text(firsts[n] + runs[n].places.size()) + ")");
      line("const unsigned i = p - " + text(firsts[n]) + ";");
      line("number = " + leaf(runs[n]) + ";");
      close();
    }
    line("result[p] = number;");
    return kernel("finish", threads,
                  "const real* __restrict__ u, const real* __restrict__ sums, real* __restrict__ result");
  }

  Instructions program_;
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
  std::size_t weights_blocks_ = 0;
  std::vector<std::uint32_t> tables_;
  std::map<std::pair<std::vector<std::uint32_t>, std::uint32_t>, std::uint32_t> table_of_;
  bool reads_constants_ = false;
};

}  // namespace

bool is_mostly_layers(const compiler::Scalars& scalars) {
  constexpr std::size_t least_products = 512, least_width = 8;
  const compiler::Terms terms = compiler::simplify(scalars);
  std::size_t all = 0, of_layers = 0;
  for (const compiler::Group& group : compiler::lift(terms).groups) {
    if (group.rate != Rate::varying) continue;
    std::size_t own = 0;
    for (const Id id : group.members) own += std::max<std::size_t>(1, terms.nodes[id].count);
    all += own;
    if (group.form == compiler::Group::Form::layer && group.count >= least_width && group.members.size() >= least_width)
      of_layers += own;
  }
  return of_layers >= least_products && 2 * of_layers >= all;
}

CudaSource cuda_layers(compiler::Scalars scalars, const CudaOptions& options, const std::string& name) {
  return LayerKernels(instructions_of(std::move(scalars)), options, name).run();
}

}  // namespace gradwalk::emit
