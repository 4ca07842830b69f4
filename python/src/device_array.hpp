// SPDX-License-Identifier: MIT
// Arrays in the memory of a device, to and from other libraries: DLPack, and __cuda_array_interface__.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "convert.hpp"
#include "gradwalk/gpu.hpp"

namespace gradwalk::python {

// "float32" or "float64"
std::string_view name_of(Precision precision);

// The numbers per row of an array: its second dimension. One dimension is one row of `inputs` numbers if it has as
// many, otherwise rows of one number. 0 inputs: not known. Raises for other shapes.
std::size_t columns_of(std::string_view call, const std::vector<py::ssize_t>& shape, std::size_t inputs);

// The array of an object that is on a device, or nothing. __cuda_array_interface__ does not name its device; `device`
// is taken for it, which gpu::DeviceRows checks. Raises for numbers of other types.
std::optional<gpu::DeviceArray> device_array_of(std::string_view call, const py::object& object, std::size_t inputs,
                                                int device);

py::tuple shape_of(const gpu::DeviceArray& array);
py::dict cuda_array_interface(const gpu::DeviceArray& array);
py::capsule dlpack_capsule(const gpu::DeviceArray& array);

}  // namespace gradwalk::python
