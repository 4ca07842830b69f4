// SPDX-License-Identifier: MIT
// The actions of a session that compile graphs. Some leaves of a root become inputs and some become parameters. The
// results of the program on rows of other numbers are compared with the rules of the op table, up to rounding. Graphs
// that compile() must refuse, and runs after a constant has changed, must throw and change no gradient.
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "../rounded.hpp"
#include "check.hpp"
#include "gradwalk/compile.hpp"
#include "session.hpp"

namespace fuzz {

using gradwalk::Program, gradwalk::tests::Rounded, gradwalk::tests::RoundedGraph;

namespace {

bool same_bits(double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; }

// Calls use() and returns the message of the Error that it throws, or "".
template <class Use> std::string refusal(Use use) {
  try {
    use();
  } catch (const gradwalk::Error& error) {
    return error.what();
  }
  return {};
}

void check_near(double got, const Rounded& wanted, const char* what) {
  check(wanted.allows(got), what, got, wanted.value);
}

// A root of the session, with its leaves divided into inputs, parameters and constants.
struct Subject {
  std::vector<Slot*> inputs, parameters, constants;
  std::vector<std::size_t> input_places, parameter_places;  // their indices in the graph
  RoundedGraph graph;
  std::vector<Rounded> now;  // the current numbers of the leaves
  bool has_custom = false;

  // Returns true if no result on this row is in doubt.
  bool measure(std::span<const double> row) {
    Rounded::in_doubt = false;
    graph.values = now;
    for (const Rounded& leaf : now) Rounded::in_doubt |= Rounded::is_doubtful(leaf.value);
    for (std::size_t i = 0; i < row.size(); ++i) graph.values[input_places[i]] = Rounded::leaf(row[i]);
    const std::size_t root = graph.nodes.size() - 1;
    graph.forward({&root, 1});
    graph.backward(root, 1);
    return !Rounded::in_doubt;
  }
  const Rounded& value() const { return graph.values.back(); }
  const Rounded& gradient(std::size_t place) const { return graph.gradients[place]; }
};

std::vector<Value> values(const std::vector<Slot*>& slots) {
  std::vector<Value> all;
  for (const Slot* slot : slots) all.push_back(*slot->value);
  return all;
}

Subject subject(const plain::Graph& twin, std::span<const Index> order) {
  Subject made;
  std::unordered_map<Index, std::size_t> places;
  for (const Index index : order) {
    const plain::Node& node = twin.at(index);
    places.emplace(index, made.graph.nodes.size());
    RoundedGraph::Node listed{node.op, {}};
    const auto inputs = twin.inputs(index);
    if (node.op == Op::custom)
      made.has_custom = true;
    else
      for (std::size_t k = 0; k < inputs.size(); ++k) listed.operands[k] = places.at(inputs[k].input);
    made.graph.nodes.push_back(listed);
    made.now.push_back(inputs.empty() ? Rounded::leaf(node.data) : Rounded());
  }
  return made;
}

}  // namespace

void Session::compile(Bytes& bytes) {
  Slot& any_root = full(bytes);
  const unsigned how = bytes.next();
  Slot& root = how / 64 == 0 ? any_root : newest();
  if (no_grad_ > 0 || twin_.size() > 50'000) return;
  const std::vector<Index> order = twin_.order(root.node);
  if (order.size() > 2'000) return;
  actions_ += 20 + order.size() / 4;
  Rounded::precision = how % 4 == 0 ? &Rounded::float32 : &Rounded::float64;
  Subject of = subject(twin_, order);

  std::unordered_map<Index, std::size_t> leaves;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (twin_.at(order[i]).op == Op::leaf) leaves.emplace(order[i], i);
  unsigned roles = bytes.next() | unsigned{bytes.next()} << 8;
  for (Slot& slot : slots_) {
    const auto leaf = slot.value ? leaves.find(slot.node) : leaves.end();
    if (leaf == leaves.end()) continue;
    if (roles % 4 == 0) {
      of.constants.push_back(&slot);
    } else {
      (roles % 4 == 1 ? of.parameters : of.inputs).push_back(&slot);
      (roles % 4 == 1 ? of.parameter_places : of.input_places).push_back(leaf->second);
    }
    leaves.erase(leaf);
    roles = (roles >> 2) + 7 * roles;
  }

  const std::vector<std::string> sets = gradwalk::instruction_sets();
  gradwalk::CompileOptions options;
  options.inputs = values(of.inputs);
  options.parameters = values(of.parameters);
  options.precision = how % 4 == 0 ? gradwalk::Precision::float32 : gradwalk::Precision::float64;
  options.threads = 1 + how / 4 % 3;
  options.instruction_set = sets[how / 16 % sets.size()];
  std::optional<Program> program;
  const std::string refused = refusal([&] { program.emplace(gradwalk::compile(*root.value, options)); });
  check(refused.find("custom") != std::string::npos ? of.has_custom : refused.empty() && !of.has_custom,
        "which graphs compile() refuses");
  if (!program) return;

  // The first row has the current numbers, the others have random ones.
  const std::size_t width = of.inputs.size();
  std::vector<double> rows, certain;
  std::vector<Rounded> outputs, input_gradients, gradient(of.parameters.size());
  Rounded sum;
  for (std::size_t r = 0, count = width == 0 ? 1 : bytes.up_to(12); r < count; ++r) {
    std::vector<double> row;
    for (const Slot* input : of.inputs) row.push_back(r == 0 ? twin_.at(input->node).data : bytes.number());
    rows.insert(rows.end(), row.begin(), row.end());
    if (!of.measure(row)) continue;
    certain.insert(certain.end(), row.begin(), row.end());
    outputs.push_back(of.value());
    sum += of.value();
    for (const std::size_t place : of.input_places) input_gradients.push_back(of.gradient(place));
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += of.gradient(of.parameter_places[i]);
  }
  std::vector<double> got(gradient.size());
  if (width > 0) static_cast<void>(program->gradients(rows, got));  // only the sanitizers check this run
  Rounded::in_doubt = outputs.empty();
  // A uniform term passes on the sum of its gradients over the rows at once, so an infinite derivative is multiplied by
  // that sum, not by the gradient of each row.
  for (const Rounded& sum_of_rows : gradient)
    Rounded::in_doubt |=
        Rounded::is_doubtful(sum_of_rows.value) || (outputs.size() > 1 && !std::isfinite(sum_of_rows.value));
  if (Rounded::in_doubt || Rounded::is_doubtful(sum.value)) return;

  std::vector<double> got_outputs(outputs.size()), got_inputs(certain.size());
  const double result = width == 0
                            ? program->gradients(got)
                            : program->gradients(certain, got, {.input_gradients = got_inputs, .outputs = got_outputs});
  if (width == 0) program->evaluate(got_outputs);
  check_near(result, sum, "the sum of a program");
  for (std::size_t i = 0; i < outputs.size(); ++i) check_near(got_outputs[i], outputs[i], "an output of a program");
  for (std::size_t i = 0; i < got_inputs.size(); ++i)
    check_near(got_inputs[i], input_gradients[i], "an input's gradient by a program");
  for (std::size_t i = 0; i < got.size(); ++i) check_near(got[i], gradient[i], "a parameter's gradient by a program");

  // Compare the measured numbers with those of the engine, on its current leaves.
  if (of.measure({}) && twin_.at(root.node).op != Op::leaf) {
    check(same_bits(of.value().value, twin_.at(root.node).data) || std::isnan(of.value().value), "the measured value");
    const gradwalk::Gradients eager = pass(*root.value);
    for (std::size_t i = 0; i < got.size(); ++i)
      check_near(eager.of(*of.parameters[i]->value), of.gradient(of.parameter_places[i]), "the measured gradient");
  }

  // run() must add the same gradient to the parameters.
  std::vector<double> before;
  for (const Slot* slot : of.parameters) before.push_back(std::as_const(*slot->value).grad());
  check(same_bits(width == 0 ? program->run() : program->run(certain), result), "run() and gradients()");
  for (std::size_t i = 0; i < before.size(); ++i) {
    plain::Node& node = twin_.at(of.parameters[i]->node);
    const double after = std::as_const(*of.parameters[i]->value).grad();
    check(same_bits(after, before[i] + got[i]) || std::isnan(after), "what run() adds", after, before[i] + got[i]);
    node.grad = after;
    node.weight += std::isfinite(got[i]) ? gradient[i].error : INFINITY;
  }

  // A run after a constant has changed must throw.
  for (const Slot* slot : of.constants) {
    const double was = twin_.at(slot->node).data;
    if (std::isnan(was) || was + 1 == was) continue;
    Value leaf = *slot->value;
    leaf.data() = was + 1;
    const std::string changed = refusal([&] { width == 0 ? program->run() : program->run(certain); });
    check(changed.find("constants as they were compiled") != std::string::npos, "a run after a constant changed");
    leaf.data() = was;
  }
}

// Compiles a function that branches on a comparison. Rows that take the other branch are refused, by compile() and by
// run().
void Session::branch(Bytes& bytes) {
  Slot &root = full(bytes), &w = full(bytes);
  const double edge = bytes.number();
  std::array<double, 5> numbers{};
  for (double& number : numbers) number = bytes.number();
  if (no_grad_ > 0 || twin_.order(root.node).size() > 500) return;
  actions_ += 40;
  const auto function = [&](const std::vector<Value>& in) {
    return in[0] < edge ? *root.value * in[0] : *root.value + in[0];
  };
  gradwalk::CompileOptions options;
  if (twin_.at(w.node).op == Op::leaf) options.parameters.push_back(*w.value);
  std::optional<Program> program;
  const std::string refused =
      refusal([&] { program.emplace(gradwalk::compile(function, {{numbers[0]}, {numbers[1]}}, options)); });
  const bool first = numbers[0] < edge;
  bool has_custom = false;
  for (const Index node : twin_.order(root.node)) has_custom |= twin_.at(node).op == Op::custom;
  if (has_custom || first != numbers[1] < edge) {
    check(!program, "compile() of a function of two ways, or with a custom node");
    return;
  }
  check(refused.empty(), "compile() refused a function");
  bool goes_another_way = false;
  for (const double number : numbers) goes_another_way |= first != number < edge;
  std::vector<double> gradient(options.parameters.size(), 0.5);
  const std::string guarded = refusal([&] { program->gradients(numbers, gradient); });
  check(goes_another_way == (guarded.find("comparison") != std::string::npos), "a row that goes another way");
}

}  // namespace fuzz
