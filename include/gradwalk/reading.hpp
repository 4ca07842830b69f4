// SPDX-License-Identifier: MIT
// Reads a graph without changing it, and numbers its records. compile(), drawings and recorded derivatives use this.
//
// Leaves have the first numbers, then come operations, each after its operands. A fused record, such as the one for
// x + a * b, has one number; read() lists the nodes that were written. inputs(), topological_order() and propagate()
// expand fused records, so make the Reading first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

// A comparison of Values whose outcome became a bool.
struct Decision {
  Op op = Op::less;     // less, less_equal, equal or not_equal
  bool holds = false;   // the outcome
  double x = 0, y = 0;  // what was compared
};

// A graph as one flat list: its leaves, then each node that was written, after its operands.
struct Listing {
  static constexpr std::uint32_t none = 0xffffffff;    // marks an operand that the node does not have
  static constexpr std::uint32_t number = 0x80000000;  // is added to the index of an operand that is a number
  // One entry of the list.
  struct Node {
    Op op;  // leaf, custom, or the operation that was written
    // An operand is an index into `nodes`, or number + i for numbers[i], or none. The first operand of a leaf is its
    // own index. A custom node has no operands here. The first operand of a choice is its condition. The only operand
    // of a pick is its index; `picks` says what it chooses from.
    std::array<std::uint32_t, 3> operands;
  };
  std::vector<Node> nodes;                         // leaves first, then operations, each after its operands
  std::vector<double> numbers;                     // the constants that operands refer to
  std::size_t leaves = 0;                          // the number of leaves; they come first in `nodes`
  std::vector<std::uint32_t> roots;                // indices into `nodes`
  std::vector<std::uint32_t> picks;                // for each pick, in the order of `nodes`: its entry of `tables`
  std::vector<std::vector<std::uint32_t>> tables;  // the values to pick from, as operands
};

// The records of a graph, numbered from 0.
class GRADWALK_EXPORT Reading {
 public:
  // Reads the graph below one root or several. The cost is that of a backward pass. Throws an Error if there are no
  // roots; `call` is the name in its message.
  explicit Reading(const Value& root);
  explicit Reading(std::span<const Value> roots, const char* call = "Reading");

  std::size_t size() const { return size_; }          // the number of records, leaves included
  std::size_t leaves() const { return leaf_count_; }  // the number of leaves

  // About record i. Each throws an Error if i is not below size().
  Op op(std::size_t i) const;  // a fused record has the op of its last node
  Value node(std::size_t i) const;
  double data(std::size_t i) const;
  double grad(std::size_t i) const;
  bool is_held(std::size_t i) const;        // whether a Value refers to it; if not, nobody can change it any more
  bool is_unrecorded(std::size_t i) const;  // whether it is a leaf because it was computed under NoGrad
  // The number of a node's record, or nothing if the graph does not contain it.
  std::optional<std::size_t> find(const Value& node) const;

  // An operand of a node that was written.
  struct Operand {
    // node: another record; earlier: an earlier node of the same record; number: a constant.
    enum class Kind : std::uint8_t { node, earlier, number, part [[deprecated("use earlier")]] = earlier } kind;
    std::uint32_t index;  // the number of the record, or the index of the earlier node
    double value;         // the constant, or the data of the record; for a custom node, the local derivative
  };
  // A node that was written, as a part of a record.
  struct WrittenNode {
    Op op;                          // the operation
    std::vector<Operand> operands;  // its operands in order
  };
  using Part [[deprecated("use WrittenNode")]] = WrittenNode;
  // The nodes that record i stands for, operands before their users; nothing for a leaf. The last one is the record.
  std::vector<WrittenNode> read(std::size_t i) const;
  // The records that record i chooses from, in order, if it is a pick; otherwise nothing.
  std::vector<std::size_t> choices(std::size_t i) const;
  // The whole graph at once.
  Listing list() const;
  // The comparisons of Values that became bools while this graph was recorded. A branch that went by one is not part of
  // the graph: with other numbers, the program would perhaps have recorded another graph. Comparisons that a
  // WatchRecording was notified of are left out. Those that concern another graph are listed, too, if they were made
  // between the first and the last record of this one.
  std::vector<Decision> decisions() const;

 private:
  struct Numbering;  // the number of each Ref, and the Ref of each number
  detail::Ref ref(std::size_t i) const;
  std::optional<std::uint32_t> number_of(detail::Ref ref) const;

  std::vector<Value> roots_;
  std::size_t size_ = 0, leaf_count_ = 0;
  std::shared_ptr<const Numbering> numbering_;
};

}  // namespace gradwalk
