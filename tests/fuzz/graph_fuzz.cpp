// SPDX-License-Identifier: MIT
// The fuzzer of the engine: bytes are a session of a user who builds, keeps, drops and walks back graphs.
// Each session runs on the engine and on the plain evaluator and must give the same (session.hpp). If the first byte is
// odd, the rest begins a long session that goes on at random, so that large tapes are reached from the first second on.
#include "session.hpp"

namespace {

void go_on_at_random(std::vector<std::uint8_t>& bytes, std::size_t size) {
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (const std::uint8_t byte : bytes) state = (state ^ byte) * 0x100000001b3;
  while (bytes.size() < size) {
    state = state * 6364136223846793005 + 1442695040888963407;
    bytes.push_back(static_cast<std::uint8_t>(state >> 56));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::uint8_t> bytes(data + 1, data + size);
  if (data[0] % 2 == 1) go_on_at_random(bytes, 4000);
  fuzz::Session(bytes).run();
  return 0;
}
