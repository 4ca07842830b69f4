// SPDX-License-Identifier: MIT
// The forward pass, and its loops.
#include <algorithm>

#include "row_kernels.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Carried, compiler::Loop, compiler::none;
using std::to_string;

}  // namespace

void RowKernels::forward(const Section& section, Scope& scope, const Kept* kept) {
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

void RowKernels::open_rounds(const Section& section, Scope& inside) {
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

void RowKernels::read_ahead(const Part& part, std::uint32_t rounds, Scope& inside) {
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

std::uint32_t RowKernels::unroll_of(const Part& part) const {
  constexpr std::size_t small = 64, medium = 160;
  const std::size_t nodes = part.terms.nodes.size();
  return nodes <= small ? unrolled : nodes <= medium ? 2 : 1;
}

std::vector<std::string> RowKernels::declare_carried(const Loop& loop) {
  std::vector<std::string> names;
  for (const Carried& one : loop.carried) {
    names.push_back(fresh("c"));
    line("real " + names.back() + " = " + (one.initial == none ? zero() : values_.at(one.initial)) + ";");
  }
  return names;
}

RowKernels::Scope RowKernels::round_scope(const Section& section, const std::vector<std::string>& carried,
                                          Scope& outside) {
  for (const Leaf& one : section.part.leaves)
    if (one.from == Leaf::From::input) leaf(one, outside);
  Scope made{outside.known, ""};
  for (std::uint32_t i = 0; i < carried.size(); ++i) made.known[{Leaf::From::carried, i, 0}] = carried[i];
  return made;
}

void RowKernels::move_carried(const Section& section, const std::vector<std::string>& carried,
                              const std::vector<std::string>& next) {
  const Loop& loop = *section.loop;
  for (std::size_t i = loop.carried.size(); i-- > 0;)
    if (loop.carried[i].lag > 1) line(carried[i] + " = " + carried[loop.carried[i].next] + ";");
  assign_together(section.next, carried, next);
}

void RowKernels::assign_together(const std::vector<std::uint32_t>& to, const std::vector<std::string>& carried,
                                 std::vector<std::string> names) {
  for (std::string& name : names)
    if (std::ranges::find(carried, name) != carried.end()) {
      const std::string copy = fresh("t");
      line("const real " + copy + " = " + name + ";");
      name = copy;
    }
  for (std::size_t i = 0; i < to.size(); ++i) line(carried[to[i]] + " = " + names[i] + ";");
}

void RowKernels::name_results(const Loop& loop, const std::vector<std::string>& carried) {
  for (std::size_t i = 0; i < carried.size(); ++i)
    values_[cut_.rounds.node(loop, loop.rounds - loop.carried[i].lag, loop.carried[i].place)] = carried[i];
}

}  // namespace gradwalk::emit
