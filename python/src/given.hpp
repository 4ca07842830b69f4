// SPDX-License-Identifier: MIT
// Arguments of the bindings for training and compiled programs: rows of numbers, and lists of Values.
#pragma once

#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include "bind.hpp"
#include "gradwalk/optim.hpp"

namespace gradwalk::python {

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;  // copies only if it must convert

inline std::span<const double> numbers(const Array& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

// Returns an argument as an array of numbers. Raises a TypeError "CALL: needs WHAT, got TYPE; ..." if it is none.
inline Array array_given(const py::object& given, const char* call, const char* what) {
  Array array = Array::ensure(given);
  if (!array) {
    PyErr_Clear();
    throw_type_error(call, what, given.ptr(), "give an array of numbers");
  }
  return array;
}

// Returns a list of Values that must be Values: a number among the parameters would never change.
inline std::vector<Value> values_given(const py::object& given, const char* call, const char* what) {
  const py::object iterator = py::reinterpret_steal<py::object>(PyObject_GetIter(given.ptr()));
  if (!iterator || is_value(given.ptr())) {
    PyErr_Clear();
    throw_type_error(call, what, given.ptr(), "give a list of Values");
  }
  std::vector<Value> values;
  for (const py::handle item : py::reinterpret_borrow<py::iterator>(iterator)) {
    if (!is_value(item.ptr())) throw_type_error(call, what, item.ptr(), "make it a Value: w = Value(2.0)");
    enter();
    values.push_back(value_in(item.ptr()));
  }
  enter();
  return values;
}

// Returns the state of an optimizer from a dict with steps, first and second.
inline OptimizerState optimizer_state(const py::dict& state, const char* call) {
  try {
    return {state["steps"].cast<std::uint64_t>(), state["first"].cast<std::vector<double>>(),
            state["second"].cast<std::vector<double>>()};
  } catch (const py::builtin_exception&) {
  } catch (const py::error_already_set&) {
  }
  throw Error(call, "a dict with steps, first and second", "another one", "give one that state_dict() returned");
}

}  // namespace gradwalk::python
