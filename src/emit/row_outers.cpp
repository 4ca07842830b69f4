// SPDX-License-Identifier: MIT
// Gradients that are outer products.
#include <algorithm>

#include "row_kernels.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Id, compiler::none, compiler::Product;
using std::to_string;

constexpr std::size_t most_of_outer = 16, least_of_outer = 8;  // numbers of a side, and products
constexpr std::size_t stage = 36;  // numbers from one staged number to the next: 32 rows, and no bank conflicts

}  // namespace

Product RowKernels::factors_of(const Terms& terms, Id gradient) {
  const compiler::Node& node = terms.nodes[gradient];
  if (node.kind != compiler::Kind::sum || node.count != 1 || node.number != 0) return {1, gradient, none};
  return terms.products[node.begin];
}

void RowKernels::find_outers() {
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

std::size_t RowKernels::staged_numbers() const {
  std::size_t most = 0;
  for (const Outer& one : outers_) most = std::max(most, one.a.size() + one.b.size());
  return most * stage;
}

bool RowKernels::is_of_outer(const Leaf& one) const {
  if (one.from != Leaf::From::front) return false;
  const std::uint32_t slot = slots_[one.index + 1];
  return std::ranges::any_of(outers_, [&](const Outer& made) {
    return (slot >= made.at && slot < made.at + made.a.size() * made.width) ||
           (made.bias != none && slot >= made.bias && slot < made.bias + made.a.size());
  });
}

std::vector<Id> RowKernels::others_of(const Part& part, std::vector<Id> gradients) const {
  if (outers_.empty()) return gradients;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (is_of_outer(part.leaves[i])) gradients[i] = none;
  return gradients;
}

void RowKernels::add_outers(std::span<const std::string> names) {
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

std::string RowKernels::rows_kernel_of_outers() {
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

}  // namespace gradwalk::emit
