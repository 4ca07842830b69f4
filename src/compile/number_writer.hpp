// SPDX-License-Identifier: MIT
// Writes arithmetic on numbers as machine code: it chooses registers, and remembers which numbers they hold.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include "assembler.hpp"
#include "emitted_number.hpp"
#include "executable.hpp"
#include "repeats.hpp"
#include "steps.hpp"

namespace gradwalk::compiler {

template <class T> class NumberWriter {
 public:
  using Number = EmittedNumber<T>;
  static constexpr bool is_float = sizeof(T) == sizeof(float);
  static constexpr std::uint32_t widest = 32 / sizeof(T);

  // In code for tiles, `tile` is the number of rows, and `uniform` is where all other numbers begin.
  NumberWriter(const Instructions& program, std::uint32_t tile, const T* uniform)
      : program_(program), at_(program), tile_(tile) {
    assembler_.begin_function(uniform);
  }
  // To write a call, before which all registers are forgotten.
  Assembler& call() {
    forget_all();
    return assembler_;
  }
  Executable finish() {
    if (is_too_long()) return {};
    assembler_.end_function();
    return Executable(assembler_.finish());
  }
  bool is_too_long() const { return assembler_.size() > most_bytes || at_.varying() > most_numbers; }
  const Addresses& addresses() const { return at_; }

  // From here on, code computes this many numbers side by side: no more than `widest`. Returns how many.
  std::uint32_t set_width(std::uint32_t most) { return width_ = most >= widest ? widest : most >= half ? half : 1; }
  void set_row(std::uint32_t row) { row_ = row; }  // of a tile, the first that is computed

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
  const Repeat* loop() const { return loop_; }  // that is being written, or nullptr

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
  // One number for all, or one for each row of a tile. Arithmetic with the constants 1 and -1 writes less code.
  Number number_at(std::uint32_t address) {
    if (tile_ != 0 && address >= at_.gradients()) return Number(*this, in_tile(address), false);
    if (address == at_.one()) return constant_number(1);
    if (is_fixed_constant(address)) {
      const double constant = program_.constants[address - at_.constants()];
      if (constant == 1 || constant == -1) return constant_number(constant);
    }
    return Number(*this, address, true);
  }
  // The address for the rows of a tile from row_ on. The sums of row gradients are the first numbers of a tile.
  std::uint32_t in_tile(std::uint32_t address) const {
    return address + (address - static_cast<std::uint32_t>(at_.gradients())) * (tile_ - 1) + row_;
  }

  void store(std::uint32_t address, const Number& x) {
    put_in_register(x);
    make_room(address + width_);
    forget_numbers(address, width_);
    assembler_.write(form(0x11), is_256(), x.register_, 0, memory(address));
    hold(x.register_, address);
  }

  // ---- sums ----

  // The sum of a start and of terms factor * a * b, rounded as the kernels do: the product of factor and a, and then
  // one fused multiply-add. Multiplying by 1 or -1 is exact.
  class Sum {
   public:
    explicit Sum(NumberWriter& writer) : writer_(writer) {}

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
      NumberWriter& to = writer_;
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

    NumberWriter& writer_;
    Number sum_ = 0;
    bool is_empty_ = true, is_own_ = false;  // is_own_: nothing else is in its register
  };

 private:
  friend class EmittedNumber<T>;
  using Form = Assembler::Form;

  static constexpr std::uint32_t half = widest / 2;
  static constexpr unsigned registers = 16;
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;
  static constexpr std::size_t most_numbers = std::size_t{1} << 27;  // that an offset of 32 bits reaches

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
  // Returns a register that holds nothing, or else forgets the next one in turn.
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
  // Which stride of the loop at hand the address grows by, from 1; 0: it does not grow.
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
    x.writer_ = this;
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

  // ---- operands ----

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
    number.writer_ = this;
    return number;
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

  const Instructions& program_;
  Addresses at_;
  Assembler assembler_;
  std::array<Held, registers> held_{};
  std::vector<std::uint8_t> holder_;  // for each number: 0, or 1 + the register that holds it
  unsigned next_ = 0;
  const Repeat* loop_ = nullptr;
  std::vector<std::uint8_t> moving_;  // for each number: in which way its address changes in the loop, or 0
  std::uint32_t tile_ = 0;            // rows of a tile, or 0
  std::uint32_t row_ = 0, width_ = 1;
};

}  // namespace gradwalk::compiler
