// SPDX-License-Identifier: MIT
// The JSON at the start of a safetensors file as plain data, its form checked and nothing else.
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
  std::vector<TensorEntry> entries;  // in the order they stand in
  std::map<std::string, std::string> metadata;
};

// Throws an Error whose call is the name.
SafetensorsHeader parse_header(std::string_view json, std::string_view name);

}  // namespace gradwalk::detail
