// SPDX-License-Identifier: MIT
// Writes instructions of x86-64: arithmetic on vectors of up to 32 bytes (AVX2 and FMA), moves, and calls.
//
// All instructions read and write an array of numbers, which begins at the address in rbx, and may read a second one,
// which begins at the address in rbp. Constants follow the code.
// Only the encodings that machine_code.cpp needs are here, about 30. An assembler library would be a dependency for
// them, and the time to write code is part of the time to compile a program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gradwalk::compiler {

class Assembler {
 public:
  // An instruction with a VEX prefix: its map of opcodes, its mandatory prefix, its opcode, and its bit W.
  struct Form {
    enum Map : std::uint8_t { map_0f = 1, map_0f38 = 2, map_0f3a = 3 } map;
    enum Prefix : std::uint8_t { no_prefix, x66, xf3, xf2 } prefix;
    std::uint8_t opcode;
    bool wide = false;
  };
  // An operand in memory: bytes from the first number of an array, or a constant.
  struct Memory {
    enum Base : std::uint8_t { first_array = 3, constants = 4, second_array = 5 };  // arrays: their registers
    std::int32_t offset;
    Base base = first_array;
  };
  using Constant = std::array<std::uint8_t, 32>;
  static constexpr int no_immediate = -1;

  // reg = op(left, right). `left` is 0 in an instruction of two operands. is_256: on 32 bytes, otherwise on 16 or less.
  void write(Form form, bool is_256, unsigned reg, unsigned left, unsigned right, int immediate = no_immediate) {
    make_room();
    prefix(form, is_256, reg, left, right >= 8);
    put(static_cast<std::uint8_t>(0xc0 | (reg & 7) << 3 | (right & 7)));
    if (immediate != no_immediate) put(static_cast<std::uint8_t>(immediate));
  }
  void write(Form form, bool is_256, unsigned reg, unsigned left, Memory right, int immediate = no_immediate) {
    make_room();
    prefix(form, is_256, reg, left, false);
    const auto field = static_cast<std::uint8_t>((reg & 7) << 3);
    if (right.base == Memory::constants) {  // relative to the next instruction
      put(field | 5);
      fixups_.push_back({size_, immediate != no_immediate, static_cast<std::uint32_t>(right.offset)});
      put_number(std::uint32_t{0});
    } else if (right.offset == static_cast<std::int8_t>(right.offset)) {
      put(0x40 | field | right.base);
      put(static_cast<std::uint8_t>(right.offset));
    } else {
      put(0x80 | field | right.base);
      put_number(right.offset);
    }
    if (immediate != no_immediate) put(static_cast<std::uint8_t>(immediate));
  }

  // The address of the first array is the argument of the code; that of the second one is fixed.
  void begin_function(const void* second_array) {
    put_all({0xf3, 0x0f, 0x1e, 0xfa});           // endbr64
    put_all({0x53, 0x55, 0x48, 0x83, 0xec, 8});  // push rbx; push rbp; sub rsp, 8
    put_all({0x48, 0x89, 0xfb, 0x48, 0xbd});     // mov rbx, rdi; mov rbp, ...
    put_number(reinterpret_cast<std::uintptr_t>(second_array));
  }
  void end_function() {
    put_all({0xc5, 0xf8, 0x77, 0x48, 0x83, 0xc4, 8});  // vzeroupper; add rsp, 8
    put_all({0x5d, 0x5b, 0xc3});                       // pop rbp; pop rbx; ret
  }
  // Calls function(first, second, third), and function(first, count, the address of the numbers).
  void call(const void* function, const void* first, const void* second, const void* third) {
    begin_call(function, first, reinterpret_cast<std::uintptr_t>(second));
    put_all({0x48, 0xba});  // mov rdx, ...
    put_number(reinterpret_cast<std::uintptr_t>(third));
    put_all({0xff, 0xd0});  // call rax
  }
  void call_with_numbers(const void* function, const void* first, std::size_t count) {
    begin_call(function, first, count);
    put_all({0x48, 0x89, 0xda, 0xff, 0xd0});  // mov rdx, rbx; call rax
  }

  // The index of a constant, for Memory. Equal constants are one.
  std::int32_t constant(const Constant& bytes) {
    for (std::size_t i = 0; i < constants_.size(); ++i)
      if (constants_[i] == bytes) return static_cast<std::int32_t>(i);
    constants_.push_back(bytes);
    return static_cast<std::int32_t>(constants_.size() - 1);
  }

  std::size_t size() const { return size_; }
  // The code, followed by its constants.
  std::vector<std::uint8_t> finish() {
    const std::size_t first = (size_ + 31) / 32 * 32;
    bytes_.resize(first + constants_.size() * sizeof(Constant));
    for (const Fixup& fixup : fixups_) {
      const std::size_t next = fixup.at + 4 + (fixup.has_immediate ? 1 : 0);
      const auto distance = static_cast<std::uint32_t>(first + fixup.constant * sizeof(Constant) - next);
      std::memcpy(bytes_.data() + fixup.at, &distance, sizeof distance);
    }
    for (std::size_t i = 0; i < constants_.size(); ++i)
      std::memcpy(bytes_.data() + first + i * sizeof(Constant), constants_[i].data(), sizeof(Constant));
    return std::move(bytes_);
  }

 private:
  static constexpr std::size_t longest = 64;  // bytes of an instruction or a call
  struct Fixup {
    std::size_t at;
    bool has_immediate;
    std::uint32_t constant;
  };

  void begin_call(const void* function, const void* first, std::uint64_t second) {
    put_all({0xc5, 0xf8, 0x77, 0x48, 0xb8});  // vzeroupper; mov rax, ...
    put_number(reinterpret_cast<std::uintptr_t>(function));
    put_all({0x48, 0xbf});  // mov rdi, ...
    put_number(reinterpret_cast<std::uintptr_t>(first));
    put_all({0x48, 0xbe});  // mov rsi, ...
    put_number(second);
  }
  void make_room() {
    if (bytes_.size() < size_ + longest) bytes_.resize(2 * bytes_.size() + 4096);
  }
  void put(std::uint8_t byte) { bytes_[size_++] = byte; }
  template <class N> void put_number(N number) {
    make_room();
    std::memcpy(bytes_.data() + size_, &number, sizeof number);
    size_ += sizeof number;
  }
  void put_all(std::initializer_list<std::uint8_t> all) {
    make_room();
    for (const std::uint8_t byte : all) put(byte);
  }
  // The prefix of two bytes where it will do, or that of three.
  void prefix(Form form, bool is_256, unsigned reg, unsigned left, bool right_is_high) {
    const auto last = static_cast<std::uint8_t>((~left & 15) << 3 | (is_256 ? 4 : 0) | form.prefix);
    const auto high = static_cast<std::uint8_t>(reg < 8 ? 0x80 : 0);
    if (form.map == Form::map_0f && !form.wide && !right_is_high) {
      put(0xc5);
      put(high | last);
    } else {
      put(0xc4);
      put(static_cast<std::uint8_t>(high | 0x40 | (right_is_high ? 0 : 0x20) | form.map));
      put(static_cast<std::uint8_t>((form.wide ? 0x80 : 0) | last));
    }
    put(form.opcode);
  }

  std::vector<std::uint8_t> bytes_;
  std::size_t size_ = 0;
  std::vector<Constant> constants_;
  std::vector<Fixup> fixups_;
};

}  // namespace gradwalk::compiler
