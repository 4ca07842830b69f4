// SPDX-License-Identifier: MIT
// The fuzzer of the engine: bytes are a session of a user who builds, keeps and drops graphs and runs backward passes.
// Each session runs on the engine and on the plain evaluator, which must agree (session.hpp). If the first byte is odd,
// the session continues at random after the input, so that large tapes occur from the first second on.
#include "session.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::uint8_t> bytes(data + 1, data + size);
  if (data[0] % 2 == 1) fuzz::go_on_at_random(bytes, 4000);
  fuzz::Session(bytes).run();
  return 0;
}
