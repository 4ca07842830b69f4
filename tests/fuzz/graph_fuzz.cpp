// SPDX-License-Identifier: MIT
// The fuzzer of the engine: bytes are a session of a user who builds, keeps, drops and walks back graphs.
// Each session runs on the engine and on the plain evaluator and must give the same (session.hpp). If the first byte is
// odd, the rest begins a long session that goes on at random, so that large tapes are reached from the first second on.
#include "session.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::uint8_t> bytes(data + 1, data + size);
  if (data[0] % 2 == 1) fuzz::go_on_at_random(bytes, 4000);
  fuzz::Session(bytes).run();
  return 0;
}
