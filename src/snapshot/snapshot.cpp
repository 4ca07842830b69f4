// SPDX-License-Identifier: MIT
// Takes snapshots: copies the engine's nodes, operands and local derivatives to plain data.
#include "gradwalk/snapshot.hpp"

#include <algorithm>
#include <unordered_map>

#include "engine/by_op.hpp"
#include "engine/store.hpp"
#include "gradwalk/reading.hpp"
#include "names.hpp"

namespace gradwalk {

using namespace detail;

namespace {

// The nodes of a graph as its user wrote them, in the order in which they are read. A fused record gives several nodes,
// one after another, and a node for each of its numbers.
class Nodes {
 public:
  explicit Nodes(const Value& root) : graph_(root) {
    std::vector<std::size_t> last_of(graph_.size());  // by record: the index of its last node
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      add_record(i, last_of);
      last_of[i] = nodes.size() - 1;
      if (nodes.size() > largest_snapshot)
        throw Error("snapshot", "a graph of at most " + std::to_string(largest_snapshot) + " nodes", "more",
                    "look at a part of it");
    }
  }

  std::vector<Snapshot::Node> nodes;

  // Returns the indices in micrograd's order: depth first, operands before their users.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> result, stack{nodes.size() - 1};
    std::vector<char> state(nodes.size());  // 1: entered, 2: listed
    while (!stack.empty()) {
      const std::size_t i = stack.back();
      if (state[i] == 0) {
        state[i] = 1;
        for (std::size_t k = nodes[i].operands.size(); k-- > 0;)
          if (state[nodes[i].operands[k]] == 0) stack.push_back(nodes[i].operands[k]);
        continue;
      }
      if (state[i] == 1) result.push_back(i);
      state[i] = 2;
      stack.pop_back();
    }
    return result;
  }

 private:
  void add_record(std::size_t i, const std::vector<std::size_t>& last_of) {
    const std::vector<Reading::WrittenNode> parts = graph_.read(i);
    const Value value = graph_.node(i);
    const auto [id, part] = written_id(value, known_parts_);
    if (parts.empty()) {
      add(value.op(), value.data());
      finish(value, id, part);
      return;
    }
    const std::size_t begin = nodes.size();
    std::vector<std::size_t> part_nodes;  // by part: its index
    for (const Reading::WrittenNode& written : parts) {
      std::vector<std::size_t> operands;
      std::vector<double> numbers, derivatives;
      for (const Reading::Operand& operand : written.operands) {
        if (operand.kind == Reading::Operand::Kind::number) {
          operands.push_back(add(Op::constant, operand.value));
        } else {
          operands.push_back(operand.kind == Reading::Operand::Kind::earlier ? part_nodes[operand.index]
                                                                             : last_of[operand.index]);
        }
        numbers.push_back(nodes[operands.back()].data);
        derivatives.push_back(operand.value);
      }
      const bool is_custom = written.op == Op::custom, is_last = &written == &parts.back();
      const double data = is_custom || is_last ? value.data() : rule_value(written.op, numbers);
      part_nodes.push_back(add(written.op, data));
      Snapshot::Node& node = nodes.back();
      node.operands = std::move(operands);
      for (std::size_t k = 0; k < numbers.size(); ++k)
        node.locals.push_back(is_custom ? derivatives[k] : rule_local(written.op, k, numbers, data));
    }
    finish(value, id, part);
    for (std::size_t k = begin; k + 1 < nodes.size(); ++k) nodes[k].id = id, nodes[k].part = k - begin + 1;
    // The inner nodes of a fused record have no stored gradients. Compute those that the last pass would have given
    // them.
    for (std::size_t k = nodes.size(); k-- > begin;) {
      const Snapshot::Node& user = nodes[k];
      const double gradient = k + 1 == nodes.size() ? pass_gradient(Handle::ref(value, "snapshot")) : user.grad;
      for (std::size_t j = 0; gradient != 0 && j < user.operands.size(); ++j)
        if (user.operands[j] >= begin) nodes[user.operands[j]].grad += gradient * user.locals[j];
    }
  }

  std::size_t add(Op op, double data) {
    nodes.push_back({"", "", 0, 0, op, std::string(symbol(op)), data, 0, {}, {}});
    return nodes.size() - 1;
  }

  void finish(const Value& value, std::uint64_t id, std::size_t part) {
    Snapshot::Node& node = nodes.back();
    node.label = value.label();
    node.id = id;
    node.part = part;
    node.op_name = value.op_name();
    node.grad = value.grad();
  }

  Reading graph_;
  std::unordered_map<Ref, std::size_t> known_parts_;
};

}  // namespace

Snapshot snapshot(const Value& root) {
  Nodes read(root);
  Snapshot result;
  result.taken_of = std::make_shared<const Value>(root);
  const std::vector<std::size_t> order = read.order();
  std::vector<std::size_t> new_index(read.nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) new_index[order[i]] = i;
  result.nodes.reserve(order.size());
  for (const std::size_t i : order) {
    result.nodes.push_back(std::move(read.nodes[i]));
    for (std::size_t& operand : result.nodes.back().operands) operand = new_index[operand];
  }
  name_nodes(result.nodes);
  return result;
}

void recompute(Snapshot& graph) {
  for (Snapshot::Node& node : graph.nodes) {
    if (node.operands.empty() || node.op == Op::custom) continue;
    std::vector<double> numbers;
    numbers.reserve(node.operands.size());
    for (const std::size_t operand : node.operands) numbers.push_back(graph.nodes[operand].data);
    node.data = rule_value(node.op, numbers);
    for (std::size_t k = 0; k < numbers.size(); ++k) node.locals[k] = rule_local(node.op, k, numbers, node.data);
  }
}

std::optional<std::size_t> Snapshot::find(std::string_view name) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.name == name; });
  if (found == nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - nodes.begin());
}

std::optional<std::size_t> Snapshot::find(const Value& value) const {
  std::unordered_map<Ref, std::size_t> known;
  const std::pair<std::uint64_t, std::size_t> wanted = written_id(value, known);
  const auto is_wanted = [&](const Node& node) { return std::pair(node.id, node.part) == wanted; };
  const auto found = std::find_if(nodes.begin(), nodes.end(), is_wanted);
  if (found == nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - nodes.begin());
}

std::string written_out(const Snapshot::Node& node, const std::vector<std::string>& operands) {
  if (is_infix(node.op)) return operands[0] + " " + node.op_name + " " + operands[1];
  if (node.op == Op::neg) return "-" + operands[0];
  std::string text = node.op_name + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) text.append(i == 0 ? "" : ", ").append(operands[i]);
  return text + ")";
}

std::string_view local_formula(Op op, std::size_t operand) {
  if (op == Op::custom) return "given";
  if (info(op).operands == 3 && operand-- == 0) return "0";
  return operand == 0 ? info(op).dx : info(op).dy;
}

std::string local_formula(const Snapshot& graph, std::size_t node, std::size_t operand) {
  const Snapshot::Node& operation = graph.nodes[node];
  const std::string_view formula = local_formula(operation.op, operand);
  if (operation.op == Op::custom) return std::string(formula);
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.'; };
  std::string result;
  for (std::size_t begin = 0, end = 0; begin < formula.size(); begin = end) {
    while (end < formula.size() && is_letter(formula[end]) == is_letter(formula[begin])) ++end;
    const std::string_view word = formula.substr(begin, end - begin);
    if (word == "c" || word == "x" || word == "y") {
      const std::size_t first = info(operation.op).operands == 3 ? 1 : 0;  // c is the first of three operands
      result += bracketed_name(graph, operation.operands[word == "c" ? 0 : word == "x" ? first : first + 1]);
    } else if (word == "r") {
      result += bracketed_name(graph, node);
    } else {
      result += word;
    }
  }
  return result;
}

std::string bracketed_name(const Snapshot& graph, std::size_t node) {
  const Snapshot::Node& operation = graph.nodes[node];
  const bool is_operation = operation.op == Op::neg || is_infix(operation.op);
  const bool is_written_out = operation.label.empty() && operation.name.find_first_of("+-*/<=") != std::string::npos;
  const bool is_negative = operation.is_constant() && operation.name.front() == '-';
  return (is_operation && is_written_out) || is_negative ? "(" + operation.name + ")" : operation.name;
}

}  // namespace gradwalk
