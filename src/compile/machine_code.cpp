// SPDX-License-Identifier: MIT
#include "machine_code.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "gradwalk/ops.hpp"
#include "number_writer.hpp"
#include "strips.hpp"

namespace gradwalk::compiler {

namespace {

// Whether a rule of ops.def is arithmetic that can be written for these numbers: no functions of the C library, and in
// float no constants that a float cannot hold, because a rule on one float computes with them in double.
constexpr bool is_arithmetic(std::string_view rule, bool is_float) {
  constexpr auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.'; };
  if (rule.empty() || rule == "0") return false;
  for (std::size_t i = 0; i < rule.size();) {
    if (!is_letter(rule[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < rule.size() && is_letter(rule[end])) ++end;
    const std::string_view word = rule.substr(i, end - i);
    i = end;
    const bool is_number = word.front() >= '0' && word.front() <= '9';
    const bool is_known = word.size() == 1 || word == "select" || word == "sqrt" || word == "abs";
    if (is_number ? is_float && word.size() > 1 && word != "0.5" : !is_known) return false;
  }
  return true;
}

// For each op: whether its value and its two derivatives are arithmetic.
template <bool is_float> constexpr auto arithmetic_rules = [] {
  std::array<std::array<bool, 3>, op_table.size()> rules{};
  for (std::size_t i = 0; i < rules.size(); ++i)
    rules[i] = {is_arithmetic(op_table[i].value, is_float), is_arithmetic(op_table[i].dx, is_float),
                is_arithmetic(op_table[i].dy, is_float)};
  return rules;
}();

}  // namespace

template <class T> class Translator {
 public:
  // In code for tiles, `tile` is the number of rows; else it is 0.
  Translator(const Instructions& program, const detail::Kernels<T>& kernels, std::uint32_t tile, const T* uniform)
      : program_(program), kernels_(kernels), tile_(tile), writer_(program, tile, uniform) {}

  void add(std::span<const Instruction> list, std::span<const std::uint32_t> steps,
           const typename MachineCode<T>::Calls& calls) {
    constexpr std::size_t few = std::size_t{1} << 19;  // numbers, whose code fits the cache
    std::size_t numbers = 0;
    for (const Instruction& one : list)
      if (has_written_form(one)) numbers += numbers_of(one);
    writes_all_ = numbers <= few;
    const std::vector<Unit> units = units_of(list, steps);
    const auto is_written = [&](const Unit& unit) {
      return unit.is_step() ? is_written_step(StepHead(steps[unit.word])) : writes(list[unit.instruction], true);
    };
    std::size_t next = 0;
    for (const Repeat& repeat : find_repeats(program_, list, steps, units, is_written)) {
      add_units(list, steps, units, next, repeat.begin, calls);
      writer_.begin_loop(repeat);
      add_units(list, steps, units, repeat.begin, repeat.begin + repeat.period, calls);
      writer_.end_loop();
      next = repeat.begin + repeat.period * repeat.rounds;
    }
    add_units(list, steps, units, next, units.size(), calls);
  }

  // Long vectors are left to the kernels: a call costs little then, kernels may have wider registers, and code takes
  // more memory. In large programs, vectors of more than a register are left to the kernels, too, if their operands lie
  // side by side. Kernels gather scattered operands number by number. Code loads those that lie side by side at once,
  // so longer vectors are written. In a loop, the code of a vector is there only once.
  bool writes(const Instruction& one, bool is_in_loop) const {
    constexpr std::uint32_t most = 16 * widest, most_of_terms = 16 * most;  // numbers
    if (one.form == Instruction::Form::steps) return true;
    if (!has_written_form(one) || numbers_of(one) > most_of_terms || one.count >= StripLimits{}.is_long) return false;
    if (is_in_loop) return true;
    if (one.form == Instruction::Form::extreme) return false;  // It takes more code than time.
    return has_table(one) ? writes_all_ || one.count <= most : one.count <= (writes_all_ ? most : widest);
  }
  static std::size_t numbers_of(const Instruction& one) { return std::size_t{one.count} * std::max(one.terms, 1U); }
  static bool has_written_form(const Instruction& one) {
    switch (one.form) {
      case Instruction::Form::sums: return true;
      case Instruction::Form::function: return is_written(one.op);
      case Instruction::Form::local: return is_local_written(one.op, one.by);
      case Instruction::Form::extreme: return one.terms > 0;
      case Instruction::Form::dot:
      case Instruction::Form::layer:
      case Instruction::Form::shares:
      case Instruction::Form::row_sums:
      case Instruction::Form::outer:
      case Instruction::Form::steps:
      case Instruction::Form::pick:
      case Instruction::Form::scatter: break;
    }
    return false;
  }
  bool has_table(const Instruction& one) const {
    bool has_table = false;
    each_operand(program_, one, [&](const Operand& operand, std::uint32_t) { has_table |= operand.table != none; });
    return has_table;
  }

  static bool is_written_step(StepHead head) {
    if (head.is_sum()) return true;
    return head.is_local() ? is_local_written(head.op(), head.by()) : is_written(head.op());
  }

  void add_call_with_numbers(const void* function, Assembler::Argument first, std::size_t count) {
    if (!writer_.is_too_long()) writer_.call().call_with_numbers(function, first, count);
  }
  void add_to_tile(StepHead head, const std::uint32_t* words) {
    writer_.set_width(widest);
    for (std::uint32_t row = 0; row < tile_ && !writer_.is_too_long(); row += widest) {
      writer_.set_row(row);
      write(head, words);
    }
  }

  Executable finish() { return writer_.finish(); }

 private:
  using Writer = NumberWriter<T>;
  using Number = EmittedNumber<T>;
  static constexpr bool is_float = Writer::is_float;
  static constexpr std::uint32_t widest = Writer::widest;

  // ---- units ----

  // Adds the units begin ... end. Those of a loop are its first round.
  void add_units(std::span<const Instruction> list, std::span<const std::uint32_t> steps, std::span<const Unit> units,
                 std::size_t begin, std::size_t end, const typename MachineCode<T>::Calls& calls) {
    const bool is_in_loop = writer_.loop() != nullptr;
    const auto is_written = [&](const Unit& unit) {
      return unit.is_step() ? is_written_step(StepHead(steps[unit.word])) : writes(list[unit.instruction], is_in_loop);
    };
    for (std::size_t i = begin, next = begin; i < end && !writer_.is_too_long(); i = next) {
      const Unit &unit = units[i], &again = units[is_in_loop ? i + writer_.loop()->period : i];
      next = i + 1;
      if (is_written(unit)) {
        unit.is_step() ? add_step(steps.data() + unit.word) : add(list[unit.instruction]);
        continue;
      }
      while (next < end && units[next].is_step() == unit.is_step() && !is_written(units[next])) ++next;
      const Unit& last = units[next - 1];
      if (unit.is_step()) {
        const auto grows = static_cast<std::int32_t>((again.word - unit.word) * sizeof(std::uint32_t));
        add_call_with_numbers(reinterpret_cast<const void*>(kernels_.steps), {steps.data() + unit.word, grows},
                              last.word + 1 + StepHead(steps[last.word]).words() - unit.word);
      } else {
        const auto at = [&](std::size_t instruction) {
          return static_cast<const std::byte*>(calls.array) + instruction * calls.element;
        };
        const auto grows = static_cast<std::int32_t>((again.instruction - unit.instruction) * calls.element);
        writer_.call().call(calls.function, calls.object, {at(unit.instruction), grows},
                            {at(last.instruction + std::size_t{1}), grows});
      }
    }
  }
  void add(const Instruction& one) {
    for (std::uint32_t i = 0, width = 0; i < one.count && !writer_.is_too_long(); i += width) {
      width = writer_.set_width(one.count - i);
      write(one, i);
    }
  }
  void add_step(const std::uint32_t* words) {
    writer_.set_width(1);
    write(StepHead(*words), words + 1);
  }

  // ---- rules ----

  // A gradient of 0 passes nothing on.
  static Number pass(const Number& gradient, const Number& local) {
    return select(gradient == 0, 0, local.is(1) ? gradient : gradient * local);
  }
  static Number pass_chosen(const Number& gradient, const Number& local) {
    return select(local == 0, 0, pass(gradient, local));
  }

  static bool is_written(Op op) { return arithmetic_rules<is_float>[static_cast<std::size_t>(op)][0]; }
  static bool is_local_written(Op op, std::uint32_t by) {
    const bool is_first = info(op).operands == 3 ? by == 1 : by == 0;
    return arithmetic_rules<is_float>[static_cast<std::size_t>(op)][is_first ? 1 : 2];
  }
  Number value(Op op, const Number& x, const Number& y, const Number& z) {
    using rules::Rule;
    switch (op) {
#define GRADWALK_UNARY(name, ...)                                                                 \
  case Op::name:                                                                                  \
    if constexpr (is_arithmetic(info(Op::name).value, is_float)) return Rule<Op::name>::value(x); \
    break;
#define GRADWALK_BINARY(name, ...)                                                                   \
  case Op::name:                                                                                     \
    if constexpr (is_arithmetic(info(Op::name).value, is_float)) return Rule<Op::name>::value(x, y); \
    break;
#define GRADWALK_TERNARY(name, ...)                                                                     \
  case Op::name:                                                                                        \
    if constexpr (is_arithmetic(info(Op::name).value, is_float)) return Rule<Op::name>::value(x, y, z); \
    break;
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
      default: break;
    }
    return x;
  }
  // x, y and r are the operands and the result; of a choice, x is the condition.
  Number local(Op op, std::uint32_t by, const Number& x, const Number& y, const Number& r, const Number& gradient) {
    using rules::Rule;
    switch (op) {
#define GRADWALK_UNARY(name, ...)                                                                              \
  case Op::name:                                                                                               \
    if constexpr (is_arithmetic(info(Op::name).dx, is_float)) return pass(gradient, Rule<Op::name>::dx(x, r)); \
    break;
#define GRADWALK_BINARY(name, ...)                                     \
  case Op::name:                                                       \
    if constexpr (is_arithmetic(info(Op::name).dx, is_float))          \
      if (by == 0) return pass(gradient, Rule<Op::name>::dx(x, y, r)); \
    if constexpr (is_arithmetic(info(Op::name).dy, is_float))          \
      if (by == 1) return pass(gradient, Rule<Op::name>::dy(x, y, r)); \
    break;
#define GRADWALK_TERNARY(name, ...) \
  case Op::name: return pass_chosen(gradient, by == 1 ? Rule<Op::name>::dx(x) : Rule<Op::name>::dy(x));
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
      default: break;
    }
    return gradient;
  }

  // ---- steps ----

  void write(StepHead head, const std::uint32_t* words) {
    const auto in = [&](std::size_t k) { return writer_.number_at(words[k]); };
    const std::uint32_t out = tile_ != 0 ? writer_.in_tile(words[0]) : words[0];
    if (head.is_sum()) {
      typename Writer::Sum sum(writer_);
      std::size_t k = 1;
      if (head.has_start()) sum.add(in(k++));
      while (k < head.words()) {
        const Number factor = head.has_factors() ? in(k++) : Number(1);
        sum.add(factor, in(k), in(k + 1));
        k += 2;
      }
      return writer_.store(out, sum.result());
    }
    const int operands = info(head.op()).operands;
    if (!head.is_local())
      return writer_.store(out, value(head.op(), in(1), operands > 1 ? in(2) : 1, operands > 2 ? in(3) : 1));
    if (operands == 1) return writer_.store(out, local(head.op(), head.by(), in(1), 1, in(2), in(3)));
    if (operands == 2) return writer_.store(out, local(head.op(), head.by(), in(1), in(2), in(3), in(4)));
    writer_.store(out, local(head.op(), head.by(), in(1), 1, 1, in(2)));
  }

  // ---- vectors ----

  // The numbers i ... i + width of its result.
  void write(const Instruction& one, std::uint32_t i) {
    using Is = Instruction::Form;
    const std::uint32_t out = writer_.addresses().of(Rate::uniform, one.out) + i;
    const auto in = [&](std::size_t k) { return writer_.operand(one.in[k], i); };
    const auto term = [&](std::uint32_t t) -> const Factors& { return program_.factors[one.begin + t]; };
    if (one.form == Is::sums) {
      typename Writer::Sum sum(writer_);
      if (one.start.exists()) sum.add(writer_.operand(one.start, i));
      for (std::uint32_t t = 0; t < one.terms; ++t)
        sum.add(writer_.operand(term(t).factor, i), writer_.operand(term(t).a, i), writer_.operand(term(t).b, i));
      writer_.store(out, sum.result());
    } else if (one.form == Is::function) {
      writer_.store(out, value(one.op, in(0), in(1), in(2)));
    } else if (one.form == Is::local) {
      writer_.store(out, local(one.op, one.by, in(0), in(1), in(3), in(4)));
    } else {
      Number found = writer_.operand(term(0).a, i);
      for (std::uint32_t t = 1; t < one.terms; ++t) found = value(one.op, found, writer_.operand(term(t).a, i), 1);
      writer_.store(out, found);
    }
  }

  const Instructions& program_;
  const detail::Kernels<T>& kernels_;
  std::uint32_t tile_;
  Writer writer_;
  bool writes_all_ = true;
};

template <class T> bool MachineCode<T>::is_possible(const detail::Kernels<T>& kernels) {
#if GRADWALK_WRITES_MACHINE_CODE
  return kernels.name.starts_with("AVX");  // AVX2 and what came after it, all of which have FMA
#else
  return (void)kernels, false;
#endif
}

template <class T> MachineCode<T>::MachineCode(const Instructions& program, const detail::Kernels<T>& kernels)
    : translator_(std::make_unique<Translator<T>>(program, kernels, 0, nullptr)) {}
template <class T>
MachineCode<T>::MachineCode(const Instructions& program, const detail::Kernels<T>& kernels, const T* uniform)
    : translator_(std::make_unique<Translator<T>>(program, kernels, rows_of_tile<T>, uniform)) {}
template <class T> MachineCode<T>::~MachineCode() = default;

template <class T>
void MachineCode<T>::add(std::span<const Instruction> list, std::span<const std::uint32_t> steps, const Calls& calls) {
  translator_->add(list, steps, calls);
}
template <class T> bool MachineCode<T>::writes(StepHead head) { return Translator<T>::is_written_step(head); }
template <class T> bool MachineCode<T>::writes_rows(const Instruction& one) {
  return Translator<T>::has_written_form(one);
}
template <class T> void MachineCode<T>::add_to_tile(StepHead head, const std::uint32_t* words) {
  translator_->add_to_tile(head, words);
}
template <class T>
void MachineCode<T>::add_call_with_numbers(const void* function, const void* first, std::size_t count) {
  translator_->add_call_with_numbers(function, first, count);
}
template <class T> Executable MachineCode<T>::finish() { return translator_->finish(); }

template class MachineCode<float>;
template class MachineCode<double>;

}  // namespace gradwalk::compiler
