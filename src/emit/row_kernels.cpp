// SPDX-License-Identifier: MIT
#include "row_kernels.hpp"

#include "compile/passes.hpp"
#include "cuda_prelude.hpp"
#include "gradients.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::emit {
namespace {

using compiler::none;
using std::to_string;

constexpr std::size_t most_in_registers = 32;    // sums of a row; more are added up in shared memory
constexpr std::size_t steps_between_reads = 32;  // for which numbers of shared memory stay in registers

}  // namespace

RowKernels::RowKernels(compiler::Scalars scalars, const CudaOptions& options, std::string name)
    : KernelText(options, std::move(name)), has_random_(options.normals.size() + options.uniforms.size() > 0) {
  cut_ = cut_at_loops(scalars, options.loops, unrolled);
  if (mixes_inputs()) cut_ = cut_at_loops(std::move(scalars), false, unrolled);
  sums_ = cut_.fronts.size() + 1;
  is_shared_ = sums_ > most_in_registers || cut_.has_round_fronts;
}

void RowKernels::plan() {
  uses_tangents_ = chooses_tangents();
  if (is_shared_ && cut_.rounds.loops.empty() && !options_.guard_zeros) find_outers();
}

CudaSource RowKernels::run() {
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

std::string RowKernels::about() const {
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

std::string RowKernels::tables() const {
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

std::string RowKernels::index(std::uint32_t first, std::int32_t step, const std::string& round) const {
  if (step == 0) return to_string(first);
  const std::string term = (step == 1 || step == -1 ? "" : to_string(std::abs(step)) + " * ") + round;
  return to_string(first) + (step < 0 ? " - " : " + ") + term;
}

std::string RowKernels::leaf(const Leaf& one, Scope& scope) {
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

std::string RowKernels::place_of(const Leaf& input, const Scope& scope) const {
  if (input.step == 0) return to_string(std::uint64_t{input.index} * 32);
  return "(" + index(input.index, input.step, scope.round) + ") * 32";
}

std::vector<std::string> RowKernels::print(const Terms& terms, const std::vector<Leaf>& leaves,
                                           const std::vector<Id>& nodes, const std::vector<std::string>& seeds,
                                           Scope& scope) {
  return print_code(
      lowered(terms, nodes, !seeds.empty()), nodes.size(),
      [&](const Operand& operand) {
        return operand.array == Array::seed ? seeds[operand.index] : leaf(leaves[operand.index], scope);
      },
      [&](const std::string& value) {
        const std::string name = assign(value);
        // Weights are read again after this: compilers would keep all of them in registers, and spill.
        if (reads_slots_ && fresh_ % steps_between_reads == 0) line("__syncwarp();");
        return name;
      });
}

Code RowKernels::lowered(const Terms& terms, const std::vector<Id>& nodes, bool has_seeds) const {
  std::vector<Store> stores;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) stores.push_back({{Array::output, i, 0}, nodes[i]});
  return lower(terms, stores, dialect_, {terms.parameters, true, has_seeds, options_.guard_zeros});
}

RowKernels::Backward RowKernels::backward(const Part& part, const std::vector<Id>& outputs) {
  Backward made{part.terms, {}};
  made.terms.outputs = outputs;
  compiler::differentiate(made.terms);
  made.gradients = made.terms.gradients;
  return made;
}

RowKernels::Jacobian RowKernels::jacobian(const Part& part) {
  Jacobian made{part.terms, {}};
  made.terms.backward = static_cast<Id>(made.terms.nodes.size());
  for (const Id output : part.terms.outputs) made.entries.push_back(add_backward(made.terms, part.terms, output));
  return made;
}

bool RowKernels::has_tangent(const Leaf& one) {
  return one.from == Leaf::From::front || one.from == Leaf::From::value || one.from == Leaf::From::carried;
}

void RowKernels::begin_text() {
  KernelText::begin_text();
  values_.clear();
  gradients_.clear();
}

void RowKernels::begin_rows() {
  begin_text();
  begin_row("blockIdx.x * " + to_string(CudaSource::block) + "u");
}

void RowKernels::begin_row(const std::string& first) {
  line("const unsigned row = " + first + " + threadIdx.x;");
  line("const bool is_row = row < count;");
  line("const unsigned of = is_row ? row : count - 1u;");
  line("const unsigned long long tile = (unsigned long long)(of >> 5) * " + to_string(options_.inputs.size() * 32) +
       "ull + (of & 31u);");
  line("const real* const z = rows + tile;");
  if (has_random_) line("const unsigned long long number = first_row + of;");
}

void RowKernels::write_outputs(const std::vector<std::string>& names) {
  open("if (is_row && outputs != 0)");
  for (std::size_t i = 0; i < names.size(); ++i)
    line("outputs[" + (i == 0 ? "" : to_string(i) + "ull * count + ") + "row] = " + names[i] + ";");
  close();
}

std::string RowKernels::rows_kernel() {
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

std::string RowKernels::rows_text() const {
  return kernel("rows", CudaSource::block,
                std::string("unsigned count, const real* __restrict__ u, const real* __restrict__ rows, "
                            "real* __restrict__ partial, real* __restrict__ outputs") +
                    (options_.input_gradients ? ", real* __restrict__ input_gradients" : "") + random_arguments());
}

std::string RowKernels::random_arguments() const {
  return has_random_ ? ", unsigned long long seed, unsigned long long first_row" : "";
}

std::string RowKernels::values_kernel() {
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

std::string RowKernels::sum_kernel() {
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

std::string RowKernels::uniform_kernels() {
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

}  // namespace gradwalk::emit
