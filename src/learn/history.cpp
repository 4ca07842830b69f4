// SPDX-License-Identifier: MIT
// The history of a run. Which steps are kept depends only on their numbers, so a resumed run keeps the same ones.
#include <bit>
#include <cmath>

#include "gradwalk/training.hpp"

namespace gradwalk {

void History::add(std::uint64_t step, double new_loss, double new_accuracy) {
  if ((step - 1) % stride != 0) return;
  if (steps.size() == max_steps) {
    for (std::vector<double>* column : {&steps, &loss, &accuracy}) {
      for (std::size_t i = 0; i < max_steps / 2; ++i) (*column)[i] = (*column)[2 * i];
      column->resize(max_steps / 2);
    }
    stride *= 2;
    if ((step - 1) % stride != 0) return;
  }
  steps.push_back(static_cast<double>(step));
  loss.push_back(new_loss);
  accuracy.push_back(new_accuracy);
}

bool History::is_valid_for(std::uint64_t step_count, bool accuracies_are_fractions) const {
  if (!std::has_single_bit(stride)) return false;
  const std::uint64_t kept = step_count / stride + (step_count % stride == 0 ? 0 : 1);
  if (kept > max_steps || (stride > 1 && kept <= max_steps / 2)) return false;
  if (steps.size() != kept || loss.size() != kept || accuracy.size() != kept) return false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool fits = steps[i] == static_cast<double>(1 + i * stride) && std::isfinite(loss[i]) &&
                      std::isfinite(accuracy[i]) && (accuracy[i] >= 0 || !accuracies_are_fractions) && accuracy[i] <= 1;
    if (!fits) return false;
  }
  return true;
}

}  // namespace gradwalk
