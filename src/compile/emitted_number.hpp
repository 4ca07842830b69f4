// SPDX-License-Identifier: MIT
// A number type that writes machine code where others compute, so that the rules of ops.def write it.
#pragma once

#include <cstdint>

#include "assembler.hpp"

namespace gradwalk::compiler {

template <class T> class NumberWriter;

// A number while code is written: a constant, numbers in memory, or a register. Arithmetic on it writes instructions.
// It stands for as many numbers side by side as the code is written for.
template <class T> class EmittedNumber {
 public:
  EmittedNumber(double number) : number_(number) {}
  EmittedNumber(const EmittedNumber& other) { *this = other; }
  EmittedNumber& operator=(const EmittedNumber& other) {
    if (other.kind_ == Kind::in_register) other.writer_->pin(other.register_);
    release();
    kind_ = other.kind_;
    is_broadcast_ = other.is_broadcast_;
    register_ = other.register_;
    address_ = other.address_;
    number_ = other.number_;
    writer_ = other.writer_;
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
  friend Condition operator==(const EmittedNumber& x, const EmittedNumber& y) { return compared(x, y, 0x00); }
  friend Condition operator!=(const EmittedNumber& x, const EmittedNumber& y) { return compared(x, y, 0x04); }
  friend Condition operator<(const EmittedNumber& x, const EmittedNumber& y) { return compared(x, y, 0x11); }
  friend Condition operator<=(const EmittedNumber& x, const EmittedNumber& y) { return compared(x, y, 0x12); }
  friend Condition operator>(const EmittedNumber& x, const EmittedNumber& y) { return compared(x, y, 0x1e); }
  friend Condition operator>=(const EmittedNumber& x, const EmittedNumber& y) { return compared(x, y, 0x1d); }
  friend EmittedNumber select(const Condition& condition, const EmittedNumber& x, const EmittedNumber& y) {
    return condition.mask.choose(x, y);
  }

  bool is(double number) const { return kind_ == Kind::constant && number_ == number; }

 private:
  friend class NumberWriter<T>;
  enum class Kind : std::uint8_t { constant, in_memory, in_register };

  EmittedNumber(NumberWriter<T>& writer, unsigned in_register)
      : kind_(Kind::in_register), register_(static_cast<std::uint8_t>(in_register)), writer_(&writer) {
    writer.pin(in_register);
  }
  EmittedNumber(NumberWriter<T>& writer, std::uint32_t address, bool is_broadcast)
      : kind_(Kind::in_memory), is_broadcast_(is_broadcast), address_(address), writer_(&writer) {}
  EmittedNumber negated() const {
    return kind_ == Kind::constant ? EmittedNumber(-number_) : writer_->bitwise(0x57, *this, writer_->sign_bits());
  }
  EmittedNumber magnitude() const { return writer_->bitwise(0x54, *this, writer_->other_bits()); }
  EmittedNumber square_root() const { return writer_->square_root(*this); }
  EmittedNumber choose(const EmittedNumber& x, const EmittedNumber& y) const { return writer_->choose(*this, x, y); }
  void release() {
    if (kind_ == Kind::in_register) writer_->unpin(register_);
    kind_ = Kind::constant;
  }
  static Condition compared(const EmittedNumber& x, const EmittedNumber& y, int predicate) {
    return {binary(0xc2, false, x, y, predicate)};
  }
  static EmittedNumber binary(std::uint8_t opcode, bool commutes, const EmittedNumber& x, const EmittedNumber& y,
                              int immediate = Assembler::no_immediate) {
    NumberWriter<T>& writer = x.writer_ != nullptr ? *x.writer_ : *y.writer_;
    return commutes && !writer.is_at_hand(x) && writer.is_at_hand(y) ? writer.arithmetic(opcode, y, x, immediate)
                                                                     : writer.arithmetic(opcode, x, y, immediate);
  }

  mutable Kind kind_ = Kind::constant;
  bool is_broadcast_ = false;  // one number in memory, for all
  mutable std::uint8_t register_ = 0;
  std::uint32_t address_ = 0;
  double number_ = 0;
  mutable NumberWriter<T>* writer_ = nullptr;
};

}  // namespace gradwalk::compiler
