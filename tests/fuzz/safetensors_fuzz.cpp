// SPDX-License-Identifier: MIT
// The fuzzer of safetensors files. Any bytes give an Error, or tensors that are equal after writing and reading them,
// in bounded memory. A wrong length of the header is corrected, because otherwise few inputs would get further.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "allocations.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gradwalk::SafetensorsFile;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= 10 && bytes[8] == '{') {
    const std::size_t end = bytes.find("}}");
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    if (length > size - 8 && end != std::string::npos) {
      length = end + 2 - 8;
      std::memcpy(bytes.data(), &length, 8);
    }
  }
  try {
    SafetensorsFile file;
    {
      const fuzz::Allocations allocations;
      try {
        file = SafetensorsFile::parse(bytes);
      } catch (...) {
        allocations.check(32 * size + 16384);
        throw;
      }
      allocations.check(32 * size + 16384);
    }
    const std::string again = file.to_bytes();
    if (SafetensorsFile::parse(again).to_bytes() != again) std::abort();
  } catch (const gradwalk::Error&) {
    return 0;
  }
  return 0;
}
