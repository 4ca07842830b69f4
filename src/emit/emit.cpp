// SPDX-License-Identifier: MIT
// emit_c: the functions of a C file, and what surrounds them.
//
// A file contains one row: inputs are leaves like parameters, so differentiate() makes the whole backward pass ordinary
// nodes. Rows are a loop that calls this code.
#include "gradwalk/emit.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "compile/passes.hpp"
#include "function_text.hpp"
#include "gradients.hpp"
#include "gradwalk/derivatives.hpp"
#include "gradwalk/error.hpp"
#include "lower.hpp"
#include "names.hpp"
#include "print_c.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace emit {
namespace {

using compiler::Id, compiler::none, compiler::Terms;

Terms terms_of(std::span<const Value> outputs, std::span<const Value> leaves, bool ignore_comparisons) {
  const compiler::Recorded recorded = compiler::record(outputs, {}, leaves);
  compiler::check_comparisons("emit_c", recorded.decisions, ignore_comparisons);
  if (!recorded.scalars.index_sizes.empty())
    throw Error("emit_c", "operations that are C expressions", "a pick, whose index has to be checked",
                "write it as select(index == 0, a, select(index == 1, b, ...))");
  return compiler::simplify(recorded.scalars);
}

class File {
 public:
  File(std::span<const Value> outputs, const EmitOptions& options)
      : outputs_(outputs),
        options_(options),
        dialect_(options.precision == Precision::float32, name_of(options)),
        name_(dialect_.prefix()),
        tables_(name_, dialect_) {
    check();
    leaves_ = options.parameters;
    leaves_.insert(leaves_.end(), options.inputs.begin(), options.inputs.end());
    forward_ = terms_of(outputs, leaves_, options.ignore_comparisons);
    name_leaves();
    adds_ = options.rows || options.step;
    add_values();
    if (options.gradient && variables() > 0) add_gradient();
    if (adds_) add_rows();
    if (options.step) add_step();
    if (options.parameter_values && parameters() > 0) add_parameter_values();
    if (options.jacobian) add_jacobian();
    if (options.hessian) add_hessian();
  }

  std::string source() const {
    std::string text = comment() + includes() + definitions();
    if (!tables_.text().empty()) text += tables_.text() + "\n";
    text += public_tables_;
    if (uses_finite_) text += finite_text();
    if (uses_times_) text += times_text(dialect_);
    if (uses_digamma_) text += digamma_text(name_);
    if (uses_trigamma_) text += trigamma_text(name_);
    for (const Function& function : functions_) text += text_of(function);
    if (options_.main) text += main_text();
    check_size(text.size());
    return text;
  }

  const std::string& name() const { return name_; }

  std::string header() const {
    const std::string guard = upper() + "_H";
    std::string text = "/* Declares the functions of " + name_ + ".c, which says what they do. */\n#ifndef " + guard +
                       "\n#define " + guard + "\n\n" + (adds_ ? "#include <stddef.h>\n\n" : "") +
                       "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + definitions();
    for (const Function& function : functions_)
      if (!function.is_static) text += "/* " + function.about + " */\n" + declaration(function, true) + ";\n\n";
    text += public_declarations_;
    return text + "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  }

 private:
  struct Function {
    std::string type, name, about;
    std::vector<std::string> arguments;
    std::string body;
    bool is_static = false;
  };

  // ---- arguments ----

  static std::string name_of(const EmitOptions& options) { return emit::Names::prefix(options.name, "model"); }
  std::size_t parameters() const { return options_.parameters.size(); }
  std::size_t inputs() const { return options_.inputs.size(); }
  std::size_t variables() const { return parameters() + (options_.input_gradients ? inputs() : 0); }
  std::string upper() const {
    std::string text = name_;
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  }
  std::string real() const { return dialect_.real(); }

  void check() const {
    const auto refuse = [](const char* needs, const char* got, const char* advice) {
      throw Error("emit_c", needs, got, advice);
    };
    if ((options_.rows || options_.step) && options_.inputs.empty())
      refuse("inputs for rows", "none", "name the numbers that differ from row to row in .inputs");
    if ((options_.rows || options_.step) && !options_.gradient)
      refuse("the gradient for rows", ".gradient = false", "leave .gradient as it is");
    if ((options_.rows || options_.step) && options_.parameters.empty())
      refuse("parameters for the gradient over rows", "none", "name them in .parameters");
    if (options_.step && options_.input_gradients)
      refuse("a step without input gradients", "both", "emit two files, or leave one out");
    if ((options_.jacobian || options_.hessian) && variables() == 0)
      refuse("parameters to differentiate by", "none", "name them in .parameters, or set .input_gradients");
  }
  void check_size(std::size_t bytes) const {
    if (bytes > options_.max_bytes)
      throw Error("emit_c", "a file of at most " + std::to_string(options_.max_bytes) + " bytes (.max_bytes)",
                  "one of more than " + std::to_string(bytes) + " bytes: the graph has too little structure for loops",
                  "emit parts of the graph, or raise .max_bytes");
  }

  void name_leaves() {
    emit::Names names;
    names.take(name_);
    for (std::size_t i = 0; i < parameters(); ++i)
      print_.parameter_names.push_back(names.unique(options_.parameters[i].label(), "p" + std::to_string(i)));
    for (std::size_t i = 0; i < inputs(); ++i)
      print_.input_names.push_back(names.unique(options_.inputs[i].label(), "x" + std::to_string(i)));
  }

  std::vector<std::string> arguments(std::vector<std::string> more, const std::string& rows = "inputs") const {
    std::vector<std::string> all;
    if (parameters() > 0) all.push_back("const " + real() + " *restrict parameters");
    if (inputs() > 0) all.push_back("const " + real() + " *restrict " + rows);
    for (std::string& one : more)
      all.push_back(one[0] == '*' ? real() + " *restrict " + one.substr(1) : std::move(one));
    all.push_back(real() + " *restrict work");
    return all;
  }
  static std::string argument_name(const std::string& argument) {
    return argument.substr(argument.find_last_of(" *") + 1);
  }
  static std::string call(const Function& function,
                          const std::vector<std::pair<std::string, std::string>>& instead = {}) {
    std::string text = function.name + "(";
    for (std::size_t i = 0; i < function.arguments.size(); ++i) {
      std::string name = argument_name(function.arguments[i]);
      for (const auto& [from, to] : instead)
        if (name == from) name = to;
      text += (i == 0 ? "" : ", ") + name;
    }
    return text + ")";
  }

  // ---- functions ----

  // Adds a function whose body is the code of these stores; with a guard, also its careful twin.
  const Function& add(Function function, const Terms& terms, const std::vector<Store>& stores, bool is_careful) {
    const emit::Code code = lowered(terms, stores, is_careful);
    uses_times_ |= code.calls_times;
    uses_digamma_ |= code.calls_digamma;
    uses_trigamma_ |= code.calls_trigamma;
    const emit::PrintedBody body = emit::print_body(code, dialect_, tables_, print_);
    workspace_ = std::max(workspace_, body.workspace);
    locals_ = std::max(locals_, body.locals);
    function.body = body.text;
    bytes_ += body.text.size();
    check_size(bytes_ + tables_.text().size());
    functions_.push_back(std::move(function));
    return functions_.back();
  }

  // Short code is straight. Longer code has loops, unless it is not much longer and they would save little.
  emit::Code lowered(const Terms& terms, const std::vector<Store>& stores, bool is_careful) const {
    constexpr std::size_t saving = 4;
    const std::size_t size = emit::size_of(terms, stores);
    const auto straight = [&] { return emit::lower(terms, stores, dialect_, {parameters(), true, false, is_careful}); };
    if (size <= options_.straight) return straight();
    emit::Code code = emit::lower(terms, stores, dialect_, {parameters(), false, false, is_careful});
    emit::roll(code);
    if (size <= saving * options_.straight && emit::size_of(code) * saving > size) return straight();
    return code;
  }

  void add_values() {
    std::vector<Store> stores;
    if (outputs_.size() == 1) {
      stores.push_back({{Array::result, 0, 0}, forward_.outputs[0]});
      add({real(), name_ + "_value", "Returns the value.", arguments({}), "", false}, forward_, stores, false);
      return;
    }
    for (std::uint32_t i = 0; i < outputs_.size(); ++i) stores.push_back({{Array::output, i, 0}, forward_.outputs[i]});
    add({"void", name_ + "_outputs", "Writes all " + std::to_string(outputs_.size()) + " outputs.",
         arguments({"*outputs"}), "", false},
        forward_, stores, false);
  }

  // Adds a function with derivatives: one function, or two and one that calls them.
  void add_guarded(const Function& function, const Terms& terms, const std::vector<Store>& stores,
                   const std::vector<std::pair<std::string, std::size_t>>& results) {
    const bool has_guard = options_.guard_zeros && emit::has_singular_rules(terms);
    if (!has_guard && !print_.adds_gradients) {
      add(function, terms, stores, false);
      return;
    }
    Function pass = function;
    pass.is_static = true;
    pass.name = function.name + "_pass";
    pass.about = "One pass.";
    if (print_.adds_gradients) pass.about = "One pass, which adds to the gradient.";
    pass = add(pass, terms, stores, false);
    std::optional<Function> careful;
    if (has_guard) {
      careful = pass;
      careful->name = function.name + "_careful";
      careful->about = "The same, in which a gradient of 0 passes nothing on, not even 0 times infinity.";
      careful = add(*careful, terms, stores, true);
      uses_finite_ = true;
    }
    Function whole = function;
    std::string zero, is_finite;
    if (print_.adds_gradients)
      zero =
          "for (int i = 0; i < " + std::to_string(parameters()) + "; ++i) gradient[i] = " + dialect_.literal(0) + ";\n";
    for (const auto& [array, count] : results)
      is_finite +=
          (is_finite.empty() ? "" : " && ") + name_ + "_is_finite(" + array + ", " + std::to_string(count) + ")";
    const bool returns = function.type != "void";
    if (!zero.empty()) whole.body += "  " + zero;
    if (!has_guard) {
      whole.body += std::string("  ") + (returns ? "return " : "") + call(pass) + ";\n";
    } else {
      whole.body += "  " + (returns ? "const " + real() + " value = " : "") + call(pass) + ";\n";
      whole.body += "  if (" + is_finite + ") return" + (returns ? " value" : "") + ";\n";
      if (!zero.empty()) whole.body += "  " + zero;
      whole.body += std::string("  ") + (returns ? "return " : "") + call(*careful) + ";\n";
    }
    functions_.push_back(whole);
    pass_ = pass;
    careful_ = careful;
  }

  void add_gradient() {
    Terms terms = forward_;
    terms.outputs.resize(1);
    compiler::differentiate(terms);
    std::vector<Store> stores;
    std::vector<std::pair<std::string, std::size_t>> results;
    std::vector<std::string> more;
    for (std::uint32_t i = 0; i < parameters(); ++i)
      if (!adds_ || terms.gradients[i] != none) stores.push_back({{Array::gradient, i, 0}, terms.gradients[i]});
    if (parameters() > 0) results.emplace_back("gradient", parameters()), more.emplace_back("*gradient");
    if (options_.input_gradients && inputs() > 0) {
      for (std::uint32_t i = 0; i < inputs(); ++i)
        stores.push_back({{Array::input_gradient, i, 0}, terms.gradients[parameters() + i]});
      results.emplace_back("input_gradient", inputs());
      more.emplace_back("*input_gradient");
    }
    stores.push_back({{Array::result, 0, 0}, terms.outputs[0]});
    print_.adds_gradients = adds_;
    const std::string of = outputs_.size() == 1 ? "the value" : "the first output";
    add_guarded(
        {real(), name_ + "_gradient", "Returns " + of + " and writes its gradient.", arguments(more), "", false}, terms,
        stores, results);
    print_.adds_gradients = false;
  }

  void add_rows() {
    Function rows{real(),
                  name_ + "_rows",
                  "Returns the sum over the rows, which follow each other in memory, and writes its gradient.",
                  arguments({"size_t count", "*gradient"}, "rows"),
                  "",
                  false};
    std::vector<std::pair<std::string, std::string>> instead{{"inputs", "rows + i * " + std::to_string(inputs())}};
    if (options_.input_gradients) {
      rows.arguments.insert(rows.arguments.end() - 1, real() + " *restrict input_gradients");
      instead.emplace_back("input_gradient", "input_gradients + i * " + std::to_string(inputs()));
    }
    const auto loop = [&](const Function& pass) {
      return "  for (int i = 0; i < " + std::to_string(parameters()) + "; ++i) gradient[i] = " + dialect_.literal(0) +
             ";\n  for (size_t i = 0; i < count; ++i)\n    sum += " + call(pass, instead) + ";\n";
    };
    rows.body = "  " + real() + " sum = " + dialect_.literal(0) + ";\n" + loop(*pass_);
    if (careful_)
      rows.body += "  if (" + name_ + "_is_finite(gradient, " + std::to_string(parameters()) +
                   ")) return sum;\n  sum = " + dialect_.literal(0) + ";\n" + loop(*careful_);
    rows.body += "  return sum;\n";
    functions_.push_back(rows);
  }

  void add_step() {
    Function step{
        real(),
        name_ + "_step",
        "Moves the parameters by -rate times the gradient of the mean over the rows, which it returns. work has " +
            upper() + "_STEP_WORKSPACE numbers.",
        arguments({"size_t count", real() + " rate"}, "rows"),
        "",
        false};
    step.arguments[0] = real() + " *restrict parameters";
    step.body = "  " + real() + " *gradient = work + " + upper() + "_WORKSPACE;\n  if (count == 0) return " +
                dialect_.literal(0) + ";\n  const " + real() + " sum = " + call(functions_.back()) +
                ";\n  for (int i = 0; i < " + std::to_string(parameters()) +
                "; ++i) parameters[i] -= rate * (gradient[i] / (" + real() + ")count);\n  return sum / (" + real() +
                ")count;\n";
    functions_.push_back(step);
  }

  void add_parameter_values() {
    const std::string type = "const " + real() + " " + name_ + "_parameters[" + std::to_string(parameters()) + "]";
    public_tables_ += "/* The parameters. */\n" + type + " = {\n" + numbers(options_.parameters) + "};\n\n";
    public_declarations_ += "/* The parameters. */\nextern " + type + ";\n\n";
  }

  // ---- matrices ----

  // The entries of a matrix and their places: row by row, or only those that can differ from 0.
  std::vector<Store> matrix(const std::vector<std::vector<Id>>& rows, const std::string& what) {
    std::vector<Store> stores;
    std::vector<std::string> starts{"0"}, columns;
    std::uint32_t at = 0;
    for (const std::vector<Id>& row : rows) {
      for (std::size_t column = 0; column < row.size(); ++column) {
        if (options_.sparse && row[column] == none) continue;
        stores.push_back({{Array::matrix, at++, 0}, row[column]});
        columns.push_back(std::to_string(column));
      }
      starts.push_back(std::to_string(at));
    }
    print_.matrix = what;
    const std::string size = upper() + "_" + (what == "jacobian" ? "JACOBIAN" : "HESSIAN") + "_ENTRIES";
    definitions_ += "#define " + size + " " + std::to_string(at) + " /* numbers in " + what + " */\n";
    if (!options_.sparse) return stores;
    if (columns.empty()) columns.emplace_back("0");  // C has no empty tables
    const auto table = [&](const char* name, const std::string& about, const std::vector<std::string>& entries) {
      const std::string type =
          "const int " + name_ + "_" + what + "_" + name + "[" + std::to_string(entries.size()) + "]";
      std::string line;
      for (std::size_t i = 0; i < entries.size(); ++i)
        line += (i == 0 ? "" : " ") + entries[i] + (i + 1 < entries.size() ? "," : "");
      public_tables_ += "/* " + about + " */\n" + type + " = {\n" + emit::wrapped(line, 2) + "};\n\n";
      public_declarations_ += "/* " + about + " */\nextern " + type + ";\n\n";
    };
    table("starts", "Row r of the " + what + " has the entries starts[r] ... starts[r + 1] - 1.", starts);
    table("columns", "The column of each entry.", columns);
    return stores;
  }

  void add_jacobian() {
    Terms terms = forward_;
    terms.backward = static_cast<Id>(terms.nodes.size());
    std::vector<std::vector<Id>> rows;
    for (const Id output : forward_.outputs) {
      rows.push_back(add_backward(terms, forward_, output));
      rows.back().resize(variables());
    }
    std::vector<Store> stores;
    for (std::uint32_t i = 0; i < outputs_.size(); ++i) stores.push_back({{Array::output, i, 0}, forward_.outputs[i]});
    const std::vector<Store> entries = matrix(rows, "jacobian");
    stores.insert(stores.end(), entries.begin(), entries.end());
    if (entries.empty()) {
      add({"void", name_ + "_jacobian", "Writes the outputs. The Jacobian has no entries.",
           arguments({"*outputs", "*jacobian"}), "", false},
          terms, stores, false);
      return;
    }
    add_guarded(
        {"void", name_ + "_jacobian", "Writes the outputs and their derivatives: " + shape(outputs_.size()) + ".",
         arguments({"*outputs", "*jacobian"}), "", false},
        terms, stores, {{"jacobian", entries.size()}});
  }
  std::string shape(std::size_t rows) const {
    return options_.sparse ? "the entries that can differ from 0"
                           : std::to_string(rows) + " rows of " + std::to_string(variables()) + " numbers";
  }

  void add_hessian() {
    const std::span<const Value> by = std::span(leaves_).first(variables());
    std::vector<Value> outputs = derivatives(outputs_[0], by);
    outputs.insert(outputs.begin(), outputs_[0]);
    const Terms forward = terms_of(outputs, leaves_, true);
    Terms terms = forward;
    terms.backward = static_cast<Id>(terms.nodes.size());
    std::vector<std::vector<Id>> rows;
    for (std::size_t i = 0; i < variables(); ++i) {
      rows.push_back(add_backward(terms, forward, forward.outputs[1 + i]));
      rows.back().resize(variables());
    }
    // The matrix is symmetric, so the lower half is computed and copied.
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t k = i + 1; k < rows.size(); ++k) {
        if (rows[k][i] == none) rows[k][i] = rows[i][k];
        rows[i][k] = rows[k][i];
      }
    std::vector<Store> stores;
    for (std::uint32_t i = 0; i < variables(); ++i) stores.push_back({{Array::gradient, i, 0}, forward.outputs[1 + i]});
    const std::vector<Store> entries = matrix(rows, "hessian");
    stores.insert(stores.end(), entries.begin(), entries.end());
    stores.push_back({{Array::result, 0, 0}, forward.outputs[0]});
    Function function{real(),
                      name_ + "_hessian",
                      "Returns the value and writes its " + std::to_string(variables()) +
                          " first derivatives and its second derivatives: " + shape(variables()) + ".",
                      arguments({"*gradient", "*hessian"}),
                      "",
                      false};
    if (entries.empty())
      add(function, terms, stores, false);
    else
      add_guarded(function, terms, stores, {{"hessian", entries.size()}});
  }

  // ---- the file ----

  std::string comment() const {
    std::string text =
        "/* " + name_ +
        ".c was emitted by gradwalk's emit_c() from a recorded graph. Emit it again instead of editing it.\n";
    if (!options_.about.empty()) text += "\n" + indented(options_.about);
    text += "\nC99 in " + real() +
            ". Needs <math.h> and nothing else; allocates no memory; has no variables outside its functions.\n";
    text +=
        "Functions call only <math.h> and each other, so any number of threads may use them, each with its own "
        "work.\n\n";
    text += "Compile:   cc -std=c99 -O2 -c " + name_ + ".c      and link with -lm\n";
    if (options_.main) text += "Try it:    cc -std=c99 -O2 " + name_ + ".c -lm && ./a.out\n";
    text += "Stack:     at most " + std::to_string(stack()) + " bytes, besides <math.h>'s own\n";
    text += "Workspace: " + upper() +
            "_WORKSPACE numbers in work, which the caller provides. Its contents do not matter.\n";
    text += "Sizes:     " + detail::counted(parameters(), "parameter", "parameters") + ", " +
            detail::counted(inputs(), "input", "inputs") + ", " +
            detail::counted(outputs_.size(), "output", "outputs") + "\n";
    const auto list = [&](const char* what, const std::vector<std::string>& names) {
      constexpr std::size_t most = 32;
      if (names.empty()) return;
      std::string line = what;
      for (std::size_t i = 0; i < std::min(names.size(), most); ++i) line += (i == 0 ? " " : ", ") + names[i];
      text += emit::wrapped(line + (names.size() > most ? ", ..." : ""), 0);
    };
    list("Parameters in order:", print_.parameter_names);
    list("Inputs in order:", print_.input_names);
    return text + "*/\n";
  }
  // The text of a caller must not end the comment.
  static std::string indented(std::string text) {
    for (std::size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text.replace(at, 2, "* /");
    for (std::size_t at = 0; (at = text.find("/*", at)) != std::string::npos;) text.replace(at, 2, "/ *");
    std::replace_if(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\\' || c == '?'; }, ' ');
    return emit::wrapped(text, 0);
  }
  // Every variable may be on the stack, and so may the intermediate results of one statement.
  std::size_t stack() const { return (options_.precision == Precision::float32 ? 4 : 8) * locals_ + 512; }

  std::string includes() const {
    return std::string("#include <math.h>\n") + (adds_ ? "#include <stddef.h>\n" : "") +
           (options_.main ? "#include <stdio.h>\n" : "") + "\n";
  }
  std::string definitions() const {
    const std::size_t work = std::max<std::size_t>(workspace_, 1);
    std::string text = "#define " + upper() + "_WORKSPACE " + std::to_string(work) + "\n";
    if (options_.step) text += "#define " + upper() + "_STEP_WORKSPACE " + std::to_string(work + parameters()) + "\n";
    text += definitions_;
    return text + "\n";
  }
  std::string finite_text() const {
    return "static int " + name_ + "_is_finite(const " + real() + " *numbers, int count) {\n  int bad = 0;\n" +
           "  for (int i = 0; i < count; ++i) bad |= numbers[i] - numbers[i] != " + dialect_.literal(0) +
           ";\n  return !bad;\n}\n\n";
  }
  std::string declaration(const Function& function, bool is_in_header = false) const {
    std::string text = (function.is_static ? "static " : "") + function.type + " " + function.name + "(";
    for (std::size_t i = 0; i < function.arguments.size(); ++i) text += (i == 0 ? "" : ", ") + function.arguments[i];
    text += ")";
    if (is_in_header)  // C++ has no restrict; C does not compare it
      for (std::size_t at = 0; (at = text.find("restrict ")) != std::string::npos;) text.erase(at, 9);
    std::string line = emit::wrapped(text, 0);
    line.pop_back();
    return line;
  }
  std::string text_of(const Function& function) const {
    std::string text = "/* " + function.about + " */\n" + declaration(function) + " {\n";
    for (const std::string& argument : function.arguments) {
      const std::string name = argument_name(argument);
      if (!mentions(function.body, name)) text += "  (void)" + name + ";\n";
    }
    return text + function.body + "}\n\n";
  }
  static bool mentions(const std::string& body, const std::string& name) {
    const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t at = body.find(name); at != std::string::npos; at = body.find(name, at + 1))
      if ((at == 0 || !is_part(body[at - 1])) && (at + name.size() == body.size() || !is_part(body[at + name.size()])))
        return true;
    return false;
  }

  std::string numbers(const std::vector<Value>& leaves) const {
    std::string line;
    for (std::size_t i = 0; i < leaves.size(); ++i) line += (i == 0 ? "" : ", ") + dialect_.literal(leaves[i].data());
    return emit::wrapped(line, 4);
  }
  std::string main_text() const;

  std::span<const Value> outputs_;
  const EmitOptions& options_;
  emit::C99 dialect_;
  std::string name_;
  emit::Tables tables_;
  std::vector<Value> leaves_;
  Terms forward_;
  emit::PrintOptions print_;
  bool adds_ = false;
  std::vector<Function> functions_;
  std::optional<Function> pass_, careful_;
  std::string definitions_, public_tables_, public_declarations_;
  std::size_t workspace_ = 0, locals_ = 0, bytes_ = 0;
  bool uses_finite_ = false, uses_times_ = false, uses_digamma_ = false, uses_trigamma_ = false;
};

// Prints the value and the gradient for the numbers that the leaves have now.
std::string File::main_text() const {
  std::string text = "int main(void) {\n";
  if (parameters() > 0)
    text += "  static const " + real() + " parameters[] = {\n" + numbers(options_.parameters) + "  };\n";
  if (inputs() > 0) text += "  static const " + real() + " inputs[] = {\n" + numbers(options_.inputs) + "  };\n";
  text += "  " + real() + " work[" + upper() + "_WORKSPACE];\n";
  const auto array = [&](const std::string& name, std::size_t count) {
    return "  " + real() + " " + name + "[" + std::to_string(count) + "];\n";
  };
  const auto print = [&](const std::string& name, std::size_t count) {
    return "  for (int i = 0; i < " + std::to_string(count) + "; ++i) printf(\"" + name +
           "[%d] = %.9g\\n\", i, (double)" + name + "[i]);\n";
  };
  const auto find = [&](const std::string& name) {
    return std::find_if(functions_.begin(), functions_.end(),
                        [&](const Function& one) { return one.name == name_ + name; });
  };
  if (const auto outputs = find("_outputs"); outputs != functions_.end())
    text += array("outputs", outputs_.size()) + "  " + call(*outputs) + ";\n" + print("outputs", outputs_.size());
  if (const auto value = find("_value"); value != functions_.end())
    text += "  printf(\"value = %.9g\\n\", (double)" + call(*value) + ");\n";
  if (const auto gradient = find("_gradient"); gradient != functions_.end()) {
    if (parameters() > 0) text += array("gradient", parameters());
    const bool has_inputs = options_.input_gradients && inputs() > 0;
    if (has_inputs) text += array("input_gradient", inputs());
    text += "  (void)" + call(*gradient) + ";\n";
    if (parameters() > 0) text += print("gradient", parameters());
    if (has_inputs) text += print("input_gradient", inputs());
  }
  return text + "  return 0;\n}\n";
}

}  // namespace
}  // namespace emit

std::string emit_c(std::span<const Value> outputs, const EmitOptions& options) {
  return emit::File(outputs, options).source();
}

std::string emit_c(const Value& output, const EmitOptions& options) { return emit_c(std::span(&output, 1), options); }

std::string emit_c_header(std::span<const Value> outputs, const EmitOptions& options) {
  return emit::File(outputs, options).header();
}

CFiles emit_c_files(std::span<const Value> outputs, const EmitOptions& options) {
  const emit::File file(outputs, options);
  return {file.name(), file.source(), file.header()};
}

}  // namespace gradwalk
