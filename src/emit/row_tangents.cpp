// SPDX-License-Identifier: MIT
// Derivatives that are carried along with the values, and the choice between them and reverse mode.
#include <algorithm>

#include "compile/passes.hpp"
#include "gradients.hpp"
#include "gradwalk/error.hpp"
#include "row_kernels.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Id, compiler::Loop, compiler::none;
using std::to_string;

}  // namespace

void refuse_tangents() {
  throw Error("emit_cuda", "a loop, few uniform numbers, and no input gradients or guard for tangents",
              "a graph or options without one of these", "leave .derivatives as it is");
}

bool RowKernels::chooses_tangents() const {
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

std::vector<Id> RowKernels::gradients_of(const Backward& back) {
  std::vector<Id> nodes;
  for (const Id id : back.gradients)
    if (id != none) nodes.push_back(id);
  return nodes;
}

void RowKernels::with_tangents() {
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

RowKernels::Tangents RowKernels::combined(const std::vector<std::pair<Leaf, std::string>>& derivatives,
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

RowKernels::Derivatives RowKernels::print_jacobian(const Part& part, Scope& scope) {
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

std::map<Leaf, RowKernels::Tangents> RowKernels::tangents_of(const Part& part, const std::map<Id, Tangents>& tangents) {
  std::map<Leaf, Tangents> made;
  for (const Leaf& one : part.leaves)
    if (one.from == Leaf::From::value)
      if (const auto known = tangents.find(one.index); known != tangents.end()) made[one] = known->second;
  return made;
}

void RowKernels::steps_with_tangents(const Section& section, Scope& scope, std::map<Id, Tangents>& tangents) {
  const Derivatives all = print_jacobian(section.part, scope);
  const auto of_leaves = tangents_of(section.part, tangents);
  for (std::size_t i = 0; i < section.outputs.size(); ++i) {
    values_[section.outputs[i]] = all.outputs[i];
    tangents[section.outputs[i]] = combined(all.rows[i], of_leaves);
  }
}

void RowKernels::loop_with_tangents(const Section& section, Scope& scope, std::map<Id, Tangents>& tangents) {
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

std::vector<std::set<std::uint32_t>> RowKernels::seeds_of_carried(const Section& section,
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

}  // namespace gradwalk::emit
