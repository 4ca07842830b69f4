// SPDX-License-Identifier: MIT
#include "update_text.hpp"

#include <array>

namespace gradwalk::gpu {
namespace {

struct Rule {
  bool has_first, has_second;
  const char* statements;
};
constexpr std::array rules{
#define GRADWALK_UPDATE_RULE(name, has_first, has_second, ...) Rule{has_first, has_second, #__VA_ARGS__},
#include "optim/update_rules.def"
#undef GRADWALK_UPDATE_RULE
};
const Rule& rule_at(detail::UpdateRule rule) { return rules[static_cast<std::size_t>(rule)]; }

constexpr const char* of_float = R"cuda(typedef float real;
__device__ static inline real root(real x) { return sqrtf(x); }
)cuda";
constexpr const char* of_double = R"cuda(typedef double real;
__device__ static inline real root(real x) { return sqrt(x); }
)cuda";

// The sum over a block is that of neighbours, then of neighbours of those, and so on.
constexpr const char* check = R"cuda(
extern "C" __global__ void __launch_bounds__(256) gradwalk_check(unsigned count, unsigned step, unsigned is_checked,
                                                                 double share, const real* results,
                                                                 const real* outcome, double* seen) {
  __shared__ unsigned is_refused;
  __shared__ double squares[256];
  if (threadIdx.x == 0u) is_refused = (unsigned)outcome[1] != step;
  __syncthreads();
  double sum = 0;
  for (unsigned i = blockIdx.x * 256u + threadIdx.x; i <= count; i += gridDim.x * 256u) {
    if (is_checked && !(results[i] - results[i] == 0)) is_refused = 1u;
    const double g = i == 0u ? 0 : (real)share * results[i];
    sum += g * g;
  }
  squares[threadIdx.x] = sum;
  for (unsigned half = 128u; half > 0u; half >>= 1) {
    __syncthreads();
    if (threadIdx.x < half) squares[threadIdx.x] += squares[threadIdx.x + half];
  }
  __syncthreads();
  if (threadIdx.x != 0u) return;
  seen[2u * blockIdx.x] = is_refused;
  seen[2u * blockIdx.x + 1u] = squares[0];
}
)cuda";
// All parameters are changed, or none.
constexpr const char* begin = R"cuda(
extern "C" __global__ void __launch_bounds__(256) gradwalk_update(
    unsigned count, unsigned step, double share, double most, gradwalk_numbers numbers, unsigned blocks,
    const double* seen, const real* results, real* parameters, real* first, real* second, real* outcome) {
  double sum = 0;
  for (unsigned b = 0; b < blocks; ++b) {
    if (seen[2u * b] != 0) return;
    sum += seen[2u * b + 1u];
  }
  real factor = 1;
  if (most - most == 0) {
    const double clipped = most / (sqrt(sum) + 1e-6);
    factor = (real)(clipped > 1 ? 1 : clipped);
  }
  const unsigned i = blockIdx.x * 256u + threadIdx.x;
  if (i < count) {
    const real g = factor * ((real)share * results[i + 1u]);
    real p = parameters[i];
)cuda";
constexpr const char* end = R"cuda(    parameters[i] = p;
  }
  if (i == 0u) {
    outcome[0] = results[0];
    outcome[1] = (real)(step + 1u);
  }
}
)cuda";

#define GRADWALK_TEXT_OF(...) #__VA_ARGS__
#define GRADWALK_TEXT(...) GRADWALK_TEXT_OF(__VA_ARGS__)

}  // namespace

bool has_first(detail::UpdateRule rule) { return rule_at(rule).has_first; }
bool has_second(detail::UpdateRule rule) { return rule_at(rule).has_second; }

std::string update_text(detail::UpdateRule rule, Precision precision) {
  const auto [keeps_first, keeps_second, statements] = rule_at(rule);
  std::string text = precision == Precision::float32 ? of_float : of_double;
  text += "struct gradwalk_numbers {\n  real " GRADWALK_TEXT(GRADWALK_STEP_NUMBERS) ";\n};\n";
  text += check;
  text += begin;
  text += "    const auto [" GRADWALK_TEXT(GRADWALK_STEP_NUMBERS) "] = numbers;\n";
  if (keeps_first) text += "    real m = first[i];\n";
  if (keeps_second) text += "    real v = second[i];\n";
  text += std::string("    ") + statements + "\n";
  if (keeps_first) text += "    first[i] = m;\n";
  if (keeps_second) text += "    second[i] = v;\n";
  return text + end;
}

}  // namespace gradwalk::gpu
