// SPDX-License-Identifier: MIT
// Several paths as one graph without branches, which computes for each row what its path does.
//
// A path is a list of comparisons and the graph between them. Where two paths come to comparisons of the same kind,
// they are taken to be at the same point of the function: a Point. The comparisons before choose what
// differs there, as select(condition, a, b), and everything after it is computed once. So n branches one after
// another, which have 2^n paths, are n Points.
//
// A merged graph also has paths that nobody has recorded, put together from parts of others. Nobody knows whether the
// function would record the same there. So a merged graph is only made where all of its paths have been recorded, and
// each is compared with it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trace.hpp"

namespace gradwalk::paths {

// About how long an operation takes for one row, forward and backward; an addition takes 2.
std::size_t work_of(Op op);

class Merged {
 public:
  // Merges traces of different paths. Returns nothing if they have too little in common, or if there would be a path
  // that is not among them.
  static std::optional<Merged> of(std::span<const Trace> traces);

  // Records the graph on other inputs and returns its outputs.
  std::vector<Value> record(std::span<const Value> inputs, std::span<const Value> parameters) const;
  // About how long it takes for one row.
  std::size_t work() const;

 private:
  friend class Merger;
  using Id = std::uint32_t;
  static constexpr Id none = 0xffffffff;

  // A leaf, an operation, or a choice: the operand that belongs to the edge by which a row came to a point.
  struct Node {
    Op op = Op::leaf;
    Token leaf{};
    std::array<Id, 3> operands{none, none, none};
    Id point = none;                           // of a choice
    std::vector<std::pair<Id, Id>> choices{};  // edges and nodes
  };
  // Edges are numbered: 2 * the point that they leave, + 1 where its comparison holds. The last point is the end.
  struct Point {
    Id condition = none;
    std::vector<Id> edges{};  // by which rows come
    std::array<Id, 2> next{none, none};
  };
  class Recorder;

  Id end() const { return static_cast<Id>(points_.size() - 1); }
  std::size_t paths() const;
  bool computes(const Trace& trace) const;
  std::vector<Token> nodes_on(const Trace& trace, const std::vector<Id>& arrived) const;

  std::vector<Node> nodes_;
  std::vector<Point> points_;
  std::vector<Id> outputs_;
  std::vector<Trace::Held> held_;
};

}  // namespace gradwalk::paths
