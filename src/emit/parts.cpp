// SPDX-License-Identifier: MIT
#include "parts.hpp"

#include <algorithm>
#include <set>

#include "compile/passes.hpp"

namespace gradwalk::emit {
namespace {

using namespace compiler;
using From = RoundOperand::From;

// Collects the nodes and leaves of a part.
class Builder {
 public:
  using Ref = std::uint32_t;  // a leaf, or a node

  Ref leaf(const Leaf& one) {
    const auto [known, is_new] = leaf_numbers_.try_emplace(one, static_cast<Ref>(leaves_.size()));
    if (is_new) leaves_.push_back(one);
    return leaf_mark | known->second;
  }
  Ref constant(double number) {
    nodes_.push_back({Op::constant, Rate::constant, {static_cast<Id>(numbers_.size()), none, none}});
    numbers_.push_back(number);
    return static_cast<Ref>(nodes_.size() - 1);
  }
  Ref node(Op op, const std::array<Ref, 3>& operands) {
    nodes_.push_back({op, Rate::uniform, operands});
    return static_cast<Ref>(nodes_.size() - 1);
  }

  Part finish(const std::vector<Ref>& outputs) {
    Scalars made;
    made.parameters = leaves_.size();
    for (std::size_t i = 0; i < leaves_.size(); ++i)
      made.nodes.push_back({Op::leaf, Rate::uniform, {static_cast<Id>(i), none, none}});
    const auto place = [&](Ref ref) {
      if (ref == none) return none;
      return (ref & leaf_mark) != 0 ? ref & ~leaf_mark : ref + static_cast<Id>(leaves_.size());
    };
    for (Scalar node : nodes_) {
      if (node.op != Op::constant)
        for (Id& operand : node.operands) operand = place(operand);
      made.nodes.push_back(node);
    }
    made.numbers = std::move(numbers_);
    made.recorded = made.nodes.size();
    for (const Ref output : outputs) made.outputs.push_back(place(output));
    if (verifies) verify(made);
    return {made.outputs.empty() ? Terms{} : simplify(made), std::move(leaves_)};
  }

 private:
  static constexpr Ref leaf_mark = 0x80000000;
  std::vector<Scalar> nodes_;
  std::vector<double> numbers_;
  std::vector<Leaf> leaves_;
  std::map<Leaf, Ref> leaf_numbers_;
};

class Cutter {
 public:
  Cutter(Scalars scalars, bool has_loops, std::uint32_t multiple) {
    cut_.scalars = std::move(scalars);
    cut_.rounds = find_rounds(cut_.scalars, multiple);
    if (!has_loops) cut_.rounds.loops.clear();
    at_.assign(cut_.scalars.nodes.size(), none);
    for (std::uint32_t i = 0; i < cut_.rounds.steps.size(); ++i) at_[cut_.rounds.steps[i]] = i;
  }

  Cut run() {
    choose_fronts();
    std::uint32_t begin = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;                      // of the steps of each section
    if (cut_.fronts_are_parameters) add_section(nullptr), ranges.emplace_back(0, 0);  // uniform nodes
    for (const Loop& loop : cut_.rounds.loops) {
      if (loop.first > begin) add_section(nullptr), ranges.emplace_back(begin, loop.first);
      add_section(&loop), ranges.emplace_back(loop.first, loop.end());
      begin = loop.end();
    }
    add_section(nullptr);
    ranges.emplace_back(begin, static_cast<std::uint32_t>(cut_.rounds.steps.size()));
    find_outputs(ranges);
    for (std::size_t i = cut_.fronts_are_parameters ? 1 : 0; i < cut_.sections.size(); ++i) {
      Section& section = cut_.sections[i];
      if (section.loop != nullptr)
        make_round(section);
      else
        make_steps(section, ranges[i].first, ranges[i].second);
    }
    if (cut_.fronts_are_parameters) {
      cut_.sections[0].outputs.assign(uniform_.begin(), uniform_.end());
      cut_.sections[0].part = uniform_part(cut_.sections[0].outputs);
    } else {
      cut_.uniform = uniform_part(cut_.fronts);
    }
    return std::move(cut_);
  }

 private:
  using Ref = Builder::Ref;
  const Scalar& scalar(Id id) const { return cut_.scalars.nodes[id]; }
  bool is_step(Id id) const { return id != none && at_[id] != none; }
  bool is_uniform(Id id) const { return id != none && at_[id] == none && scalar(id).rate == Rate::uniform; }

  void add_section(const Loop* loop) { cut_.sections.push_back({loop, {}, {}, {}}); }

  // The fronts are the parameters themselves if those are not more than the uniform nodes that steps read, and little
  // is computed from them: then rows read the parameters, and the first section computes those nodes for each row.
  void choose_fronts() {
    std::set<Id> read;
    bool has_lists = false;
    for (const Id id : cut_.rounds.steps)
      for (const Id operand : scalar(id).operands)
        if (is_uniform(operand)) read.insert(operand);
    for (const Loop& loop : cut_.rounds.loops)
      for (std::uint32_t place = 0; place < loop.period; ++place)
        for (std::size_t q = 0; q < 3; ++q)
          has_lists = has_lists || (loop.operands[place][q].from == From::listed &&
                                    is_uniform(ordered_operands(cut_.scalars, cut_.rounds.node(loop, 0, place))[q]));
    std::size_t computed = 0;
    for (Id id = static_cast<Id>(cut_.scalars.parameters + cut_.scalars.inputs); id < cut_.scalars.nodes.size(); ++id)
      if (is_uniform(id)) ++computed;
    constexpr std::size_t most_computed = 64;
    cut_.fronts_are_parameters = !has_lists && cut_.scalars.parameters <= read.size() + 2 && computed <= most_computed;
    if (!cut_.fronts_are_parameters) return;
    for (Id id = 0; id < cut_.scalars.parameters; ++id) cut_.fronts.push_back(id);
  }

  Leaf front(Id id) {
    if (cut_.fronts_are_parameters) return {Leaf::From::front, id, 0};
    const auto [known, is_new] = front_numbers_.try_emplace(id, static_cast<std::uint32_t>(cut_.fronts.size()));
    if (is_new) cut_.fronts.push_back(id);
    return {Leaf::From::front, known->second, 0};
  }

  // ---- outputs of sections ----

  // The steps that a section reads and does not compute.
  std::vector<Id> reads(const Section& section, std::pair<std::uint32_t, std::uint32_t> range, bool is_last) const {
    std::vector<Id> made;
    const auto read = [&](Id id) {
      if (is_step(id) && (at_[id] < range.first || at_[id] >= range.second)) made.push_back(id);
    };
    if (section.loop != nullptr) {
      for (const Carried& one : section.loop->carried) read(one.initial);
      for (const auto& operands : section.loop->operands)
        for (const RoundOperand& one : operands)
          if (one.from == From::same) read(one.index);
    } else {
      for (std::uint32_t step = range.first; step < range.second; ++step)
        for (const Id id : scalar(cut_.rounds.steps[step]).operands) read(id);
    }
    if (is_last)
      for (const Id id : cut_.scalars.outputs) read(id);
    return made;
  }
  void find_outputs(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges) {
    std::set<Id> wanted;
    for (std::size_t i = cut_.sections.size(); i-- > 0;) {
      Section& section = cut_.sections[i];
      const bool is_last = i + 1 == cut_.sections.size();
      if (is_last) {
        section.outputs = cut_.scalars.outputs;
      } else if (section.loop == nullptr) {
        for (std::uint32_t step = ranges[i].first; step < ranges[i].second; ++step)
          if (wanted.contains(cut_.rounds.steps[step])) section.outputs.push_back(cut_.rounds.steps[step]);
      }
      for (const Id id : reads(section, ranges[i], is_last)) wanted.insert(id);
    }
  }

  // ---- parts ----

  // A node outside of the part, or one that the part has computed.
  Ref operand(Builder& part, std::map<Id, Ref>& made, Id id) {
    if (id == none) return none;
    if (const auto known = made.find(id); known != made.end()) return known->second;
    const Scalar& node = scalar(id);
    Ref ref = none;
    if (node.op == Op::constant)
      ref = part.constant(cut_.scalars.numbers[node.operands[0]]);
    else if (is_step(id))
      ref = part.leaf({Leaf::From::value, id, 0});
    else if (node.rate == Rate::varying)
      ref = part.leaf({Leaf::From::input, id - static_cast<Id>(cut_.scalars.parameters), 0});
    else if (!cut_.fronts_are_parameters || id < cut_.scalars.parameters)
      ref = part.leaf(front(id));
    else
      ref = part.leaf({Leaf::From::value, *uniform_.insert(id).first, 0});
    return made[id] = ref;
  }
  Ref node(Builder& part, std::map<Id, Ref>& made, Id id) {
    const Scalar& one = scalar(id);
    std::array<Ref, 3> operands{none, none, none};
    for (std::size_t q = 0; q < 3; ++q) operands[q] = operand(part, made, one.operands[q]);
    return part.node(one.op, operands);
  }

  void make_steps(Section& section, std::uint32_t begin, std::uint32_t end) {
    Builder part;
    std::map<Id, Ref> made;
    for (std::uint32_t step = begin; step < end; ++step) {
      const Id id = cut_.rounds.steps[step];
      const Ref ref = node(part, made, id);
      made[id] = ref;
    }
    std::vector<Ref> outputs;
    for (const Id id : section.outputs) outputs.push_back(operand(part, made, id));
    section.part = part.finish(outputs);
  }

  void make_round(Section& section) {
    const Loop& loop = *section.loop;
    Builder part;
    std::map<Id, Ref> made;
    std::vector<Ref> places;
    for (std::uint32_t place = 0; place < loop.period; ++place) {
      std::array<Ref, 3> operands{none, none, none};
      for (std::size_t q = 0; q < 3; ++q) {
        const RoundOperand& from = loop.operands[place][q];
        switch (from.from) {
          case From::nothing: break;
          case From::inside: operands[q] = places[from.index]; break;
          case From::carried: operands[q] = part.leaf({Leaf::From::carried, from.index, 0}); break;
          case From::same: operands[q] = operand(part, made, from.index); break;
          case From::even:
          case From::listed: operands[q] = part.leaf(round_leaf(loop, place, q)); break;
        }
      }
      places.push_back(part.node(scalar(cut_.rounds.node(loop, 0, place)).op, operands));
    }
    std::vector<Ref> outputs;
    for (std::uint32_t i = 0; i < loop.carried.size(); ++i) {
      if (loop.carried[i].lag > 1) continue;
      outputs.push_back(places[loop.carried[i].place]);
      section.next.push_back(i);
    }
    section.part = part.finish(outputs);
  }

  Leaf round_leaf(const Loop& loop, std::uint32_t place, std::size_t q) {
    const RoundOperand& from = loop.operands[place][q];
    const auto parameters = static_cast<Id>(cut_.scalars.parameters);
    const auto of = [&](std::uint32_t round) {
      return ordered_operands(cut_.scalars, cut_.rounds.node(loop, round, place))[q];
    };
    if (scalar(of(0)).rate == Rate::varying) return {Leaf::From::round_input, from.index - parameters, from.step};
    if (scalar(of(0)).rate == Rate::constant) {
      std::vector<double> table;
      for (std::uint32_t round = 0; round < loop.rounds; ++round)
        table.push_back(cut_.scalars.numbers[scalar(of(round)).operands[0]]);
      const auto known = std::ranges::find(cut_.tables, table);
      const auto number = static_cast<std::uint32_t>(known - cut_.tables.begin());
      if (known == cut_.tables.end()) cut_.tables.push_back(std::move(table));
      return {Leaf::From::round_number, number, 0};
    }
    cut_.has_round_fronts = true;
    if (cut_.fronts_are_parameters) return {Leaf::From::round_front, from.index, from.step};
    std::vector<Id> list;
    for (std::uint32_t round = 0; round < loop.rounds; ++round) list.push_back(of(round));
    const auto [known, is_new] = lists_.try_emplace(list, static_cast<std::uint32_t>(cut_.fronts.size()));
    if (is_new) cut_.fronts.insert(cut_.fronts.end(), list.begin(), list.end());
    return {Leaf::From::round_front, known->second, 1};
  }

  // Uniform nodes as functions of the parameters.
  Part uniform_part(const std::vector<Id>& wanted) {
    Builder part;
    std::map<Id, Ref> made;
    for (Id id = 0; id < cut_.scalars.parameters; ++id) made[id] = part.leaf({Leaf::From::front, id, 0});
    for (Id id = 0; id < cut_.scalars.nodes.size(); ++id) {
      const Scalar& one = scalar(id);
      if (one.op == Op::constant) made[id] = part.constant(cut_.scalars.numbers[one.operands[0]]);
      if (one.op == Op::leaf || one.op == Op::constant || !(one.rate == Rate::uniform)) continue;
      std::array<Ref, 3> operands{none, none, none};
      for (std::size_t q = 0; q < 3; ++q)
        if (one.operands[q] != none) operands[q] = made.at(one.operands[q]);
      made[id] = part.node(one.op, operands);
    }
    std::vector<Ref> outputs;
    for (const Id id : wanted) outputs.push_back(made.at(id));
    return part.finish(outputs);
  }

  Cut cut_;
  std::vector<std::uint32_t> at_;  // of each node: its index in steps, or none
  std::map<Id, std::uint32_t> front_numbers_;
  std::set<Id> uniform_;  // nodes that sections read, if the fronts are the parameters
  std::map<std::vector<Id>, std::uint32_t> lists_;
};

}  // namespace

Cut cut_at_loops(Scalars scalars, bool has_loops, std::uint32_t multiple) {
  return Cutter(std::move(scalars), has_loops, multiple).run();
}

}  // namespace gradwalk::emit
