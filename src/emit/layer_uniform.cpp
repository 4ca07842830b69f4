// SPDX-License-Identifier: MIT
// Numbers that are the same for all rows, and their gradients.
#include <algorithm>

#include "layer_kernels.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Id, compiler::Instruction, compiler::Instructions, compiler::none, compiler::Rate;
using std::to_string;

}  // namespace

std::string LayerKernels::uniform_kernels(const std::string& what, const std::vector<Piece>& pieces,
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

std::string LayerKernels::unpack_kernels(std::vector<CudaLayers::Step>& steps) {
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

void LayerKernels::print_dot(const Instruction& one, bool is_backward) {
  line("__shared__ real parts[" + to_string(threads) + "];");
  line("real sum = 0;");
  for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
    const compiler::Factors& factors = program_.factors[t];
    const auto text_of = [&](const compiler::Operand& operand) {
      return operand.exists() ? leaf(column_of(program_, operand, factors.count)) : dialect_.literal(1);
    };
    open("for (unsigned i = threadIdx.x; i < " + text(factors.count) + "; i += " + text(threads) + ")");
    line("sum = gw_more<" + careful(is_backward) + ">(" + text_of(factors.factor) + " * " + text_of(factors.a) + ", " +
         text_of(factors.b) + ", sum);");
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

std::string LayerKernels::finish_kernel() {
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

}  // namespace gradwalk::emit
