// SPDX-License-Identifier: MIT
#include "update_text.hpp"

#include <array>
#include <string>

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

// A sum over a block adds neighbours, then neighbours of those sums, and so on.
constexpr const char* check = R"cuda(
__device__ static inline real gradient_of(real share, real result, real p, real l1, real l2) {
  const real g = share * result;
  return l1 == 0 && l2 == 0 ? g : g + (2 * l2 * p + l1 * (real)((p > 0) - (p < 0)));
}
extern "C" __global__ void __launch_bounds__(256) gradwalk_check(
    unsigned count, unsigned is_checked, double share, double l1, double l2, const real* results,
    const real* parameters, const double* plan, double* seen) {
  __shared__ unsigned is_refused;
  __shared__ double squares[256], penalties[256];
  if (threadIdx.x == 0u) is_refused = plan[plan_made] != plan[plan_begun];
  __syncthreads();
  double sum = 0, penalty = 0;
  for (unsigned i = blockIdx.x * 256u + threadIdx.x; i <= count; i += gridDim.x * 256u) {
    const double p = i == 0u ? 0 : parameters[i - 1u];
    const real g = i == 0u ? results[0] : gradient_of((real)share, results[i], (real)p, (real)l1, (real)l2);
    if (is_checked && !(g - g == 0)) is_refused = 1u;
    if (i == 0u) continue;
    sum += (double)g * g;
    if (l1 != 0 || l2 != 0) penalty += l2 * p * p + l1 * (p < 0 ? -p : p);
  }
  squares[threadIdx.x] = sum;
  penalties[threadIdx.x] = penalty;
  for (unsigned half = 128u; half > 0u; half >>= 1) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    squares[threadIdx.x] += squares[threadIdx.x + half];
    penalties[threadIdx.x] += penalties[threadIdx.x + half];
  }
  __syncthreads();
  if (threadIdx.x != 0u) return;
  if (blockIdx.x == 0u) seen[0] = plan[plan_begun];
  seen[3u * blockIdx.x + 1u] = is_refused;
  seen[3u * blockIdx.x + 2u] = squares[0];
  seen[3u * blockIdx.x + 3u] = penalties[0];
}
)cuda";
// All parameters are changed, or none.
constexpr const char* begin = R"cuda(
extern "C" __global__ void __launch_bounds__(256) gradwalk_update(
    unsigned count, double share, double l1, double l2, double most, unsigned blocks, const double* seen,
    const real* results, real* parameters, real* first, real* second, double* plan) {
  const unsigned i = blockIdx.x * 256u + threadIdx.x, step = (unsigned)seen[0];
  if (i == 0u) plan[plan_begun] = step + 1u;
  double sum = 0, penalty = 0;
  for (unsigned b = 0; b < blocks; ++b) {
    if (seen[3u * b + 1u] != 0) return;
    sum += seen[3u * b + 2u];
    penalty += seen[3u * b + 3u];
  }
  if (!(penalty - penalty == 0)) return;
  real factor = 1;
  if (most - most == 0) {
    const double clipped = most / (sqrt(sum) + 1e-6);
    factor = (real)(clipped > 1 ? 1 : clipped);
  }
  const double* const n = plan + plan_figures + plan_step * step;
  if (i < count) {
    real p = parameters[i];
    const real g = factor * gradient_of((real)share, results[i + 1u], p, (real)l1, (real)l2);
)cuda";
constexpr const char* end = R"cuda(    parameters[i] = p;
  }
  if (i == 0u) {
    plan[plan_sum] = results[0];
    plan[plan_made] = step + 1u;
    plan[plan_penalty] = penalty;
    plan[plan_squares] = sum;
  }
}
)cuda";
constexpr const char* batches = R"cuda(
extern "C" __global__ void __launch_bounds__(256) gradwalk_batch(unsigned long long count, unsigned inputs,
                                                                 const real* rows, const double* plan, real* to) {
  const unsigned step = (unsigned)plan[plan_begun];
  rows += (unsigned long long)plan[plan_figures + plan_step * step + plan_step - 1] * inputs;
  for (unsigned long long i = blockIdx.x * 256u + threadIdx.x; i < count; i += gridDim.x * 256u) to[i] = rows[i];
}
extern "C" __global__ void __launch_bounds__(256) gradwalk_gather(unsigned count, unsigned inputs,
                                                                  const unsigned* order, const real* rows, real* to) {
  const unsigned long long numbers = ((unsigned long long)count + 31u) / 32u * 32u * inputs;
  for (unsigned long long i = blockIdx.x * 256u + threadIdx.x; i < numbers; i += gridDim.x * 256u) {
    const unsigned long long row = i / 32u / inputs * 32u + i % 32u, column = i / 32u % inputs;
    const unsigned from = row < count ? order[row] : 0u;
    to[i] = row < count ? rows[((unsigned long long)(from / 32u) * inputs + column) * 32u + from % 32u] : 0;
  }
}
extern "C" __global__ void __launch_bounds__(256) gradwalk_right(unsigned count, unsigned inputs, unsigned target,
                                                                 unsigned kind, unsigned scores, const real* rows,
                                                                 const real* outputs, double* plan) {
  __shared__ double sums[256];
  double sum = 0;
  for (unsigned r = blockIdx.x * 256u + threadIdx.x; r < count; r += gridDim.x * 256u) {
    const real* const score = outputs + (unsigned long long)count + r;
    unsigned best = 0u;
    for (unsigned k = 1u; k < scores; ++k)
      if (score[(unsigned long long)k * count] > score[(unsigned long long)best * count]) best = k;
    const unsigned at = target + (kind == of_one_hot ? best : 0u);
    const real wanted = rows[((unsigned long long)(r / 32u) * inputs + at) * 32u + r % 32u];
    const double error = (double)score[0] - (double)wanted;
    sum += kind == of_number ? 1 - error * error
           : kind == of_sign ? (score[0] > 0) == (wanted > 0)
                             : wanted == (kind == of_label ? (real)best : 1);
  }
  sums[threadIdx.x] = sum;
  for (unsigned half = 128u; half > 0u; half >>= 1) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0u) plan[plan_right + blockIdx.x] = sums[0];
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
  const auto constant = [&](const char* name, std::size_t number) {
    text += std::string("#define ") + name + " " + std::to_string(number) + "u\n";
  };
  constant("plan_sum", plan_sum);
  constant("plan_made", plan_made);
  constant("plan_begun", plan_begun);
  constant("plan_penalty", plan_penalty);
  constant("plan_squares", plan_squares);
  constant("plan_right", plan_right);
  constant("plan_figures", plan_figures);
  constant("plan_step", plan_step);
  constant("of_number", static_cast<std::size_t>(Target::number));
  constant("of_sign", static_cast<std::size_t>(Target::sign));
  constant("of_label", static_cast<std::size_t>(Target::label));
  constant("of_one_hot", static_cast<std::size_t>(Target::one_hot));
  text += "struct gradwalk_numbers {\n  real " GRADWALK_TEXT(GRADWALK_STEP_NUMBERS) ";\n};\n";
  text += check;
  text += begin;
  text += "    const gradwalk_numbers numbers = {";
  for (std::size_t i = 0; i + 1 < plan_step; ++i)
    text += (i == 0 ? "(real)n[" : ", (real)n[") + std::to_string(i) + "]";
  text += "};\n    const auto [" GRADWALK_TEXT(GRADWALK_STEP_NUMBERS) "] = numbers;\n";
  if (keeps_first) text += "    real m = first[i];\n";
  if (keeps_second) text += "    real v = second[i];\n";
  text += std::string("    ") + statements + "\n";
  if (keeps_first) text += "    first[i] = m;\n";
  if (keeps_second) text += "    second[i] = v;\n";
  text += end;
  return text + batches;
}

}  // namespace gradwalk::gpu
