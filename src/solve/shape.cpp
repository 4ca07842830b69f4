// SPDX-License-Identifier: MIT
// Computes the shape of a recording: a hash over its operations, constants and branches.
#include "shape.hpp"

#include <bit>
#include <optional>

#include "gradwalk/reading.hpp"

namespace gradwalk::solver {
namespace {

// A hash of a list of words, in which every bit of each word matters.
class Hash {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15u;
    state_ ^= state_ >> 32;
  }
  std::uint64_t get() const { return state_; }

 private:
  std::uint64_t state_ = 1;
};

}  // namespace

std::uint64_t shape_of(const std::vector<Value>& outputs, const std::vector<Condition>& decided,
                       const std::vector<Value>& inputs) {
  Hash shape;
  std::vector<Value> roots = outputs;
  for (const Condition& condition : decided) {
    roots.emplace_back(condition);
    shape.add(condition.holds());
  }
  const Reading reading(roots);
  const Listing listing = reading.list();
  std::vector<std::optional<std::size_t>> input_of_leaf(listing.leaves);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const auto found = reading.find(inputs[i])) input_of_leaf[*found] = i;
  const auto add_number = [&](double number) {
    shape.add(1);
    shape.add(std::bit_cast<std::uint64_t>(number));
  };
  const auto add_operand = [&](std::uint32_t operand) {
    if (operand == Listing::none) {
      shape.add(2);
    } else if ((operand & Listing::number) != 0) {
      add_number(listing.numbers[operand - Listing::number]);
    } else if (operand >= listing.leaves) {
      shape.add(3);
      shape.add(operand - listing.leaves);
    } else if (input_of_leaf[operand]) {
      shape.add(4);
      shape.add(*input_of_leaf[operand]);
    } else {
      add_number(reading.data(operand));
    }
  };
  for (std::size_t i = listing.leaves; i < listing.nodes.size(); ++i) {
    shape.add(static_cast<std::uint64_t>(listing.nodes[i].op));
    for (const std::uint32_t operand : listing.nodes[i].operands) add_operand(operand);
  }
  for (const std::uint32_t pick : listing.picks) shape.add(pick);
  for (const std::vector<std::uint32_t>& table : listing.tables) {
    shape.add(table.size());
    for (const std::uint32_t value : table) add_operand(value);
  }
  for (const std::uint32_t root : listing.roots) add_operand(root);
  return shape.get();
}

}  // namespace gradwalk::solver
