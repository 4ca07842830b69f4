// SPDX-License-Identifier: MIT
// Shared by the bindings: Values as arguments and results of bound functions.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "value_object.hpp"

namespace pybind11::detail {

// Converts a Value or a number from Python, and returns the one Python object of a node to Python.
template <> struct type_caster<gradwalk::Value> {
  PYBIND11_TYPE_CASTER(gradwalk::Value, const_name("Value"));

  bool load(handle source, bool) {
    namespace python = gradwalk::python;
    python::enter();
    if (python::is_value(source.ptr())) {
      value = python::value_in(source.ptr());
      return true;
    }
    double number = 0;
    switch (python::to_number(source.ptr(), number)) {
      case python::Conversion::done: value = gradwalk::Value(number); return true;
      case python::Conversion::failed: throw error_already_set();
      case python::Conversion::not_a_number: break;
    }
    return false;
  }
  static handle cast(gradwalk::Value node, return_value_policy, handle) {
    return gradwalk::python::object_of(std::move(node));
  }
};

}  // namespace pybind11::detail

namespace gradwalk::python {
namespace py = pybind11;

void bind_graphs(py::module_& module);
void bind_learning(py::module_& module);
void bind_compile(py::module_& module);
void bind_emit(py::module_& module);
void bind_gpu(py::module_& module);
void bind_solve(py::module_& module);

}  // namespace gradwalk::python
