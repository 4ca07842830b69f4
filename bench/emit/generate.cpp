// SPDX-License-Identifier: MIT
// Records the functions of functions.hpp and writes them as C files. usage: gradwalk-emit-functions FOLDER
#include <fstream>
#include <string>

#include "functions.hpp"
#include "gradwalk/emit.hpp"

namespace {

template <class F>
void write(const std::string& folder, const char* name, F f, std::size_t parameters, std::size_t inputs) {
  using namespace gradwalk;
  const std::vector<Value> p(parameters), x(inputs);
  const Value result = f(std::span<const Value>(p), std::span<const Value>(x));
  const EmitOptions options{.name = name, .inputs = x, .parameters = p};
  std::ofstream(folder + "/" + name + ".c") << emit_c(result, options);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace gradwalk;
  if (argc != 2) return 2;
  using Values = std::span<const Value>;
  write(argv[1], "quaternion", [](Values p, Values x) { return bench::quaternion(p, x); }, 7, 3);
  write(argv[1], "arm", [](Values p, Values x) { return bench::arm(p, x); }, 6, 3);
  write(argv[1], "imu", [](Values p, Values x) { return bench::imu(p, x); }, 9, 6 * bench::imu_samples + 3);
  write(argv[1], "camera", [](Values p, Values x) { return bench::camera(p, x); }, 16, 5);
}
