// SPDX-License-Identifier: MIT
// A Walk records a forward and a backward pass over a graph, step by step. The command line, Python and the lesson show
// walks.
//
// The record has each forward step with its operands, and each visit of the backward pass with its deposits. The pass
// follows the right rule, a visiting order that you choose, or a rule that is broken in a well-known way. The walk then
// reports what the mistake cost and where wrong and right gradients first differ. A walk reads a snapshot of the graph
// and changes none of its numbers.
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

// How a walk runs its backward pass: the right rule, or one with a well-known mistake.
enum class WalkRule {
  right,          // visits nodes in reverse topological order and adds deposits
  overwrite,      // writes = where += belongs
  recursion,      // has no order: visits each operand as soon as it has its deposit
  no_visited,     // sorts without a visited set
  forward_order,  // visits operands before their users
  twice,          // runs backward twice and zeroes nothing in between, as micrograd does
  no_zeroing,     // makes two training steps without zeroing the gradients
};

// The name and description of a rule.
struct WalkRuleInfo {
  std::string_view name;         // the name in JSON and on the command line, such as "no-zeroing"
  std::string_view description;  // a description in one line
};
// Returns the name and description of a rule.
GRADWALK_EXPORT const WalkRuleInfo& info(WalkRule rule);
// Returns the rule with this name. Throws an Error that lists the names if there is none.
GRADWALK_EXPORT WalkRule walk_rule(std::string_view name);

inline constexpr std::size_t largest_walk = 100'000;  // the largest number of nodes that a Walk takes

// Options of a Walk.
struct WalkOptions {
  WalkRule rule = WalkRule::right;  // how the backward pass runs
  // The visiting order: each node once, except constants. Empty means the right order. Needs WalkRule::right.
  std::vector<std::size_t> order = {};  // NOLINT(readability-redundant-member-init): g++ asks for it
  // The number of visits after which a walk by recursion or no_visited stops. The number of visits that it
  // needs grows with the number of paths.
  std::size_t most_visits = 10'000;
  double rate = 0.1;  // the learning rate of no_zeroing: data -= rate * grad
};

// The record of a forward and a backward pass, with a position that moves over its steps.
class GRADWALK_EXPORT Walk {
 public:
  // One contribution to a gradient: amount = gradient of `from` * local.
  struct Deposit {
    std::size_t from;     // the node that pays
    std::size_t to;       // the operand that receives
    std::size_t operand;  // which operand of `from` the node `to` is
    double local;         // the local derivative of `from` with respect to this operand
    double amount;        // the deposit
    double before;        // the gradient of `to` before the deposit
    double after;         // the gradient of `to` after the deposit
    bool late;            // true if `to` has operands and was already visited, so that it never passes the amount on
  };

  // One step of a pass.
  struct Step {
    // The kind of a step.
    enum class Kind {
      forward,  // computes the data of a node
      seed,     // sets the gradient of the root to 1
      visit,    // a node pays its deposits
      deposit,  // a node pays one deposit of a visit that goes on; only in walks by recursion
      update,   // moves the data of a leaf against its gradient, in a training step
    } kind;
    int pass;                       // 1; or 2 in the second pass of twice and no_zeroing
    std::size_t node;               // the node of the step; for a deposit, the node that pays
    double before;                  // the number before the step: data for forward and update, otherwise the gradient
    double after;                   // the same number after the step
    std::vector<double> operands;   // for forward: the data of the operands
    std::vector<Deposit> deposits;  // the deposits that the step makes
  };

  // The result of a walk for one node.
  struct Outcome {
    std::size_t visits = 0;     // how often the node was visited
    double when_visited = 0;    // its gradient at the first visit of the last pass
    double gradient = 0;        // its gradient at the end
    double data = 0;            // its data at the end
    double right_gradient = 0;  // the gradient that the right rule gives
    double right_data = 0;      // the data that the right rule gives
  };

  // A deposit that came too late and was lost.
  struct Late {
    std::size_t step;    // the step that made it
    std::size_t from;    // the node that paid it
    std::size_t to;      // the node that received it
    double amount;       // the deposit
    std::string reason;  // a sentence: "b was visited before d had paid it: 6 lost"
  };

  // The first place where the walk's gradients differ from the right ones.
  struct Parting {
    std::size_t step;    // the step after which they differ
    std::size_t node;    // the node whose gradient is wrong
    double wrong;        // its gradient
    double right;        // the gradient that it should have
    std::string reason;  // a sentence that explains the difference
  };

  // Everything that a walk records.
  struct Record {
    std::vector<Step> steps;         // all steps in order
    std::vector<Outcome> outcomes;   // one per node
    std::vector<Late> late;          // the lost deposits
    std::optional<Parting> parting;  // the first difference from the right gradients, if there is one
    std::size_t visits = 0;          // the number of visits made
    std::string visits_needed;       // the exact number of visits needed, which may have thousands of digits
    bool is_complete = true;         // false if the walk stopped at most_visits
  };

  // A node at the current position.
  struct State {
    bool has_data;       // true once the node has been computed
    double data;         // its data
    double grad;         // its gradient
    std::size_t visits;  // how often it has been visited
  };

  // Walks over the graph below a root. Throws an Error if the graph has more than largest_walk nodes, or if the options
  // contradict each other or the graph. The time is proportional to the number of visits.
  explicit Walk(const Value& root, WalkOptions options = {});
  // Walks over a snapshot.
  explicit Walk(Snapshot graph, WalkOptions options = {});

  // Returns the graph.
  const Snapshot& graph() const { return graph_; }
  // Returns the options of the walk.
  const WalkOptions& options() const { return options_; }
  // Returns all steps.
  const std::vector<Step>& steps() const { return record_.steps; }
  // Returns the result for each node.
  const std::vector<Outcome>& outcomes() const { return record_.outcomes; }
  // Returns the deposits that were lost.
  const std::vector<Late>& late() const { return record_.late; }
  // Returns where the gradients first differ from the right ones, if they do.
  const std::optional<Parting>& parting() const { return record_.parting; }
  // Returns the number of visits made.
  std::size_t visits() const { return record_.visits; }
  // Returns the exact number of visits needed, as decimal digits.
  const std::string& visits_needed() const { return record_.visits_needed; }
  // Returns false if the walk stopped at most_visits.
  bool is_complete() const { return record_.is_complete; }

  // Returns what a late deposit would have contributed to each leaf, as pairs of a leaf and an amount that is not 0.
  std::vector<std::pair<std::size_t, double>> worth(const Late& late) const;

  // Returns the current position: the number of steps made so far. It starts at 0.
  std::size_t position() const { return position_; }
  // Returns each node at the current position.
  const std::vector<State>& state() const { return state_; }
  // Makes the next step. Returns false at the end.
  bool forward();
  // Goes one step back, by replaying from the start. Returns false at the start.
  bool back();
  // Goes to a position, or to the end if there are fewer steps.
  void go_to(std::size_t position);

 private:
  Snapshot graph_;
  WalkOptions options_;
  Record record_;
  std::size_t position_ = 0;
  std::vector<State> state_;
};

// Returns the visiting order that is written as node names separated by commas. Throws an Error for an unknown name.
GRADWALK_EXPORT std::vector<std::size_t> parse_order(const Snapshot& graph, std::string_view names);

// The gradients at the leaves that each possible visiting order of a graph gives, with a count of the orders.
struct OrderTally {
  // The orders that give the same gradients.
  struct Result {
    std::vector<double> gradients;     // one gradient per leaf
    std::size_t orders;                // how many orders give them
    bool right;                        // true if they are the right gradients
    std::vector<std::size_t> example;  // one of these orders
  };
  std::vector<std::size_t> leaves;  // the leaves of the graph
  std::size_t orders;               // the number of all orders
  std::vector<Result> results;      // the right gradients first, then the others by number of orders
};
inline constexpr std::size_t most_nodes_to_tally = 8;  // the largest number of nodes that try_all_orders() takes
// Tries all n! visiting orders of a graph with n nodes, constants not counted. Throws an Error if n is larger than
// most_nodes_to_tally.
GRADWALK_EXPORT OrderTally try_all_orders(const Snapshot& graph);

// The depth-first search that finds the topological order, step by step. It leaves out constants.
class GRADWALK_EXPORT Sort {
 public:
  // One step of the search.
  struct Step {
    // The action on the node.
    enum class Action {
      enter,   // met for the first time: it is marked as visited and goes on the stack
      skip,    // met again: it is already visited
      finish,  // its operands are done: it leaves the stack and joins the list
    } action;
    std::size_t node;  // the node of the step
  };
  // The search after some steps.
  struct State {
    std::vector<std::size_t> stack;    // the nodes that are entered and not finished
    std::vector<std::size_t> visited;  // the visited nodes, in the order in which they were met
    std::vector<std::size_t> list;     // the finished nodes, in topological order
  };
  // Searches the graph from its root.
  explicit Sort(const Snapshot& graph);
  // Returns all steps.
  const std::vector<Step>& steps() const { return steps_; }
  // Returns the state after this many steps, by replaying them.
  State after(std::size_t steps) const;

 private:
  std::vector<Step> steps_;
};

// Returns a walk as JSON. docs/walk-format.md describes this format and the next two.
GRADWALK_EXPORT std::string to_json(const Walk& walk);
// Returns the steps of a topological sort as JSON.
GRADWALK_EXPORT std::string to_json(const Snapshot& graph, const Sort& sort);
// Returns a tally of visiting orders as JSON.
GRADWALK_EXPORT std::string to_json(const Snapshot& graph, const OrderTally& tally);

}  // namespace gradwalk
