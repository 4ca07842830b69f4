// SPDX-License-Identifier: MIT
// What all our JSON about graphs shares; docs/walk-format.md is the description of it.
#pragma once

#include <vector>

#include "gradwalk/json.hpp"
#include "gradwalk/snapshot.hpp"

namespace gradwalk::detail {

void write_head(JsonWriter& json, std::string_view format);
void write_indices(JsonWriter& json, const std::vector<std::size_t>& indices);
void write_nodes(JsonWriter& json, const Snapshot& graph);

}  // namespace gradwalk::detail
