// SPDX-License-Identifier: MIT
#include "device_array.hpp"

#include <array>
#include <memory>
#include <utility>

namespace gradwalk::python {
namespace {

// The part of DLPack that is used here, version 0.8: what a capsule with the name "dltensor" points to.
struct DLDevice {
  std::int32_t type, index;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t dimensions;
  std::uint8_t type_code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in numbers; null: row after row
  std::uint64_t offset;   // in bytes
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
constexpr int on_cuda = 2, on_cuda_managed = 13, on_host = 1, on_host_for_cuda = 3, of_floats = 2;

// An array as its library describes it.
struct Layout {
  std::uint64_t address = 0;
  std::vector<py::ssize_t> shape;
  std::vector<std::int64_t> steps;  // in numbers; empty: row after row
  Precision precision = Precision::float32;
};

gpu::DeviceArray rows_of(std::string_view call, Layout layout, std::size_t inputs, int device,
                         std::shared_ptr<const void> owner) {
  const std::size_t columns = columns_of(call, layout.shape, inputs);
  if (layout.steps.empty()) layout.steps = {static_cast<std::int64_t>(layout.shape.size() == 2 ? columns : 1), 1};
  gpu::DeviceArray made{.address = layout.address,
                        .rows = static_cast<std::size_t>(layout.shape[0]),
                        .columns = columns,
                        .row_step = layout.steps[0],
                        .column_step = layout.steps.back(),
                        .precision = layout.precision,
                        .device = device,
                        .owner = std::move(owner)};
  if (layout.shape.size() == 1 && columns != 1) made.rows = 1, made.column_step = layout.steps[0];
  return made;
}

[[noreturn]] void refuse_type(std::string_view call, const std::string& got) {
  throw Error(std::string(call), "an array of float32 or float64", "one of " + got, "convert it first");
}

std::optional<gpu::DeviceArray> by_dlpack(std::string_view call, const py::object& object, std::size_t inputs) {
  const auto device = py::tuple(object.attr("__dlpack_device__")());
  const int type = device[0].cast<int>();
  if (type == on_host || type == on_host_for_cuda) return std::nullopt;
  if (type != on_cuda && type != on_cuda_managed)
    throw Error(std::string(call), "an array of the host or of an NVIDIA GPU",
                "one on a device of DLPack's type " + std::to_string(type), "copy it to the host");
  using namespace py::literals;
  const py::object capsule = object.attr("__dlpack__")("stream"_a = 1);  // complete for work on the default stream
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr || PyCapsule_SetName(capsule.ptr(), "used_dltensor") != 0) throw py::error_already_set();
  const std::shared_ptr<const void> owner(managed, [](DLManagedTensor* end) {
    const py::gil_scoped_acquire lock;
    if (end->deleter != nullptr) end->deleter(end);
  });
  const DLTensor& tensor = managed->tensor;
  if (tensor.type_code != of_floats || tensor.lanes != 1 || (tensor.bits != 32 && tensor.bits != 64))
    refuse_type(call,
                "DLPack's type " + std::to_string(tensor.type_code) + " with " + std::to_string(tensor.bits) + " bits");
  Layout layout{.address = reinterpret_cast<std::uint64_t>(tensor.data) + tensor.offset,
                .shape = {tensor.shape, tensor.shape + tensor.dimensions},
                .steps = {},
                .precision = tensor.bits == 32 ? Precision::float32 : Precision::float64};
  if (tensor.strides != nullptr) layout.steps.assign(tensor.strides, tensor.strides + tensor.dimensions);
  return rows_of(call, std::move(layout), inputs, tensor.device.index, owner);
}

gpu::DeviceArray by_interface(std::string_view call, const py::object& object, std::size_t inputs, int device) {
  const py::dict given = object.attr("__cuda_array_interface__");
  const auto type = given["typestr"].cast<std::string>();
  if (type != "<f4" && type != "<f8") refuse_type(call, type);
  if (given.contains("mask") && !given["mask"].is_none())
    throw Error(std::string(call), "an array without a mask", "a masked one", "fill it first");
  const std::int64_t size = type == "<f4" ? 4 : 8;
  Layout layout{.address = py::tuple(given["data"])[0].cast<std::uint64_t>(),
                .shape = given["shape"].cast<std::vector<py::ssize_t>>(),
                .steps = {},
                .precision = size == 4 ? Precision::float32 : Precision::float64};
  if (given.contains("strides") && !given["strides"].is_none())
    for (const std::int64_t bytes : given["strides"].cast<std::vector<std::int64_t>>()) {
      if (bytes % size != 0)
        throw Error(std::string(call), "steps of whole numbers", std::to_string(bytes) + " bytes", "copy the array");
      layout.steps.push_back(bytes / size);
    }
  const std::shared_ptr<const void> owner(new py::object(object), [](py::object* end) {
    const py::gil_scoped_acquire lock;
    delete end;
  });
  return rows_of(call, std::move(layout), inputs, device, owner);
}

}  // namespace

std::string_view name_of(Precision precision) { return precision == Precision::float32 ? "float32" : "float64"; }

std::size_t columns_of(std::string_view call, const std::vector<py::ssize_t>& shape, std::size_t inputs) {
  if (shape.size() == 2 && shape[1] > 0) return static_cast<std::size_t>(shape[1]);
  if (shape.size() == 1) return inputs > 1 && static_cast<std::size_t>(shape[0]) == inputs ? inputs : 1;
  throw Error(std::string(call), "rows of at least one number",
              "an array of shape " + std::string(py::str(py::cast(shape))),
              "give an array with one row per sample and one column per input");
}

std::optional<gpu::DeviceArray> device_array_of(std::string_view call, const py::object& object, std::size_t inputs,
                                                int device) {
  if (py::hasattr(object, "__dlpack__") && py::hasattr(object, "__dlpack_device__"))
    return by_dlpack(call, object, inputs);
  if (py::hasattr(object, "__cuda_array_interface__")) return by_interface(call, object, inputs, device);
  return std::nullopt;
}

py::tuple shape_of(const gpu::DeviceArray& array) { return py::make_tuple(array.rows, array.columns); }

py::dict cuda_array_interface(const gpu::DeviceArray& array) {
  using namespace py::literals;
  const std::int64_t size = array.precision == Precision::float32 ? 4 : 8;
  return py::dict("shape"_a = shape_of(array), "typestr"_a = size == 4 ? "<f4" : "<f8",
                  "data"_a = py::make_tuple(array.address, false),
                  "strides"_a = py::make_tuple(array.row_step * size, array.column_step * size), "version"_a = 3,
                  "stream"_a = py::none());
}

py::capsule dlpack_capsule(const gpu::DeviceArray& array) {
  struct Exported {
    DLManagedTensor managed{};
    std::array<std::int64_t, 2> shape{}, steps{};
    gpu::DeviceArray array;
  };
  auto exported = std::make_unique<Exported>();
  exported->array = array;
  exported->shape = {static_cast<std::int64_t>(array.rows), static_cast<std::int64_t>(array.columns)};
  exported->steps = {array.row_step, array.column_step};
  exported->managed.tensor = {.data = reinterpret_cast<void*>(array.address),
                              .device = {on_cuda, array.device},
                              .dimensions = 2,
                              .type_code = of_floats,
                              .bits = static_cast<std::uint8_t>(array.precision == Precision::float32 ? 32 : 64),
                              .lanes = 1,
                              .shape = exported->shape.data(),
                              .strides = exported->steps.data(),
                              .offset = 0};
  exported->managed.context = exported.get();
  exported->managed.deleter = [](DLManagedTensor* end) { delete static_cast<Exported*>(end->context); };
  // A consumer renames the capsule and calls the deleter itself.
  PyObject* const made = PyCapsule_New(&exported->managed, "dltensor", [](PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
    auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  });
  if (made == nullptr) throw py::error_already_set();
  exported.release();
  return py::reinterpret_steal<py::capsule>(made);
}

}  // namespace gradwalk::python
