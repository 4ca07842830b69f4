// SPDX-License-Identifier: MIT
// A graph read from its root down in one pass, and numbered: what compilers, drawings and recorded derivatives start
// from. Reading changes nothing, and takes less time than walking the graph back.
//
// What is numbered are records: the leaves first, then what was computed, operands before their users. A record may
// stand for several nodes, as x + a * b does; read() gives the nodes that were written, with the numbers in them.
// Who looks at single nodes afterwards (inputs(), topological_order(), ...) may split records: read first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

class GRADWALK_EXPORT Reading {
 public:
  explicit Reading(const Value& root);
  explicit Reading(std::span<const Value> roots);

  std::size_t size() const { return size_; }
  std::size_t leaves() const { return leaf_count_; }

  Op op(std::size_t i) const;  // of a record that stands for several nodes, the last one's
  Value node(std::size_t i) const;
  double data(std::size_t i) const;
  double grad(std::size_t i) const;
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

 private:
  struct Numbers;  // which places on the tape have which number
  detail::Ref ref(std::size_t i) const;
  std::optional<std::uint32_t> number_of(detail::Ref ref) const;

  std::vector<Value> roots_;
  std::size_t size_ = 0, leaf_count_ = 0;
  std::shared_ptr<const Numbers> numbers_;
};

}  // namespace gradwalk
