// SPDX-License-Identifier: MIT
// A training step for a TrainingRun that computes batches on an NVIDIA GPU. Part of gradwalk::gpu.
//
//   TrainingRun run(data, recipe, [](const Model& model) { return gpu_step(model); });
//
// A run whose steps take all rows keeps them on the device. The rows of smaller batches are copied at each step.
#pragma once

#include "gradwalk/gpu.hpp"
#include "gradwalk/step.hpp"

namespace gradwalk {

// How gpu_step() runs its program.
struct GpuStepOptions {
  Precision precision = Precision::float32;  // of the sums of a batch; parameters and their update are in float64
  int device = 0;                            // one of gpu::devices()
};

// Returns a step that computes the sums of eager_step() on a device, up to rounding. Each run reads the parameters from
// the model's Values and leaves the gradients of these Values unchanged. Throws an Error if there is no such device,
// driver or NVRTC. A batch with dropout is an Error, too.
GRADWALK_EXPORT std::unique_ptr<BatchStep> gpu_step(const Model& model, const GpuStepOptions& options = {});

}  // namespace gradwalk
