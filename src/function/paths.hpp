// SPDX-License-Identifier: MIT
// The paths of a Function as a trie: a node for each list of outcomes with which the comparisons of some row began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwalk/compile.hpp"

namespace gradwalk::paths {

inline constexpr std::int32_t none = -1;

using RowSpan = std::span<const std::uint32_t>;  // numbers of rows

struct Node {
  std::int32_t next[2] = {none, none};  // by the outcome of the next comparison
  std::int32_t before = none;
  std::int32_t path = none;  // that ends here
  std::int32_t best = none;  // a compiled path through here, or one that ends here
  std::uint32_t depth = 0;   // the number of comparisons before
};

struct Path {
  std::int32_t end = 0;           // its node
  std::size_t recorded_rows = 0;  // by calling the function
  std::size_t rows = 0;           // all rows that took it
  std::vector<double> example;    // the numbers of its first row
  std::unique_ptr<Program> program;
  std::vector<std::uint32_t> inputs;  // that the program has; a path may end before it reads all
  std::size_t bytes = 0;              // of the program, after it has run the most rows
  std::size_t most_rows = 0;
  std::vector<bool> outcomes;       // of a compiled path
  std::vector<std::int32_t> nodes;  // of a compiled path: the node before each comparison
  std::string why_not;              // the reason why it cannot be compiled
};

class Paths {
 public:
  static constexpr std::int32_t root = 0;

  // The node after an outcome; it is made if there is none.
  std::int32_t follow(std::int32_t node, bool outcome);
  // The path that ends at a node; it is made if there is none.
  std::int32_t end_at(std::int32_t node);

  Node& node(std::int32_t i) { return nodes_[static_cast<std::size_t>(i)]; }
  Path& path(std::int32_t i) { return paths_[static_cast<std::size_t>(i)]; }
  const Path& path(std::int32_t i) const { return paths_[static_cast<std::size_t>(i)]; }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t size() const { return paths_.size(); }

  // The outcomes of a path's comparisons, in order.
  std::vector<bool> outcomes(std::int32_t path) const;
  // Stores a path's program. Rows at any node of the path will try it, unless a program of more rows is there.
  void set_program(std::int32_t path, Program program);

 private:
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<Path> paths_;
};

}  // namespace gradwalk::paths
