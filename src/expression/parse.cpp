// SPDX-License-Identifier: MIT
// Parses expressions into Values, by operator precedence with two explicit stacks, so no input is too deep.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <unordered_map>
#include <variant>

#include "text/numbers.hpp"
#include "text/shown.hpp"
#include "token.hpp"

namespace gradwalk {
namespace detail {
namespace {

using Operand = std::variant<double, Value>;  // a number stays a number until it is combined with a Value

// An entry of the stack of operators: an operation that waits for its right operand, or an open parenthesis, alone or
// of a function call.
struct Waiting {
  enum { operation, parenthesis, call } kind;
  Op op;
  int precedence;        // for an operation
  std::size_t at;        // its place in the text
  std::size_t operands;  // for a call: the size of the stack of operands when it opened
};

constexpr int sum_precedence = 1, product_precedence = 2, sign_precedence = 3, power_precedence = 4;

struct BinaryOperator {
  Op op;
  int precedence;
};
BinaryOperator binary_operator(char sign) {
  switch (sign) {
    case '+': return {Op::add, sum_precedence};
    case '-': return {Op::sub, sum_precedence};
    case '*': return {Op::mul, product_precedence};
    case '/': return {Op::div, product_precedence};
    default: return {Op::pow, power_precedence};
  }
}

std::optional<double> constant_named(std::string_view name) {
  if (name == "pi" || name == "\xcf\x80") return std::numbers::pi;
  if (name == "e") return std::numbers::e;
  return std::nullopt;
}

template <class... Operands> constexpr bool are_numbers = !std::disjunction_v<std::is_same<Operands, Value>...>;

Operand apply(Op op, const Operand& a) {
  const auto with = [op]<class X>(const X& x) -> Operand {
    switch (op) {
#define GRADWALK_UNARY(name, ...)             \
  case Op::name:                              \
    if constexpr (are_numbers<X>) {           \
      return rules::Rule<Op::name>::value(x); \
    } else {                                  \
      return name(x);                         \
    }
#define GRADWALK_BINARY(...)
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
      default: return x;
    }
  };
  return std::visit(with, a);
}

Operand apply(Op op, const Operand& a, const Operand& b) {
  const auto with = [op]<class X, class Y>(const X& x, const Y& y) -> Operand {
    switch (op) {
#define GRADWALK_UNARY(...)
#define GRADWALK_BINARY(name, ...)               \
  case Op::name:                                 \
    if constexpr (are_numbers<X, Y>) {           \
      return rules::Rule<Op::name>::value(x, y); \
    } else {                                     \
      return name(x, y);                         \
    }
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
      default: return x;
    }
  };
  return std::visit(with, a, b);
}

Operand apply(Op, const Operand& c, const Operand& a, const Operand& b) {
  const auto with = []<class C, class X, class Y>(const C& condition, const X& x, const Y& y) -> Operand {
    if constexpr (are_numbers<C, X, Y>)
      return rules::Rule<Op::select>::value(condition, x, y);
    else
      return select(Value(condition), x, y);
  };
  return std::visit(with, c, a, b);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), tokens_(text), token_(tokens_.next()), ahead_(tokens_.next()) {}

  std::variant<Expression, ExpressionError> run() {
    bool has_statement = false;
    for (;; take()) {
      while (token_.kind == Kind::separator) take();
      if (token_.kind == Kind::end) break;
      if (token_.kind != Kind::error) statement();
      has_statement = true;
      if (token_.kind == Kind::end) break;
      if (token_.kind != Kind::separator) refuse("an operator, ';' or the end", "put one between the two");
    }
    if (!has_statement) refuse("an expression", "write one, such as a=2; b=a*3");
    if (failure_) return std::move(*failure_);
    Expression result{as_value(last_), {}, std::move(earlier_)};
    for (const std::string& name : order_) result.names.emplace_back(name, names_.at(name));
    return result;
  }

 private:
  void take() {
    token_ = ahead_;
    if (token_.kind != Kind::end) ahead_ = tokens_.next();
  }

  // The parser throws nothing. It keeps the first failure and pretends that the text ends there.
  void fail(const ExpressionError& failure) {
    failure_ = failure;
    token_ = ahead_ = {Kind::end, text_.size(), "", 0, 0};
    done_ = true;
  }
  void fail(std::size_t at, std::string_view needs, std::string_view got, std::string_view advice) {
    if (!failure_) fail(ExpressionError(text_, at, needs, got, advice));
  }

  // Fails because the current token does not belong here.
  void refuse(std::string_view needs, std::string_view advice) {
    if (failure_) return;
    if (token_.kind == Kind::error) return fail(tokens_.failure());
    const std::string got = token_.kind == Kind::end         ? "the end"
                            : token_.kind == Kind::separator ? "the end of the statement"
                                                             : shown(token_.text);
    fail(token_.at, needs, got, advice);
  }

  static Value as_value(const Operand& operand) {
    if (const Value* value = std::get_if<Value>(&operand)) return *value;
    return Value(std::get<double>(operand));
  }

  void statement() {
    if (token_.kind != Kind::name || ahead_.kind != Kind::assign) {
      last_ = expression();
      return;
    }
    const std::string name(token_.text);
    if (function_named(name) != nullptr) return refuse("a name that is not a function's", "call it something else");
    take(), take();
    Value value = as_value(expression());
    if (failure_) return;
    if (value.label().empty()) value.label(name);
    if (const auto before = names_.find(name); before == names_.end())
      order_.push_back(name);
    else
      earlier_.emplace_back(name, before->second);
    names_.insert_or_assign(name, value);
    last_ = std::move(value);
  }

  // Parses up to a token that cannot continue an expression: a separator, the end, or a token that does not belong.
  Operand expression() {
    operands_.clear(), waiting_.clear();
    open_ = 0;
    bool has_operand = false;  // true if an operator may follow
    do {
      while (open_ > 0 && token_.kind == Kind::separator && token_.text == "\n") take();
      has_operand = has_operand ? after_operand() : operand();
    } while (!done_);
    if (failure_) return 0.0;
    done_ = false;
    settle(0, false);
    if (!waiting_.empty()) fail(waiting_.back().at, "')' for this '('", "none", "close it");
    return std::move(operands_.back());
  }

  // Reads one token at the beginning of an operand. Returns true if the operand is complete.
  bool operand() {
    const Token token = token_;
    switch (token.kind) {
      case Kind::number: operands_.emplace_back(token.number); break;
      case Kind::name:
        if (ahead_.kind == Kind::open) return open_call();
        operands_.emplace_back(named(token));
        break;
      case Kind::open:
        waiting_.push_back({Waiting::parenthesis, Op::leaf, 0, token.at, 0});
        ++open_;
        take();
        return false;
      case Kind::sign:
        if (token.sign != '-' && token.sign != '+') {
          refuse("a number, a name or '('", "write one before the operator");
          return false;
        }
        if (token.sign == '-') waiting_.push_back({Waiting::operation, Op::neg, sign_precedence, token.at, 0});
        take();
        return false;
      default: refuse("a number, a name or '('", "write one here"); return false;
    }
    take();
    return true;
  }

  bool open_call() {
    const OpInfo* function = function_named(token_.text);
    if (function == nullptr) {
      refuse("a function of the op table", "gradwalk ops lists them; a product needs its *");
      return false;
    }
    const Op op = static_cast<Op>(function - op_table.data());
    waiting_.push_back({Waiting::call, op, 0, token_.at, operands_.size()});
    ++open_;
    take(), take();
    return false;
  }

  // Reads one token after an operand. Returns true if another operator may follow. Sets done_ if the expression ends.
  bool after_operand() {
    const Token token = token_;
    if (token.kind == Kind::sign && (token.sign == '2' || token.sign == '3')) {
      operands_.back() = apply_counted(Op::pow, operands_.back(), Operand(token.sign == '2' ? 2.0 : 3.0));
    } else if (token.kind == Kind::sign) {
      const auto [op, precedence] = binary_operator(token.sign);
      settle(precedence, op == Op::pow);
      waiting_.push_back({Waiting::operation, op, precedence, token.at, 0});
      take();
      return false;
    } else if (token.kind == Kind::close && open_ > 0) {
      close();
    } else if (token.kind == Kind::comma && open_ > 0) {
      settle(0, false);
      if (waiting_.back().kind != Waiting::call) {
        refuse("')'", "only functions take several operands");
      } else {
        take();
      }
      return false;
    } else {
      if (token.kind == Kind::close) refuse("an operator or the end", "open a parenthesis first");
      done_ = true;
      return true;
    }
    take();
    return true;
  }

  void close() {
    settle(0, false);
    const Waiting opened = waiting_.back();
    waiting_.pop_back();
    --open_;
    if (opened.kind != Waiting::call) return;
    const std::size_t count = operands_.size() - opened.operands,
                      wanted = static_cast<std::size_t>(info(opened.op).operands);
    if (count != wanted)
      return fail(opened.at, std::string(name(opened.op)) + " of " + counted(wanted, "operand", "operands"),
                  std::to_string(count), "separate operands by commas");
    reduce(opened.op);
  }

  // Applies the waiting operations that bind at least as tightly as an operator of this precedence.
  void settle(int precedence, bool groups_right) {
    while (!waiting_.empty() && waiting_.back().kind == Waiting::operation &&
           (waiting_.back().precedence > precedence || (waiting_.back().precedence == precedence && !groups_right))) {
      const Op op = waiting_.back().op;
      waiting_.pop_back();
      reduce(op);
    }
  }

  void reduce(Op op) {
    if (info(op).operands == 1) {
      operands_.back() = apply_counted(op, operands_.back());
      return;
    }
    const Operand right = std::move(operands_.back());
    operands_.pop_back();
    if (info(op).operands == 3) {
      const Operand middle = std::move(operands_.back());
      operands_.pop_back();
      operands_.back() = apply_counted(op, operands_.back(), middle, right);
      return;
    }
    operands_.back() = apply_counted(op, operands_.back(), right);
  }

  Operand apply_counted(Op op, const auto&... operands) {
    if (++operations_ > largest_expression)
      fail(token_.at, "at most " + std::to_string(largest_expression) + " operations", "more",
           "split it, or build the graph in a program");
    if (failure_) return 0.0;
    Operand result = apply(op, operands...);
    // A result that is not finite becomes a node, so that users can see where it comes from.
    if (const double* number = std::get_if<double>(&result); number != nullptr && !std::isfinite(*number))
      result = detail::apply(op, Operand(as_value(operands))...);
    return result;
  }

  Operand named(const Token& token) {
    const auto found = names_.find(std::string(token.text));
    if (found != names_.end()) return found->second;
    if (const auto constant = constant_named(token.text)) return *constant;
    if (function_named(token.text) != nullptr) {
      refuse("a number, a name or '('", "put the function's operand in parentheses");
    } else {
      fail(token.at, "a name that has a value", shown(token.text),
           "give it one first: " + printable(token.text, 40) + " = 2;");
    }
    return 0.0;
  }

  static const OpInfo* function_named(std::string_view text) {
    const auto has_name = [text](const OpInfo& op) { return op.operands > 0 && op.name == text; };
    const auto found = std::find_if(op_table.begin(), op_table.end(), has_name);
    return found == op_table.end() ? nullptr : &*found;
  }

  std::string_view text_;
  Tokens tokens_;
  Token token_, ahead_;
  std::vector<Operand> operands_;
  std::vector<Waiting> waiting_;
  std::size_t open_ = 0;  // the number of open parentheses
  bool done_ = false;
  std::size_t operations_ = 0;
  Operand last_;
  std::vector<std::string> order_;
  std::unordered_map<std::string, Value> names_;
  std::vector<std::pair<std::string, Value>> earlier_;
  std::optional<ExpressionError> failure_;
};

}  // namespace
}  // namespace detail

std::variant<Expression, ExpressionError> try_parse(std::string_view text) {
  if (text.size() > longest_expression)
    return ExpressionError(text.substr(0, 60), 0, "at most " + std::to_string(longest_expression) + " bytes",
                           std::to_string(text.size()), "split it, or build the graph in a program");
  return detail::Parser(text).run();
}

Expression parse(std::string_view text) {
  std::variant<Expression, ExpressionError> result = try_parse(text);
  if (const ExpressionError* error = std::get_if<ExpressionError>(&result)) throw ExpressionError(*error);
  return std::get<Expression>(std::move(result));
}

}  // namespace gradwalk
