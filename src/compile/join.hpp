// SPDX-License-Identifier: MIT
// Joins nodes that do the same into groups, which run as vectors. It is the part of lift that is not about layers.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir.hpp"
#include "number_map.hpp"

namespace gradwalk::compiler {

class Joiner {
 public:
  // Groups that are there already come before all others.
  Joiner(const Terms& terms, Groups& groups, std::uint64_t hash_mask);

  // The node joins the earliest group of its kind that comes after the groups of all its operands, or a new last group.
  void join(Id id);
  // Notes that the node is a member of this group already.
  void put_in(std::uint32_t group, Id id) { group_of_[id] = group + 1; }
  bool is_in_group(Id id) const { return group_of_[id] != 0; }

  // Joins the nodes begin ... end of a program without inputs, all of them at once. Each node has a level, above those
  // of its operands, and the nodes of one kind and level are a group.
  //
  // A node could be computed as soon as its operands are known, or as late as its users need it. What prepares numbers
  // for a recursion is one group if it comes early, and what evaluates the numbers of a recursion is one group if it
  // comes late. So each node takes the end of its range at which more nodes of its kind could join it. Between both
  // ends, it prefers a group that exists.
  void join_by_levels(Id begin, Id end);

 private:
  struct Alike {  // nodes of one kind
    Id example;
    std::vector<std::uint32_t> groups;  // for join(), in ascending order
    struct At {
      std::uint32_t level, group;
    };
    std::vector<At> levels;  // for join_by_levels(), in ascending order
    std::size_t last = 0;    // the place in levels that was found last
    std::size_t first_from(std::uint32_t level);
  };
  struct Extreme {
    std::uint32_t group, count;
    std::uint64_t rate_of_gradient;
    bool operator==(const Extreme&) const = default;
  };
  struct Ranges {  // for each node: its kind, and the levels at which it can be computed
    List<std::uint32_t> kind, earliest, latest;
    std::vector<bool> is_better_late;
  };
  struct Levels {
    struct Made {
      std::uint32_t level;
      Id first;  // a member
    };
    std::vector<Made> groups;
    List<std::uint32_t> group_of;  // for each node, or none
  };

  std::uint64_t exact_key_of(Id id) const;
  std::uint64_t key_of(Id id) const;
  bool are_of_one_kind(Id x, Id y) const;
  std::uint32_t kind(Id id);
  void add_group(Id id);
  std::uint64_t rate_of(Id id) const;
  std::uint64_t pairs_and_singles(Id id) const;
  Extreme extreme_of(Id share) const;
  Ranges ranges(Id begin, Id end);
  Levels assign(Id begin, Id end, const Ranges& ranges, std::uint32_t delay);

  const Terms& terms_;
  Groups& groups_;
  std::uint64_t hash_mask_;
  List<std::uint32_t> group_of_;  // for each node: its group from 1, or 0
  std::unordered_map<Id, std::uint32_t> group_of_extreme_;
  NumberMap number_of_key_;  // in kinds_
  std::vector<Alike> kinds_;
};

}  // namespace gradwalk::compiler
