// SPDX-License-Identifier: MIT
// Recording picks, and the values of LookupTables. picks.hpp describes the record.
#include "gradwalk/pick.hpp"

#include <cmath>
#include <unordered_map>

#include "picks.hpp"

namespace gradwalk {

using namespace detail;

namespace {

std::size_t checked_index(double index, std::size_t size, const char* call) {
  if (index >= 0 && index < static_cast<double>(size) && index == std::floor(index))
    return static_cast<std::size_t>(index);
  throw Error(call, "a whole number from 0 to " + std::to_string(size - 1) + " as the index", format_number(index),
              "check the index, and count from 0");
}

Value record(Ref chosen, Ref index, Ref words) {
  const Ref ref = tape.top;
  tape.top += 4;
  write_node(ref, pair(chosen, index), fresh(Op::pick, words), rules::Rule<Op::pick>::value(tape.node(chosen)->data));
  return Handle::adopt(ref);
}

Value pick_column(const SharedTable& table, std::size_t row, std::size_t column, const Value& index, const char* call) {
  const Ref at = Handle::ref(index, call);
  const Ref chosen = Handle::ref(table.values[row * table.columns + column], call);
  if (tape.store->no_grad > 0) return no_grad_result(tape.node(chosen)->data);
  need_room(2 + 4);
  tape.word(tape.top++) = table.number;
  tape.word(tape.top++) = pair(static_cast<Ref>(column), literal);
  return record(chosen, at, 2);
}

}  // namespace

LookupTable::LookupTable(std::span<const Value> values, std::size_t columns) {
  if (values.empty() || columns == 0 || values.size() % columns != 0)
    throw Error("LookupTable", "values that fill rows of at least one",
                counted(values.size(), "value", "values") + " in rows of " + std::to_string(columns),
                "give one value per row and column");
  for (const Value& value : values) Handle::ref(value, "LookupTable");
  Store& store = *tape.store;
  // Not make_shared: the values go when the last LookupTable does, and not when the store forgets its number.
  table_ = std::shared_ptr<const SharedTable>(
      new SharedTable{{values.begin(), values.end()}, columns, store.last_table + 1});
  if (store.tables.size() >= store.clear_tables_at) {
    std::erase_if(store.tables, [](const auto& entry) { return entry.second.expired(); });
    store.clear_tables_at = 2 * store.tables.size() + 64;
  }
  store.tables.emplace(++store.last_table, table_);
}

std::size_t LookupTable::rows() const { return table_->values.size() / table_->columns; }
std::size_t LookupTable::columns() const { return table_->columns; }

Value pick(std::span<const Value> values, const Value& index) {
  const char* const call = "pick";
  constexpr std::size_t most = 16000;  // they fit into a chunk of the tape
  if (values.empty()) throw Error(call, "values to choose from", "none", "give at least one");
  if (values.size() > most)
    throw Error(call, "at most " + std::to_string(most) + " values", std::to_string(values.size()),
                "make a LookupTable of them, and pick from that");
  const Ref at = Handle::ref(index, call);
  const Ref chosen = Handle::ref(values[checked_index(tape.node(at)->data, values.size(), call)], call);
  for (const Value& value : values) Handle::ref(value, call);
  if (tape.store->no_grad > 0) return no_grad_result(tape.node(chosen)->data);
  const auto words = static_cast<Ref>((values.size() + 1) / 2 + 1);
  need_room(words + 4);
  for (std::size_t i = 0; i < values.size(); i += 2)
    tape.word(tape.top++) =
        pair(Handle::ref(values[i], call), i + 1 < values.size() ? Handle::ref(values[i + 1], call) : nothing);
  tape.word(tape.top++) = pair(static_cast<Ref>(values.size()), nothing);
  return record(chosen, at, words);
}

Value pick(const LookupTable& table, const Value& index) {
  if (table.columns() != 1)
    throw Error("pick", "a table with one column", std::to_string(table.columns()) + " columns",
                "call pick_row(table, index)");
  return pick_column(*table.table_, checked_index(index.data(), table.rows(), "pick"), 0, index, "pick");
}

std::vector<Value> pick_row(const LookupTable& table, const Value& index) {
  const std::size_t row = checked_index(index.data(), table.rows(), "pick_row");
  std::vector<Value> result;
  result.reserve(table.columns());
  for (std::size_t column = 0; column < table.columns(); ++column)
    result.push_back(pick_column(*table.table_, row, column, index, "pick_row"));
  return result;
}

std::shared_ptr<const SharedTable> detail::table_of_pick(Ref pick, const char* call) {
  const auto found = tape.store->tables.find(tape.word(pick - 2));
  std::shared_ptr<const SharedTable> table = found == tape.store->tables.end() ? nullptr : found->second.lock();
  if (table == nullptr)
    throw Error(call, "the LookupTable of each pick", "a pick from one that was destroyed",
                "keep the LookupTable while its picks are used");
  return table;
}

Ref detail::chosen_value(Ref pick, double index, const char* call) {
  const Ref top = first(tape.word(pick - 1));
  if (!has_shared_table(pick)) {
    const std::size_t i = checked_index(index, top, call);
    const Word word = tape.word(pick - 1 - (top + 1) / 2 + static_cast<Ref>(i / 2));
    return i % 2 == 0 ? first(word) : second(word);
  }
  const std::shared_ptr<const SharedTable> table = table_of_pick(pick, call);
  const std::size_t row = checked_index(index, table->values.size() / table->columns, call);
  return Handle::ref(table->values[row * table->columns + top], call);
}

}  // namespace gradwalk
