// SPDX-License-Identifier: MIT
// Translates errors between C++ and Python. An Error of the engine becomes a ValueError with the same text.
#include <pybind11/pybind11.h>

#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "value_object.hpp"

namespace gradwalk::python {

std::string in_python(std::string text) {
  // Phrases of the engine's messages that name something as C++ does, and as Python does.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 19> names{{
      {"a NoGrad guard; call it before the guard or after its end",
       "a no_grad block; call it before or after the block"},
      {"where no NoGrad guard lives", "outside no_grad()"},
      {"under NoGrad", "under no_grad()"},
      {"NoGrad", "no_grad()"},
      {"leave data(), detach()", "leave .data, .detach()"},
      {".derivatives as it is", "derivatives as it is"},
      {".gradient = false", "gradient=False"},
      {".gradient as it is", "gradient as it is"},
      {".input_gradients = true", "input_gradients=True"},
      {".input_gradients", "input_gradients"},
      {".max_bytes", "max_bytes"},
      {".output_seeds = true", "output_seeds=True"},
      {".subset", "subset"},
      {" .inputs", " inputs"},
      {" .parameters", " parameters"},
      {" .precision", " precision"},
      {"gpu::", "gpu."},
      {"Program::", "Program."},
      {"Trainer::", "Trainer."},
  }};
  for (const auto& [engine, python] : names)
    for (std::size_t at = text.find(engine); at != std::string::npos; at = text.find(engine, at + python.size()))
      text.replace(at, engine.size(), python);
  return text;
}

void raise_error(const Error& error) noexcept {
  try {
    PyErr_SetString(PyExc_ValueError, in_python(error.what()).c_str());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
}

PyObject* raise_as_python() noexcept {
  try {
    throw;
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const Error& error) {
    raise_error(error);
  } catch (pybind11::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::length_error&) {  // of a container that cannot be so large
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

void throw_python_error() { throw pybind11::error_already_set(); }

void throw_type_error(const char* call, const char* needs, PyObject* got, const char* advice) {
  PyErr_Format(PyExc_TypeError, "%s: needs %s, got %.200s; %s", call, needs, Py_TYPE(got)->tp_name, advice);
  throw_python_error();
}

namespace {

// Accepts scalars only. An object with a length, such as an array, does its own arithmetic.
bool looks_like_a_number(PyTypeObject* type) {
  const PyNumberMethods* const numbers = type->tp_as_number;
  if (numbers == nullptr || (numbers->nb_float == nullptr && numbers->nb_index == nullptr)) return false;
  // NumPy's complex numbers convert to a float by losing a part.
  const std::string_view name = type->tp_name;
  if (name.starts_with("numpy.complex") || name.starts_with("numpy.clongdouble")) return false;
  const bool has_length = (type->tp_as_sequence != nullptr && type->tp_as_sequence->sq_length != nullptr) ||
                          (type->tp_as_mapping != nullptr && type->tp_as_mapping->mp_length != nullptr);
  return !has_length;
}

}  // namespace

Conversion to_number(PyObject* object, double& number) {
  if (PyFloat_Check(object)) {
    number = PyFloat_AS_DOUBLE(object);
    return Conversion::done;
  }
  if (!PyLong_Check(object) && (is_value(object) || !looks_like_a_number(Py_TYPE(object))))
    return Conversion::not_a_number;
  number = PyFloat_AsDouble(object);
  return number == -1 && PyErr_Occurred() != nullptr ? Conversion::failed : Conversion::done;
}

double need_number(PyObject* object, const char* call) {
  double number = 0;
  switch (to_number(object, number)) {
    case Conversion::done: return number;
    case Conversion::failed: throw_python_error();
    case Conversion::not_a_number: break;
  }
  throw_type_error(call, "a number", object, is_value(object) ? "use its .data" : "convert it to a float");
}

}  // namespace gradwalk::python
