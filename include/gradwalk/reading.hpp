// SPDX-License-Identifier: MIT
// A graph read from its root down in one pass, and numbered: what compilers, drawings and recorded derivatives start
// from. Reading changes nothing, and takes about as long as walking the graph back.
//
// What is numbered are records: the leaves first, then what was computed, operands before their users. A record may
// stand for several nodes, as x + a * b does; read() gives the nodes that were written, with the numbers in them.
// Who looks at single nodes afterwards (inputs(), topological_order(), ...) may split records: read first.
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

// A graph as one flat list: its leaves, then each node that was written, operands before their users.
struct Listing {
  static constexpr std::uint32_t none = 0xffffffff, number = 0x80000000;
  struct Node {
    Op op;
    // Places in the list; number + i: numbers[i]; none. Of a leaf the first is its own place, of a custom node all are
    // none, and of a choice the condition is the first.
    std::array<std::uint32_t, 3> operands;
  };
  std::vector<Node> nodes;
  std::vector<double> numbers;
  std::size_t leaves = 0;
  std::vector<std::uint32_t> roots;
};

class GRADWALK_EXPORT Reading {
 public:
  explicit Reading(const Value& root);
  explicit Reading(std::span<const Value> roots, const char* call = "Reading");  // whose Errors are to be named so

  std::size_t size() const { return size_; }
  std::size_t leaves() const { return leaf_count_; }

  Op op(std::size_t i) const;  // of a record that stands for several nodes, the last one's
  Value node(std::size_t i) const;
  double data(std::size_t i) const;
  double grad(std::size_t i) const;
  bool is_held(std::size_t i) const;  // by a Value of somebody's; what is not cannot change any more
  std::optional<std::size_t> find(const Value& node) const;  // its number

  struct Operand {
    enum class Kind : std::uint8_t { node, part, number } kind;  // part: of the same record, before this one
    std::uint32_t index;                                         // of the node or part
    double value;  // the number, or the node's data; of a custom node's operand, the derivative by it
  };
  struct Part {
    Op op;
    std::vector<Operand> operands;
  };
  // The nodes that record i stands for, itself the last; none for a leaf.
  std::vector<Part> read(std::size_t i) const;
  Listing list() const;  // all of it at once; leaf i is first, and its place is i

 private:
  struct Numbers;  // which places on the tape have which number
  detail::Ref ref(std::size_t i) const;
  std::optional<std::uint32_t> number_of(detail::Ref ref) const;

  std::vector<Value> roots_;
  std::size_t size_ = 0, leaf_count_ = 0;
  std::shared_ptr<const Numbers> numbers_;
};

}  // namespace gradwalk
