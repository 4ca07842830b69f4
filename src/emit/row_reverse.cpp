// SPDX-License-Identifier: MIT
// The backward pass.
#include <algorithm>

#include "row_kernels.hpp"

namespace gradwalk::emit {
namespace {

using compiler::Carried, compiler::Id, compiler::Loop, compiler::none;
using std::to_string;

constexpr std::size_t most_kept = 1024;  // numbers of a row that the reverse mode keeps

}  // namespace

void RowKernels::in_reverse() {
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

bool RowKernels::is_wanted(const Leaf& one, Id gradient) const {
  if (gradient == none || one.is_number()) return false;
  const bool is_input = one.from == Leaf::From::input || one.from == Leaf::From::round_input;
  return !is_input || options_.input_gradients;
}

void RowKernels::add_to(const std::string& sum, const std::string& number) {
  const std::string slot = outers_.empty() ? sum : to_string(slots_[std::stoul(sum)]);
  line("gw_add(own + " + slot + ", is_row ? " + number + " : " + zero() + ");");
}

void RowKernels::add_gradients(const std::vector<Leaf>& leaves, const std::vector<Id>& gradients,
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

void RowKernels::steps_in_reverse(const Section& section, Scope& scope) {
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

std::vector<Id> RowKernels::wanted(const Part& part, const Backward& back) const {
  std::vector<Id> nodes;
  for (std::size_t i = 0; i < part.leaves.size(); ++i)
    if (is_wanted(part.leaves[i], back.gradients[i])) nodes.push_back(back.gradients[i]);
  return nodes;
}

RowKernels::Kept RowKernels::kept_of(const Section& section) {
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

void RowKernels::loop_in_reverse(const Section& section, const Kept& kept, Scope& scope) {
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

template <class State>
void RowKernels::again(const Section& section, const Kept& kept, const Scope& scope, const State& state) {
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
    line(state("j + 1", q) + " = " + (one.lag > 1 ? state("j", static_cast<std::size_t>(before)) : names[at++]) + ";");
  }
  close();
}

}  // namespace gradwalk::emit
