// SPDX-License-Identifier: MIT
#include "machine_code.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "assembler.hpp"
#include "gradwalk/ops.hpp"
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

}  // namespace

// A number while code is written: a constant, numbers in memory, or a register. Arithmetic on it writes instructions.
// It stands for as many numbers side by side as the translator is writing code for.
template <class T> class EmittedNumber {
 public:
  EmittedNumber(double number) : number_(number) {}
  EmittedNumber(const EmittedNumber& other) { *this = other; }
  EmittedNumber& operator=(const EmittedNumber& other) {
    if (other.kind_ == Kind::in_register) other.translator_->pin(other.register_);
    release();
    kind_ = other.kind_;
    is_broadcast_ = other.is_broadcast_;
    register_ = other.register_;
    address_ = other.address_;
    number_ = other.number_;
    translator_ = other.translator_;
    return *this;
  }
  ~EmittedNumber() { release(); }

  friend EmittedNumber operator+(const EmittedNumber& x, const EmittedNumber& y) { return binary(0x58, true, x, y); }
  friend EmittedNumber operator-(const EmittedNumber& x, const EmittedNumber& y) { return binary(0x5c, false, x, y); }
  friend EmittedNumber operator*(const EmittedNumber& x, const EmittedNumber& y) { return binary(0x59, true, x, y); }
  friend EmittedNumber operator/(const EmittedNumber& x, const EmittedNumber& y) { return binary(0x5e, false, x, y); }
  friend EmittedNumber operator-(const EmittedNumber& x) { return x.negated(); }
  friend EmittedNumber abs(const EmittedNumber& x) { return x.magnitude(); }
  friend EmittedNumber sqrt(const EmittedNumber& x) { return x.square_root(); }

  // All ones where the comparison holds, else 0.
  struct Condition {
    EmittedNumber mask;
  };
  friend Condition operator==(const EmittedNumber& x, const EmittedNumber& y) {
    return {binary(0xc2, false, x, y, 0x00)};
  }
  friend Condition operator!=(const EmittedNumber& x, const EmittedNumber& y) {
    return {binary(0xc2, false, x, y, 0x04)};
  }
  friend Condition operator<(const EmittedNumber& x, const EmittedNumber& y) {
    return {binary(0xc2, false, x, y, 0x11)};
  }
  friend Condition operator<=(const EmittedNumber& x, const EmittedNumber& y) {
    return {binary(0xc2, false, x, y, 0x12)};
  }
  friend Condition operator>(const EmittedNumber& x, const EmittedNumber& y) {
    return {binary(0xc2, false, x, y, 0x1e)};
  }
  friend Condition operator>=(const EmittedNumber& x, const EmittedNumber& y) {
    return {binary(0xc2, false, x, y, 0x1d)};
  }
  friend EmittedNumber select(const Condition& condition, const EmittedNumber& x, const EmittedNumber& y) {
    return condition.mask.choose(x, y);
  }

  bool is(double number) const { return kind_ == Kind::constant && number_ == number; }

 private:
  friend class Translator<T>;
  enum class Kind : std::uint8_t { constant, in_memory, in_register };

  EmittedNumber(Translator<T>& translator, unsigned in_register)
      : kind_(Kind::in_register), register_(static_cast<std::uint8_t>(in_register)), translator_(&translator) {
    translator.pin(in_register);
  }
  EmittedNumber(Translator<T>& translator, std::uint32_t address, bool is_broadcast)
      : kind_(Kind::in_memory), is_broadcast_(is_broadcast), address_(address), translator_(&translator) {}
  EmittedNumber negated() const {
    return kind_ == Kind::constant ? EmittedNumber(-number_)
                                   : translator_->bitwise(0x57, *this, translator_->sign_bits());
  }
  EmittedNumber magnitude() const { return translator_->bitwise(0x54, *this, translator_->other_bits()); }
  EmittedNumber square_root() const { return translator_->square_root(*this); }
  EmittedNumber choose(const EmittedNumber& x, const EmittedNumber& y) const {
    return translator_->choose(*this, x, y);
  }
  void release() {
    if (kind_ == Kind::in_register) translator_->unpin(register_);
    kind_ = Kind::constant;
  }
  static EmittedNumber binary(std::uint8_t opcode, bool commutes, const EmittedNumber& x, const EmittedNumber& y,
                              int immediate = Assembler::no_immediate) {
    Translator<T>& translator = x.translator_ != nullptr ? *x.translator_ : *y.translator_;
    return commutes && !translator.is_at_hand(x) && translator.is_at_hand(y)
               ? translator.arithmetic(opcode, y, x, immediate)
               : translator.arithmetic(opcode, x, y, immediate);
  }

  mutable Kind kind_ = Kind::constant;
  bool is_broadcast_ = false;  // one number in memory, for all
  mutable std::uint8_t register_ = 0;
  std::uint32_t address_ = 0;
  double number_ = 0;
  mutable Translator<T>* translator_ = nullptr;
};

template <class T> class Translator {
 public:
  Translator(const Instructions& program, const detail::Kernels<T>& kernels)
      : program_(program), kernels_(kernels), at_(program) {
    assembler_.begin_function(nullptr);
  }
  Translator(const Instructions& program, const detail::Kernels<T>& kernels, const T* uniform)
      : program_(program), kernels_(kernels), at_(program), tile_(rows_of_tile<T>) {
    assembler_.begin_function(uniform);
  }

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
      begin_loop(repeat);
      add_units(list, steps, units, repeat.begin, repeat.begin + repeat.period, calls);
      end_loop();
      next = repeat.begin + repeat.period * repeat.rounds;
    }
    add_units(list, steps, units, next, units.size(), calls);
  }

  // Long vectors are left to the kernels: they lose little to the call, may have wider registers, and take less memory
  // than code. In large programs, so are vectors of more than a register whose operands lie side by side. Kernels
  // gather operands that do not, where code knows which of them do in part: so it writes longer ones. In a loop, the
  // code of a vector is there only once.
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
    using Is = Instruction::Form;
    return one.form == Is::sums || (one.form == Is::function && is_written(one.op)) ||
           (one.form == Is::local && is_local_written(one.op, one.by)) || (one.form == Is::extreme && one.terms > 0);
  }
  bool has_table(const Instruction& one) const {
    const auto is_table = [](const Operand& operand) { return operand.table != none; };
    const auto of_term = [&](const Factors& term) { return is_table(term.a) || is_table(term.b); };
    const auto terms = std::span(program_.factors).subspan(one.begin, one.terms);
    return is_table(one.start) || std::any_of(one.in.begin(), one.in.end(), is_table) ||
           std::any_of(terms.begin(), terms.end(), of_term);
  }

  static bool is_written_step(StepHead head) {
    if (head.is_sum()) return true;
    return head.is_local() ? is_local_written(head.op(), head.by()) : is_written(head.op());
  }

  void add_call_with_numbers(const void* function, Assembler::Argument first, std::size_t count) {
    if (is_too_long()) return;
    forget_all();
    assembler_.call_with_numbers(function, first, count);
  }
  void add_to_tile(StepHead head, const std::uint32_t* words) {
    width_ = widest;
    for (row_ = 0; row_ < tile_ && !is_too_long(); row_ += widest) write(head, words);
  }

  Executable finish() {
    if (is_too_long()) return {};
    assembler_.end_function();
    return Executable(assembler_.finish());
  }

 private:
  friend class EmittedNumber<T>;
  using Number = EmittedNumber<T>;
  using Form = Assembler::Form;

  static constexpr bool is_float = sizeof(T) == sizeof(float);
  static constexpr std::uint32_t widest = 32 / sizeof(T);
  static constexpr std::uint32_t half = widest / 2;
  static constexpr unsigned registers = 16;
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;
  static constexpr std::size_t most_numbers = std::size_t{1} << 27;  // that an offset of 32 bits reaches

  bool is_too_long() const { return assembler_.size() > most_bytes || at_.varying() > most_numbers; }

  // ---- units ----

  // Adds the units begin ... end. Those of a loop are its first round.
  void add_units(std::span<const Instruction> list, std::span<const std::uint32_t> steps, std::span<const Unit> units,
                 std::size_t begin, std::size_t end, const typename MachineCode<T>::Calls& calls) {
    const bool is_in_loop = loop_ != nullptr;
    const auto is_written = [&](const Unit& unit) {
      return unit.is_step() ? is_written_step(StepHead(steps[unit.word])) : writes(list[unit.instruction], is_in_loop);
    };
    for (std::size_t i = begin, next = begin; i < end && !is_too_long(); i = next) {
      const Unit &unit = units[i], &again = units[is_in_loop ? i + loop_->period : i];
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
        forget_all();
        assembler_.call(calls.function, calls.object, {at(unit.instruction), grows},
                        {at(last.instruction + std::size_t{1}), grows});
      }
    }
  }
  void add(const Instruction& one) {
    for (std::uint32_t i = 0; i < one.count && !is_too_long(); i += width_) {
      const std::uint32_t rest = one.count - i;
      width_ = rest >= widest ? widest : rest >= half ? half : 1;
      write(one, i);
    }
  }
  void add_step(const std::uint32_t* words) {
    width_ = 1;
    write(StepHead(*words), words + 1);
  }

  static_assert(most_strides <= Assembler::moving.size());
  void begin_loop(const Repeat& repeat) {
    forget_all();
    std::vector<std::int32_t> strides;
    for (const Repeat::Moving& one : repeat.moving) {
      auto found = std::find(strides.begin(), strides.end(), one.by);
      if (found == strides.end()) found = strides.insert(strides.end(), one.by);
      if (moving_.size() <= one.address) moving_.resize(2 * std::size_t{one.address} + 64);
      moving_[one.address] = static_cast<std::uint8_t>(1 + (found - strides.begin()));
    }
    for (std::int32_t& stride : strides) stride *= static_cast<std::int32_t>(sizeof(T));
    assembler_.begin_loop(repeat.rounds, strides);
    loop_ = &repeat;
  }
  void end_loop() {
    forget_all();
    assembler_.end_loop();
    for (const Repeat::Moving& one : loop_->moving) moving_[one.address] = 0;
    loop_ = nullptr;
  }

  // ---- registers ----

  // Which numbers a register holds. They are in memory as well, so they can be forgotten.
  struct Held {
    std::uint32_t begin = 0;
    std::uint8_t count = 0, pins = 0;
  };

  void pin(unsigned which) { ++held_[which].pins; }
  void unpin(unsigned which) { --held_[which].pins; }
  void forget(unsigned which) {
    Held& held = held_[which];
    std::fill_n(holder_.begin() + held.begin, held.count, std::uint8_t{0});
    held.count = 0;
  }
  void forget_all() {
    for (unsigned i = 0; i < registers; ++i) forget(i);
  }
  void forget_numbers(std::uint32_t begin, std::uint32_t count) {
    for (std::uint32_t i = begin; i < begin + count; ++i)
      if (holder_[i] != 0) forget(holder_[i] - 1);
  }
  void make_room(std::uint32_t end) {
    if (holder_.size() < end) holder_.resize(2 * end + 64);
  }
  void hold(unsigned which, std::uint32_t begin) {
    if (held_[which].count != 0) return;  // It holds others.
    held_[which].begin = begin;
    held_[which].count = static_cast<std::uint8_t>(width_);
    std::fill_n(holder_.begin() + begin, width_, static_cast<std::uint8_t>(which + 1));
  }
  // A register that holds nothing; else the next one in turn.
  unsigned take() {
    unsigned found = registers;
    for (unsigned i = 0; i < registers; ++i) {
      const unsigned which = (next_ + i) % registers;
      if (held_[which].pins != 0) continue;
      if (held_[which].count == 0) return which;
      if (found == registers) found = which;
    }
    forget(found);
    next_ = (found + 1) % registers;
    return found;
  }
  unsigned holder_of(const Number& x) {
    if (x.kind_ == Number::Kind::in_register) return x.register_;
    if (x.kind_ != Number::Kind::in_memory || (x.is_broadcast_ && width_ > 1)) return registers;
    make_room(x.address_ + width_);
    if (holder_[x.address_] == 0) return registers;
    const unsigned which = holder_[x.address_] - 1U;
    return held_[which].begin == x.address_ && held_[which].count >= width_ ? which : registers;
  }
  bool is_at_hand(const Number& x) { return holder_of(x) != registers; }

  // ---- instructions ----

  bool is_256() const { return width_ == widest; }
  Form packed(std::uint8_t opcode) const { return {Form::map_0f, is_float ? Form::no_prefix : Form::x66, opcode}; }
  Form form(std::uint8_t opcode) const {
    return width_ == 1 ? Form{Form::map_0f, is_float ? Form::xf3 : Form::xf2, opcode} : packed(opcode);
  }
  // In code for tiles, the numbers of rows are the first array, and all others the second one.
  Assembler::Memory memory(std::uint32_t address) const {
    using Memory = Assembler::Memory;
    const bool is_of_rows = tile_ != 0 && address >= at_.gradients();
    const auto offset = static_cast<std::int32_t>((is_of_rows ? address - at_.gradients() : address) * sizeof(T));
    if (const unsigned way = way_of(address); way != 0) return {offset, Assembler::moving[way - 1]};
    return {offset, tile_ == 0 || is_of_rows ? Memory::first_array : Memory::second_array};
  }
  // In which way the address changes from round to round of the loop at hand; 0: it does not.
  unsigned way_of(std::uint32_t address) const {
    return loop_ != nullptr && address < moving_.size() ? moving_[address] : 0;
  }
  Assembler::Memory constant(T number) {
    Assembler::Constant bytes;
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) std::memcpy(bytes.data() + i, &number, sizeof(T));
    return {assembler_.constant(bytes), Assembler::Memory::constants};
  }
  Number sign_bits() { return Number(-0.0); }
  Number other_bits() {
    using Bits = std::conditional_t<is_float, std::uint32_t, std::uint64_t>;
    return Number(static_cast<double>(std::bit_cast<T>(std::numeric_limits<Bits>::max() >> 1)));
  }

  void put_in_register(const Number& x) {
    if (x.kind_ == Number::Kind::in_register) return;
    unsigned which = holder_of(x);
    if (which == registers) which = load(x, true);
    x.kind_ = Number::Kind::in_register;
    x.register_ = static_cast<std::uint8_t>(which);
    x.translator_ = this;
    pin(which);
  }
  unsigned load(const Number& x, bool may_hold) {
    const unsigned to = take();
    if (x.kind_ == Number::Kind::constant) {
      assembler_.write(packed(0x10), true, to, 0, constant(static_cast<T>(x.number_)));
    } else if (x.is_broadcast_ && width_ > 1) {
      broadcast(to, x.address_);
    } else {
      assembler_.write(form(0x10), is_256(), to, 0, memory(x.address_));
      bool is_free = may_hold;
      for (std::uint32_t i = 0; i < width_; ++i) is_free = is_free && holder_[x.address_ + i] == 0;
      if (is_free) hold(to, x.address_);
    }
    return to;
  }
  // From memory, or from a register that holds the number.
  void broadcast(unsigned to, std::uint32_t address) {
    make_room(address + 1);
    const Form one = is_float         ? Form{Form::map_0f38, Form::x66, 0x18}
                     : width_ == half ? Form{Form::map_0f, Form::xf2, 0x12}
                                      : Form{Form::map_0f38, Form::x66, 0x19};
    const unsigned holder = holder_[address] == 0 ? registers : holder_[address] - 1U;
    if (holder != registers && held_[holder].begin == address)
      assembler_.write(one, is_256(), to, 0, holder);
    else
      assembler_.write(one, is_256(), to, 0, memory(address));
  }
  // Writes an instruction whose last operand may be in memory. If it is `whole`, that reads a whole register.
  void write(Form form, unsigned to, unsigned left, const Number& right, bool whole = false,
             int immediate = Assembler::no_immediate) {
    if (right.kind_ == Number::Kind::constant)
      return assembler_.write(form, is_256(), to, left, constant(static_cast<T>(right.number_)), immediate);
    const bool is_vector = width_ > 1;
    if (!is_at_hand(right) && !(right.is_broadcast_ && is_vector) && (is_vector || !whole))
      return assembler_.write(form, is_256(), to, left, memory(right.address_), immediate);
    put_in_register(right);
    assembler_.write(form, is_256(), to, left, right.register_, immediate);
  }

  Number arithmetic(std::uint8_t opcode, const Number& x, const Number& y, int immediate) {
    put_in_register(x);
    if (y.kind_ == Number::Kind::in_memory && y.is_broadcast_ && width_ > 1) put_in_register(y);
    const Number result(*this, take());
    write(form(opcode), result.register_, x.register_, y, false, immediate);
    return result;
  }
  // On all bits of a register.
  Number bitwise(std::uint8_t opcode, const Number& x, const Number& y) {
    put_in_register(x);
    if (y.kind_ != Number::Kind::constant) put_in_register(y);
    const Number result(*this, take());
    write(packed(opcode), result.register_, x.register_, y, true);
    return result;
  }
  Number square_root(const Number& x) {
    put_in_register(x);
    const Number result(*this, take());
    assembler_.write(form(0x51), is_256(), result.register_, width_ == 1 ? x.register_ : 0, x.register_);
    return result;
  }
  Number choose(const Number& mask, const Number& x, const Number& y) {
    constexpr std::uint8_t and_not = 0x55, both = 0x54;
    if (x.is(0)) return bitwise(and_not, mask, y);
    if (y.is(0)) return bitwise(both, mask, x);
    put_in_register(x);
    put_in_register(y);
    const Number result(*this, take());
    const Form blend{Form::map_0f3a, Form::x66, is_float ? std::uint8_t{0x4a} : std::uint8_t{0x4b}};
    assembler_.write(blend, is_256(), result.register_, y.register_, x.register_, mask.register_ << 4);
    return result;
  }

  void store(std::uint32_t address, const Number& x) {
    put_in_register(x);
    make_room(address + width_);
    forget_numbers(address, width_);
    assembler_.write(form(0x11), is_256(), x.register_, 0, memory(address));
    hold(x.register_, address);
  }

  // ---- operands ----

  // The numbers i ... i + width of an operand.
  Number operand(const Operand& from, std::uint32_t i) {
    if (!from.exists()) return constant_number(1);
    if (from.table == none && from.stride == 0) return number_at(at_(from, 0));
    std::array<std::uint32_t, widest> at{};
    bool is_one = true, is_in_row = true;
    for (std::uint32_t k = 0; k < width_; ++k) {
      at[k] = at_(from, i + k);
      is_one = is_one && at[k] == at[0];
      is_in_row = is_in_row && is_next(at[0], at[k], k);
    }
    if (is_one || is_constant(at)) return number_at(at[0]);
    if (is_in_row) return Number(*this, at[0], false);
    return gather(at);
  }
  // Whether these numbers are one constant. 0 and -0 are two.
  bool is_constant(const std::array<std::uint32_t, widest>& at) const {
    const auto constant = [&](std::uint32_t address) {
      return std::bit_cast<std::uint64_t>(program_.constants[address - at_.constants()]);
    };
    return std::all_of(at.begin(), at.begin() + width_, [&](std::uint32_t address) {
      return is_fixed_constant(address) && constant(address) == constant(at[0]);
    });
  }
  bool is_fixed_constant(std::uint32_t address) const {
    return address >= at_.constants() && address < at_.one() && way_of(address) == 0;
  }
  // Whether `other` is k places after an address, in every round of a loop.
  bool is_next(std::uint32_t address, std::uint32_t other, std::uint32_t k) const {
    return other == address + k && way_of(other) == way_of(address);
  }
  Number constant_number(double constant) {
    Number number(constant);
    number.translator_ = this;
    return number;
  }
  // One number for all, or one for each row of a tile. That a constant is 1 or -1 is made use of.
  Number number_at(std::uint32_t address) {
    if (tile_ != 0 && address >= at_.gradients()) return Number(*this, in_tile(address), false);
    if (address == at_.one()) return constant_number(1);
    if (is_fixed_constant(address)) {
      const double constant = program_.constants[address - at_.constants()];
      if (constant == 1 || constant == -1) return constant_number(constant);
    }
    return Number(*this, address, true);
  }
  // Of the rows of a tile from row_ on. The sums of row gradients are the first numbers of a tile.
  std::uint32_t in_tile(std::uint32_t address) const {
    return address + (address - static_cast<std::uint32_t>(at_.gradients())) * (tile_ - 1) + row_;
  }
  Number gather(const std::array<std::uint32_t, widest>& at) {
    const Number result(*this, take());
    gather(result.register_, at.data(), width_);
    return result;
  }
  void gather(unsigned to, const std::uint32_t* at, std::uint32_t count) {
    bool is_in_row = true;
    for (std::uint32_t k = 0; k < count; ++k) is_in_row = is_in_row && is_next(at[0], at[k], k);
    if (count == widest) {
      const Number upper(*this, take());
      gather(to, at, half);
      const Form insert{Form::map_0f3a, Form::x66, 0x18};
      gather(upper.register_, at + half, half);
      assembler_.write(insert, true, to, to, upper.register_, 1);
    } else if (is_in_row) {
      assembler_.write(packed(0x10), false, to, 0, memory(at[0]));
    } else if constexpr (is_float) {
      assembler_.write({Form::map_0f, Form::xf3, 0x10}, false, to, 0, memory(at[0]));
      for (std::uint32_t k = 1; k < count; ++k)  // vinsertps
        assembler_.write({Form::map_0f3a, Form::x66, 0x21}, false, to, to, memory(at[k]), static_cast<int>(k << 4));
    } else {
      assembler_.write({Form::map_0f, Form::xf2, 0x10}, false, to, 0, memory(at[0]));
      assembler_.write({Form::map_0f, Form::x66, 0x16}, false, to, to, memory(at[1]));  // vmovhpd
    }
  }

  // ---- sums ----

  // The sum of a start and of terms factor * a * b, rounded as the kernels do: the product of factor and a, and then
  // one fused multiply-add. Multiplying by 1 or -1 is exact.
  class Sum {
   public:
    explicit Sum(Translator& translator) : translator_(translator) {}

    void add(const Number& start) {
      sum_ = start;
      is_empty_ = is_own_ = false;
    }
    void add(const Number& factor, const Number& a, const Number& b) {
      const bool is_negative = factor.is(-1);
      if (is_negative || factor.is(1)) return add(is_negative, a, b);
      add(false, a.is(1) ? factor : factor * a, b);
    }
    const Number& result() const { return sum_; }

   private:
    void add(bool is_negative, const Number& a, const Number& b) {
      if (is_empty_) {
        is_empty_ = false;
        sum_ = b.is(1) ? a : a.is(1) ? b : a * b;
        // Times -1, because a NaN must keep its sign, which copysign reads.
        if (is_negative) sum_ = sum_.kind_ == Number::Kind::constant ? -sum_ : sum_ * Number(-1);
        is_own_ = sum_.kind_ == Number::Kind::in_register && (is_negative || !(a.is(1) || b.is(1)));
      } else if (a.is(1) || b.is(1)) {
        const Number& term = b.is(1) ? a : b;
        sum_ = is_negative ? sum_ - term : sum_ + term;
        is_own_ = true;
      } else {
        multiply_and_add(is_negative, a, b);
      }
    }
    void multiply_and_add(bool is_negative, const Number& a, const Number& b) {
      Translator& to = translator_;
      if (!is_own_) {
        const unsigned from = to.holder_of(sum_);
        Number copy(to, from == registers ? to.load(sum_, false) : to.take());
        if (from != registers) to.assembler_.write(to.packed(0x28), to.is_256(), copy.register_, 0, from);
        sum_ = copy;
        is_own_ = true;
      }
      const bool swap = !to.is_at_hand(a) && to.is_at_hand(b);
      const Number &left = swap ? b : a, &right = swap ? a : b;
      to.put_in_register(left);
      if (right.kind_ == Number::Kind::in_memory && right.is_broadcast_ && to.width_ > 1) to.put_in_register(right);
      const unsigned opcode = (is_negative ? 0xbc : 0xb8) + (to.width_ == 1 ? 1 : 0);
      to.write({Form::map_0f38, Form::x66, static_cast<std::uint8_t>(opcode), !is_float}, sum_.register_,
               left.register_, right);
    }

    Translator& translator_;
    Number sum_ = 0;
    bool is_empty_ = true, is_own_ = false;  // is_own_: nothing else is in its register
  };

  // ---- rules ----

  // A gradient of 0 passes nothing on.
  static Number pass(const Number& gradient, const Number& local) {
    return select(gradient == 0, 0, local.is(1) ? gradient : gradient * local);
  }
  static Number pass_chosen(const Number& gradient, const Number& local) {
    return select(local == 0, 0, pass(gradient, local));
  }

  static bool is_written(Op op) {
    switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return is_arithmetic(info(Op::name).value, is_float);
#define GRADWALK_BINARY GRADWALK_UNARY
#define GRADWALK_TERNARY GRADWALK_UNARY
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
      default: return false;
    }
  }
  static bool is_local_written(Op op, std::uint32_t by) {
    const bool is_first = info(op).operands == 3 ? by == 1 : by == 0;
    return is_arithmetic(is_first ? info(op).dx : info(op).dy, is_float);
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
    const auto in = [&](std::size_t k) { return number_at(words[k]); };
    const std::uint32_t out = tile_ != 0 ? in_tile(words[0]) : words[0];
    if (head.is_sum()) {
      Sum sum(*this);
      std::size_t k = 1;
      if (head.has_start()) sum.add(in(k++));
      while (k < head.words()) {
        const Number factor = head.has_factors() ? in(k++) : Number(1);
        sum.add(factor, in(k), in(k + 1));
        k += 2;
      }
      return store(out, sum.result());
    }
    const int operands = info(head.op()).operands;
    if (!head.is_local())
      return store(out, value(head.op(), in(1), operands > 1 ? in(2) : 1, operands > 2 ? in(3) : 1));
    if (operands == 1) return store(out, local(head.op(), head.by(), in(1), 1, in(2), in(3)));
    if (operands == 2) return store(out, local(head.op(), head.by(), in(1), in(2), in(3), in(4)));
    store(out, local(head.op(), head.by(), in(1), 1, 1, in(2)));
  }

  // ---- vectors ----

  // The numbers i ... i + width of its result.
  void write(const Instruction& one, std::uint32_t i) {
    using Is = Instruction::Form;
    const std::uint32_t out = at_.of(Rate::uniform, one.out) + i;
    const auto in = [&](std::size_t k) { return operand(one.in[k], i); };
    const auto term = [&](std::uint32_t t) -> const Factors& { return program_.factors[one.begin + t]; };
    if (one.form == Is::sums) {
      Sum sum(*this);
      if (one.start.exists()) sum.add(operand(one.start, i));
      for (std::uint32_t t = 0; t < one.terms; ++t)
        sum.add(operand(term(t).factor, i), operand(term(t).a, i), operand(term(t).b, i));
      store(out, sum.result());
    } else if (one.form == Is::function) {
      store(out, value(one.op, in(0), in(1), in(2)));
    } else if (one.form == Is::local) {
      store(out, local(one.op, one.by, in(0), in(1), in(3), in(4)));
    } else {
      Number found = operand(term(0).a, i);
      for (std::uint32_t t = 1; t < one.terms; ++t) found = value(one.op, found, operand(term(t).a, i), 1);
      store(out, found);
    }
  }

  const Instructions& program_;
  const detail::Kernels<T>& kernels_;
  Addresses at_;
  Assembler assembler_;
  std::array<Held, registers> held_{};
  std::vector<std::uint8_t> holder_;  // for each number: 0, or 1 + the register that holds it
  unsigned next_ = 0;
  bool writes_all_ = true;
  const Repeat* loop_ = nullptr;      // that is being written
  std::vector<std::uint8_t> moving_;  // for each number: in which way its address changes in the loop, or 0
  std::uint32_t tile_ = 0;            // rows of a tile, or 0
  std::uint32_t row_ = 0;             // of a tile, the first that is computed
  std::uint32_t width_ = 1;           // numbers side by side that are computed at once
};

template <class T> bool MachineCode<T>::is_possible(const detail::Kernels<T>& kernels) {
#if GRADWALK_WRITES_MACHINE_CODE
  return kernels.name.starts_with("AVX");  // AVX2 and what came after it, all of which have FMA
#else
  return (void)kernels, false;
#endif
}

template <class T> MachineCode<T>::MachineCode(const Instructions& program, const detail::Kernels<T>& kernels)
    : translator_(std::make_unique<Translator<T>>(program, kernels)) {}
template <class T>
MachineCode<T>::MachineCode(const Instructions& program, const detail::Kernels<T>& kernels, const T* uniform)
    : translator_(std::make_unique<Translator<T>>(program, kernels, uniform)) {}
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
