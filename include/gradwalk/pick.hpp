// SPDX-License-Identifier: MIT
// pick: one of many Values, chosen by an index that is a Value itself. It is how an embedding is looked up, and how the
// logit of the right class is taken.
//
//   Value loss = -pick(log_probabilities, label);           // label is an input: another one in each row
//   LookupTable embedding(parameters, 16);                  // a row of 16 numbers per token
//   std::vector<Value> vector = pick_row(embedding, token);
//
// The graph records the choice: if it is evaluated again or compiled, the index chooses again. The chosen value gets
// the gradient of the result. The others get none, and neither does the index: the result does not change where the
// index changes a little. An index that is not a whole number from 0 to size - 1 is an Error.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

namespace detail {
struct SharedTable;
}

// Values in rows of the same length, to look up by the number of the row. Copies refer to the same table. A look-up
// takes constant time however large the table is, and records a node per column. compile() and recompute() read the
// whole table, so keep the LookupTable until then.
class GRADWALK_EXPORT LookupTable {
 public:
  // Makes a table of these values, row by row. Throws an Error if there are none, or if they do not fill whole rows.
  explicit LookupTable(std::span<const Value> values, std::size_t columns = 1);
  // Copies a table. Moving one copies it, too, so a LookupTable is never empty.
  LookupTable(const LookupTable& other) = default;
  LookupTable& operator=(const LookupTable& other) = default;
  ~LookupTable() = default;
  // The number of rows.
  std::size_t rows() const;
  // The number of values in a row.
  std::size_t columns() const;

 private:
  friend GRADWALK_EXPORT Value pick(const LookupTable& table, const Value& index);
  friend GRADWALK_EXPORT std::vector<Value> pick_row(const LookupTable& table, const Value& index);
  std::shared_ptr<const detail::SharedTable> table_;
};

// Returns a new node: the value with this index. Its graph refers to all values, so this takes time and memory
// proportional to their number; for many look-ups in the same values, make a LookupTable. Throws an Error for a wrong
// index, and for more than 16,000 values.
GRADWALK_EXPORT Value pick(std::span<const Value> values, const Value& index);
// Returns a new node: the value with this index of a table with one column. Throws an Error for a wrong index and for a
// table with more columns.
GRADWALK_EXPORT Value pick(const LookupTable& table, const Value& index);
// Returns a row of a table: a new node per column. Throws an Error for a wrong index.
GRADWALK_EXPORT std::vector<Value> pick_row(const LookupTable& table, const Value& index);

}  // namespace gradwalk
