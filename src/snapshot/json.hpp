// SPDX-License-Identifier: MIT
// The fields that all JSON about graphs has in common. docs/walk-format.md describes them.
#pragma once

#include <vector>

#include "gradwalk/json.hpp"
#include "gradwalk/snapshot.hpp"

namespace gradwalk::detail {

// Writes the members "format" and "version".
void write_head(JsonWriter& json, std::string_view format);
// Writes an array of indices.
void write_indices(JsonWriter& json, const std::vector<std::size_t>& indices);
// Writes the members "nodes" and "root".
void write_nodes(JsonWriter& json, const Snapshot& graph);

}  // namespace gradwalk::detail
