// SPDX-License-Identifier: MIT
// Tests the parts that differ between systems: threads that end, tapes that outlive them, memory that is
// given back, and files. Prints "ok", or what is wrong.
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "gradwalk/gradwalk.hpp"
#include "gradwalk/tapes.hpp"

using namespace gradwalk;

namespace {

int faults = 0;

void expect(bool is_right, const char* what) {
  if (is_right) return;
  std::printf("wrong: %s\n", what);
  ++faults;
}

double slope_at(double at) {
  Value x{at}, sum = 0;
  for (int i = 0; i < 1000; ++i) sum += x * x;
  sum.backward();
  return x.grad();
}

void test_threads() {
  for (int round = 0; round < 8; ++round) {
    std::vector<double> slopes(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < slopes.size(); ++i)
      threads.emplace_back([&slopes, i] { slopes[i] = slope_at(static_cast<double>(i)); });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < slopes.size(); ++i)
      expect(slopes[i] == 2000 * static_cast<double>(i), "the gradient of another thread");
  }
}

void test_tape_that_outlives_its_thread() {
  Value a, root;
  std::thread([&] {
    a = Value(0.1);
    root = a * a;
  }).join();
  {
    const UseTape use(Tape::of(root));
    root.backward();
    expect(a.grad() == 0.2, "the gradient on a tape whose thread has ended");
  }
  a = root = 0;
}

void test_large_graph() {
  for (int round = 0; round < 3; ++round) {
    Value x{0.1}, sum = x;
    for (int i = 0; i < 3'000'000; ++i) sum = sum + x;
    sum.backward();
    expect(x.grad() == 3'000'001, "the gradient of a large graph");
  }
  for (int step = 0; step < 3000; ++step) expect(slope_at(1) == 2000, "a step after the large graph was given back");
}

void test_files() {
  const std::string name = "numbers \xc3\xa9.csv";
  write_file(name, "a,b\n1.5,2\n");
  write_file(name, "a,b,c\n1.5,2,0\n3,4,1\n");
  expect(read_file(name, 100) == "a,b,c\n1.5,2,0\n3,4,1\n", "a file that was written");
  try {
    read_file("there is none", 100);
    expect(false, "reading a file that is not there");
  } catch (const Error& error) {
    expect(std::string(error.what()).find("needs a file that can be read, got ") != std::string::npos, error.what());
  }
  try {
    read_file(name, 3);
    expect(false, "reading a file that is too large");
  } catch (const Error& error) {
    expect(std::string(error.what()).find("needs at most 3 bytes, got 20") != std::string::npos, error.what());
  }
}

}  // namespace

int main() {
  test_threads();
  test_tape_that_outlives_its_thread();
  test_large_graph();
  test_files();
  if (faults == 0) std::printf("ok\n");
  return faults;
}
