// SPDX-License-Identifier: MIT
// Describes steps and nodes in words and numbers, as `walk` and `explain` print them.
#pragma once

#include <string>
#include <vector>

#include "gradwalk/walk.hpp"

namespace gradwalk::cli {

class Show {
 public:
  Show(const Snapshot& graph, int digits, WalkRule rule = WalkRule::right)
      : graph_(graph), digits_(digits), sign_(rule == WalkRule::overwrite ? "=" : "+=") {}

  std::string number(double x) const;
  const std::string& name(std::size_t node) const { return graph_.nodes[node].name; }
  std::string names(const std::vector<std::size_t>& nodes, const char* separator) const;
  std::string formula(std::size_t node) const;                     // e * c
  std::string definition(std::size_t node) const;                  // f = e * c; the name alone if it is the formula
  std::string gradient_of(std::size_t node) const;                 // f.grad
  std::string local(std::size_t node, std::size_t operand) const;  // a local derivative as a factor: (1 - o * o)

  static std::string phase(const Walk::Step& step);             // the pass that the step belongs to
  std::vector<std::string> step(const Walk::Step& step) const;  // one line for the step, and one for each deposit

 private:
  std::string deposit(const Walk::Deposit& deposit, double gradient) const;
  const Snapshot& graph_;
  int digits_;
  const char* sign_;  // how a deposit changes the gradient: "+=", or "=" for the broken rule
};

}  // namespace gradwalk::cli
