// SPDX-License-Identifier: MIT
#include "tiles.hpp"

#include <algorithm>
#include <array>

namespace gradwalk::compiler {

using detail::In;
using detail::Kernels;

// A layer is done sooner as a matrix product, unless it is small; the more so if blocks are large, because rows have
// few numbers. A function that is a call takes about as long for one number of a row as for sixteen side by side. A
// term is about 35 bytes of code. If the code is too long for the cache, every tile reads it from memory, and blocks
// are done sooner.
template <class T> bool Tiles<T>::fits(const Instructions& program, const Kernels<T>& kernels) {
  constexpr std::size_t few_places = 16, many_places = 512, most_places = std::size_t{1} << 20, call = 16;
  constexpr std::size_t most_written = 300'000;
  if (!MachineCode<T>::is_possible(kernels) || !program.index_sizes.empty()) return false;
  const std::size_t places = std::size_t{program.varying_places} + program.input_places + program.uniform_places;
  if (program.varying_places < few_places || places > most_places) return false;
  const std::size_t small_layer = program.varying_places < many_places ? 4 : 32;  // weights
  std::size_t written = 0, others = 0;                                            // terms of sums, and functions
  for (const auto* list : {&program.varying, &program.varying_backward, &program.outers})
    for (const Instruction& one : *list) {
      using Is = Instruction::Form;
      const bool is_layer = one.form == Is::layer || one.form == Is::outer;
      const std::size_t work = std::size_t{one.count} * one.copies * (1 + (is_layer ? one.depth : one.terms));
      if (is_layer)
        (one.count * one.depth <= small_layer ? written : others) += work;
      else if (one.form == Is::row_sums || MachineCode<T>::writes_rows(one))
        written += work;
      else
        others += call + work;
    }
  return others * 6 <= written && written <= most_written;
}

template <class T> Tiles<T>::Tiles(const Instructions& program, const Kernels<T>& kernels, const T* uniform)
    : program_(program),
      kernels_(kernels),
      uniform_(uniform),
      at_(program),
      places_(std::size_t{program.varying_places} + program.input_places) {}

template <class T> bool Tiles<T>::prepare(bool gradients, bool for_inputs) {
  Code& backward = backward_[for_inputs ? 1 : 0];
  if (!forward_.is_written || (gradients && !backward.is_written)) {
    const RowSteps steps = row_steps(program_, for_inputs);
    write(forward_, steps.forward_pass());
    if (gradients) write(backward, steps.backward_pass());
  }
  return forward_.code.is_there() && (!gradients || backward.code.is_there());
}

template <class T> void Tiles<T>::write(Code& code, std::span<const std::uint32_t> words) {
  if (code.is_written) return;
  MachineCode<T> writer(program_, kernels_, uniform_);
  code.calls.clear();
  std::size_t steps = 0;  // of the last call, which is not written yet
  const auto write_call = [&] {
    if (steps > 0)
      writer.add_call_with_numbers(reinterpret_cast<const void*>(&call), &code.calls.back(), steps * width);
    steps = 0;
  };
  each_step(words, [&](StepHead head, const std::uint32_t* operands) {
    if (MachineCode<T>::writes(head)) {
      write_call();
      return writer.add_to_tile(head, operands);
    }
    if (steps > 0 && goes_on(code.calls.back(), head, operands, steps)) {
      ++steps;
      return;
    }
    write_call();
    Call& made = code.calls.emplace_back(Call{this, head, {}});
    std::copy_n(operands, head.words(), made.words);
    steps = 1;
  });
  write_call();
  list_reduced(code, words);
  code.code = writer.finish();
  code.is_written = true;
}

// Whether a step is the one after `steps` steps of a call: the numbers of rows lie side by side, others are the same.
// None may read what one before it has written.
template <class T>
bool Tiles<T>::goes_on(const Call& call, StepHead head, const std::uint32_t* words, std::size_t steps) const {
  if (head.word() != call.head.word()) return false;
  for (std::size_t k = 0; k < head.words(); ++k)
    if (words[k] != call.words[k] + (call.words[k] >= at_.gradients() ? steps : 0)) return false;
  const std::uint32_t* const operands = call.words + 1;
  return std::none_of(operands, call.words + head.words(), [&](std::uint32_t address) {
    return address <= call.words[0] + steps && call.words[0] <= address + steps;
  });
}

template <class T> void Tiles<T>::list_reduced(Code& code, std::span<const std::uint32_t> words) const {
  std::vector<bool> is_reduced(program_.uniform_places);
  each_step(words, [&](StepHead, const std::uint32_t* operands) {
    if (operands[0] < at_.varying()) is_reduced[operands[0] - at_.gradients()] = true;
  });
  code.reduced.clear();
  for (std::uint32_t place = 0; place < is_reduced.size(); ++place)
    if (is_reduced[place]) code.reduced.push_back(place);
}

// Machine code calls this, so it must not throw.
template <class T> void Tiles<T>::call(const Call* call, std::size_t count, T* tile) {
  const Tiles& tiles = *call->tiles;
  const Addresses& at = tiles.at_;
  const auto of_rows = [&](std::uint32_t address) { return tile + (address - at.gradients()) * width; };
  const auto in = [&](std::size_t k) -> In<T> {
    const std::uint32_t address = call->words[k];
    if (address >= at.gradients()) return {of_rows(address), 1};
    return {tiles.uniform_ + address, 0};
  };
  const StepHead head = call->head;
  const auto operands = static_cast<std::size_t>(info(head.op()).operands);
  T* const out = of_rows(call->words[0]);
  if (!head.is_local()) {
    const std::array<In<T>, 3> all{in(1), in(operands > 1 ? 2 : 1), in(operands > 2 ? 3 : 1)};
    tiles.kernels_.value(head.op())(count, all.data(), out);
    return;
  }
  // x, y and r are there for rules of one or two operands; of a choice, the condition.
  const std::size_t gradient = operands == 1 ? 3 : operands == 2 ? 4 : 2;
  const std::array<In<T>, 3> all{in(1), in(operands == 2 ? 2 : 1), in(1)};
  tiles.kernels_.local(head.op(), head.by())(count, all.data(), in(gradient - 1), in(gradient), out, false);
}

template <class T> std::size_t Tiles<T>::bytes() const {
  std::size_t all = 0;
  for (const Code* code : {&forward_, &backward_[0], &backward_[1]})
    all += code->calls.size() * sizeof(Call) + code->reduced.capacity() * sizeof(std::uint32_t);
  return all;
}

template <class T> std::size_t Tiles<T>::code_bytes() const {
  return forward_.code.bytes() + backward_[0].code.bytes() + backward_[1].code.bytes();
}

template class Tiles<float>;
template class Tiles<double>;

}  // namespace gradwalk::compiler
