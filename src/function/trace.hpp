// SPDX-License-Identifier: MIT
// The graph of one call as plain data: without addresses, and without the data of its inputs and parameters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "gradwalk/ops.hpp"
#include "gradwalk/reading.hpp"
#include "recording.hpp"

namespace gradwalk::paths {

// An operand or a root: what it is, and which one.
struct Token {
  enum class Kind : std::uint8_t { nothing, input, parameter, number, node } kind = Kind::nothing;
  std::uint64_t index = 0;  // or the bits of a number

  bool operator==(const Token&) const = default;
};

// The leaves of a listing, in its order.
std::vector<Token> leaf_tokens(const Reading& reading, const Listing& listing, const Recording& recording,
                               std::span<const Value> parameters);

// The nodes of a call, equal ones once, in the order in which they were recorded, and the comparisons that decided. A
// comparison that an equal one has decided before is left out.
class Trace {
 public:
  // A constant that a Value of the user refers to, and the bits of its number in the call.
  struct Held {
    Value leaf;
    std::uint64_t number;
  };
  struct Node {
    Op op;
    std::array<Token, 3> operands;
  };
  std::vector<Node> nodes;
  std::vector<std::size_t> begins;  // for each decision, and for the end: the first node recorded after the one before
  std::vector<Token> outputs, conditions;
  std::vector<bool> outcomes;  // of the conditions
  std::vector<Held> held;

  // Nothing for a graph with a custom node or a pick, or with a comparison that was made under NoGrad.
  static std::optional<Trace> of(Recording recording, std::span<const Value> parameters);

  // The node that computes this, or a token of kind nothing.
  Token find(Op op, const std::array<Token, 3>& operands) const;

 private:
  struct Key {
    Op op;
    std::array<Token, 3> operands;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  Token add(Op op, const std::array<Token, 3>& operands);

  std::unordered_map<Key, std::uint32_t, Hash> known_;
};

}  // namespace gradwalk::paths
