// SPDX-License-Identifier: MIT
// Writes walks, sorts, tallies and explanations as JSON. docs/walk-format.md describes the formats.
#include "snapshot/json.hpp"

#include <array>

#include "gradwalk/explain.hpp"
#include "gradwalk/walk.hpp"

namespace gradwalk {

using namespace detail;

namespace {

constexpr std::size_t most_worths = 1'000;  // the number of late deposits that are followed to the leaves

std::string_view kind_name(Walk::Step::Kind kind) {
  constexpr std::array<std::string_view, 5> names{"forward", "seed", "visit", "deposit", "update"};
  return names[static_cast<std::size_t>(kind)];
}

void write_deposit(JsonWriter& json, const Snapshot& graph, const Walk::Deposit& deposit) {
  json.object([&] {
    json("from").value(deposit.from);
    json("to").value(deposit.to);
    json("operand").value(deposit.operand);
    json("formula").value(local_formula(graph.nodes[deposit.from].op, deposit.operand));
    json("local").value(deposit.local);
    json("amount").value(deposit.amount);
    json("before").value(deposit.before);
    json("after").value(deposit.after);
    json("late").value(deposit.late);
  });
}

void write_step(JsonWriter& json, const Snapshot& graph, const Walk::Step& step) {
  using Kind = Walk::Step::Kind;
  json.object([&] {
    json("kind").value(kind_name(step.kind));
    json("pass").value(static_cast<std::size_t>(step.pass));
    json("node").value(step.node);
    switch (step.kind) {
      case Kind::forward:
        json("op").value(name(graph.nodes[step.node].op));
        json("operands").array(step.operands, [&](double operand) { json.value(operand); });
        json("data").value(step.after);
        break;
      case Kind::seed:
      case Kind::update:
        json("before").value(step.before);
        json("after").value(step.after);
        break;
      case Kind::visit:
      case Kind::deposit:
        json("grad").value(step.before);
        json("deposits").array(step.deposits, [&](const Walk::Deposit& deposit) {
          write_deposit(json, graph, deposit);
        });
        break;
    }
  });
}

void write_end(JsonWriter& json, const Walk& walk) {
  json.object([&] {
    json("kind").value(std::string_view("end"));
    std::size_t i = 0;
    json("nodes").array(walk.outcomes(), [&](const Walk::Outcome& outcome) {
      json.object([&] {
        json("name").value(walk.graph().nodes[i++].name);
        json("data").value(outcome.data);
        json("grad").value(outcome.gradient);
      });
    });
  });
}

void write_findings(JsonWriter& json, const Walk& walk) {
  json("outcomes").array(walk.outcomes(), [&](const Walk::Outcome& outcome) {
    json.object([&] {
      json("visits").value(outcome.visits);
      if (outcome.visits > 0) {
        json("when_visited").value(outcome.when_visited);
      } else {
        json("when_visited").null();
      }
      json("grad").value(outcome.gradient);
      json("right_grad").value(outcome.right_gradient);
      json("data").value(outcome.data);
      json("right_data").value(outcome.right_data);
    });
  });
  std::size_t followed = 0;
  json("late").array(walk.late(), [&](const Walk::Late& late) {
    json.object([&] {
      json("step").value(late.step);
      json("from").value(late.from);
      json("to").value(late.to);
      json("amount").value(late.amount);
      json("reason").value(late.reason);
      if (followed++ >= most_worths) {
        json("worth").null();
        return;
      }
      json("worth").array(walk.worth(late), [&](const std::pair<std::size_t, double>& share) {
        json.object([&] {
          json("leaf").value(share.first);
          json("amount").value(share.second);
        });
      });
    });
  });
  json("parting");
  if (const std::optional<Walk::Parting>& parting = walk.parting()) {
    json.object([&] {
      json("step").value(parting->step);
      json("node").value(parting->node);
      json("wrong").value(parting->wrong);
      json("right").value(parting->right);
      json("reason").value(parting->reason);
    });
  } else {
    json.null();
  }
}

}  // namespace

std::string to_json(const Walk& walk) {
  JsonWriter json;
  json.object([&] {
    write_head(json, "gradwalk-walk");
    json("rule").value(info(walk.options().rule).name);
    json("order");
    if (walk.options().order.empty()) {
      json.null();
    } else {
      write_indices(json, walk.options().order);
    }
    write_nodes(json, walk.graph());
    json("visits").value(walk.visits());
    json("visits_needed").value(walk.visits_needed());
    json("complete").value(walk.is_complete());
    write_findings(json, walk);
    json("steps");
    const std::size_t last = walk.steps().size();
    std::vector<std::size_t> positions(last + 1);
    for (std::size_t i = 0; i <= last; ++i) positions[i] = i;
    json.array(positions, [&](std::size_t i) {
      if (i == last) {
        write_end(json, walk);
      } else {
        write_step(json, walk.graph(), walk.steps()[i]);
      }
    });
  });
  return json.take();
}

std::string to_json(const Snapshot& graph, const Sort& sort) {
  constexpr std::array<std::string_view, 3> names{"enter", "skip", "finish"};
  JsonWriter json;
  json.object([&] {
    write_head(json, "gradwalk-sort");
    write_nodes(json, graph);
    json("steps").array(sort.steps(), [&](const Sort::Step& step) {
      json.object([&] {
        json("action").value(names[static_cast<std::size_t>(step.action)]);
        json("node").value(step.node);
      });
    });
    write_indices(json("order"), sort.after(sort.steps().size()).list);
  });
  return json.take();
}

std::string to_json(const Snapshot& graph, const OrderTally& tally) {
  JsonWriter json;
  json.object([&] {
    write_head(json, "gradwalk-orders");
    write_nodes(json, graph);
    json("orders").value(tally.orders);
    write_indices(json("leaves"), tally.leaves);
    json("results").array(tally.results, [&](const OrderTally::Result& result) {
      json.object([&] {
        json("right").value(result.right);
        json("orders").value(result.orders);
        json("grads").array(result.gradients, [&](double gradient) { json.value(gradient); });
        write_indices(json("example"), result.example);
      });
    });
  });
  return json.take();
}

std::string to_json(const Explanation& explanation) {
  JsonWriter json;
  json.object([&] {
    write_head(json, "gradwalk-explanation");
    write_nodes(json, explanation.graph);
    json("node").value(explanation.node);
    json("grad").value(explanation.gradient);
    json("deposits").array(explanation.deposits, [&](const Explanation::Deposit& deposit) {
      json.object([&] {
        json("from").value(deposit.from);
        json("operand").value(deposit.operand);
        json("formula").value(local_formula(explanation.graph.nodes[deposit.from].op, deposit.operand));
        json("grad").value(deposit.gradient);
        json("local").value(deposit.local);
        json("amount").value(deposit.amount);
      });
    });
    json("path_count").value(explanation.path_count);
    json("paths").array(explanation.paths, [&](const Explanation::Path& path) {
      json.object([&] {
        write_indices(json("nodes"), path.nodes);
        json("locals").array(path.locals, [&](double local) { json.value(local); });
        json("product").value(path.product);
      });
    });
  });
  return json.take();
}

}  // namespace gradwalk
