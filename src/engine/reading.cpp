// SPDX-License-Identifier: MIT
// Reading a graph. Where its records lie in order on the tape, one scan downwards finds them: each marks its operands,
// and what was marked is met further down. Elsewhere, and where records were opened, they are searched for.
#include "gradwalk/reading.hpp"

#include <algorithm>

#include "parts.hpp"
#include "search.hpp"

namespace gradwalk {

using namespace detail;

namespace {

constexpr std::size_t slots = chunk_words / 4;  // records are at least four words apart: none shares a slot

}  // namespace

// A number or mark for each Ref, in tables of a chunk's size that exist where something was put.
struct Reading::Numbers {
  using Table = std::vector<std::uint32_t>;
  std::vector<Table> records, leaves;

  std::uint32_t& at(Ref ref) {
    std::vector<Table>& tables = apart(ref) ? leaves : records;
    const std::size_t chunk = (apart(ref) ? ref - first_leaf : ref) / chunk_words;
    if (chunk >= tables.size()) tables.resize(chunk + 1);
    if (tables[chunk].empty()) tables[chunk].resize(slots);
    return tables[chunk][ref % chunk_words / 4];
  }
  std::uint32_t get(Ref ref) const {
    const std::vector<Table>& tables = apart(ref) ? leaves : records;
    const std::size_t chunk = (apart(ref) ? ref - first_leaf : ref) / chunk_words;
    return chunk >= tables.size() || tables[chunk].empty() ? 0 : tables[chunk][ref % chunk_words / 4];
  }

  static constexpr std::uint32_t first_number = 5;  // marks are 1 to 4: where in its slot a record begins
  static std::uint32_t mark_of(Ref ref) { return 1 + ref % 4; }
};

Reading::Reading(const Value& root) : Reading(std::span(&root, 1)) {}

Reading::Reading(std::span<const Value> roots) : roots_(roots.begin(), roots.end()) {
  const auto numbers = std::make_shared<Numbers>();
  numbers_ = numbers;
  constexpr std::uint32_t first = Numbers::first_number;
  const auto take_leaf = [&](Ref ref) {
    std::uint32_t& number = numbers->at(ref);
    if (number != 0) return;
    number = first + static_cast<std::uint32_t>(leaves_.size());
    leaves_.push_back(ref);
  };
  std::vector<Ref> tops;
  for (const Value& root : roots_) tops.push_back(Handle::ref(root, "Reading"));

  const auto scan = [&] {
    for (const Ref top : tops)
      if (apart(top))
        take_leaf(top);
      else
        numbers->at(top) = Numbers::mark_of(top);
    bool in_order = true;
    for (std::size_t chunk = numbers->records.size(); in_order && chunk-- > 0;) {
      Numbers::Table& table = numbers->records[chunk];
      if (table.empty()) continue;
      for (std::size_t slot = slots; slot-- > 0;) {
        const std::uint32_t mark = table[slot];
        if (mark == 0) continue;
        const Ref ref = static_cast<Ref>(chunk * chunk_words + slot * 4 + mark - 1);
        table[slot] = first + static_cast<std::uint32_t>(records_.size());
        records_.push_back(ref);
        each_operand(ref, [&](Ref operand) {
          if (apart(operand)) return take_leaf(operand);
          in_order &= operand < ref;
          if (operand / chunk_words == chunk) {
            std::uint32_t& place = table[operand % chunk_words / 4];
            if (place == 0) place = Numbers::mark_of(operand);
          } else if (in_order) {
            std::uint32_t& place = numbers->at(operand);
            if (place == 0) place = Numbers::mark_of(operand);
          }
        });
      }
    }
    return in_order;
  };
  if (tape.store == nullptr || (tape.store->kept_apart.empty() && scan())) return;

  *numbers = {};
  leaves_.clear();
  records_.clear();
  for (const Ref top : tops) {
    const auto is_new = [&](Ref ref) { return numbers->get(ref) == 0; };
    for (const Ref ref : search(top, is_new)) {
      if (is_leaf(ref)) {
        take_leaf(ref);
      } else {
        numbers->at(ref) = first + static_cast<std::uint32_t>(records_.size());
        records_.push_back(ref);
      }
    }
  }
  std::reverse(records_.begin(), records_.end());
  for (std::size_t i = 0; i < records_.size(); ++i) numbers->at(records_[i]) = first + static_cast<std::uint32_t>(i);
}

Ref Reading::ref(std::size_t i) const {
  Handle::ref(roots_.front(), "Reading");  // refuses to be used where the graph is not
  return i < leaves_.size() ? leaves_[i] : records_[records_.size() - 1 - (i - leaves_.size())];
}

std::uint32_t Reading::number_of(Ref ref) const {
  const std::uint32_t number = numbers_->get(ref) - Numbers::first_number;
  return number < leaves_.size() && leaves_[number] == ref ? number : static_cast<std::uint32_t>(size()) - 1 - number;
}

Value Reading::node(std::size_t i) const { return Handle::share(ref(i)); }
Op Reading::op(std::size_t i) const { return shown_op(op_of(*tape.node(ref(i)))); }
double Reading::data(std::size_t i) const { return tape.node(ref(i))->data; }
double Reading::grad(std::size_t i) const { return tape.node(ref(i))->grad; }

std::optional<std::size_t> Reading::find(const Value& node) const {
  const Ref wanted = Handle::ref(node, "Reading::find");
  if (numbers_->get(wanted) < Numbers::first_number) return std::nullopt;
  const std::size_t i = number_of(wanted);
  return ref(i) == wanted ? std::optional(i) : std::nullopt;
}

std::vector<Reading::Part> Reading::read(std::size_t i) const {
  std::vector<Part> parts;
  each_part(ref(i), [&](Op op, std::span<const PartOperand> operands) {
    Part& part = parts.emplace_back(Part{op, {}});
    for (const PartOperand& one : operands) {
      if (one.ref == literal)
        part.operands.push_back({Operand::Kind::number, 0, one.number});
      else if (one.ref == nothing)
        part.operands.push_back({Operand::Kind::part, one.part, 0});
      else
        part.operands.push_back(
            {Operand::Kind::node, number_of(one.ref), op == Op::custom ? one.number : tape.node(one.ref)->data});
    }
  });
  return parts;
}

}  // namespace gradwalk
