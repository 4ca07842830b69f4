// SPDX-License-Identifier: MIT
#include "function_text.hpp"

#include "compile/passes.hpp"
#include "lower.hpp"
#include "print_c.hpp"

namespace gradwalk::emit {
namespace {

// digamma as text, one statement per line.
std::string digamma_lines() {
#define GRADWALK_C_AND_CPP(...) #__VA_ARGS__
  const std::string code =
#include "engine/digamma.def"
      ;
#undef GRADWALK_C_AND_CPP
  std::string text;
  int braces = 0, brackets = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    brackets += c == '(' ? 1 : c == ')' ? -1 : 0;
    braces += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == '}' && text.size() >= 2 && text.substr(text.size() - 2) == "  ") text.resize(text.size() - 2);
    text += c;
    if (brackets > 0 || (c != ';' && c != '{' && c != '}')) continue;
    text += "\n" + std::string(static_cast<std::size_t>(2 * braces), ' ');
    while (i + 1 < code.size() && code[i + 1] == ' ') ++i;
  }
  return text;
}

}  // namespace

std::string times_text(const C99& dialect) {
  const std::string real = dialect.real();
  return "/* A gradient of 0 passes nothing on. */\nstatic " + real + " " + dialect.prefix() + "_times(" + real +
         " gradient, " + real + " derivative) {\n  return gradient == " + dialect.literal(0) + " ? " +
         dialect.literal(0) + " : gradient * derivative;\n}\n\n";
}

std::string digamma_text(const std::string& prefix) {
  std::string text = digamma_lines();
  text.insert(text.find("digamma"), prefix + "_");
  return "static " + text + "\n";
}

// trigamma is a rule of plain arithmetic, so it is recorded and emitted as any other function.
std::string trigamma_text(const std::string& prefix) {
  const Value x;
  const std::vector<Value> outputs{rules::trigamma(x)}, leaves{x};
  const compiler::Terms terms = compiler::simplify(compiler::record(outputs, {}, leaves).scalars);
  const C99 dialect(false, "trigamma");
  const std::vector<Store> stores{{{Array::result, 0, 0}, terms.outputs[0]}};
  const Code code = lower(terms, stores, dialect, {.is_straight = true});
  Tables tables("trigamma", dialect);
  PrintOptions options;
  options.input_names = {"x"};
  std::string body = print_body(code, dialect, tables, options).text;
  const std::string argument = "  const double x = inputs[0];\n";
  if (body.starts_with(argument)) body.erase(0, argument.size());
  return "static double " + prefix + "_trigamma(double x) {\n" + body + "}\n\n";
}

}  // namespace gradwalk::emit
