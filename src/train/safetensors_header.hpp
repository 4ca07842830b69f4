// SPDX-License-Identifier: MIT
// The header of a safetensors file as plain data. Parsing checks its form, but not its numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gradwalk::detail {

struct TensorEntry {
  std::string name, dtype;
  std::vector<std::uint64_t> shape, offsets;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in the order of the file
  std::map<std::string, std::string> metadata;
};

// Throws an Error that begins with `name` if the JSON is not of the right form.
SafetensorsHeader parse_header(std::string_view json, std::string_view name);

}  // namespace gradwalk::detail
