// SPDX-License-Identifier: MIT
// The actions of a session that compile graphs. Some leaves of a root become inputs and some become parameters. The
// results of the program on rows of other numbers are compared with the rules of the op table, up to rounding. Graphs
// that compile() must refuse, and runs after a constant has changed, must throw and change no gradient.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

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

}  // namespace

// Roots of the session, with their leaves divided into inputs, parameters and constants.
struct Subject {
  std::vector<Slot*> inputs, parameters, constants;
  std::vector<std::size_t> roots, input_places, parameter_places;  // their indices in the graph
  RoundedGraph graph;
  std::vector<Rounded> now;  // the current numbers of the leaves
  bool has_custom = false, lacks_table = false;

  enum class Measured : std::uint8_t { certain, refused, doubtful };
  // Measures one row, with a seed per root.
  Measured measure(std::span<const double> row, std::span<const Rounded> seeds) {
    Rounded::in_doubt = false;
    graph.values = now;
    for (const Rounded& leaf : now) Rounded::in_doubt |= Rounded::is_doubtful(leaf.value);
    for (std::size_t i = 0; i < row.size(); ++i) graph.values[input_places[i]] = Rounded::leaf(row[i]);
    const bool has_values = graph.forward(roots);
    if (has_values) graph.backward(roots, seeds);
    return Rounded::in_doubt ? Measured::doubtful : has_values ? Measured::certain : Measured::refused;
  }
  // The same for the first root.
  Measured measure(std::span<const double> row) {
    std::vector<Rounded> seeds(roots.size());
    seeds[0] = 1;
    return measure(row, seeds);
  }
  std::vector<Rounded> outputs() const {
    std::vector<Rounded> result;
    for (const std::size_t root : roots) result.push_back(graph.values[root]);
    return result;
  }
  std::vector<Rounded> gradients(const std::vector<std::size_t>& places) const {
    std::vector<Rounded> result;
    for (const std::size_t place : places) result.push_back(graph.gradients[place]);
    return result;
  }
};

// A row whose results are certain.
struct Row {
  std::size_t place;  // among all rows
  std::vector<double> numbers;
  std::vector<Rounded> outputs, inputs, parameters;  // its outputs, and the gradients of the first one
};

// Rows of all kinds, and those that are certain.
struct Rows {
  std::vector<double> all;
  std::size_t count = 0, refused = 0;
  std::vector<Row> certain;

  void add(Subject& of, const std::vector<double>& numbers) {
    if (is_traced())
      for (const double number : numbers) std::fprintf(stderr, "%a%s", number, &number == &numbers.back() ? "\n" : " ");
    all.insert(all.end(), numbers.begin(), numbers.end());
    const Subject::Measured measured = of.measure(numbers);
    refused += measured == Subject::Measured::refused ? 1 : 0;
    if (measured == Subject::Measured::certain) {
      certain.push_back(
          {count, numbers, of.outputs(), of.gradients(of.input_places), of.gradients(of.parameter_places)});
    }
    ++count;
  }
  std::vector<double> numbers() const {
    std::vector<double> result;
    for (const Row& row : certain) result.insert(result.end(), row.numbers.begin(), row.numbers.end());
    return result;
  }
};

namespace {

std::vector<Value> values(const std::vector<Slot*>& slots) {
  std::vector<Value> all;
  for (const Slot* slot : slots) all.push_back(*slot->value);
  return all;
}

// `order` has the nodes below the roots, operands and choices first.
Subject subject(const plain::Graph& twin, std::span<const Index> order, const std::vector<Slot*>& roots) {
  Subject made;
  std::unordered_map<Index, std::size_t> places;
  for (const Index index : order) {
    const plain::Node& node = twin.at(index);
    places.emplace(index, made.graph.nodes.size());
    RoundedGraph::Node listed{node.op, {}};
    const auto inputs = twin.inputs(index);
    for (const Index choice : twin.choices(index)) listed.choices.push_back(places.at(choice));
    made.has_custom |= node.op == Op::custom;
    made.lacks_table |= node.op == Op::pick && listed.choices.empty();
    for (std::size_t k = 0; node.op != Op::custom && k < inputs.size(); ++k)
      listed.operands[k] = places.at(inputs[k].input);
    made.graph.nodes.push_back(std::move(listed));
    made.now.push_back(inputs.empty() ? Rounded::leaf(node.data) : Rounded());
  }
  for (const Slot* root : roots) made.roots.push_back(places.at(root->node));
  return made;
}

// Divides the leaves that slots have.
void choose_roles(Subject& of, std::span<Slot> slots, const plain::Graph& twin, std::span<const Index> order,
                  unsigned roles) {
  std::unordered_map<Index, std::size_t> leaves;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (twin.at(order[i]).op == Op::leaf) leaves.emplace(order[i], i);
  for (Slot& slot : slots) {
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
}

// The numbers that a run returns and writes.
struct Expected {
  Rounded sum;
  std::vector<Rounded> gradient, inputs, outputs;

  void add(const Rounded& output, const std::vector<Rounded>& outputs_of_row, const std::vector<Rounded>& by_parameter,
           const std::vector<Rounded>& by_input) {
    gradient.resize(by_parameter.size());
    sum += output;
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += by_parameter[i];
    inputs.insert(inputs.end(), by_input.begin(), by_input.end());
    outputs.insert(outputs.end(), outputs_of_row.begin(), outputs_of_row.end());
  }
  void add(const Row& row) { add(row.outputs[0], row.outputs, row.parameters, row.inputs); }
  // Adds the row that `of` measured last, with these seeds.
  void add(const Subject& of, const std::vector<Rounded>& seeds) {
    Rounded result;
    const std::vector<Rounded> of_row = of.outputs();
    for (std::size_t k = 0; k < seeds.size(); ++k) result += seeds[k] * of_row[k];
    add(result, of_row, of.gradients(of.parameter_places), of.gradients(of.input_places));
  }
  // A uniform term passes on the sum of its gradients over the rows at once, so an infinite derivative is multiplied by
  // that sum, not by the gradient of each row.
  bool is_in_doubt(std::size_t rows) const {
    bool result = Rounded::in_doubt || Rounded::is_doubtful(sum.value);
    for (const Rounded& one : gradient)
      result |= Rounded::is_doubtful(one.value) || (rows > 1 && !std::isfinite(one.value));
    return result;
  }
};

struct Buffers {
  std::vector<double> gradient, inputs, outputs;
  explicit Buffers(const Expected& expected)
      : gradient(expected.gradient.size()), inputs(expected.inputs.size()), outputs(expected.outputs.size()) {}
};

void check_near(const std::vector<double>& got, const std::vector<Rounded>& wanted, const char* what) {
  for (std::size_t i = 0; i < wanted.size(); ++i) check_near(got[i], wanted[i], what);
}

void check_near(double sum, const Buffers& got, const Expected& wanted) {
  check_near(sum, wanted.sum, "the sum of a program");
  check_near(got.outputs, wanted.outputs, "an output of a program");
  check_near(got.inputs, wanted.inputs, "an input's gradient by a program");
  check_near(got.gradient, wanted.gradient, "a parameter's gradient by a program");
}

// Runs a subset of all rows, some of them twice, with weights, or with a seed per output.
void check_subset(Program& program, Subject& of, const Rows& rows, bool has_seeds, Bytes& bytes) {
  std::vector<std::size_t> subset;
  std::vector<double> factors;  // the weights or the seeds
  Expected wanted;
  bool in_doubt = false;
  for (std::size_t i = bytes.up_to(2 * rows.certain.size()); i > 0; --i) {
    const Row& row = rows.certain[bytes.next() % rows.certain.size()];
    subset.push_back(row.place);
    std::vector<Rounded> seeds(of.roots.size());
    for (std::size_t k = 0; k < (has_seeds ? seeds.size() : 1); ++k) {
      factors.push_back(bytes.next() % 4 == 0 ? 0 : bytes.number());
      seeds[k] = Rounded::leaf(factors.back());
      in_doubt |= Rounded::is_doubtful(factors.back());
    }
    in_doubt |= of.measure(row.numbers, seeds) != Subject::Measured::certain;
    Rounded::in_doubt = false;
    wanted.add(of, has_seeds ? seeds : std::vector{seeds[0]});
    in_doubt |= Rounded::in_doubt;
  }
  Rounded::in_doubt = in_doubt;
  if (wanted.is_in_doubt(subset.size())) return;
  Buffers got(wanted);
  gradwalk::RunOptions options{.input_gradients = got.inputs, .outputs = got.outputs, .subset = subset};
  (has_seeds ? options.seeds : options.weights) = factors;
  check_near(program.gradients(rows.all, got.gradient, options), got, wanted);
}

// A program must refuse rows with a wrong index, and no others.
void check_refused_rows(Program& program, const Subject& of, const Rows& rows) {
  std::vector<double> unread(of.parameters.size());
  const std::string refused = refusal([&] { static_cast<void>(program.gradients(rows.all, unread)); });
  const bool may_refuse = rows.certain.size() < rows.count && refused.find("index") != std::string::npos;
  check(refused.empty() ? rows.refused == 0 : may_refuse, "which rows a program refuses");
}

void check_row_gradients(Program& program, const Rows& rows) {
  Expected wanted;
  for (const Row& row : rows.certain) {
    wanted.gradient.insert(wanted.gradient.end(), row.parameters.begin(), row.parameters.end());
    wanted.outputs.insert(wanted.outputs.end(), row.outputs.begin(), row.outputs.end());
  }
  Buffers got(wanted);
  program.row_gradients(rows.numbers(), got.gradient, got.outputs);
  check_near(got.outputs, wanted.outputs, "an output by row_gradients()");
  check_near(got.gradient, wanted.gradient, "a gradient by row_gradients()");
}

}  // namespace

void Session::compile(Bytes& bytes) {
  Slot& any_root = full(bytes);
  const unsigned how = bytes.next();
  std::vector<Slot*> roots{how / 64 == 0 ? &any_root : &newest()};
  for (unsigned more = how / 16 % 4; more > 1; --more) roots.push_back(&full(bytes));
  if (no_grad_ > 0 || twin_.size() > 50'000) return;
  const std::vector<Index> order = order_below(roots);
  if (order.size() > 2'000) return;
  actions_ += 20 + order.size() / 4;
  Rounded::precision = how % 4 == 0 ? &Rounded::float32 : &Rounded::float64;
  Subject of = subject(twin_, order, roots);
  const unsigned low = bytes.next(), high = bytes.next();
  choose_roles(of, slots_, twin_, order, low | high << 8);

  const std::vector<std::string> sets = gradwalk::instruction_sets();
  gradwalk::CompileOptions options;
  options.inputs = values(of.inputs);
  options.parameters = values(of.parameters);
  options.precision = how % 4 == 0 ? gradwalk::Precision::float32 : gradwalk::Precision::float64;
  options.threads = 1 + how / 4 % 3;
  options.instruction_set = sets[bytes.next() % sets.size()];
  std::optional<Program> program;
  const std::string refused = refusal([&] { program.emplace(gradwalk::compile(values(roots), options)); });
  // The plain evaluator takes a number that was computed under NoGrad for a leaf.
  const bool has_leaf = std::any_of(roots.begin(), roots.end(),
                                    [&](const Slot* root) { return twin_.at(root->node).op == gradwalk::Op::leaf; });
  check(refused.find("custom") != std::string::npos        ? of.has_custom
        : refused.find("NoGrad") != std::string::npos      ? has_leaf
        : refused.find("LookupTable") != std::string::npos ? of.lacks_table
                                                           : refused.empty() && !of.has_custom && !of.lacks_table,
        "which graphs compile() refuses");
  if (program && is_traced())
    for (const auto& [pass, text] : gradwalk::compile_passes(values(roots), options))
      std::fprintf(stderr, "%s\n%s\n", pass.c_str(), text.c_str());
  if (program) compare_program(*program, of, roots, bytes);
}

// The nodes below several roots, operands and choices first.
std::vector<Index> Session::order_below(const std::vector<Slot*>& roots) {
  std::vector<Index> all;
  std::unordered_set<Index> known;
  for (const Slot* root : roots)
    for (const Index node : twin_.order_with_choices(root->node))
      if (known.insert(node).second) all.push_back(node);
  return all;
}

// After some runs, a program writes machine code, which gives the bits of the interpreter. Each 8th program is run so
// often.
void check_machine_code(Program& program, bool has_inputs, std::span<const double> numbers, double sum,
                        const std::vector<double>& gradient) {
  constexpr int runs = 70;
  if (!program.describe().instruction_set.starts_with("AVX") || program.describe().recorded % 8 != 0) return;
  std::vector<double> again(gradient.size());
  double result = 0;
  for (int i = 0; i < runs; ++i) result = has_inputs ? program.gradients(numbers, again) : program.gradients(again);
  check(same_bits(result, sum), "the result of machine code");
  for (std::size_t i = 0; i < again.size(); ++i) check(same_bits(again[i], gradient[i]), "a gradient by machine code");
}

void Session::compare_program(Program& program, Subject& of, const std::vector<Slot*>& roots, Bytes& bytes) {
  const Rows rows = measured_rows(of, bytes);
  const bool has_inputs = !of.inputs.empty();
  if (has_inputs) check_refused_rows(program, of, rows);
  if (rows.certain.empty()) return;
  if (bytes.next() % 4 == 0) program = program.clone();
  if (has_inputs) {
    check_row_gradients(program, rows);
    check_subset(program, of, rows, false, bytes);
    check_subset(program, of, rows, true, bytes);
  }
  Rounded::in_doubt = false;
  Expected wanted;
  for (const Row& row : rows.certain) wanted.add(row);
  if (wanted.is_in_doubt(rows.certain.size())) return;
  Buffers got(wanted);
  const std::vector<double> numbers = rows.numbers();
  const double result =
      has_inputs ? program.gradients(numbers, got.gradient, {.input_gradients = got.inputs, .outputs = got.outputs})
                 : program.gradients(got.gradient);
  if (!has_inputs) program.evaluate(got.outputs);
  check_near(result, got, wanted);
  compare_measured(of, *roots[0]);
  // A gradient of an input that is not a number makes a run start again by the zero-gradient rule, which rounds sums
  // over rows otherwise. run() asks for no gradients of inputs.
  const double sum = has_inputs ? program.gradients(numbers, got.gradient) : result;
  check_near(got.gradient, wanted.gradient, "a parameter's gradient alone");
  check(same_bits(compare_run(program, of, numbers, got.gradient, wanted.gradient), sum), "run() and gradients()");
  check_machine_code(program, has_inputs, numbers, sum, got.gradient);
  change_constants(program, of, numbers);
}

// The first row has the current numbers, the others have random ones.
Rows Session::measured_rows(Subject& of, Bytes& bytes) const {
  Rows rows;
  for (std::size_t r = 0, count = of.inputs.empty() ? 1 : bytes.up_to(12); r < count; ++r) {
    std::vector<double> row;
    for (const Slot* input : of.inputs)
      row.push_back(r == 0                  ? twin_.at(input->node).data
                    : bytes.next() % 4 == 0 ? static_cast<double>(bytes.next() % 6)
                                            : bytes.number());
    rows.add(of, row);
  }
  return rows;
}

// Compares the measured numbers with those of the engine, on its current leaves.
void Session::compare_measured(Subject& of, const Slot& root) const {
  if (of.measure({}) != Subject::Measured::certain || twin_.at(root.node).op == Op::leaf) return;
  const double value = of.outputs()[0].value;
  check(same_bits(value, twin_.at(root.node).data) || std::isnan(value), "the measured value");
  const gradwalk::Gradients eager = pass(*root.value);
  const std::vector<Rounded> measured = of.gradients(of.parameter_places);
  for (std::size_t i = 0; i < measured.size(); ++i)
    check_near(eager.of(*of.parameters[i]->value), measured[i], "the measured gradient");
}

// run() must add the gradient that gradients() wrote. Returns what it returns.
double Session::compare_run(Program& program, const Subject& of, std::span<const double> rows,
                            std::span<const double> gradient, std::span<const Rounded> measured) {
  std::vector<double> before;
  for (const Slot* slot : of.parameters) before.push_back(std::as_const(*slot->value).grad());
  const double result = of.inputs.empty() ? program.run() : program.run(rows);
  for (std::size_t i = 0; i < before.size(); ++i) {
    plain::Node& node = twin_.at(of.parameters[i]->node);
    const double after = std::as_const(*of.parameters[i]->value).grad(), wanted = before[i] + gradient[i];
    check(same_bits(after, wanted) || std::isnan(after), "what run() adds", after, wanted);
    node.grad = after;
    node.weight += std::isfinite(gradient[i]) ? measured[i].error : INFINITY;
  }
  return result;
}

// A run after a constant has changed must throw.
void Session::change_constants(Program& program, const Subject& of, std::span<const double> rows) {
  for (const Slot* slot : of.constants) {
    const double was = twin_.at(slot->node).data;
    if (std::isnan(was) || was + 1 == was) continue;
    Value leaf = *slot->value;
    leaf.data() = was + 1;
    const std::string changed = refusal([&] { of.inputs.empty() ? program.run() : program.run(rows); });
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
  const std::vector<Index> order = order_below({&root});
  if (no_grad_ > 0 || order.size() > 500) return;
  const bool can_compile = twin_.can_recompute(order);
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
  if (!can_compile || first != numbers[1] < edge) {
    check(!program, "compile() of a function of two ways, with a custom node or without its table");
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
