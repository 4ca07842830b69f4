// SPDX-License-Identifier: MIT
// The fuzzer of compile(): sessions that compile many small graphs of every kind. If the first byte is odd, the session
// continues at random after the input.
#include "session.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::uint8_t> bytes(data + 1, data + size);
  if (data[0] % 2 == 1) fuzz::go_on_at_random(bytes, 500);
  fuzz::Session(bytes, fuzz::Actions::programs).run();
  return 0;
}
