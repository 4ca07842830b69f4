// SPDX-License-Identifier: MIT
// Writes instructions of x86-64: arithmetic on vectors of up to 32 bytes (AVX2 and FMA), moves, and calls.
//
// All instructions read and write an array of numbers, which begins at the address in rbx, and may read a second one,
// which begins at the address in rbp. In a loop, r13 to r15 and rbp hold addresses in the first array that grow
// from round to round, and r12 counts the rounds. Constants follow the code.
// Only the encodings that machine_code.cpp needs are here, about 30. An assembler library would be a dependency for
// them, and the time to write code is part of the time to compile a program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
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
    // The numbers of the registers of arrays.
    enum Base : std::uint8_t { first_array = 3, constants = 4, second_array = 5, r13 = 13, r14 = 14, r15 = 15 };
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
    prefix(form, is_256, reg, left, right.base >= 8);
    const auto field = static_cast<std::uint8_t>((reg & 7) << 3);
    if (right.base == Memory::constants) {  // relative to the next instruction
      put(field | 5);
      fixups_.push_back({size_, immediate != no_immediate, static_cast<std::uint32_t>(right.offset)});
      put_number(std::uint32_t{0});
    } else if (right.offset == static_cast<std::int8_t>(right.offset)) {
      put(static_cast<std::uint8_t>(0x40 | field | (right.base & 7)));
      put(static_cast<std::uint8_t>(right.offset));
    } else {
      put(static_cast<std::uint8_t>(0x80 | field | (right.base & 7)));
      put_number(right.offset);
    }
    if (immediate != no_immediate) put(static_cast<std::uint8_t>(immediate));
  }

  // The address of the first array is the argument of the code; that of the second one is fixed.
  void begin_function(const void* second_array) {
    put_all({0xf3, 0x0f, 0x1e, 0xfa});                                      // endbr64
    put_all({0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57});  // push rbx, rbp, r12 ... r15
    put_all({0x48, 0x83, 0xec, 8});                                         // sub rsp, 8
    put_all({0x48, 0x89, 0xfb, 0x48, 0xbd});                                // mov rbx, rdi; mov rbp, ...
    put_number(reinterpret_cast<std::uintptr_t>(second_array));
  }
  void end_function() {
    put_all({0xc5, 0xf8, 0x77, 0x48, 0x83, 0xc4, 8});                             // vzeroupper; add rsp, 8
    put_all({0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3});  // pop r15 ... r12, rbp, rbx; ret
  }

  // What follows runs `rounds` times. The address in register moving[k] grows by strides[k] bytes each time.
  static constexpr std::array<Memory::Base, 4> moving{Memory::r13, Memory::r14, Memory::r15, Memory::second_array};
  void begin_loop(std::size_t rounds, std::span<const std::int32_t> strides) {
    strides_.assign(strides.begin(), strides.end());
    rounds_ = static_cast<std::uint32_t>(rounds);
    for (std::size_t k = 0; k < strides_.size(); ++k)
      put_all({high(0x48, k), 0x89, static_cast<std::uint8_t>(0xd8 | (moving[k] & 7))});  // mov moving[k], rbx
    put_all({0x45, 0x31, 0xe4});                                                          // xor r12d, r12d
    loop_ = size_;
  }
  void end_loop() {
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      put_all({high(0x48, k), 0x81, static_cast<std::uint8_t>(0xc0 | (moving[k] & 7))});  // add moving[k], ...
      put_number(strides_[k]);
    }
    put_all({0x41, 0xff, 0xc4, 0x41, 0x81, 0xfc});  // inc r12d; cmp r12d, ...
    put_number(rounds_);
    put_all({0x0f, 0x85});  // jne
    put_number(static_cast<std::uint32_t>(loop_ - size_ - 4));
  }

  // An argument of a call. In a loop, `by` bytes are added to it after each round.
  struct Argument {
    Argument(const void* pointer, std::int32_t grows = 0)
        : number(reinterpret_cast<std::uintptr_t>(pointer)), by(grows) {}
    Argument(std::size_t count) : number(count) {}
    std::uint64_t number;
    std::int32_t by = 0;
  };
  // Calls function(first, second, third), and function(first, count, the address of the numbers).
  void call(const void* function, Argument first, Argument second, Argument third) {
    begin_call(first, second);
    put_argument({0x48, 0xba}, {0x48, 0x01, 0xc2}, third);  // mov rdx, ...; add rdx, rax
    end_call(function);
  }
  void call_with_numbers(const void* function, Argument first, std::size_t count) {
    begin_call(first, count);
    put_all({0x48, 0x89, 0xda});  // mov rdx, rbx
    end_call(function);
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

  // The prefix of an instruction whose register is moving[k].
  static std::uint8_t high(std::uint8_t prefix, std::size_t k) {
    return static_cast<std::uint8_t>(prefix | (moving[k] >= 8 ? 1 : 0));
  }
  void begin_call(Argument first, Argument second) {
    put_all({0xc5, 0xf8, 0x77});                             // vzeroupper
    put_argument({0x48, 0xbf}, {0x48, 0x01, 0xc7}, first);   // mov rdi, ...; add rdi, rax
    put_argument({0x48, 0xbe}, {0x48, 0x01, 0xc6}, second);  // mov rsi, ...; add rsi, rax
  }
  void end_call(const void* function) {
    put_all({0x48, 0xb8});  // mov rax, ...
    put_number(reinterpret_cast<std::uintptr_t>(function));
    put_all({0xff, 0xd0});  // call rax
  }
  void put_argument(std::initializer_list<std::uint8_t> move, std::initializer_list<std::uint8_t> add,
                    Argument argument) {
    put_all(move);
    put_number(argument.number);
    if (argument.by == 0) return;
    put_all({0x49, 0x69, 0xc4});  // imul rax, r12, ...
    put_number(argument.by);
    put_all(add);
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
  // Of the loop at hand:
  std::vector<std::int32_t> strides_;
  std::uint32_t rounds_ = 0;
  std::size_t loop_ = 0;  // where its first round begins
};

}  // namespace gradwalk::compiler
