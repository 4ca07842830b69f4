// SPDX-License-Identifier: MIT
// Tapes where addresses have 39 bits, as on many small computers. Such a system refuses the address that the library
// tries first; here, a page of our own is there.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include "gradwalk/tapes.hpp"
#include "support.hpp"

namespace gradwalk::tests {
namespace {

constexpr std::uint64_t gigabyte = std::uint64_t{1} << 30;

// Returns false if this process or system cannot pretend to have few addresses.
bool pretend_few_addresses() {
  void* const first = reinterpret_cast<void*>(std::uintptr_t{1} << (sizeof(void*) == 8 ? 45 : 0));
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  return sizeof(void*) == 8 && mmap(first, 65536, PROT_NONE, kind, -1, 0) == first;
}

std::uint64_t address_of(const Tape& tape) { return std::uint64_t{tape.id()} << 16; }

// Values of one thread, which another thread destroys.
struct Work {
  Value leaf{0.1}, record = leaf * 3;
  std::vector<Value> many = std::vector<Value>(5000, 0.3);
};

TEST(FewAddresses, SufficeForTheTapesOfFortyThreads) {
  if (tests::sanitized) GTEST_SKIP() << "a sanitizer uses the addresses itself";
  if (!pretend_few_addresses()) GTEST_SKIP() << "something is at the address already";
  if (address_of(Tape::current()) > 256 * gigabyte) GTEST_SKIP() << "another case has made a tape, or a tool chooses";
  constexpr int threads = 40;
  std::vector<std::unique_ptr<Work>> work(threads);
  std::vector<double> gradients(threads);
  std::vector<std::uint64_t> addresses(threads);
  std::barrier all(threads);
  const auto job = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    work[at] = std::make_unique<Work>();
    addresses[at] = address_of(Tape::current());
    all.arrive_and_wait();
    work[(at + 1) % threads].reset();  // counts dead handles beside the nodes of a neighbour
    all.arrive_and_wait();
    Value x{0.1}, sum = 0;
    for (int k = 0; k < 100'000; ++k) sum = sum + x * x;  // grows both halves and empties the list of dead handles
    sum.backward();
    gradients[at] = x.grad();
  };
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(job, i);
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(std::set(addresses.begin(), addresses.end()).size(), threads);
  for (int i = 0; i < threads; ++i) {
    EXPECT_LT(addresses[static_cast<std::size_t>(i)], 256 * gigabyte) << i;
    EXPECT_NEAR(gradients[static_cast<std::size_t>(i)], 20'000, 1e-6) << i;
  }
}

}  // namespace
}  // namespace gradwalk::tests
