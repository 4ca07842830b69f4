// SPDX-License-Identifier: MIT
// What each pass made, as text for people.
#include "passes.hpp"
#include "rule_operands.hpp"
#include "steps.hpp"
#include "text/numbers.hpp"

namespace gradwalk::compiler {
namespace {

using detail::format_number;

std::string letter(Rate rate) {
  return rate == Rate::constant ? "constant" : rate == Rate::uniform ? "uniform" : "varying";
}

std::string scalar_name(const Scalars& scalars, Id id) {
  const Scalar& node = scalars.nodes[id];
  if (id < scalars.parameters) return "p" + std::to_string(id);
  if (id < scalars.parameters + scalars.inputs) return "x" + std::to_string(id - scalars.parameters);
  return node.op == Op::constant ? format_number(scalars.numbers[node.operands[0]]) : "s" + std::to_string(id);
}

std::string term_name(const Terms& terms, Id id) {
  const Node& node = terms.nodes[id];
  if (node.kind == Kind::parameter) return "p" + std::to_string(id);
  if (node.kind == Kind::input) return "x" + std::to_string(id - terms.parameters);
  if (node.kind == Kind::seed) return "seed";
  if (node.kind == Kind::row_gradient) return "rows(" + term_name(terms, terms.operands[node.begin]) + ")";
  return node.kind == Kind::constant ? format_number(node.number) : "n" + std::to_string(id);
}

std::string sum_of(const Terms& terms, const Node& node) {
  std::string text;
  if (node.number != 0) text = format_number(node.number);
  for (std::uint32_t i = node.begin; i < node.begin + node.count; ++i) {
    const Product& product = terms.products[i];
    std::string one = product.factor == 1 ? "" : format_number(product.factor);
    for (const Id factor : {product.a, product.b}) {
      if (factor == none) continue;
      one += (one.empty() ? "" : "*") + term_name(terms, factor);
    }
    text += (text.empty() ? "" : " + ") + one;
  }
  return text;
}

// The gradient times the rule of ops.def, with the names of its operands in place of x, y, c and r.
template <class Name> std::string local_text(Op op, std::size_t by, const std::string& gradient, Name name_of) {
  const std::string_view rule = detail::local_rule(op, by);
  const std::string_view names = info(op).operands == 3 ? "cxy" : "xy";
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  std::string text;
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const bool is_name =
        is_letter(rule[i]) && (i == 0 || !is_letter(rule[i - 1])) && (i + 1 == rule.size() || !is_letter(rule[i + 1]));
    const std::size_t operand = rule[i] == 'r' ? 3 : names.find(rule[i]);
    text += is_name && operand != std::string_view::npos ? name_of(operand) : std::string(1, rule[i]);
  }
  return gradient + " * (" + text + ")";
}

// p0 ... p9 (10 values)
template <class Name> std::string table_text(const std::vector<Id>& table, Name name_of) {
  if (table.size() == 1) return name_of(table[0]);
  return name_of(table.front()) + (table.size() > 2 ? " ... " : ", ") + name_of(table.back());
}

std::string line_of(const Terms& terms, Id id) {
  const Node& node = terms.nodes[id];
  if (node.kind == Kind::pick)
    return "pick(" + table_text(terms.tables[node.target], [&](Id value) { return term_name(terms, value); }) + "; " +
           term_name(terms, terms.operands[node.begin]) + ")";
  if (node.has_products()) return sum_of(terms, node);
  const auto operand = [&](std::size_t k) { return term_name(terms, terms.operands[node.begin + k]); };
  if (node.kind == Kind::local) return local_text(node.op, node.by, operand(4), operand);
  if (node.kind == Kind::share)
    return operand(0) + " * (share of " + operand(2) + " in " + std::string(name(node.op)) + " " + operand(1) + ")";
  std::string text = std::string(name(node.op)) + "(";
  for (std::uint32_t i = 0; i < node.count; ++i)
    text += (i == 0 ? "" : ", ") + term_name(terms, terms.operands[node.begin + i]);
  return text + ")";
}

// What a layer passes on to its inputs: the sums of its weights times the gradients of its outputs.
std::string lines_of(const Terms& terms, const Groups& groups, const Group& transposed) {
  const LayerGradients& from = groups.layers[transposed.transposed];
  const std::vector<Id>& outputs = groups.groups[from.layer].members;
  std::string text;
  for (std::uint32_t i = 0; i < transposed.members.size(); ++i) {
    const std::uint32_t input = transposed.first_input + i / transposed.copies, copy = i % transposed.copies;
    std::string sum;
    for (std::uint32_t k = copy; k < outputs.size(); k += transposed.copies) {
      const Product& weight = terms.products[terms.nodes[outputs[k]].begin + input];
      sum += (sum.empty() ? "" : " + ") + term_name(terms, from.gradients[k]) + "*" +
             (weight.factor == 1 && weight.a != none ? "" : format_number(weight.factor)) +
             (weight.factor == 1 || weight.a == none ? "" : "*") + (weight.a == none ? "" : term_name(terms, weight.a));
    }
    text += term_name(terms, transposed.members[i]) + " = " + sum + "  varying\n";
  }
  return text;
}

// What the rows add to the gradients of a layer's weights and biases.
std::string lines_of(const Terms& terms, const Groups& groups, const LayerGradients& layer) {
  const Group& group = groups.groups[layer.layer];
  std::string text;
  for (std::uint32_t i = 0; i < group.members.size(); i += group.copies) {
    const Node& node = terms.nodes[group.members[i]];
    for (std::uint32_t t = 0; t < node.count; ++t) {
      const Product& weight = terms.products[node.begin + t];
      if (weight.a == none) continue;
      std::string sum;
      for (std::uint32_t c = 0; c < group.copies; ++c) {
        const Product& product = terms.products[terms.nodes[group.members[i + c]].begin + t];
        sum += (c == 0 ? "" : " + ") + (product.factor == 1 ? "" : format_number(product.factor) + "*") +
               term_name(terms, layer.gradients[i + c]) + (product.b == none ? "" : "*" + term_name(terms, product.b));
      }
      text += "rows(" + term_name(terms, weight.a) + ") += " + sum + "\n";
    }
  }
  return text;
}

// u8..15 numbers side by side, u8 one for all, u[...] as a table says.
std::string span_of(const Operand& operand, std::uint32_t count) {
  const char* const from = std::array{"c", "u", "v", "g"}[static_cast<std::size_t>(operand.rate)];
  if (operand.table != none) return from + std::string("[table ") + std::to_string(operand.table) + "]";
  std::string text = from + std::to_string(operand.place);
  if (operand.stride == 0 || count < 2) return text;
  text += ".." + std::to_string(operand.place + (count - 1) * operand.stride);
  return operand.stride == 1 ? text : text + " by " + std::to_string(operand.stride);
}

// The steps of an instruction, a line each.
std::string lines_of(const Instructions& all, const Instruction& steps, const std::string& indent) {
  const Addresses at(all);
  std::string text;
  for (std::size_t head = steps.begin; head < steps.begin + steps.count;) {
    const StepHead step(all.steps[head]);
    const auto name_of = [&](std::size_t k) -> std::string {
      const std::uint32_t address = all.steps[head + 1 + k];
      if (address < at.constants()) return "u" + std::to_string(address);
      if (address < at.one()) return "c" + std::to_string(address - at.constants());
      return address < at.gradients() ? "" : "g" + std::to_string(address - at.gradients());
    };
    text += indent + name_of(0) + " = ";
    if (step.is_sum()) {
      std::string sum = step.has_start() ? name_of(1) : "";
      const std::size_t size = step.has_factors() ? 3 : 2;
      for (std::size_t k = step.has_start() ? 2 : 1; k < step.words(); k += size) {
        std::string term;
        for (std::size_t i = k; i < k + size; ++i)
          if (const std::string name = name_of(i); !name.empty()) term += (term.empty() ? "" : "*") + name;
        sum += (sum.empty() ? "" : " + ") + term;
      }
      text += sum;
    } else if (step.is_local()) {
      const auto operands = static_cast<std::size_t>(info(step.op()).operands);
      text += local_text(step.op(), static_cast<std::uint8_t>(step.by()), name_of(step.words() - 1),
                         [&](std::size_t k) { return name_of(k == 3 ? operands + 1 : k + 1); });
    } else {
      text += std::string(name(step.op())) + "(";
      for (std::size_t k = 1; k < step.words(); ++k) text += (k == 1 ? "" : ", ") + name_of(k);
      text += ")";
    }
    text += "\n";
    head += 1 + step.words();
  }
  return text;
}

// The operands of extremes side by side.
std::string list_of(const Instructions& all, const Instruction& one) {
  std::string text;
  for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t)
    text += (text.empty() ? "" : ", ") + span_of(all.factors[t].a, one.count);
  return text;
}

std::string line_of(const Instructions& all, const Instruction& one) {
  std::string text = span_of({one.rate, one.out, 1, none}, one.outputs()) + " = ";
  if (one.form == Instruction::Form::row_sums) {
    Operand targets = one.targets;
    targets.rate = Rate::row_gradient;
    text = span_of(targets, one.count) + " += sum over rows of ";
  }
  switch (one.form) {
    case Instruction::Form::function:
    case Instruction::Form::extreme:
      text += std::string(name(one.op)) + "(";
      for (std::size_t k = 0; k < 3 && one.in[k].exists(); ++k)
        text += (k == 0 ? "" : ", ") + span_of(one.in[k], one.count);
      return text + list_of(all, one) + ")";
    case Instruction::Form::local:
      return text + local_text(one.op, one.by, span_of(one.in[4], one.count),
                               [&](std::size_t k) { return span_of(one.in[k], one.count); });
    case Instruction::Form::shares:
      return text + span_of(one.in[1], one.terms > 0 ? one.count : 1) + " * (shares of " +
             (one.terms > 0 ? list_of(all, one) : span_of(one.in[0], one.count)) + " in " + std::string(name(one.op)) +
             ")";
    case Instruction::Form::layer:
      text += std::string(one.relu ? "relu of " : "") + "weights " + std::to_string(one.count) + " x " +
              std::to_string(one.depth) + " at " + span_of(one.in[0], 1) + " (rows " + std::to_string(one.row) +
              " apart) * " + span_of(one.in[1], one.depth);
      if (one.in[2].exists()) text += " + " + span_of(one.in[2], one.count);
      return one.copies > 1 ? text + ", " + std::to_string(one.copies) + " times" : text;
    case Instruction::Form::outer: {
      text = "weights " + std::to_string(one.count) + " x " + std::to_string(one.depth) + " at g" +
             std::to_string(one.in[0].place) + " (rows " + std::to_string(one.row) + " apart) += sum over rows of " +
             span_of(one.in[3], one.count * one.copies) + " * " + span_of(one.in[1], one.depth);
      if (!one.in[2].exists() || one.in[2].rate != Rate::uniform) return text;
      Operand bias = one.in[2];
      bias.rate = Rate::row_gradient;
      return text + ", and " + span_of(bias, one.count) + " += " + span_of(one.in[3], one.count * one.copies);
    }
    case Instruction::Form::pick:
    case Instruction::Form::scatter: {
      Operand entries = one.in[1];
      if (one.form == Instruction::Form::scatter) entries.rate = Rate::row_gradient;
      std::string read = span_of(entries, one.count);
      if (one.row != none) read += " + " + std::to_string(one.row) + " * " + span_of(one.in[0], one.count);
      if (one.row == none) read += " at " + span_of(one.in[0], one.count);
      if (one.form == Instruction::Form::pick) return text + "pick of " + std::to_string(one.depth) + ": " + read;
      return read + " += " + span_of(one.in[3], one.count) + " of each row";
    }
    case Instruction::Form::row_sums:
    case Instruction::Form::sums:
    case Instruction::Form::dot: {
      const bool is_dot = one.form == Instruction::Form::dot;
      std::string sum = one.start.exists() ? span_of(one.start, one.count) : "";
      for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
        const Factors& factors = all.factors[t];
        std::string term;
        for (const Operand& operand : {factors.factor, factors.a, factors.b})
          if (operand.exists())
            term += (term.empty() ? "" : "*") + span_of(operand, is_dot ? factors.count : one.count);
        sum += (sum.empty() ? "" : " + ") + (is_dot ? "sum of " + std::to_string(factors.count) + ": " + term : term);
      }
      return text + sum;
    }
    case Instruction::Form::steps: break;  // lines of their own
  }
  return text;
}

std::string lines_of(const Instructions& all, const std::vector<Instruction>& list, const std::string& indent) {
  std::string text;
  for (const Instruction& one : list)
    text += one.form == Instruction::Form::steps ? lines_of(all, one, indent) : indent + line_of(all, one) + "\n";
  return text;
}

}  // namespace

std::string dump(const Scalars& scalars) {
  std::string text;
  for (auto id = static_cast<Id>(scalars.parameters + scalars.inputs); id < scalars.nodes.size(); ++id) {
    const Scalar& node = scalars.nodes[id];
    if (node.op == Op::constant) continue;
    text += scalar_name(scalars, id) + " = " + std::string(name(node.op)) + "(";
    if (node.op == Op::pick) {
      const auto name_of = [&](Id value) { return scalar_name(scalars, value); };
      text += table_text(scalars.tables[node.operands[1]], name_of) + "; " + name_of(node.operands[0]) + ")  " +
              letter(node.rate) + "\n";
      continue;
    }
    for (std::size_t i = 0; i < 3 && node.operands[i] != none; ++i)
      text += (i == 0 ? "" : ", ") + scalar_name(scalars, node.operands[i]);
    text += ")  " + letter(node.rate) + "\n";
  }
  for (const Id output : scalars.outputs) text += "output " + scalar_name(scalars, output) + "\n";
  return text;
}

std::string dump(const Terms& terms) {
  std::string text;
  for (Id id = terms.first_computed(); id < terms.end_of_forward(); ++id)
    text += term_name(terms, id) + " = " + line_of(terms, id) + "  " + letter(terms.nodes[id].rate) + "\n";
  for (const Id output : terms.outputs) text += "output " + term_name(terms, output) + "\n";
  return text;
}

std::string dump_backward(const Terms& terms, const Groups& groups) {
  std::string text;
  std::size_t group = groups.forward;
  for (Id id = terms.end_of_forward(); id < terms.nodes.size(); ++id) {
    const Node& node = terms.nodes[id];
    if (node.kind == Kind::seed || node.kind == Kind::zero || node.kind == Kind::row_gradient) continue;
    if (node.kind == Kind::row_sum) {
      text += "rows(" + term_name(terms, node.target) + ") += " + line_of(terms, id) + "\n";
    } else if (node.kind == Kind::scatter) {
      text += "rows(pick(" + table_text(terms.tables[node.target], [&](Id value) { return term_name(terms, value); }) +
              "; " + term_name(terms, terms.operands[node.begin]) +
              ")) += " + term_name(terms, terms.operands[node.begin + 1]) + "\n";
    } else if (node.kind != Kind::transposed) {
      text += term_name(terms, id) + " = " + line_of(terms, id) + "  " + letter(node.rate) + "\n";
    } else if (terms.nodes[id - 1].kind != Kind::transposed || groups.groups[group - 1].members.back() == id - 1) {
      while (groups.groups[group].transposed == none) ++group;
      text += lines_of(terms, groups, groups.groups[group++]);
    }
  }
  for (const LayerGradients& layer : groups.layers) text += lines_of(terms, groups, layer);
  for (Id id = 0; id < terms.input_gradients.size(); ++id)
    text += "gradient of x" + std::to_string(id) + ": " +
            (terms.input_gradients[id] == none ? "0" : term_name(terms, terms.input_gradients[id])) + "\n";
  for (Id id = 0; id < terms.gradients.size(); ++id)
    text += "gradient of " + term_name(terms, id) + ": " +
            (terms.gradients[id] == none ? "0" : term_name(terms, terms.gradients[id])) + "\n";
  return text;
}

std::string dump(const Terms& terms, const Groups& groups) {
  std::string text;
  for (const Group& group : groups.groups) {
    switch (group.form) {
      case Group::Form::function: text += std::string(name(group.op)); break;
      case Group::Form::extreme: text += std::string(name(group.op)) + " of several"; break;
      case Group::Form::pick: text += "picks"; break;
      case Group::Form::scatter: text += "gradients of picks"; break;
      case Group::Form::sum: text += "sums"; break;
      case Group::Form::row_sum: text += "sums over rows"; break;
      case Group::Form::local: text += "derivatives of " + std::string(name(group.op)); break;
      case Group::Form::shares: text += "shares in " + std::string(name(group.op)); break;
      case Group::Form::layer:
        text += std::string(group.transposed == none ? "layer of " : "transposed layer of ") +
                std::to_string(group.count) + " inputs";
        break;
    }
    if (group.copies > 1) text += ", " + std::to_string(group.copies) + " times";
    if (group.form == Group::Form::row_sum) {
      text += ":";
      for (const Id id : group.members) text += " rows(" + term_name(terms, terms.nodes[id].target) + ")";
    } else {
      text += ", " + letter(group.rate) + ":";
      for (const Id id : group.members) text += " " + term_name(terms, id);
    }
    text += group.for_inputs ? "  (for gradients of inputs)\n" : "\n";
  }
  return text;
}

std::string dump(const Instructions& instructions) {
  std::string text = lines_of(instructions, instructions.uniform, "");
  if (!instructions.varying.empty()) text += "for each row:\n";
  for (const Instruction& one : instructions.varying) text += "  " + line_of(instructions, one) + "\n";
  for (const Instructions::Output& output : instructions.outputs)
    text += "output " + span_of({output.rate, output.place, 0, none}, 1) + "\n";
  if (!instructions.varying_backward.empty() || !instructions.outers.empty()) text += "backward, for each row:\n";
  for (const std::vector<Instruction>* list :
       {&instructions.varying_backward, &instructions.outers, &instructions.scatters})
    for (const Instruction& one : *list)
      text += "  " + line_of(instructions, one) + (one.for_inputs ? "  (for gradients of inputs)\n" : "\n");
  if (!instructions.uniform_backward.empty()) text += "backward:\n";
  return text + lines_of(instructions, instructions.uniform_backward, "  ");
}

}  // namespace gradwalk::compiler
