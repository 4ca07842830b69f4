// SPDX-License-Identifier: MIT
// The backward pass, step by step: what the command line, Python and the lesson show.
//
// A Walk is a record of both passes over a graph: each forward step with its operands, each visit with the deposits it
// makes. It runs by the right rule, in an order of one's own, or by a rule that is broken in a well-known way, and says
// what that cost and where right and wrong first part. It reads the graph once and changes no number of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradwalk/snapshot.hpp"

namespace gradwalk {

enum class WalkRule {
  right,          // in reverse topological order, adding
  overwrite,      // = where += belongs
  recursion,      // no order: each operand is visited as its deposit is made
  no_visited,     // the sort without its visited set
  forward_order,  // operands before their users
  twice,          // backward twice under micrograd's rule: nothing is zeroed in between
  no_zeroing,     // a training step, repeated without zeroing the gradients
};

struct WalkRuleInfo {
  std::string_view name;         // as the command line and JSON spell it: no-zeroing
  std::string_view description;  // one line
};
GRADWALK_EXPORT const WalkRuleInfo& info(WalkRule rule);
GRADWALK_EXPORT WalkRule walk_rule(std::string_view name);  // the rule of that name

inline constexpr std::size_t largest_walk = 100'000;  // nodes; a walk is to be looked at

struct WalkOptions {
  WalkRule rule = WalkRule::right;
  // Every node but the constants once, as they are to be visited; empty: the right order. Only with WalkRule::right.
  std::vector<std::size_t> order = {};  // NOLINT(readability-redundant-member-init): g++ asks for it
  std::size_t most_visits = 10'000;     // recursion and the sort without a visited set may need more than time allows
  double rate = 0.1;                    // of the training step: data -= rate * grad
};

class GRADWALK_EXPORT Walk {
 public:
  // One contribution to a gradient: amount = gradient of the node it comes from * local.
  struct Deposit {
    std::size_t from, to;
    std::size_t operand;  // which operand of `from` the node `to` is
    double local, amount;
    double before, after;  // the gradient of `to`
    bool late;             // `to` passes gradients on, and has been visited: this one is lost
  };

  struct Step {
    enum class Kind {
      forward,  // the node's data is computed
      seed,     // the root's gradient is set to 1
      visit,    // the node pays its deposits
      deposit,  // one deposit of a visit that goes on; only of the recursion
      update,   // of the training step: a leaf's data moves against its gradient
    } kind;
    int pass;                      // 1, or 2 where a rule goes through the graph twice
    std::size_t node;              // that of the deposit is the one it comes from
    double before, after;          // the data of forward and update, the gradient of seed and visit
    std::vector<double> operands;  // of forward: the operands' data
    std::vector<Deposit> deposits;
  };

  // What one node came to.
  struct Outcome {
    std::size_t visits = 0;
    double when_visited = 0;  // its gradient at the first visit of the last pass
    double gradient = 0, data = 0;
    double right_gradient = 0, right_data = 0;
  };

  struct Late {
    std::size_t step, from, to;
    double amount;
    std::string reason;  // b was visited before d had paid it: 6 lost
  };

  // Where right and wrong first part: the gradient at that step, and what it should have been.
  struct Parting {
    std::size_t step, node;
    double wrong, right;
    std::string reason;
  };

  // All that a walk finds.
  struct Record {
    std::vector<Step> steps;
    std::vector<Outcome> outcomes;  // by node
    std::vector<Late> late;
    std::optional<Parting> parting;
    std::size_t visits = 0;
    std::string visits_needed;  // exact, however many
    bool is_complete = true;    // false where most_visits ended it
  };

  // A node at the present step.
  struct State {
    bool has_data;
    double data, grad;
    std::size_t visits;
  };

  explicit Walk(const Value& root, WalkOptions options = {});
  explicit Walk(Snapshot graph, WalkOptions options = {});

  const Snapshot& graph() const { return graph_; }
  const WalkOptions& options() const { return options_; }
  const std::vector<Step>& steps() const { return record_.steps; }
  const std::vector<Outcome>& outcomes() const { return record_.outcomes; }
  const std::vector<Late>& late() const { return record_.late; }
  const std::optional<Parting>& parting() const { return record_.parting; }
  std::size_t visits() const { return record_.visits; }
  const std::string& visits_needed() const { return record_.visits_needed; }
  bool is_complete() const { return record_.is_complete; }

  // What a late deposit would have been worth at each leaf: pairs of a leaf and an amount, those of 0 left out.
  std::vector<std::pair<std::size_t, double>> worth(const Late& late) const;

  // The present step: how many have been made, and the nodes as they are then. Starts at 0; nothing moves past an end.
  std::size_t position() const { return position_; }
  const std::vector<State>& state() const { return state_; }
  bool forward();
  bool back();
  void go_to(std::size_t position);

 private:
  Snapshot graph_;
  WalkOptions options_;
  Record record_;
  std::size_t position_ = 0;
  std::vector<State> state_;
};

// A visiting order from names separated by commas; each node but the constants once.
GRADWALK_EXPORT std::vector<std::size_t> parse_order(const Snapshot& graph, std::string_view names);

// Every visiting order there is, tried: what each gives at the leaves, and how many do.
struct OrderTally {
  struct Result {
    std::vector<double> gradients;  // one a leaf
    std::size_t orders;             // that end so
    bool right;
    std::vector<std::size_t> example;  // one of them
  };
  std::vector<std::size_t> leaves;
  std::size_t orders;           // in all
  std::vector<Result> results;  // the right one first, then by number of orders
};
inline constexpr std::size_t most_nodes_to_tally = 8;
GRADWALK_EXPORT OrderTally try_all_orders(const Snapshot& graph);

// The depth-first search that finds the order, step by step; constants take no part.
class GRADWALK_EXPORT Sort {
 public:
  struct Step {
    enum class Action {
      enter,   // first met: it is marked visited and goes on the stack
      skip,    // met again: it has been visited
      finish,  // its operands are done: it leaves the stack and joins the list
    } action;
    std::size_t node;
  };
  struct State {
    std::vector<std::size_t> stack, visited, list;
  };
  explicit Sort(const Snapshot& graph);
  const std::vector<Step>& steps() const { return steps_; }
  State after(std::size_t steps) const;  // made

 private:
  std::vector<Step> steps_;
};

// The formats are documented in docs/walk-format.md.
GRADWALK_EXPORT std::string to_json(const Walk& walk);
GRADWALK_EXPORT std::string to_json(const Snapshot& graph, const Sort& sort);
GRADWALK_EXPORT std::string to_json(const Snapshot& graph, const OrderTally& tally);

}  // namespace gradwalk
