// SPDX-License-Identifier: MIT
// The values that a pick chooses from, read from its record.
//
// The top word below the record says where they are. pair(n, nothing): n Refs in the words below it, two in each.
// pair(column, literal): in this column of a LookupTable, whose number is in the word below.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "store.hpp"

namespace gradwalk::detail {

// The values of LookupTables that refer to the same ones.
struct SharedTable {
  std::vector<Value> values;
  std::size_t columns;
  Word number;  // no other table of its tape has had it
};

// The table of a pick. Throws an Error if no LookupTable refers to it any more.
std::shared_ptr<const SharedTable> table_of_pick(Ref pick, const char* call);
// The Ref of the value of a pick that an index chooses. Throws an Error for a wrong index.
Ref chosen_value(Ref pick, double index, const char* call);

inline bool has_shared_table(Ref pick) { return second(tape.word(pick - 1)) == literal; }

// Calls visit(ref) for each value of a pick that has its own list, in order.
template <class Visit> void each_listed_value(Ref pick, Visit visit) {
  const Ref count = first(tape.word(pick - 1)), words = (count + 1) / 2;
  for (Ref i = 0; i < count; ++i) {
    const Word word = tape.word(pick - 1 - words + i / 2);
    visit(i % 2 == 0 ? first(word) : second(word));
  }
}

// Calls visit(operand) for all nodes that a record keeps alive: its operands, and the values that it could have chosen.
// A LookupTable keeps its own values alive.
template <class Visit> void each_needed(Ref ref, Visit visit) {
  if (op_of(*tape.node(ref)) == Op::pick && !has_shared_table(ref)) each_listed_value(ref, visit);
  each_operand(ref, visit);
}

// Calls visit(ref) for each value that a pick could have chosen, in order. Throws an Error if its LookupTable is gone.
template <class Visit> void each_value_of_pick(Ref pick, const char* call, Visit visit) {
  if (!has_shared_table(pick)) return each_listed_value(pick, visit);
  const std::shared_ptr<const SharedTable> table = table_of_pick(pick, call);
  for (std::size_t i = first(tape.word(pick - 1)); i < table->values.size(); i += table->columns)
    visit(Handle::ref(table->values[i], call));
}

// each_needed() with the values of LookupTables, too.
template <class Visit> void each_choice(Ref ref, const char* call, Visit visit) {
  if (op_of(*tape.node(ref)) == Op::pick) each_value_of_pick(ref, call, visit);
  each_operand(ref, visit);
}

}  // namespace gradwalk::detail
