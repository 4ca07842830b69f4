// SPDX-License-Identifier: MIT
#include "print_c.hpp"

#include <algorithm>

#include "gradwalk/error.hpp"

namespace gradwalk::emit {
namespace {

constexpr std::size_t width = 110;
// Where a variable of straight code is used later than this, it is kept in work[], which bounds the stack.
constexpr std::size_t farthest_use = 1000;

std::string indentation(std::size_t depth) { return std::string(2 * depth, ' '); }

// The last position for a line break: after a comma or before an operator, outside an index.
std::size_t last_break(const std::string& line, std::size_t after) {
  std::size_t found = std::string::npos;
  int brackets = 0;
  for (std::size_t at = 0; at < line.size() && (at <= width || found == std::string::npos); ++at) {
    brackets += line[at] == '[' ? 1 : line[at] == ']' ? -1 : 0;
    if (at <= after || line[at] != ' ' || brackets > 0 || at + 1 == line.size()) continue;
    if (line[at - 1] == ',' ||
        (line[at + 1] != '*' && std::string_view("+-?:").find(line[at + 1]) != std::string_view::npos))
      found = at;
  }
  return found;
}

std::string joined(const std::vector<std::string>& entries) {
  std::string text = "  ";
  std::size_t column = 2;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (column + entries[i].size() + 2 > width) text += "\n  ", column = 2;
    text += entries[i] + (i + 1 < entries.size() ? ", " : "");
    column += entries[i].size() + 2;
  }
  return text;
}

}  // namespace

std::string wrapped(const std::string& line, std::size_t indent) {
  std::string text, rest = std::string(indent, ' ') + line;
  while (rest.size() > width) {
    const std::size_t at = last_break(rest, indent + 4);
    if (at == std::string::npos) break;
    text += rest.substr(0, at) + "\n";
    rest = std::string(indent + 4, ' ') + rest.substr(at + 1);
  }
  return text + rest + "\n";
}

std::string Tables::add(const std::string& type, const std::vector<std::string>& entries) {
  const std::string content = "[" + std::to_string(entries.size()) + "] = {\n" + joined(entries) + "};\n";
  const auto [known, is_new] = names_.try_emplace(type + content, prefix_ + "_table" + std::to_string(names_.size()));
  if (is_new) text_ += "static const " + type + " " + known->second + content;
  return known->second;
}

std::string Tables::of_numbers(const std::vector<double>& numbers) {
  std::vector<std::string> entries;
  for (const double number : numbers) entries.push_back(dialect_.literal(number));
  return add(dialect_.real(), entries);
}

std::string Tables::of_indices(const std::vector<std::int64_t>& indices) {
  std::vector<std::string> entries;
  for (const std::int64_t index : indices) entries.push_back(std::to_string(index));
  const std::int64_t most = *std::max_element(indices.begin(), indices.end());
  return add(most < 256 ? "unsigned char" : most < 65536 ? "unsigned short" : "unsigned long", entries);
}

namespace {

class Printer {
 public:
  Printer(const Code& code, const C99& dialect, Tables& tables, const PrintOptions& options)
      : code_(code), dialect_(dialect), tables_(tables), options_(options), definitions_(code.nodes) {}

  PrintedBody run() {
    std::vector<std::uint32_t> path;
    for (const Item& item : code_.items) visit(item, path);
    find_locals();
    std::vector<std::uint32_t> slots(code_.nodes);
    for (std::uint32_t node = 0; node < code_.nodes; ++node) {
      const Definition& definition = definitions_[node];
      slots[node] = static_cast<std::uint32_t>(body_.workspace);
      if (definition.statement != none && !statements_[definition.statement].is_local) ++body_.workspace;
    }
    slots_ = std::move(slots);
    if (loops_ == 0) name_leaves();
    std::string text;
    for (const Item& item : code_.items) print(item, text, 1);
    body_.text = leaves_text_ + text;
    return std::move(body_);
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Position {  // of a statement
    const Statement* statement;
    std::vector<std::uint32_t> path;  // the loops around it
    std::size_t iterations;
    bool is_local = true;         // no other place needs its result
    bool is_used_nearby = false;  // some use is in the same iteration
    std::string name = {};        // of its variable, if it has one
  };
  struct Definition {
    std::uint32_t statement = none;
    std::uint32_t iteration = 0;
  };

  // ---- which numbers are local variables ----

  void visit(const Item& item, std::vector<std::uint32_t>& path) {
    if (item.is_loop()) {
      path.push_back(loops_++);
      for (const Item& inside : item.body) visit(inside, path);
      path.pop_back();
      return;
    }
    const auto number = static_cast<std::uint32_t>(statements_.size());
    const Operands& target = item.statement.target;
    statements_.push_back({&item.statement, path, target.size()});
    loops_ += static_cast<std::uint32_t>(item.statement.runs.size());
    if (target[0].array != Array::node) return;
    for (std::uint32_t i = 0; i < target.size(); ++i) definitions_[target[i].index] = {number, i};
  }

  // The result of a statement is a local variable if every use is in the same iteration of the loops around it.
  void find_locals() {
    for (std::uint32_t user = 0; user < statements_.size(); ++user) {
      const auto use = [&](const Operands& operands) {
        if (operands[0].array != Array::node) return;
        if (is_local_use(user, operands)) {
          statements_[definitions_[operands[0].index].statement].is_used_nearby = true;
          return;
        }
        for (const Operand& operand : operands) statements_[definitions_[operand.index].statement].is_local = false;
      };
      const Statement& statement = *statements_[user].statement;
      for (const Operands& operands : statement.value.operands) use(operands);
      for (const Run& run : statement.runs)
        for (const Operands& operands : run.term.operands) use(operands);
    }
    std::size_t number = 0;
    for (Position& position : statements_) {
      if (position.statement->target[0].array != Array::node || !(position.is_local || position.is_used_nearby))
        continue;
      position.name = "t" + std::to_string(number++);
      ++body_.locals;
    }
  }
  bool is_local_use(std::uint32_t user, const Operands& operands) const {
    const std::uint32_t number = definitions_[operands[0].index].statement;
    const Position &from = statements_[number], &to = statements_[user];
    if (from.path.size() > to.path.size() || !std::equal(from.path.begin(), from.path.end(), to.path.begin()))
      return false;
    if (user - number > farthest_use) return false;
    const std::size_t inside = operands.size() / from.iterations;  // iterations of the user per one of the definition
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Definition& definition = definitions_[operands[i].index];
      if (definition.statement != number || definition.iteration != i / inside) return false;
    }
    return true;
  }

  // ---- operands ----

  // In code without loops, each parameter and input that is used has a local copy with its name.
  void name_leaves() {
    std::map<std::pair<Array, std::uint32_t>, bool> used;
    for (const Position& position : statements_)
      for (const Operands& operands : position.statement->value.operands)
        if (operands[0].array == Array::parameter || operands[0].array == Array::input)
          used[{operands[0].array, operands[0].index}] = true;
    constexpr std::size_t most = 64;
    if (used.size() > most) return;
    for (const auto& [leaf, is_used] : used) {
      const auto& [array, index] = leaf;
      const auto& names = array == Array::parameter ? options_.parameter_names : options_.input_names;
      if (index >= names.size()) continue;
      leaf_names_[leaf] = names[index];
      leaves_text_ += "  const " + dialect_.real() + " " + names[index] + " = " + array_name(array) + "[" +
                      std::to_string(index) + "];\n";
      ++body_.locals;
    }
  }

  std::string array_name(Array array) const {
    switch (array) {
      case Array::parameter: return "parameters";
      case Array::input: return "inputs";
      case Array::output: return "outputs";
      case Array::gradient: return "gradient";
      case Array::input_gradient: return "input_gradient";
      case Array::matrix: return options_.matrix;
      default: return "work";
    }
  }

  static std::string variable(std::size_t depth) {
    return depth < 6 ? std::string(1, "ijklmn"[depth]) : "i" + std::to_string(depth);
  }

  std::string text_of(const Operands& operands) {
    const Operand& first = operands[0];
    if (first.array == Array::number) return number(operands);
    if (first.array == Array::node) {
      const Position& definition = statements_[definitions_[first.index].statement];
      if (user_ != none && is_local_use(user_, operands)) return definition.name;
    }
    if (const auto named = leaf_names_.find({first.array, first.index}); named != leaf_names_.end())
      return named->second;
    std::vector<std::int64_t> indices;
    for (const Operand& operand : operands)
      indices.push_back(operand.array == Array::node ? slots_[operand.index] : operand.index);
    return array_name(first.array) + "[" + index(indices) + "]";
  }

  std::string number(const Operands& operands) {
    const auto is_first = [&](const Operand& one) {
      return dialect_.literal(one.number) == dialect_.literal(operands[0].number);
    };
    if (std::all_of(operands.begin(), operands.end(), is_first)) return dialect_.literal(operands[0].number);
    std::vector<double> numbers;
    for (const Operand& operand : operands) numbers.push_back(operand.number);
    return tables_.of_numbers(numbers) + "[" + counter() + "]";
  }

  // The number of the iteration, over all loops around it.
  std::string counter() const {
    std::vector<std::int64_t> strides(counts_.size());
    std::int64_t inner = 1;
    for (std::size_t d = counts_.size(); d-- > 0;) strides[d] = inner, inner *= counts_[d];
    return linear(0, strides);
  }

  std::string linear(std::int64_t base, const std::vector<std::int64_t>& strides) const {
    std::string text;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      if (strides[d] == 0) continue;
      const std::int64_t size = std::abs(strides[d]);
      const std::string term = (size == 1 ? "" : std::to_string(size) + " * ") + variable(d);
      if (text.empty() && strides[d] < 0)
        text = std::to_string(base) + " - " + term, base = 0;
      else
        text += (text.empty() ? "" : strides[d] < 0 ? " - " : " + ") + term;
    }
    if (text.empty()) return std::to_string(base);
    return base == 0 ? text : text + (base < 0 ? " - " : " + ") + std::to_string(std::abs(base));
  }

  // The index as a linear function of the loops' variables, or as an entry of a table.
  std::string index(const std::vector<std::int64_t>& indices) {
    std::vector<std::int64_t> strides(counts_.size());
    std::size_t inner = 1;
    for (std::size_t d = counts_.size(); d-- > 0;) {
      if (counts_[d] > 1) strides[d] = indices[inner] - indices[0];
      inner *= counts_[d];
    }
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::int64_t expected = indices[0];
      std::size_t rest = i;
      for (std::size_t d = counts_.size(); d-- > 0;) {
        expected += strides[d] * static_cast<std::int64_t>(rest % counts_[d]);
        rest /= counts_[d];
      }
      if (expected != indices[i]) return tables_.of_indices(indices) + "[" + counter() + "]";
    }
    return linear(indices[0], strides);
  }

  std::string text_of(const Expression& expression) {
    return filled(code_.patterns[expression.pattern], [&](std::size_t k) { return text_of(expression.operands[k]); });
  }

  // ---- statements ----

  void print(const Item& item, std::string& text, std::size_t depth) {
    if (item.is_loop()) {
      open_loop(item.count, text, depth);
      for (const Item& inside : item.body) print(inside, text, depth + 1);
      close_loop();
      text += indentation(depth) + "}\n";
      return;
    }
    const Position& position = statements_[printed_];
    const Statement& statement = item.statement;
    const bool is_variable = !position.name.empty();
    const std::string target = target_text(statement, position);
    user_ = static_cast<std::uint32_t>(printed_++);
    print_value(statement, position, is_variable, target, text, depth);
    user_ = none;
    if (is_variable && !position.is_local)
      text += wrapped(text_of(statement.target) + " = " + position.name + ";", 2 * depth);
  }
  void print_value(const Statement& statement, const Position& position, bool is_variable, const std::string& target,
                   std::string& text, std::size_t depth) {
    if (statement.runs.empty()) {
      text += wrapped((is_variable ? "const " : "") + target + text_of(statement.value) + ";", 2 * depth);
      return;
    }
    const std::string sum = is_variable ? position.name : "s" + std::to_string(printed_);
    text += wrapped(dialect_.real() + " " + sum + " = " + text_of(statement.value) + ";", 2 * depth);
    for (const Run& run : statement.runs) {
      open_loop(run.count, text, depth, false);
      std::string term = text_of(run.term);
      const bool is_minus = term[0] == '-' && (term + " ").find_first_of("+-", 1) == std::string::npos;
      text += wrapped(sum + (is_minus ? " -= " + term.substr(1) : " += " + term) + ";", 2 * depth + 2);
      close_loop();
    }
    if (!is_variable) text += wrapped(target + sum + ";", 2 * depth);
  }
  std::string target_text(const Statement& statement, const Position& position) {
    const Array array = statement.target[0].array;
    if (array == Array::result) return "return ";
    if (!position.name.empty()) return dialect_.real() + " " + position.name + " = ";
    const bool adds = options_.adds_gradients && array == Array::gradient;
    return text_of(statement.target) + (adds ? " += " : " = ");
  }
  void open_loop(std::uint32_t count, std::string& text, std::size_t depth, bool has_block = true) {
    const std::string name = variable(counts_.size());
    text += indentation(depth) + "for (int " + name + " = 0; " + name + " < " + std::to_string(count) + "; ++" + name +
            ")" + (has_block ? " {" : "") + "\n";
    counts_.push_back(count);
  }
  void close_loop() { counts_.pop_back(); }

  const Code& code_;
  const C99& dialect_;
  Tables& tables_;
  const PrintOptions& options_;
  PrintedBody body_;
  std::vector<Position> statements_;
  std::vector<Definition> definitions_;  // of each node
  std::vector<std::uint32_t> slots_;     // of each node, in work[]
  std::map<std::pair<Array, std::uint32_t>, std::string> leaf_names_;
  std::string leaves_text_;
  std::vector<std::uint32_t> counts_;  // of the loops around the statement at hand
  std::uint32_t loops_ = 0;
  std::size_t printed_ = 0;
  std::uint32_t user_ = none;  // the statement whose operands are printed
};

}  // namespace

PrintedBody print_body(const Code& code, const C99& dialect, Tables& tables, const PrintOptions& options) {
  return Printer(code, dialect, tables, options).run();
}

}  // namespace gradwalk::emit
