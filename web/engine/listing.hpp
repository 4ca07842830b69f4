// SPDX-License-Identifier: MIT
// A graph that was made elsewhere, one line per node, as a notebook shows it. The page writes it (src/lib/listing.ts)
// from the JSON of a snapshot (docs/walk-format.md).
//
// The first line is "# gradwalk-graph", with " changed" behind it where a leaf has another value than when the rest was
// computed. Then op, symbol, data, operands, local derivatives, label and name, with tabs between them and spaces
// between several numbers.
#pragma once

#include <string_view>
#include <variant>

#include "gradwalk/snapshot.hpp"

namespace gradwalk::web {

inline constexpr std::size_t longest_listing = 1'000'000;  // bytes

bool is_listing(std::string_view text);
std::variant<Snapshot, Error> read_listing(std::string_view text);

}  // namespace gradwalk::web
