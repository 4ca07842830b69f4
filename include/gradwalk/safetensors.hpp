// SPDX-License-Identifier: MIT
// Named arrays of numbers in a file: the safetensors format, which Python and others read too. Part of gradwalk::train.
//
// Written as F64; F64 and F32 are read, other types refused. Whole numbers that must keep all of their 64 bits, such as
// counters and the state of a random generator, belong into the metadata as text. docs/model-format.md tells the
// format. A file from outside is hostile: every length, offset and shape is checked before it is used, memory stays
// within a small multiple of the file's size, and nothing recurses. Every refusal is an Error that opens with the
// file's name.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/export.hpp"

namespace gradwalk {

inline constexpr std::size_t longest_safetensors_header = 100'000'000;  // bytes, as other readers have it
inline constexpr std::size_t longest_safetensors_file = std::size_t{1} << 30;

struct Tensor {
  std::string name;
  std::vector<std::size_t> shape;  // none: a single number
  std::vector<double> data;        // the last index runs fastest
};

struct GRADWALK_EXPORT SafetensorsFile {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;

  const Tensor* find(std::string_view name) const;  // null if there is none

  // The same tensors and metadata give the same bytes, and their numbers come back bit for bit.
  std::string to_bytes() const;
  static SafetensorsFile parse(std::string_view bytes, std::string_view name = "safetensors");  // name: for messages

  void write(const std::string& path) const;  // as write_file() does
  static SafetensorsFile read(const std::string& path);
};

}  // namespace gradwalk
