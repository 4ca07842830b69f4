// SPDX-License-Identifier: MIT
// gradwalk compile: prints an expression after each pass of compile(), or writes it as a C file.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "emitting.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/files.hpp"
#include "input.hpp"
#ifdef GRADWALK_HAS_COMPILE
#include "gradwalk/compile.hpp"
#include "gradwalk/emit.hpp"
#include "gradwalk/expression.hpp"
#endif

namespace gradwalk::cli {
namespace {

struct CompileArguments {
  Input input;
  std::vector<std::string> inputs;
  bool json = false;
  std::string emit;
  bool is_float = false, hessian = false, main = false;
};

#ifdef GRADWALK_HAS_COMPILE

struct Leaves {
  std::vector<std::string> inputs, parameters;
  CompileOptions options;
};

// Sorts the named leaves into inputs, which the command line lists, and parameters, which are all the others.
Leaves leaves_of(const Expression& expression, const std::vector<std::string>& inputs) {
  Leaves result;
  for (const std::string& name : inputs) {
    const auto has_name = [&](const auto& named_value) { return named_value.first == name; };
    const auto found = std::find_if(expression.names.begin(), expression.names.end(), has_name);
    if (found == expression.names.end() || found->second.op() != Op::leaf)
      throw Error("compile", "--inputs that are names of leaves in the expression", "'" + name + "'",
                  "name the numbers that differ from row to row, as in 'x=0; w=3; w*x' --inputs x");
    result.inputs.push_back(name);
    result.options.inputs.push_back(found->second);
  }
  for (const auto& [name, value] : expression.names) {
    if (value.op() != Op::leaf || std::find(inputs.begin(), inputs.end(), name) != inputs.end()) continue;
    result.parameters.push_back(name);
    result.options.parameters.push_back(value);
  }
  return result;
}

void print_names(char letter, const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  fmt::print("{}:", what);
  for (std::size_t i = 0; i < names.size(); ++i) fmt::print("{} {}{} = {}", i == 0 ? "" : ",", letter, i, names[i]);
  fmt::print("\n");
}

// Writes a C file with everything that the names allow: gradients by all names, and rows if there are inputs.
void write_c(const CompileArguments& arguments, const Expression& expression, const Leaves& leaves) {
  check_c_name("compile", "--emit", arguments.emit);
  const bool has_rows = !leaves.inputs.empty() && !leaves.parameters.empty();
  EmitOptions options{.name = c_name(arguments.emit),
                      .inputs = leaves.options.inputs,
                      .parameters = leaves.options.parameters,
                      .precision = arguments.is_float ? Precision::float32 : Precision::float64,
                      .input_gradients = !leaves.inputs.empty(),
                      .rows = has_rows,
                      .hessian = arguments.hessian,
                      .main = arguments.main,
                      .about = "The expression: " + arguments.input.text()};
  const std::string text = emit_c(expression.root, options);
  write_file(arguments.emit, text);
  fmt::print("wrote {}\n", arguments.emit);
}

void show(const CompileArguments& arguments) {
  const Expression expression = parse(arguments.input.text());
  const Leaves leaves = leaves_of(expression, arguments.inputs);
  if (!arguments.emit.empty()) return write_c(arguments, expression, leaves);
  const std::vector<PassText> passes = compile_passes({&expression.root, 1}, leaves.options);
  const Program::Description about = compile(expression.root, leaves.options).describe();
  if (arguments.json) {
    nlohmann::ordered_json json{{"inputs", leaves.inputs}, {"parameters", leaves.parameters}};
    for (const PassText& pass : passes) json["passes"][pass.pass] = pass.text;
    json["nodes"] = about.recorded;
    json["instructions"] = about.instructions;
    json["layers"] = about.layers;
    fmt::print("{}\n", json.dump());
    return;
  }
  print_names('x', "inputs", leaves.inputs);
  print_names('p', "parameters", leaves.parameters);
  for (const PassText& pass : passes) fmt::print("\n{}\n{}", pass.pass, pass.text);
  fmt::print("\n{} nodes, {} instruction{}\n", about.recorded, about.instructions, about.instructions == 1 ? "" : "s");
}

#else

void show(const CompileArguments&) {
  throw Error("compile", "gradwalk::compile", "a gradwalk built without it", "rebuild with -DGRADWALK_COMPILE=ON");
}

#endif

}  // namespace

void add_compile(CLI::App& app) {
  const auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command = app.add_subcommand("compile", "Show an expression after each pass of the compiler");
  arguments->input.add_to(*command);
  command
      ->add_option("--inputs", arguments->inputs,
                   "Names whose numbers differ from row to row. All other named numbers are parameters")
      ->delimiter(',')
      ->option_text("NAME,...");
  command->add_flag("--json", arguments->json, "Print JSON");
  CLI::Option* emit = command->add_option("--emit", arguments->emit, "Write the value and the gradient as a C file")
                          ->option_text("FILE");
  command->add_flag("--float", arguments->is_float, "In the C file, compute in float instead of double")->needs(emit);
  command->add_flag("--hessian", arguments->hessian, "In the C file, add the second derivatives")->needs(emit);
  command->add_flag("--main", arguments->main, "In the C file, add a main() that prints the results")->needs(emit);
  command->footer(
      "Examples:\n"
      "  gradwalk compile 'x=1; y=2; w=3; b=0; relu(w*x + b - y)' --inputs x,y\n"
      "  gradwalk compile 'x=1; w=3; b=0; relu(w*x + b)' --inputs x --emit neuron.c\n"
      "\n"
      "docs/compile.md explains the compiler's passes, docs/emit-c.md the C file.");
  command->callback([arguments] { show(*arguments); });
}

}  // namespace gradwalk::cli
