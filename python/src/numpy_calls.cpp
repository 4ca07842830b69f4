// SPDX-License-Identifier: MIT
// Calls between Values and NumPy: NumPy's functions of a Value, and gradwalk's functions of an array.
// gradwalk/_numpy.py has the general case; here is the arithmetic of a NumPy scalar and a Value, which is common and
// must be fast.
#include <Python.h>

#include <array>
#include <string_view>

#include "value_object.hpp"

namespace gradwalk::python {
namespace {

struct FastCall {
  std::string_view name;
  binaryfunc PyNumberMethods::* method;
  PyObject* ufunc = nullptr;  // NumPy's object, once it has been seen
};
std::array<FastCall, 5> fast_calls{{{"add", &PyNumberMethods::nb_add},
                                    {"subtract", &PyNumberMethods::nb_subtract},
                                    {"multiply", &PyNumberMethods::nb_multiply},
                                    {"divide", &PyNumberMethods::nb_true_divide},
                                    {"true_divide", &PyNumberMethods::nb_true_divide}}};

// The fast call of a ufunc, or nullptr. NumPy's ufuncs live as long as the process.
const FastCall* fast_call(PyObject* ufunc) {
  for (const FastCall& call : fast_calls)
    if (call.ufunc == ufunc) return &call;
  PyObject* const name = PyObject_GetAttrString(ufunc, "__name__");
  const char* const text = name != nullptr && PyUnicode_Check(name) != 0 ? PyUnicode_AsUTF8(name) : nullptr;
  const FastCall* found = nullptr;
  if (text != nullptr)
    for (FastCall& call : fast_calls)
      if (call.name == text && call.ufunc == nullptr) {
        call.ufunc = Py_NewRef(ufunc);
        found = &call;
        break;
      }
  Py_XDECREF(name);
  PyErr_Clear();
  return found;
}

PyObject* helper(const char* name) {
  PyObject* const module = PyImport_ImportModule("gradwalk._numpy");
  PyObject* const function = module != nullptr ? PyObject_GetAttrString(module, name) : nullptr;
  Py_XDECREF(module);
  return function;
}

PyObject* tuple_of(PyObject* const* items, Py_ssize_t count) {
  PyObject* const tuple = PyTuple_New(count);
  for (Py_ssize_t i = 0; tuple != nullptr && i < count; ++i) PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
  return tuple;
}

}  // namespace

// __array_ufunc__(self, ufunc, method, *inputs, **keywords)
PyObject* array_ufunc(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  if (count < 3) {
    PyErr_SetString(PyExc_TypeError,
                    "__array_ufunc__: needs a ufunc, a method and inputs, got less; leave the call to NumPy");
    return nullptr;
  }
  if (keywords == nullptr && count == 4 && PyUnicode_Check(arguments[1]) != 0 &&
      PyUnicode_CompareWithASCIIString(arguments[1], "__call__") == 0)
    if (const FastCall* const call = fast_call(arguments[0])) {
      PyObject* const result = (number_methods.*call->method)(arguments[2], arguments[3]);
      if (result != Py_NotImplemented) return result;
      Py_DECREF(result);
    }
  static_cast<void>(self);
  PyObject* const function = helper("call_ufunc");
  PyObject* const inputs = tuple_of(arguments + 2, count - 2);
  PyObject* const named = PyDict_New();
  PyObject* result = nullptr;
  if (function != nullptr && inputs != nullptr && named != nullptr) {
    for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_GET_SIZE(keywords); ++i)
      PyDict_SetItem(named, PyTuple_GET_ITEM(keywords, i), arguments[count + i]);
    result = PyObject_CallFunctionObjArgs(function, arguments[0], arguments[1], inputs, named, nullptr);
  }
  Py_XDECREF(function);
  Py_XDECREF(inputs);
  Py_XDECREF(named);
  return result;
}

PyObject* of_arrays(const char* call, const char* needs, PyObject* const* arguments, Py_ssize_t count) {
  PyObject* wrong = nullptr;
  bool has_array = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    double number = 0;
    if (is_value(arguments[i]) || is_condition(arguments[i])) continue;
    if (PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(arguments[i])), "__array_ufunc__") != 0 &&
        PyObject_HasAttrString(arguments[i], "shape") != 0)
      has_array = true;
    else if (const Conversion conversion = to_number(arguments[i], number); conversion == Conversion::failed)
      return nullptr;
    else if (conversion == Conversion::not_a_number && wrong == nullptr)
      wrong = arguments[i];
  }
  if (wrong != nullptr || !has_array)
    return guarded([&]() -> PyObject* {
      throw_type_error(call, needs, wrong != nullptr ? wrong : arguments[0], "convert it to a float");
    });
  PyObject* const function = helper("of_arrays");
  PyObject* const inputs = tuple_of(arguments, count);
  PyObject* const result =
      function != nullptr && inputs != nullptr ? PyObject_CallFunction(function, "sO", call, inputs) : nullptr;
  Py_XDECREF(function);
  Py_XDECREF(inputs);
  return result;
}

}  // namespace gradwalk::python
