// SPDX-License-Identifier: MIT
// emit_cuda: the kernels of a CUDA file. The graph is cut at its loops (parts.hpp); each part is lowered by the rules
// of ops.def, and this file connects the parts: values, and tangents or gradients.
#include <algorithm>
#include <optional>
#include <set>

#include "compile/passes.hpp"
#include "cuda_layers.hpp"
#include "cuda_prelude.hpp"
#include "function_text.hpp"
#include "gradients.hpp"
#include "gradwalk/emit_cuda.hpp"
#include "gradwalk/error.hpp"
#include "lower.hpp"
#include "names.hpp"
#include "parts.hpp"
#include "random_words.hpp"
#include "straight_text.hpp"

namespace gradwalk {
namespace emit {
namespace {

using compiler::Carried, compiler::Id, compiler::Loop, compiler::none, compiler::Product, compiler::Terms;
using std::to_string;

constexpr std::uint32_t unrolled = 4;          // rounds; loops have a multiple of it
constexpr std::size_t most_in_registers = 32;  // sums of a row; more are added up in shared memory
constexpr std::size_t shared_bytes = 48 * 1024, warps = CudaSource::block / 32;
constexpr std::size_t most_of_outer = 16, least_of_outer = 8;  // numbers of a side, and products
constexpr std::size_t stage = 36;  // numbers from one staged number to the next: 32 rows, and no bank conflicts
constexpr std::size_t steps_between_reads = 32;  // for which numbers of shared memory stay in registers
constexpr std::size_t most_kept = 1024;          // numbers of a row that the reverse mode keeps

[[noreturn]] void refuse_tangents() {
  throw Error("emit_cuda", "a loop, few uniform numbers, and no input gradients or guard for tangents",
              "a graph or options without one of these", "leave .derivatives as it is");
}

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

// The backward pass of a part, with all its outputs or one.
struct Backward {
  Terms terms;
  std::vector<Id> gradients;  // for each leaf, or none
};

// Gradients that are products of two numbers of a row, for all pairs of some numbers: as those of the weights of a
// layer, which are a gradient of an output times an input. A warp adds them up over its rows as a product of matrices.
struct Outer {
  std::vector<std::pair<double, Id>> a;  // with a factor
  std::vector<Id> b;
  std::uint32_t at = 0, width = 0;  // slots: that of a[i] * b[j] is at + i * width + j
  std::uint32_t bias = none;        // the slot of the sum of a[0], or none
};

class Kernels {
 public:
  Kernels(compiler::Scalars scalars, const CudaOptions& options, std::string name)
      : options_(options),
        dialect_(options.precision == Precision::float32, options.exact),
        name_(std::move(name)),
        has_random_(options.normals.size() + options.uniforms.size() > 0) {
    cut_ = cut_at_loops(scalars, options.loops, unrolled);
    if (mixes_inputs()) cut_ = cut_at_loops(std::move(scalars), false, unrolled);
    sums_ = cut_.fronts.size() + 1;
    is_shared_ = sums_ > most_in_registers || cut_.has_round_fronts;
  }
  // Whether rows read few enough uniform numbers.
  bool fits() const { return cut_.fronts.size() <= CudaSource::most_fronts(options_.precision); }
  // Whether the gradients of all uniform numbers are sums of a row, rather than some of them outer products.
  bool has_many_sums() const { return is_shared_ && outers_.empty(); }
  void plan() {
    uses_tangents_ = chooses_tangents();
    if (is_shared_ && cut_.rounds.loops.empty() && !options_.guard_zeros) find_outers();
  }

  CudaSource run() {
    std::string kernels = rows_kernel() + values_kernel() + sum_kernel();
    if (!cut_.fronts_are_parameters) kernels += uniform_kernels();
    CudaSource made;
    made.text = "// Written by emit_cuda(): " + about() + ".\n" + cuda_prelude(dialect_.is_float()) + functions() +
                (has_random_ ? cuda_random(dialect_.is_float()) : "") +
                (outers_.empty() ? "" : cuda_outer(dialect_.is_float())) + tables() + kernels;
    made.name = name_;
    made.precision = options_.precision;
    made.inputs = options_.inputs.size();
    made.normals = options_.normals.size();
    made.uniforms = options_.uniforms.size();
    made.parameters = cut_.scalars.parameters;
    made.outputs = cut_.scalars.outputs.size();
    made.fronts = cut_.fronts.size();
    made.has_uniform = !cut_.fronts_are_parameters;
    made.has_input_gradients = options_.input_gradients;
    made.sums = sums_;
    made.most_blocks = outers_.empty() ? 0 : most_blocks;
    made.about = about();
    return made;
  }

 private:
  using Names = emit::Names;
  using Tangents = std::map<std::uint32_t, std::string>;  // by front: the text of the derivative

  // ---- text ----

  std::string real() const { return "real"; }
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }
  void open(const std::string& text) { line(text + " {"), ++depth_; }
  void close() { --depth_, line("}"); }
  std::string fresh(const char* prefix) { return prefix + to_string(fresh_++); }
  std::string zero() const { return dialect_.literal(0); }

  std::string about() const {
    std::string text = "one row per thread";
    std::size_t loops = 0;
    for (const Section& section : cut_.sections) {
      if (section.loop == nullptr) continue;
      text += std::string(loops++ == 0 ? ", " : " and ") + "a loop of " + to_string(section.loop->rounds) +
              " rounds of " + to_string(section.loop->period) + " nodes that carries " +
              to_string(section.loop->carried.size()) + (section.loop->carried.size() == 1 ? " value" : " values");
    }
    if (!outers_.empty()) text += ", gradients added up as " + to_string(outers_.size()) + " outer products";
    if (loops > 0) text += uses_tangents_ ? ", derivatives carried along" : ", derivatives in reverse";
    return text;
  }
  std::string functions() const {
    std::string text;
    if (calls_times_) text += times_text(dialect_);
    if (calls_digamma_) text += digamma_text(dialect_.prefix());
    if (calls_trigamma_) text += trigamma_text(dialect_.prefix());
    for (std::size_t at = text.find("static "); at != std::string::npos; at = text.find("static ", at + 18))
      text.insert(at, "__device__ ");
    return text;
  }
  std::string tables() const {
    std::string text;
    for (std::size_t i = 0; i < cut_.tables.size(); ++i) {
      text += "__device__ static const real gw_table" + to_string(i) + "[] = {";
      for (std::size_t k = 0; k < cut_.tables[i].size(); ++k)
        text += (k % 8 == 0 ? "\n  " : " ") + dialect_.literal(cut_.tables[i][k]) + ",";
      text += "};\n";
    }
    if (!outers_.empty()) {
      text += "__device__ static const unsigned short gw_slots[] = {";
      for (std::size_t i = 0; i < slots_.size(); ++i) text += (i % 16 == 0 ? "\n  " : " ") + to_string(slots_[i]) + ",";
      text += "};\n";
    }
    return text + "\n";
  }

  // ---- leaves ----

  // The names that are known where text is printed.
  struct Scope {
    std::map<Leaf, std::string> known = {};  // inputs that were read, and carried values
    std::string round = {};                  // the number of the round
  };

  std::string index(std::uint32_t first, std::int32_t step, const std::string& round) const {
    if (step == 0) return to_string(first);
    const std::string term = (step == 1 || step == -1 ? "" : to_string(std::abs(step)) + " * ") + round;
    return to_string(first) + (step < 0 ? " - " : " + ") + term;
  }
  std::string leaf(const Leaf& one, Scope& scope) {
    if (const auto known = scope.known.find(one); known != scope.known.end()) return known->second;
    switch (one.from) {
      case Leaf::From::front:
        return reads_slots_ ? "weights[" + to_string(slots_[one.index + 1]) + "]" : "u[" + to_string(one.index) + "]";
      case Leaf::From::round_front: return "u[" + index(one.index, one.step, scope.round) + "]";
      case Leaf::From::value: return values_.at(one.index);
      case Leaf::From::round_number: return "gw_table" + to_string(one.index) + "[" + scope.round + "]";
      case Leaf::From::input:
      case Leaf::From::round_input: {
        if (is_random(one)) return random_input(one, scope);
        const std::string name = fresh("x");
        line("const real " + name + " = gw_load(z + " + place_of(one, scope) + ");");
        return scope.known[one] = name;
      }
      case Leaf::From::carried: break;
    }
    throw Error("emit_cuda", "a carried value with a name", "none", "report this as a bug");
  }
  // The place of an input in its tile of 32 rows.
  std::string place_of(const Leaf& input, const Scope& scope) const {
    if (input.step == 0) return to_string(std::uint64_t{input.index} * 32);
    return "(" + index(input.index, input.step, scope.round) + ") * 32";
  }

  // ---- random inputs ----

  // They come after the inputs of the rows: the normal ones, then the uniform ones.
  bool is_random(const Leaf& input) const { return input.index >= options_.inputs.size(); }
  Distribution distribution_of(std::size_t input) const {
    const bool is_normal = input < options_.inputs.size() + options_.normals.size();
    return is_normal ? Distribution::normal : Distribution::uniform;
  }
  // The place of an input among those of its distribution.
  std::uint32_t random_index(const Leaf& input) const {
    const bool is_normal = distribution_of(input.index) == Distribution::normal;
    return input.index - static_cast<std::uint32_t>(options_.inputs.size() + (is_normal ? 0 : options_.normals.size()));
  }
  // Whether the inputs of a loop are of several kinds in different rounds.
  bool mixes_inputs() const {
    const auto kind_of = [&](std::int64_t input) {
      const auto index = static_cast<std::size_t>(input);
      return index < options_.inputs.size() ? 0 : distribution_of(index) == Distribution::normal ? 1 : 2;
    };
    for (const Section& section : cut_.sections)
      for (const Leaf& one : section.part.leaves)
        if (one.from == Leaf::From::round_input &&
            kind_of(one.index) != kind_of(one.index + std::int64_t{one.step} * (section.loop->rounds - 1)))
          return true;
    return false;
  }
  std::size_t block_size() const { return numbers_per_block(dialect_.is_float()); }
  // Makes blocks of numbers, into an array that it declares. `first` is the number of the first block.
  std::string make_blocks(Distribution distribution, const std::string& first, std::size_t blocks) {
    const std::string name = fresh("r");
    line("real " + name + "[" + to_string(blocks * block_size()) + "];");
    const std::string function = distribution == Distribution::normal ? "gw_normals" : "gw_uniforms",
                      stream = to_string(stream_of(distribution));
    for (std::size_t i = 0; i < blocks; ++i) {
      std::string call = function + "(gw_philox(number, " + first;
      if (i > 0) call.append(" + ").append(to_string(i));
      call.append(", ").append(stream).append(", seed), ").append(name);
      if (i > 0) call.append(" + ").append(to_string(i * block_size()));
      line(call + ");");
    }
    return name;
  }
  std::string random_input(const Leaf& input, Scope& scope) {
    const Distribution distribution = distribution_of(input.index);
    const std::uint32_t index = random_index(input);
    const auto each = static_cast<std::uint32_t>(block_size());
    if (input.step != 0) {
      const std::string at = "(" + this->index(index, input.step, scope.round) + ")";
      const std::string name = make_blocks(distribution, "(unsigned)" + at + " / " + to_string(each) + "u", 1);
      return scope.known[input] = name + "[" + at + " % " + to_string(each) + "]";
    }
    const std::string name = make_blocks(distribution, to_string(index / each) + "u", 1);
    const std::uint32_t first = input.index - index % each;
    for (std::uint32_t i = 0; i < each; ++i)
      if (distribution_of(first + i) == distribution)
        scope.known[{input.from, first + i, 0}] = name + "[" + to_string(i) + "]";
    return scope.known.at(input);
  }
  // Makes the random inputs of the rounds s ... s + rounds - 1, if blocks begin at the same place in each of them.
  // Otherwise each is made where it is read. Blocks are shared by all leaves with the same step.
  void random_ahead(const Part& part, std::uint32_t rounds, Scope& inside) {
    std::map<std::pair<Distribution, std::int32_t>, std::vector<Leaf>> groups;
    for (const Leaf& one : part.leaves)
      if (one.from == Leaf::From::round_input && is_random(one))
        groups[{distribution_of(one.index), one.step}].push_back(one);
    const auto each = static_cast<std::uint32_t>(block_size());
    for (const auto& [kind, leaves] : groups) {
      const auto [distribution, step] = kind;
      if (step <= 0 || static_cast<std::uint32_t>(step) * rounds % each != 0) continue;
      const auto advance = static_cast<std::uint32_t>(step);
      std::uint32_t least = random_index(leaves[0]), most = least;
      for (const Leaf& one : leaves) {
        least = std::min(least, random_index(one));
        most = std::max(most, random_index(one));
      }
      const std::uint32_t first = least / each * each, end = most + advance * (rounds - 1) + 1;
      // Leaves that lie far apart would make more numbers than they read.
      if (most - least >= advance + each) continue;
      const std::string name = make_blocks(
          distribution,
          "(" + to_string(first) + "u + " + to_string(advance) + "u * (unsigned)s) / " + to_string(each) + "u",
          (end - first + each - 1) / each);
      for (const Leaf& one : leaves)
        inside.known[one] = name + "[" + to_string(random_index(one) - first) + " + " + to_string(advance) + " * j]";
    }
  }

  // ---- parts ----

  // The stores of a part: nodes of its terms. Returns the name of each; a store of another number is that number.
  std::vector<std::string> print(const Terms& terms, const std::vector<Leaf>& leaves, const std::vector<Id>& nodes,
                                 const std::vector<std::string>& seeds, Scope& scope) {
    const Code code = lowered(terms, nodes, !seeds.empty());
    calls_digamma_ |= code.calls_digamma;
    calls_trigamma_ |= code.calls_trigamma;
    calls_times_ |= code.calls_times;
    return straight_text(
        code, nodes.size(), dialect_,
        [&](const Operand& operand) {
          return operand.array == Array::seed ? seeds[operand.index] : leaf(leaves[operand.index], scope);
        },
        [&](const std::string& text) {
          const std::string name = fresh("t");
          line("const real " + name + " = " + text + ";");
          // Weights are read again after this: compilers would keep all of them in registers, and spill.
          if (reads_slots_ && fresh_ % steps_between_reads == 0) line("__syncwarp();");
          return name;
        });
  }
  Code lowered(const Terms& terms, const std::vector<Id>& nodes, bool has_seeds) const {
    std::vector<Store> stores;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) stores.push_back({{Array::output, i, 0}, nodes[i]});
    return lower(terms, stores, dialect_, {terms.parameters, true, has_seeds, options_.guard_zeros});
  }
  static std::size_t size_of(const Code& code) { return code.items.size(); }

  static Backward backward(const Part& part, const std::vector<Id>& outputs) {
    Backward made{part.terms, {}};
    made.terms.outputs = outputs;
    compiler::differentiate(made.terms);
    made.gradients = made.terms.gradients;
    return made;
  }

  // The derivative of each output by each leaf, as terms that share the forward pass.
  struct Jacobian {
    Terms terms;
    std::vector<std::vector<Id>> entries;  // entries[output][leaf], or none
  };
  static Jacobian jacobian(const Part& part) {
    Jacobian made{part.terms, {}};
    made.terms.backward = static_cast<Id>(made.terms.nodes.size());
    for (const Id output : part.terms.outputs) made.entries.push_back(add_backward(made.terms, part.terms, output));
    return made;
  }
  // Whether a tangent of this leaf exists.
  static bool has_tangent(const Leaf& one) {
    return one.from == Leaf::From::front || one.from == Leaf::From::value || one.from == Leaf::From::carried;
  }

  // ---- which derivatives ----

  bool chooses_tangents() const {
    const bool has_loop = !cut_.rounds.loops.empty();
    const bool can = has_loop && !is_shared_ && !options_.input_gradients && !options_.guard_zeros;
    if (options_.derivatives == CudaOptions::Derivatives::tangents && !can) refuse_tangents();
    if (options_.derivatives == CudaOptions::Derivatives::reverse || !can) return false;
    if (options_.derivatives == CudaOptions::Derivatives::tangents) return true;
    // Costs in multiplications. A number that is read or written costs about as much as 24 of them.
    constexpr std::size_t memory = 24, most_carried = 48;
    std::size_t tangents = 0, reverse = 0;
    for (const Section& section : cut_.sections) {
      if (section.loop == nullptr) continue;
      const Jacobian all = jacobian(section.part);
      std::vector<Id> nodes = section.part.terms.outputs;
      const std::size_t forward = size_of(lowered(all.terms, nodes, false));
      std::size_t updates = 0, carried = 0;
      const std::size_t seeds = cut_.fronts.size();
      for (const auto& row : all.entries) {
        carried += seeds;
        for (std::size_t i = 0; i < row.size(); ++i) {
          if (row[i] == none || !has_tangent(section.part.leaves[i])) continue;
          nodes.push_back(row[i]);
          updates += section.part.leaves[i].from == Leaf::From::front ? 1 : seeds;
        }
      }
      if (carried > most_carried) return false;
      const std::size_t rounds = section.loop->rounds;
      tangents += rounds * (size_of(lowered(all.terms, nodes, false)) + updates);
      const Backward back = backward(section.part, section.part.terms.outputs);
      std::size_t inputs = 0;
      for (const Leaf& one : section.part.leaves) inputs += one.from == Leaf::From::round_input ? 1 : 0;
      reverse += rounds * (2 * forward + size_of(lowered(back.terms, gradients_of(back), true)) +
                           memory * (inputs + 2 * section.loop->carried.size() / unrolled));
    }
    // Tangents keep more numbers in registers than this estimate counts. Two programs were measured on an H200,
    // tangents over reverse mode: 0.54 where the estimate was 0.48 (Heston), 1.13 where it was 0.82 (Lotka-Volterra).
    return 7 * tangents <= 5 * reverse;
  }
  static std::vector<Id> gradients_of(const Backward& back) {
    std::vector<Id> nodes;
    for (const Id id : back.gradients)
      if (id != none) nodes.push_back(id);
    return nodes;
  }

  // ---- outer products ----

  static constexpr std::size_t most_blocks = 1024;  // that loop over their rows
  // A gradient as factor * a * b, or a alone.
  static Product factors_of(const Terms& terms, Id gradient) {
    const compiler::Node& node = terms.nodes[gradient];
    if (node.kind != compiler::Kind::sum || node.count != 1 || node.number != 0) return {1, gradient, none};
    return terms.products[node.begin];
  }
  // Finds pairs of numbers that are all multiplied with each other, and gives every sum a slot.
  void find_outers() {
    const Part& last = cut_.sections.back().part;
    const Backward back = backward(last, {last.terms.outputs[0]});
    using Side = std::pair<double, Id>;
    std::map<Side, std::map<Id, std::uint32_t>> products;  // fronts, by a and b
    std::map<Side, std::uint32_t> alone;
    for (std::size_t i = 0; i < last.leaves.size(); ++i) {
      if (last.leaves[i].from != Leaf::From::front || back.gradients[i] == none) continue;
      const Product product = factors_of(back.terms, back.gradients[i]);
      if (product.a == none) continue;
      if (product.b == none)
        alone.try_emplace({product.factor, product.a}, last.leaves[i].index);
      else
        products[{product.factor, product.a}].try_emplace(product.b, last.leaves[i].index);
    }
    std::map<std::vector<Id>, std::vector<Side>> layers;  // numbers a with the same numbers b
    for (const auto& [a, fronts] : products) {
      std::vector<Id> b;
      for (const auto& [id, front] : fronts) b.push_back(id);
      layers[b].push_back(a);
    }
    constexpr std::uint32_t no_slot = none;
    slots_.assign(sums_, no_slot);
    std::uint32_t next = 0;
    const auto aligned = [](std::size_t n) { return static_cast<std::uint32_t>((n + 3) / 4 * 4); };
    for (const auto& [b, a] : layers) {
      if (a.size() * b.size() < least_of_outer) continue;
      for (std::size_t i = 0; i < a.size(); i += most_of_outer)
        for (std::size_t j = 0; j < b.size(); j += most_of_outer) {
          Outer made;
          made.a.assign(a.begin() + static_cast<std::ptrdiff_t>(i),
                        a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), i + most_of_outer)));
          made.b.assign(b.begin() + static_cast<std::ptrdiff_t>(j),
                        b.begin() + static_cast<std::ptrdiff_t>(std::min(b.size(), j + most_of_outer)));
          made.at = next;
          made.width = made.b.size() < 3 ? static_cast<std::uint32_t>(made.b.size()) : aligned(made.b.size());
          for (std::uint32_t x = 0; x < made.a.size(); ++x)
            for (std::uint32_t y = 0; y < made.b.size(); ++y)
              slots_[products[made.a[x]][made.b[y]] + 1] = next + x * made.width + y;
          next += aligned(made.a.size() * made.width);
          const bool has_bias =
              j == 0 && std::ranges::all_of(made.a, [&](const Side& one) { return alone.contains(one); });
          if (has_bias) {
            made.bias = next;
            for (std::uint32_t x = 0; x < made.a.size(); ++x) slots_[alone[made.a[x]] + 1] = next + x;
            next += aligned(made.a.size());
          }
          outers_.push_back(std::move(made));
        }
    }
    for (std::uint32_t& slot : slots_)
      if (slot == no_slot) slot = next++;
    slot_count_ = aligned(next);
    const std::size_t numbers = (1 + warps) * slot_count_ + warps * staged_numbers();
    const std::size_t bytes = numbers * (dialect_.is_float() ? sizeof(float) : sizeof(double));
    if (bytes > shared_bytes) outers_.clear(), slots_.clear();
  }
  std::size_t staged_numbers() const {
    std::size_t most = 0;
    for (const Outer& one : outers_) most = std::max(most, one.a.size() + one.b.size());
    return most * stage;
  }
  bool is_of_outer(const Leaf& one) const {
    if (one.from != Leaf::From::front) return false;
    const std::uint32_t slot = slots_[one.index + 1];
    return std::ranges::any_of(outers_, [&](const Outer& outer) {
      return (slot >= outer.at && slot < outer.at + outer.a.size() * outer.width) ||
             (outer.bias != none && slot >= outer.bias && slot < outer.bias + outer.a.size());
    });
  }
  // The gradients of a part, without those that outer products compute.
  std::vector<Id> others_of(const Part& part, std::vector<Id> gradients) const {
    if (outers_.empty()) return gradients;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (is_of_outer(part.leaves[i])) gradients[i] = none;
    return gradients;
  }
  void add_outers(std::span<const std::string> names) {
    std::size_t at = 0;
    for (const Outer& one : outers_) {
      std::size_t to = 0;
      const auto put = [&](const std::string& text) {
        line("staged[" + to_string(to++ * stage) + " + lane] = " + text + ";");
      };
      for (const auto& [factor, id] : one.a) {
        const std::string& name = names[at++];
        put("is_row ? " + (factor == 1 ? name : dialect_.literal(factor) + " * " + name) + " : " + zero());
      }
      for (std::size_t j = 0; j < one.b.size(); ++j) put(names[at++]);
      const bool has_bias = one.bias != none;
      line("__syncwarp();");
      line("gw_outer<" + to_string(one.a.size()) + ", " + to_string(one.b.size()) + ", " + to_string(one.width) + ", " +
           (has_bias ? "true" : "false") + ">(staged, own + " + to_string(one.at) + ", own + " +
           to_string(has_bias ? one.bias : 0) + ");");
      line("__syncwarp();");
    }
  }
  // The kernel with outer products: blocks loop over rows, weights are in shared memory in the order of the slots.
  std::string rows_kernel_of_outers() {
    begin_text();
    const std::string block = to_string(CudaSource::block), slots = to_string(slot_count_);
    line("__shared__ __align__(16) real weights[" + slots + "], sums[" + to_string(warps) + "][" + slots + "];");
    line("__shared__ __align__(16) real stages[" + to_string(warps) + "][" + to_string(staged_numbers()) + "];");
    line("const unsigned lane = threadIdx.x & 31u;");
    line("real *const own = sums[threadIdx.x >> 5], *const staged = stages[threadIdx.x >> 5];");
    line("for (unsigned i = lane; i < " + slots + "u; i += 32u) own[i] = " + zero() + ";");
    line("for (unsigned i = threadIdx.x; i < " + to_string(cut_.fronts.size()) + "u; i += " + block +
         "u) weights[gw_slots[i + 1u]] = u[i];");
    line("__syncthreads();");
    text_ += "#pragma unroll 1\n";
    open("for (unsigned long long first = (unsigned long long)blockIdx.x * " + block +
         "u; first < count; first += (unsigned long long)gridDim.x * " + block + "u)");
    begin_row("(unsigned)first");
    if (options_.input_gradients) line("real* const dz = input_gradients + tile;");
    reads_slots_ = true;
    in_reverse();
    reads_slots_ = false;
    add_to("0", "value");
    close();
    line("__syncthreads();");
    open("for (unsigned i = threadIdx.x; i < " + to_string(sums_) + "u; i += " + block + "u)");
    line("const unsigned slot = gw_slots[i];");
    std::string sum = "sums[0][slot]";
    for (std::size_t w = 1; w < warps; ++w) sum += " + sums[" + to_string(w) + "][slot]";
    line("partial[(unsigned long long)i * gridDim.x + blockIdx.x] = " + sum + ";");
    close();
    return rows_text();
  }

  // ---- kernels ----

  void begin_text() {
    text_.clear();
    values_.clear();
    gradients_.clear();
    fresh_ = 0;
    depth_ = 1;
  }
  void begin_rows() {
    begin_text();
    begin_row("blockIdx.x * " + to_string(CudaSource::block) + "u");
  }
  void begin_row(const std::string& first) {
    line("const unsigned row = " + first + " + threadIdx.x;");
    line("const bool is_row = row < count;");
    line("const unsigned of = is_row ? row : count - 1u;");
    line("const unsigned long long tile = (unsigned long long)(of >> 5) * " + to_string(options_.inputs.size() * 32) +
         "ull + (of & 31u);");
    line("const real* const z = rows + tile;");
    if (has_random_) line("const unsigned long long number = first_row + of;");
  }
  std::string kernel(const std::string& what, unsigned block, const std::string& arguments) const {
    return "extern \"C\" __global__ void __launch_bounds__(" + to_string(block) + ") " + name_ + "_" + what + "(" +
           arguments + ") {\n" + text_ + "}\n\n";
  }
  void write_outputs(const std::vector<std::string>& names) {
    open("if (is_row && outputs != 0)");
    for (std::size_t i = 0; i < names.size(); ++i)
      line("outputs[" + (i == 0 ? "" : to_string(i) + "ull * count + ") + "row] = " + names[i] + ";");
    close();
  }

  std::string rows_kernel() {
    if (!outers_.empty()) return rows_kernel_of_outers();
    begin_rows();
    if (options_.input_gradients) line("real* const dz = input_gradients + tile;");
    line("__shared__ real sums[" + to_string(warps) + "][" + to_string(sums_) + "];");
    line("real* const own = sums[threadIdx.x >> 5];");
    if (is_shared_) {
      line("for (unsigned i = threadIdx.x & 31u; i < " + to_string(sums_) + "u; i += 32u) own[i] = " + zero() + ";");
      line("__syncwarp();");
    } else {
      for (std::size_t i = 0; i + 1 < sums_; ++i) line("real g" + to_string(i) + " = " + zero() + ";");
    }
    if (uses_tangents_)
      with_tangents();
    else
      in_reverse();
    if (!is_shared_)
      for (std::size_t i = 0; i < sums_; ++i) {
        const std::string number = i == 0 ? "value" : "g" + to_string(i - 1), name = "s" + to_string(i);
        line("const real " + name + " = gw_warp_sum(is_row ? " + number + " : " + zero() + ");");
        line("if ((threadIdx.x & 31u) == 0u) own[" + to_string(i) + "] = " + name + ";");
      }
    else
      add_to("0", "value");
    line("__syncthreads();");
    open("for (unsigned i = threadIdx.x; i < " + to_string(sums_) + "u; i += blockDim.x)");
    std::string sum = "sums[0][i]";
    for (std::size_t w = 1; w < warps; ++w) sum += " + sums[" + to_string(w) + "][i]";
    line("partial[(unsigned long long)i * gridDim.x + blockIdx.x] = " + sum + ";");
    close();
    return rows_text();
  }
  std::string rows_text() const {
    return kernel("rows", CudaSource::block,
                  std::string("unsigned count, const real* __restrict__ u, const real* __restrict__ rows, "
                              "real* __restrict__ partial, real* __restrict__ outputs") +
                      (options_.input_gradients ? ", real* __restrict__ input_gradients" : "") + random_arguments());
  }
  std::string random_arguments() const {
    return has_random_ ? ", unsigned long long seed, unsigned long long first_row" : "";
  }

  std::string values_kernel() {
    begin_rows();
    Scope scope;
    for (std::size_t i = 0; i + 1 < cut_.sections.size(); ++i) forward(cut_.sections[i], scope, nullptr);
    const Part& last = cut_.sections.back().part;
    write_outputs(print(last.terms, last.leaves, last.terms.outputs, {}, scope));
    return kernel("values", CudaSource::block,
                  "unsigned count, const real* __restrict__ u, const real* __restrict__ rows, "
                  "real* __restrict__ outputs" +
                      random_arguments());
  }

  // One block adds up one sum over all blocks of rows.
  std::string sum_kernel() {
    const std::string block = to_string(CudaSource::sum_block) + "u";
    text_.clear(), depth_ = 1;
    line("__shared__ real sums[" + to_string(CudaSource::sum_block) + "];");
    line("const real* const from = partial + (unsigned long long)blockIdx.x * blocks;");
    line("real sum = " + zero() + ";");
    line("for (unsigned i = threadIdx.x; i < blocks; i += " + block + ") sum += from[i];");
    line("sums[threadIdx.x] = sum;");
    open("for (unsigned half = " + to_string(CudaSource::sum_block / 2) + "u; half > 0u; half >>= 1)");
    line("__syncthreads();");
    line("if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];");
    close();
    line("if (threadIdx.x == 0u) result[blockIdx.x] = sums[0];");
    return kernel("sum", CudaSource::sum_block,
                  "unsigned blocks, const real* __restrict__ partial, real* __restrict__ result");
  }

  // Single threads: the fronts from the parameters, and the gradients of the parameters from those of the fronts.
  std::string uniform_kernels() {
    const Part& part = cut_.uniform;
    Scope scope;
    for (std::uint32_t i = 0; i < cut_.scalars.parameters; ++i)
      scope.known[{Leaf::From::front, i, 0}] = "parameters[" + to_string(i) + "]";
    text_.clear(), depth_ = 1, fresh_ = 0;
    if (!cut_.fronts.empty()) {
      const auto names = print(part.terms, part.leaves, part.terms.outputs, {}, scope);
      for (std::size_t i = 0; i < names.size(); ++i) line("u[" + to_string(i) + "] = " + names[i] + ";");
    }
    std::string made = kernel("uniform", 1, "const real* __restrict__ parameters, real* __restrict__ u");
    text_.clear();
    line("result[0] = sums[0];");
    std::vector<std::string> gradients(cut_.scalars.parameters, zero());
    if (!cut_.fronts.empty()) {
      const Backward back = backward(part, part.terms.outputs);
      std::vector<std::string> seeds;
      for (std::size_t i = 0; i < cut_.fronts.size(); ++i) seeds.push_back("sums[" + to_string(i + 1) + "]");
      const auto names = print(back.terms, part.leaves, back.gradients, seeds, scope);
      for (std::size_t i = 0; i < names.size(); ++i) gradients[part.leaves[i].index] = names[i];
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) line("result[" + to_string(i + 1) + "] = " + gradients[i] + ";");
    return made + kernel("finish", 1,
                         "const real* __restrict__ parameters, const real* __restrict__ sums, "
                         "real* __restrict__ result");
  }

  // ---- values ----

  // The carried values of a loop that reverse mode keeps, and where.
  struct Kept {
    std::vector<std::uint32_t> carried;  // that the backward pass or later rounds need
    std::uint32_t rounds = 0;            // from one kept state to the next
    std::string name;
  };

  void forward(const Section& section, Scope& scope, const Kept* kept) {
    const Part& part = section.part;
    if (section.loop == nullptr) {
      if (section.outputs.empty()) return;
      const auto names = print(part.terms, part.leaves, part.terms.outputs, {}, scope);
      for (std::size_t i = 0; i < names.size(); ++i) values_[section.outputs[i]] = names[i];
      return;
    }
    const Loop& loop = *section.loop;
    const std::vector<std::string> carried = declare_carried(loop);
    Scope inside = round_scope(section, carried, scope);
    if (kept == nullptr) {
      open_rounds(section, inside);
      const auto names = print(part.terms, part.leaves, part.terms.outputs, {}, inside);
      move_carried(section, carried, names);
      close();
    } else {
      open("for (int s = 0; s < " + to_string(loop.rounds / kept->rounds) + "; ++s)");
      for (std::size_t q = 0; q < kept->carried.size(); ++q)
        line(kept->name + "[s * " + to_string(kept->carried.size()) + " + " + to_string(q) +
             "] = " + carried[kept->carried[q]] + ";");
      unroll(kept->rounds <= unrolled ? kept->rounds : 1);
      open("for (int t = s * " + to_string(kept->rounds) + "; t < (s + 1) * " + to_string(kept->rounds) + "; ++t)");
      inside.round = "t";
      const auto names = print(part.terms, part.leaves, part.terms.outputs, {}, inside);
      move_carried(section, carried, names);
      close();
    }
    close();
    name_results(loop, carried);
  }
  void unroll(std::uint32_t rounds) { text_ += "#pragma unroll " + to_string(rounds) + "\n"; }
  // Two loops around a round, the inner one unrolled. The inputs of its rounds are read before it: a division or root
  // can take a slow path, and compilers move no reads across that.
  void open_rounds(const Section& section, Scope& inside) {
    const std::uint32_t rounds = unroll_of(section.part);
    const std::string count = to_string(rounds);
    text_ += "#pragma unroll 1\n";
    open("for (int s = 0; s < " + to_string(section.loop->rounds) + "; s += " + count + ")");
    read_ahead(section.part, rounds, inside);
    random_ahead(section.part, rounds, inside);
    unroll(rounds);
    open("for (int j = 0; j < " + count + "; ++j)");
    line("const int t = s + j;");
    inside.round = "t";
  }
  // Reads the inputs of the rounds s ... s + rounds - 1 into arrays that are indexed by j.
  void read_ahead(const Part& part, std::uint32_t rounds, Scope& inside) {
    std::vector<std::pair<Leaf, std::string>> arrays;
    for (const Leaf& one : part.leaves)
      if (one.from == Leaf::From::round_input && !is_random(one)) arrays.emplace_back(one, fresh("x"));
    if (arrays.empty()) return;
    for (const auto& [one, name] : arrays) line("real " + name + "[" + to_string(rounds) + "];");
    unroll(rounds);
    open("for (int j = 0; j < " + to_string(rounds) + "; ++j)");
    for (const auto& [one, name] : arrays) {
      line(name + "[j] = gw_load(z + " + place_of(one, {{}, "(s + j)"}) + ");");
      inside.known[one] = name + "[j]";
    }
    close();
  }
  std::uint32_t unroll_of(const Part& part) const {
    constexpr std::size_t small = 64, medium = 160;
    const std::size_t nodes = part.terms.nodes.size();
    return nodes <= small ? unrolled : nodes <= medium ? 2 : 1;
  }
  std::vector<std::string> declare_carried(const Loop& loop) {
    std::vector<std::string> names;
    for (const Carried& one : loop.carried) {
      names.push_back(fresh("c"));
      line("real " + names.back() + " = " + (one.initial == none ? zero() : values_.at(one.initial)) + ";");
    }
    return names;
  }
  // Inputs that are the same in all rounds are read before the loop.
  Scope round_scope(const Section& section, const std::vector<std::string>& carried, Scope& outside) {
    for (const Leaf& one : section.part.leaves)
      if (one.from == Leaf::From::input) leaf(one, outside);
    Scope made{outside.known, ""};
    for (std::uint32_t i = 0; i < carried.size(); ++i) made.known[{Leaf::From::carried, i, 0}] = carried[i];
    return made;
  }
  // A value of two rounds before becomes one of three rounds before, and so on; those come last in the list.
  void move_carried(const Section& section, const std::vector<std::string>& carried,
                    const std::vector<std::string>& next) {
    const Loop& loop = *section.loop;
    for (std::size_t i = loop.carried.size(); i-- > 0;)
      if (loop.carried[i].lag > 1) line(carried[i] + " = " + carried[loop.carried[i].next] + ";");
    assign_together(section.next, carried, next);
  }
  // Assigns names[i] to carried[to[i]]. A name can be a carried value itself, so all are read before the first changes.
  void assign_together(const std::vector<std::uint32_t>& to, const std::vector<std::string>& carried,
                       std::vector<std::string> names) {
    for (std::string& name : names)
      if (std::ranges::find(carried, name) != carried.end()) {
        const std::string copy = fresh("t");
        line("const real " + copy + " = " + name + ";");
        name = copy;
      }
    for (std::size_t i = 0; i < to.size(); ++i) line(carried[to[i]] + " = " + names[i] + ";");
  }
  void name_results(const Loop& loop, const std::vector<std::string>& carried) {
    for (std::size_t i = 0; i < carried.size(); ++i)
      values_[cut_.rounds.node(loop, loop.rounds - loop.carried[i].lag, loop.carried[i].place)] = carried[i];
  }

  // ---- tangents ----

  void with_tangents() {
    std::map<Id, Tangents> tangents;  // of values
    Scope scope;
    for (std::size_t i = 0; i + 1 < cut_.sections.size(); ++i) {
      const Section& section = cut_.sections[i];
      if (section.loop != nullptr)
        loop_with_tangents(section, scope, tangents);
      else if (!section.outputs.empty())
        steps_with_tangents(section, scope, tangents);
    }
    const Part& last = cut_.sections.back().part;
    const Backward back = backward(last, {last.terms.outputs[0]});
    std::vector<Id> nodes = last.terms.outputs;
    for (std::size_t i = 0; i < last.leaves.size(); ++i)
      if (back.gradients[i] != none && has_tangent(last.leaves[i])) nodes.push_back(back.gradients[i]);
    const auto names = print(back.terms, last.leaves, nodes, {}, scope);
    std::size_t at = last.terms.outputs.size();
    line("const real value = " + names[0] + ";");
    write_outputs({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(at)});
    for (std::size_t i = 0; i < last.leaves.size(); ++i) {
      if (back.gradients[i] == none || !has_tangent(last.leaves[i])) continue;
      const std::string& gradient = names[at++];
      if (last.leaves[i].from == Leaf::From::front) {
        const std::string sum = "g" + to_string(last.leaves[i].index);
        line(sum + " += " + gradient + ";");
        continue;
      }
      for (const auto& [seed, tangent] : tangents[last.leaves[i].index]) {
        const std::string sum = "g" + to_string(seed);
        line(sum + " = " + dialect_.fused(gradient, tangent, sum) + ";");
      }
    }
  }

  // The tangents of an output: derivatives by leaves times their tangents.
  Tangents combined(const std::vector<std::pair<Leaf, std::string>>& derivatives,
                    const std::map<Leaf, Tangents>& of_leaves) {
    Tangents sums;
    for (const auto& [one, derivative] : derivatives)
      if (one.from == Leaf::From::front) sums[one.index] = derivative;
    // A derivative of 1 comes first: the tangent itself is then a sum to which products are added.
    for (const bool is_one : {true, false})
      for (const auto& [one, derivative] : derivatives) {
        const auto known = of_leaves.find(one);
        if (one.from == Leaf::From::front || known == of_leaves.end()) continue;
        if ((derivative == dialect_.literal(1)) != is_one) continue;
        for (const auto& [seed, tangent] : known->second) {
          const auto sum = sums.find(seed);
          if (sum != sums.end())
            sum->second = is_one ? sum->second + " + " + tangent : dialect_.fused(derivative, tangent, sum->second);
          else
            sums[seed] = is_one ? tangent : derivative + " * " + tangent;
        }
      }
    for (auto& [seed, text] : sums) {
      if (text.find('(') == std::string::npos && text.find(' ') == std::string::npos) continue;
      const std::string name = fresh("d");
      line("const real " + name + " = " + text + ";");
      text = name;
    }
    return sums;
  }

  struct Derivatives {
    std::vector<std::string> outputs;
    std::vector<std::vector<std::pair<Leaf, std::string>>> rows;  // for each output
  };
  Derivatives print_jacobian(const Part& part, Scope& scope) {
    const Jacobian all = jacobian(part);
    std::vector<Id> nodes = part.terms.outputs;
    for (const auto& row : all.entries)
      for (std::size_t i = 0; i < row.size(); ++i)
        if (row[i] != none && has_tangent(part.leaves[i])) nodes.push_back(row[i]);
    const auto names = print(all.terms, part.leaves, nodes, {}, scope);
    Derivatives made;
    std::size_t at = part.terms.outputs.size();
    made.outputs.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(at));
    for (const auto& row : all.entries) {
      auto& entries = made.rows.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i)
        if (row[i] != none && has_tangent(part.leaves[i])) entries.emplace_back(part.leaves[i], names[at++]);
    }
    return made;
  }
  static std::map<Leaf, Tangents> tangents_of(const Part& part, const std::map<Id, Tangents>& tangents) {
    std::map<Leaf, Tangents> made;
    for (const Leaf& one : part.leaves)
      if (one.from == Leaf::From::value)
        if (const auto known = tangents.find(one.index); known != tangents.end()) made[one] = known->second;
    return made;
  }

  void steps_with_tangents(const Section& section, Scope& scope, std::map<Id, Tangents>& tangents) {
    const Derivatives all = print_jacobian(section.part, scope);
    const auto of_leaves = tangents_of(section.part, tangents);
    for (std::size_t i = 0; i < section.outputs.size(); ++i) {
      values_[section.outputs[i]] = all.outputs[i];
      tangents[section.outputs[i]] = combined(all.rows[i], of_leaves);
    }
  }

  void loop_with_tangents(const Section& section, Scope& scope, std::map<Id, Tangents>& tangents) {
    const Loop& loop = *section.loop;
    const std::vector<std::string> carried = declare_carried(loop);
    std::map<Leaf, Tangents> of_leaves = tangents_of(section.part, tangents);
    std::vector<Tangents> along(loop.carried.size());
    const auto reach = seeds_of_carried(section, of_leaves, tangents);
    for (std::uint32_t c = 0; c < loop.carried.size(); ++c) {
      for (const std::uint32_t seed : reach[c]) {
        const std::string name = fresh("d");
        const Id initial = loop.carried[c].initial;
        const Tangents& before = tangents[initial];
        const auto known = before.find(seed);
        line("real " + name + " = " + (initial == none || known == before.end() ? zero() : known->second) + ";");
        along[c][seed] = name;
      }
      of_leaves[{Leaf::From::carried, c, 0}] = along[c];
    }
    Scope inside = round_scope(section, carried, scope);
    open_rounds(section, inside);
    const Derivatives all = print_jacobian(section.part, inside);
    std::vector<Tangents> next;
    for (const auto& row : all.rows) next.push_back(combined(row, of_leaves));
    std::vector<std::string> from, to;
    for (std::size_t i = 0; i < section.next.size(); ++i)
      for (const auto& [seed, name] : along[section.next[i]]) {
        const auto made = next[i].find(seed);
        to.push_back(name);
        from.push_back(made == next[i].end() ? zero() : made->second);
      }
    for (std::size_t i = loop.carried.size(); i-- > 0;) {
      if (loop.carried[i].lag == 1) continue;
      const Tangents& before = along[loop.carried[i].next];
      for (const auto& [seed, name] : along[i])
        line(name + " = " + (before.contains(seed) ? before.at(seed) : zero()) + ";");
    }
    std::vector<std::uint32_t> order(to.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    assign_together(order, to, from);
    move_carried(section, carried, all.outputs);
    close();
    close();
    name_results(loop, carried);
    for (std::size_t i = 0; i < carried.size(); ++i)
      tangents[cut_.rounds.node(loop, loop.rounds - loop.carried[i].lag, loop.carried[i].place)] = along[i];
  }

  // The fronts on which each carried value can depend after any number of rounds.
  std::vector<std::set<std::uint32_t>> seeds_of_carried(const Section& section,
                                                        const std::map<Leaf, Tangents>& of_leaves,
                                                        const std::map<Id, Tangents>& tangents) const {
    const Loop& loop = *section.loop;
    const Jacobian all = jacobian(section.part);
    std::vector<std::set<std::uint32_t>> reach(loop.carried.size());
    for (std::size_t c = 0; c < reach.size(); ++c)
      if (const auto known = tangents.find(loop.carried[c].initial); known != tangents.end())
        for (const auto& [seed, name] : known->second) reach[c].insert(seed);
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      const auto grow = [&](std::size_t c, std::uint32_t seed) { has_grown |= reach[c].insert(seed).second; };
      for (std::size_t i = 0; i < section.next.size(); ++i)
        for (std::size_t k = 0; k < section.part.leaves.size(); ++k) {
          const Leaf& one = section.part.leaves[k];
          if (all.entries[i][k] == none) continue;
          if (one.from == Leaf::From::front) grow(section.next[i], one.index);
          if (one.from == Leaf::From::carried)
            for (const std::uint32_t seed : std::set(reach[one.index])) grow(section.next[i], seed);
          if (const auto known = of_leaves.find(one); known != of_leaves.end())
            for (const auto& [seed, name] : known->second) grow(section.next[i], seed);
        }
      for (std::size_t c = 0; c < reach.size(); ++c)
        if (loop.carried[c].lag > 1)
          for (const std::uint32_t seed : std::set(reach[loop.carried[c].next])) grow(c, seed);
    }
    return reach;
  }

  // ---- reverse ----

  void in_reverse() {
    Scope scope;
    std::vector<Kept> kept(cut_.sections.size());
    for (std::size_t i = 0; i + 1 < cut_.sections.size(); ++i) {
      const Section& section = cut_.sections[i];
      if (section.loop != nullptr) kept[i] = kept_of(section);
      forward(section, scope, section.loop != nullptr ? &kept[i] : nullptr);
    }
    const Part& last = cut_.sections.back().part;
    const Backward back = backward(last, {last.terms.outputs[0]});
    std::vector<Id> nodes = last.terms.outputs;
    const std::vector<Id> gradients = others_of(last, back.gradients);
    for (std::size_t i = 0; i < last.leaves.size(); ++i)
      if (is_wanted(last.leaves[i], gradients[i])) nodes.push_back(gradients[i]);
    const std::size_t outputs = last.terms.outputs.size(), before_outers = nodes.size();
    for (const Outer& one : outers_) {
      for (const auto& [factor, id] : one.a) nodes.push_back(id);
      nodes.insert(nodes.end(), one.b.begin(), one.b.end());
    }
    const auto names = print(back.terms, last.leaves, nodes, {}, scope);
    line("const real value = " + names[0] + ";");
    write_outputs({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(outputs)});
    add_gradients(last.leaves, gradients, std::span(names).subspan(outputs), scope);
    add_outers(std::span(names).subspan(before_outers));
    for (std::size_t i = cut_.sections.size() - 1; i-- > 0;) {
      const Section& section = cut_.sections[i];
      if (section.loop != nullptr)
        loop_in_reverse(section, kept[i], scope);
      else
        steps_in_reverse(section, scope);
    }
  }
  bool is_wanted(const Leaf& one, Id gradient) const {
    if (gradient == none || one.is_number()) return false;
    const bool is_input = one.from == Leaf::From::input || one.from == Leaf::From::round_input;
    return !is_input || options_.input_gradients;
  }

  void add_to(const std::string& sum, const std::string& number) {
    const std::string slot = outers_.empty() ? sum : to_string(slots_[std::stoul(sum)]);
    line("gw_add(own + " + slot + ", is_row ? " + number + " : " + zero() + ");");
  }
  // Adds what a part passes on to its leaves; names has one entry for each gradient that is wanted.
  void add_gradients(const std::vector<Leaf>& leaves, const std::vector<Id>& gradients,
                     std::span<const std::string> names, const Scope& scope) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!is_wanted(leaves[i], gradients[i])) continue;
      const std::string& name = names[at++];
      const Leaf& one = leaves[i];
      switch (one.from) {
        case Leaf::From::front:
        case Leaf::From::round_front: {
          if (is_shared_)
            add_to(index(one.index + 1, one.step, scope.round), name);
          else
            line("g" + to_string(one.index) + " += " + name + ";");
          break;
        }
        case Leaf::From::input:
        case Leaf::From::round_input: line("if (is_row) dz[" + place_of(one, scope) + "] += " + name + ";"); break;
        case Leaf::From::value: {
          std::string& sum = gradients_[one.index];
          if (sum.empty()) {
            sum = name;
          } else if (scope.round.empty()) {
            const std::string total = fresh("t");
            line("const real " + total + " = " + sum + " + " + name + ";");
            sum = total;
          } else {
            line(sum + " += " + name + ";");
          }
          break;
        }
        default: break;
      }
    }
  }

  void steps_in_reverse(const Section& section, Scope& scope) {
    const Part& part = section.part;
    std::vector<Id> outputs;
    std::vector<std::string> seeds;
    for (std::size_t i = 0; i < section.outputs.size(); ++i) {
      const auto known = gradients_.find(section.outputs[i]);
      if (known == gradients_.end()) continue;
      outputs.push_back(part.terms.outputs[i]);
      seeds.push_back(known->second);
    }
    if (outputs.empty()) return;
    const Backward back = backward(part, outputs);
    const auto names = print(back.terms, part.leaves, wanted(part, back), seeds, scope);
    add_gradients(part.leaves, back.gradients, names, scope);
  }
  std::vector<Id> wanted(const Part& part, const Backward& back) const {
    std::vector<Id> nodes;
    for (std::size_t i = 0; i < part.leaves.size(); ++i)
      if (is_wanted(part.leaves[i], back.gradients[i])) nodes.push_back(back.gradients[i]);
    return nodes;
  }

  // The carried values that the backward pass of a round reads, and those that are needed to compute them again.
  Kept kept_of(const Section& section) {
    const Loop& loop = *section.loop;
    const Part& part = section.part;
    const Backward back = backward(part, part.terms.outputs);
    std::set<std::uint32_t> needed;
    const auto read = [&](const Code& code) {
      std::set<std::uint32_t> made;
      for (const Item& item : code.items)
        for (const Operands& operands : item.statement.value.operands)
          if (operands[0].array == Array::parameter && part.leaves[operands[0].index].from == Leaf::From::carried)
            made.insert(part.leaves[operands[0].index].index);
      return made;
    };
    needed = read(lowered(back.terms, wanted(part, back), true));
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (const std::uint32_t c : std::set(needed)) {
        if (loop.carried[c].lag > 1) {
          has_grown |= needed.insert(loop.carried[c].next).second;
          continue;
        }
        const auto output = std::ranges::find(section.next, c) - section.next.begin();
        for (const std::uint32_t more :
             read(lowered(part.terms, {part.terms.outputs[static_cast<std::size_t>(output)]}, false)))
          has_grown |= needed.insert(more).second;
      }
    }
    Kept made{{needed.begin(), needed.end()}, unrolled, fresh("kept")};
    while (loop.rounds % (made.rounds * 2) == 0 && loop.rounds / made.rounds * made.carried.size() > most_kept)
      made.rounds *= 2;
    const std::size_t numbers = std::max<std::size_t>(1, loop.rounds / made.rounds * made.carried.size());
    line("real " + made.name + "[" + to_string(numbers) + "];");
    return made;
  }
  void loop_in_reverse(const Section& section, const Kept& kept, Scope& scope) {
    const Loop& loop = *section.loop;
    const Part& part = section.part;
    // The gradients of the carried values after the last round.
    std::vector<std::string> carried;
    bool has_gradient = false;
    for (const Carried& one : loop.carried) {
      const auto known = gradients_.find(cut_.rounds.node(loop, loop.rounds - one.lag, one.place));
      has_gradient |= known != gradients_.end();
      carried.push_back(fresh("b"));
      line("real " + carried.back() + " = " + (known == gradients_.end() ? zero() : known->second) + ";");
    }
    if (!has_gradient) return;
    const Backward back = backward(part, part.terms.outputs);
    // Values outside of the loop collect the gradients of all rounds in a variable.
    for (std::size_t i = 0; i < part.leaves.size(); ++i) {
      if (part.leaves[i].from != Leaf::From::value || back.gradients[i] == none) continue;
      std::string& sum = gradients_[part.leaves[i].index];
      const std::string variable = fresh("b");
      line("real " + variable + " = " + (sum.empty() ? zero() : sum) + ";");
      sum = variable;
    }
    const std::string rounds = to_string(kept.rounds);
    const std::size_t states = kept.carried.size();
    open("for (int s = " + to_string(loop.rounds / kept.rounds - 1) + "; s >= 0; --s)");
    const std::string near = fresh("near");
    const auto state = [&](const std::string& round, std::size_t q) {
      return near + "[" + round + "][" + to_string(q) + "]";
    };
    if (states > 0) {
      line("real " + near + "[" + rounds + "][" + to_string(states) + "];");
      for (std::size_t q = 0; q < states; ++q)
        line(state("0", q) + " = " + kept.name + "[s * " + to_string(states) + " + " + to_string(q) + "];");
      again(section, kept, scope, state);
    }
    unroll(kept.rounds <= unrolled ? kept.rounds : 1);
    open("for (int j = " + to_string(kept.rounds - 1) + "; j >= 0; --j)");
    line("const int t = s * " + rounds + " + j;");
    Scope inside{scope.known, "t"};
    for (std::uint32_t c = 0; c < loop.carried.size(); ++c) inside.known[{Leaf::From::carried, c, 0}] = "0";
    for (std::size_t q = 0; q < states; ++q) inside.known[{Leaf::From::carried, kept.carried[q], 0}] = state("j", q);
    std::vector<std::string> seeds;
    for (const std::uint32_t c : section.next) seeds.push_back(carried[c]);
    const auto names = print(back.terms, part.leaves, wanted(part, back), seeds, inside);
    add_gradients(part.leaves, back.gradients, names, inside);
    // The gradients of the carried values before the round.
    std::vector<std::string> before(carried.size());
    std::size_t at = 0;
    for (std::size_t i = 0; i < part.leaves.size(); ++i) {
      if (!is_wanted(part.leaves[i], back.gradients[i])) continue;
      if (part.leaves[i].from == Leaf::From::carried) before[part.leaves[i].index] = names[at];
      ++at;
    }
    for (std::size_t i = 0; i < carried.size(); ++i)
      if (loop.carried[i].lag > 1) {
        std::string& sum = before[loop.carried[i].next];
        const std::string total = fresh("t");
        line("const real " + total + " = " + (sum.empty() ? carried[i] : sum + " + " + carried[i]) + ";");
        sum = total;
      }
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < carried.size(); ++i) order.push_back(i);
    for (std::string& name : before)
      if (name.empty()) name = zero();
    assign_together(order, carried, before);
    close();
    close();
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const Id initial = loop.carried[i].initial;
      if (initial == none) continue;
      std::string& sum = gradients_[initial];
      if (sum.empty()) {
        sum = carried[i];
        continue;
      }
      const std::string total = fresh("t");
      line("const real " + total + " = " + sum + " + " + carried[i] + ";");
      sum = total;
    }
  }
  // Computes the states of the rounds between two kept ones again.
  template <class State> void again(const Section& section, const Kept& kept, const Scope& scope, const State& state) {
    const Loop& loop = *section.loop;
    const Part& part = section.part;
    unroll(kept.rounds <= unrolled ? kept.rounds - 1 : 1);
    open("for (int j = 0; j < " + to_string(kept.rounds - 1) + "; ++j)");
    line("const int t = s * " + to_string(kept.rounds) + " + j;");
    Scope inside{scope.known, "t"};
    for (std::size_t q = 0; q < kept.carried.size(); ++q)
      inside.known[{Leaf::From::carried, kept.carried[q], 0}] = state("j", q);
    std::vector<Id> nodes;
    for (const std::uint32_t c : kept.carried) {
      const auto output = std::ranges::find(section.next, c);
      if (output != section.next.end())
        nodes.push_back(part.terms.outputs[static_cast<std::size_t>(output - section.next.begin())]);
    }
    const auto names = print(part.terms, part.leaves, nodes, {}, inside);
    std::size_t at = 0;
    for (std::size_t q = 0; q < kept.carried.size(); ++q) {
      const Carried& one = loop.carried[kept.carried[q]];
      const auto before = std::ranges::find(kept.carried, one.next) - kept.carried.begin();
      line(state("j + 1", q) + " = " + (one.lag > 1 ? state("j", static_cast<std::size_t>(before)) : names[at++]) +
           ";");
    }
    close();
  }

  const CudaOptions& options_;
  Cuda dialect_;
  std::string name_;
  bool has_random_;
  Cut cut_;
  std::size_t sums_ = 0;
  bool is_shared_ = false, uses_tangents_ = false;
  std::vector<Outer> outers_;
  std::vector<std::uint32_t> slots_;  // with outer products: where each sum is in shared memory, and the front of it
  std::size_t slot_count_ = 0;
  bool reads_slots_ = false;  // whether the kernel at hand reads fronts from there
  bool calls_digamma_ = false, calls_trigamma_ = false, calls_times_ = false;

  std::string text_;  // of the kernel at hand
  std::size_t depth_ = 1, fresh_ = 0;
  std::map<Id, std::string> values_;     // of steps that sections have computed
  std::map<Id, std::string> gradients_;  // of the same
};

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
  const std::string name = emit::Names().unique(options.name, "model");
  const std::size_t most = CudaSource::most_fronts(options.precision), read = emit::uniform_numbers(recorded.scalars);
  if (options.rows != CudaOptions::Rows::by_blocks && read <= most) {
    emit::Kernels kernels(recorded.scalars, options, name);
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
  return emit::cuda_layers(std::move(recorded.scalars), options, name);
}
CudaSource emit_cuda(const Value& output, const CudaOptions& options) {
  return emit_cuda(std::span(&output, 1), options);
}

}  // namespace gradwalk
