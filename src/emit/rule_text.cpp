// SPDX-License-Identifier: MIT
#include "rule_text.hpp"

#include "gradwalk/error.hpp"
#include "text/read_number.hpp"

namespace gradwalk::emit {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// Recursive descent: comparison, sum, product, minus, primary. Rules are short, so the recursion is shallow.
class Parser {
 public:
  Parser(Op op, std::string_view text) : operands_(info(op).operands), text_(text) {}

  RuleTree run() {
    comparison();
    skip_spaces();
    if (at_ != text_.size()) refuse();
    return std::move(tree_);
  }

 private:
  using Kind = RuleTree::Kind;

  [[noreturn]] void refuse() const {
    throw Error("emit", "a rule of the op table", "'" + std::string(text_) + "'",
                "teach src/emit/rule_text.cpp its form");
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool takes(std::string_view token) {
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::size_t add(RuleTree::Node node) {
    tree_.nodes.push_back(std::move(node));
    return tree_.nodes.size() - 1;
  }
  std::size_t binary(std::string_view name, std::size_t left, std::size_t right) {
    return add({Kind::binary, name, 0, 0, {left, right}});
  }

  std::size_t comparison() {
    const std::size_t left = sum();
    for (const std::string_view name : {"<=", ">=", "==", "!=", "<", ">"})
      if (takes(name)) {
        const std::size_t right = sum();
        return binary(name, left, right);
      }
    return left;
  }
  std::size_t sum() {
    std::size_t left = product();
    for (;;) {
      const std::string_view name = takes("+") ? "+" : takes("-") ? "-" : "";
      if (name.empty()) return left;
      const std::size_t right = product();
      left = binary(name, left, right);
    }
  }
  std::size_t product() {
    std::size_t left = minus();
    for (;;) {
      const std::string_view name = takes("*") ? "*" : takes("/") ? "/" : "";
      if (name.empty()) return left;
      const std::size_t right = minus();
      left = binary(name, left, right);
    }
  }
  std::size_t minus() {
    if (!takes("-")) return primary();
    const std::size_t of = minus();
    return add({Kind::negative, "-", 0, 0, {of}});
  }
  std::size_t primary() {
    skip_spaces();
    if (at_ >= text_.size()) refuse();
    if (takes("(")) {
      const std::size_t inside = comparison();
      if (!takes(")")) refuse();
      return inside;
    }
    if (is_digit(text_[at_])) {
      const detail::ReadNumber read = detail::read_number(text_.substr(at_));
      at_ += read.size;
      return add({Kind::number, "", read.number, 0, {}});
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ > begin && is_digit(text_[at_])))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty()) refuse();
    return takes("(") ? call(name) : operand(name);
  }
  std::size_t call(std::string_view name) {
    std::vector<std::size_t> arguments{comparison()};
    while (takes(",")) arguments.push_back(comparison());
    if (!takes(")")) refuse();
    if (name == "select" && arguments.size() != 3) refuse();
    return add({name == "select" ? Kind::select : Kind::call, name, 0, 0, std::move(arguments)});
  }
  std::size_t operand(std::string_view name) {
    const std::string_view names = operands_ == 3 ? "cxy" : "xy";
    if (name == "r") return add({Kind::operand, name, 0, RuleTree::result, {}});
    const std::size_t index = name.size() == 1 ? names.find(name) : std::string_view::npos;
    if (index == std::string_view::npos) refuse();
    return add({Kind::operand, name, 0, index, {}});
  }

  int operands_;
  std::string_view text_;
  std::size_t at_ = 0;
  RuleTree tree_;
};

}  // namespace

RuleTree parse_rule(Op op, std::string_view text) { return Parser(op, text).run(); }

}  // namespace gradwalk::emit
