// SPDX-License-Identifier: MIT
// A training step for a TrainingRun that runs on an NVIDIA GPU. Part of gradwalk::gpu.
//
//   TrainingRun run(data, recipe, [](const Model& model) { return gpu_step(model); });
//
// The rows of the run, the parameters and the state of the optimizer stay on the device. In a team, the device computes
// the sums of batches alone, whose rows are copied at each step.
#pragma once

#include "gradwalk/gpu.hpp"
#include "gradwalk/step.hpp"

namespace gradwalk {

// How gpu_step() runs its program.
struct GpuStepOptions {
  Precision precision = Precision::float32;  // of everything on the device
  int device = 0;                            // one of gpu::devices()
};

// Returns an UpdatingStep (step.hpp) that makes the steps of eager_step() on a device, up to rounding. It leaves the
// gradients of the model's Values unchanged. Throws an Error if there is no such device, driver or NVRTC. A batch with
// dropout is an Error, too.
GRADWALK_EXPORT std::unique_ptr<BatchStep> gpu_step(const Model& model, const GpuStepOptions& options = {});

}  // namespace gradwalk
