// SPDX-License-Identifier: MIT
// safetensors files: named arrays of numbers, which Python and other languages read too. Part of gradwalk::train.
//
// Numbers are written as F64. F64 and F32 can be read; other types are an Error. 64-bit integers, such as counters and
// the state of a random generator, are stored in the metadata, as text. docs/model-format.md describes the format.
//
// Files may be hostile. Every length, offset and shape is checked before it is used, memory stays within a small
// multiple of the file's size, and nothing recurses. Anything invalid throws an Error that starts with the file's
// name.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/export.hpp"

namespace gradwalk {

inline constexpr std::size_t longest_safetensors_header = 100'000'000;         // bytes, the limit of other readers
inline constexpr std::size_t longest_safetensors_file = std::size_t{1} << 30;  // bytes

// A named array.
struct Tensor {
  std::string name;                // its name in the file
  std::vector<std::size_t> shape;  // empty: a single number
  std::vector<double> data;        // the last index runs fastest
};

// The content of a safetensors file, and its conversion to bytes and back.
struct GRADWALK_EXPORT SafetensorsFile {
  std::vector<Tensor> tensors;                  // in the order of the header, which to_bytes() keeps
  std::map<std::string, std::string> metadata;  // texts by key, which the format leaves to the writer

  const Tensor* find(std::string_view name) const;  // null if there is none

  // Returns the content of the file. Equal tensors and metadata give equal bytes. Throws an Error if names are not
  // unique or not UTF-8, or if a shape does not fit its numbers.
  std::string to_bytes() const;
  // Reads the content of a file; numbers come back bit for bit. `name` stands for the file in messages.
  static SafetensorsFile parse(std::string_view bytes, std::string_view name = "safetensors");

  void write(const std::string& path) const;             // writes to_bytes() with write_file()
  static SafetensorsFile read(const std::string& path);  // parses a file of at most longest_safetensors_file bytes
};

}  // namespace gradwalk
