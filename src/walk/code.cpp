// SPDX-License-Identifier: MIT
// Writes programs. Only the spelling of operations differs from language to language.
#include "gradwalk/code.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "snapshot/names.hpp"
#include "text/numbers.hpp"

namespace gradwalk {
namespace {

// Words that are no names of variables in one of the languages, or that would hide a name that these programs use.
constexpr std::string_view reserved =
    " Value gradwalk main print std torch size_t errno linux unix assert alignas alignof and and_eq as asm async "
    "auto await bitand bitor bool break case catch char char8_t char16_t char32_t class co_await co_return co_yield "
    "compl concept const const_cast consteval constexpr constinit continue decltype def default del delete do "
    "double dynamic_cast elif else enum except explicit export extern false finally float for friend from global "
    "goto if import in inline int is lambda long mutable namespace new noexcept nonlocal not not_eq nullptr "
    "operator or or_eq pass private protected public raise register reinterpret_cast requires return short signed "
    "sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename union unsigned using virtual void volatile wchar_t while with xor xor_eq yield None True False ";

bool is_reserved(const std::string& name) {
  const auto is_capital = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool may_be_macro = name.size() > 2 && std::ranges::all_of(name, is_capital);
  const bool is_op = std::ranges::any_of(op_table, [&](const OpInfo& op) { return op.name == name; });
  return may_be_macro || is_op || reserved.find(" " + name + " ") != std::string_view::npos;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns a label as an identifier that C++ does not reserve; "" if nothing is left of it.
std::string identifier(std::string_view label) {
  std::string result;
  for (const char c : label) {
    const bool fits = is_letter(c) || (is_digit(c) && !result.empty());
    if (fits) {
      result += c;
    } else if (!result.empty() && result.back() != '_') {
      result += '_';
    }
  }
  return is_reserved(result) ? result + "_" : result;
}

// Returns a variable name for each node. A constant uses its name only if it is the root.
std::vector<std::string> variables(const Snapshot& graph) {
  std::vector<std::string> names;
  std::unordered_set<std::string> used;
  for (const Snapshot::Node& node : graph.nodes) {
    const std::string wanted = identifier(node.label);
    std::string name = wanted;
    for (std::size_t number = 2; !wanted.empty() && !used.insert(name).second; ++number)
      name = wanted + "_" + std::to_string(number);
    names.push_back(name);
  }
  std::size_t unnamed = 0;
  for (std::string& name : names)
    while (name.empty())
      if (std::string next = "t" + std::to_string(++unnamed); used.insert(next).second) name = std::move(next);
  return names;
}

class Writer {
 public:
  Writer(const Snapshot& graph, Language language)
      : graph_(graph), language_(language), names_(variables(graph)), is_cpp_(language == Language::cpp) {}

  Code write() {
    begin();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Snapshot::Node& node = graph_.nodes[i];
      if (node.is_constant() && i != graph_.root()) continue;
      const std::string expression = node.operands.empty() ? value(node.data) : operation(node);
      line((is_cpp_ ? "Value " : "") + names_[i] + " = " + expression, i);
    }
    code_.backward = code_.lines.size();
    line(names_[graph_.root()] + ".backward()");
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (graph_.nodes[i].is_leaf()) print(names_[i]);
    if (is_cpp_) code_.lines.push_back({"}", std::nullopt});
    return std::move(code_);
  }

 private:
  void plain(std::string_view text) { code_.lines.push_back({std::string(text), std::nullopt}); }
  void line(const std::string& text, std::optional<std::size_t> node = std::nullopt) {
    code_.lines.push_back({is_cpp_ ? "  " + text + ";" : text, node});
  }

  void begin() {
    switch (language_) {
      case Language::cpp:
        plain("#include <gradwalk/gradwalk.hpp>");
        plain("#include <iostream>");
        plain("using namespace gradwalk;");
        plain("");
        plain("int main() {");
        break;
      case Language::python:
        if (std::ranges::any_of(graph_.nodes,
                                [](const auto& node) { return is_binary_call(node.op) || node.op == Op::select; }))
          plain("import gradwalk");
        plain("from gradwalk import Value");
        plain("");
        break;
      case Language::pytorch:
        plain("import torch");
        plain("torch.set_default_dtype(torch.float64)");
        plain("");
        break;
    }
  }

  void print(const std::string& name) {
    switch (language_) {
      case Language::cpp: line("std::cout << \"" + name + ": \" << " + name + ".grad() << '\\n'"); break;
      case Language::python: line("print(\"" + name + ":\", " + name + ".grad)"); break;
      case Language::pytorch: line("print(\"" + name + ":\", " + name + ".grad.item())"); break;
    }
  }

  std::string number(double data) const {
    if (!std::isfinite(data)) {
      if (!is_cpp_) return std::isnan(data) ? "float(\"nan\")" : data > 0 ? "float(\"inf\")" : "-float(\"inf\")";
      return std::isnan(data) ? "NAN" : data > 0 ? "INFINITY" : "-INFINITY";
    }
    std::string text = detail::format_number(data);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }

  std::string value(double data) const {
    if (language_ == Language::pytorch) return "torch.tensor(" + number(data) + ", requires_grad=True)";
    return "Value(" + number(data) + ")";
  }

  static bool is_binary_call(Op op) { return info(op).operands == 2 && !detail::is_infix(op); }

  std::string operation(const Snapshot::Node& node) const {
    if (node.op == Op::custom || node.op == Op::pick)
      throw Error("to_code", "operations of the table", "'" + node.op_name + "'", "draw or walk the graph instead");
    if (node.op == Op::neg) return "-" + operand(node, 0, true);
    if (node.operands.size() == 1) return unary_call(node);
    if (node.op == Op::select) return choice(node);
    if (is_comparison(node.op) && language_ == Language::pytorch)
      return "(" + operand(node, 0, true) + " " + std::string(symbol(node.op)) + " " + operand(node, 1, true) +
             ") + 0.0";
    if (is_binary_call(node.op) || (is_cpp_ && node.op == Op::pow)) return binary_call(node);
    return operand(node, 0, true) + " " + std::string(symbol(node.op)) + " " + operand(node, 1, true);
  }

  std::string unary_call(const Snapshot::Node& node) const {
    const std::string op(name(node.op)), x = operand(node, 0, false);
    if (is_cpp_) return op + "(" + x + ")";
    if (language_ == Language::python) return x + "." + op + "()";
    switch (node.op) {  // functions that PyTorch lacks or names differently; its round() rounds half to even
      case Op::stop: return x + ".detach()";
      case Op::cbrt: return "torch.sign(" + x + ") * torch.abs(" + x + ") ** (1 / 3)";
      case Op::round: return "torch.sign(" + x + ") * torch.floor(torch.abs(" + x + ") + 0.5)";
      case Op::softplus:
      case Op::gelu: return "torch.nn.functional." + op + "(" + x + ")";
      default: return "torch." + op + "(" + x + ")";
    }
  }

  std::string choice(const Snapshot::Node& node) const {
    std::string c = operand(node, 0, true);
    if (language_ == Language::pytorch) c += " != 0";
    const std::string_view call = is_cpp_                         ? "select"
                                  : language_ == Language::python ? "gradwalk.select"
                                                                  : "torch.where";
    return std::string(call) + "(" + c + ", " + operand(node, 1, false) + ", " + operand(node, 2, false) + ")";
  }

  std::string binary_call(const Snapshot::Node& node) const {
    std::string call(name(node.op));
    if (language_ == Language::python) call = "gradwalk." + call;
    if (language_ == Language::pytorch)
      call = "torch." + (node.op == Op::max || node.op == Op::min ? call + "imum" : call);
    return call + "(" + operand(node, 0, false) + ", " + operand(node, 1, false) + ")";
  }

  // Returns an operand as text. A constant is written as a number, except where the language would compute with numbers
  // alone, or where PyTorch's function needs a tensor.
  std::string operand(const Snapshot::Node& node, std::size_t i, bool in_brackets) const {
    const Snapshot::Node& operand_node = graph_.nodes[node.operands[i]];
    if (!operand_node.is_constant()) return names_[node.operands[i]];
    const auto is_constant = [&](std::size_t operand) { return graph_.nodes[operand].is_constant(); };
    if (i == 0 && std::ranges::all_of(node.operands, is_constant)) return value(operand_node.data);
    if (language_ == Language::pytorch && (is_binary_call(node.op) || node.op == Op::select))
      return "torch.tensor(" + number(operand_node.data) + ")";
    const std::string text = number(operand_node.data);
    return in_brackets && text.front() == '-' ? "(" + text + ")" : text;
  }

  const Snapshot& graph_;
  Language language_;
  std::vector<std::string> names_;
  bool is_cpp_;
  Code code_{};
};

}  // namespace

std::string_view name(Language language) {
  constexpr std::array<std::string_view, 3> names{"cpp", "python", "pytorch"};
  return names[static_cast<std::size_t>(language)];
}

Code to_code(const Snapshot& graph, Language language) { return Writer(graph, language).write(); }

std::string to_string(const Code& code) {
  std::string text;
  for (const Code::Line& line : code.lines) text.append(line.text) += '\n';
  return text;
}

}  // namespace gradwalk
