// SPDX-License-Identifier: MIT
// gradwalk.Value as the interpreter sees it: an object with a Value inside, and how C++ goes from one to the other.
//
// All of the interpreter's threads work on one tape, under its lock: who is about to touch a Value calls enter() first,
// and again after anything that may have run Python code. While an object for a node lives, the node has no other.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <utility>

#include "gradwalk/tapes.hpp"

namespace gradwalk::python {

struct ValueObject {
  PyObject_HEAD              // NOLINT
      PyObject* attributes;  // those its users gave it; most have none
  PyObject* weak_references;
  PyObject** slot;  // where the node's object is found: this one, while it lives
  alignas(Value) unsigned char place[sizeof(Value)];

  Value& value() { return *reinterpret_cast<Value*>(place); }
};

extern PyTypeObject* value_type;  // of the module's; never freed
extern SharedTape* shared_tape;

void enter_slowly();
inline void enter() {
  if (!shared_tape->is_here()) [[unlikely]]
    enter_slowly();
}

// While one lives, this thread keeps the tape though it gives up the interpreter's lock: others who want a Value wait,
// all else goes on.
class WithoutLock {
 public:
  WithoutLock();
  ~WithoutLock();
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

inline bool is_value(PyObject* object) {
  return Py_TYPE(object) == value_type || PyType_IsSubtype(Py_TYPE(object), value_type) != 0;
}
inline Value& value_in(PyObject* object) { return reinterpret_cast<ValueObject*>(object)->value(); }

PyObject* new_object(Value&& value);  // of a node that has none yet
PyObject* object_of(Value&& value);   // the node's own, or a new one

// A number as Python has many of them: int, float, bool, NumPy's scalars, fractions; nothing that has a length.
enum class Conversion { done, not_a_number, failed };
Conversion to_number(PyObject* object, double& number);
double need_number(PyObject* object, const char* call);  // or TypeError

// The pending C++ exception as one of Python's; gives nullptr.
PyObject* raise_as_python() noexcept;
[[noreturn]] void throw_type_error(const char* call, const char* needs, PyObject* got, const char* advice);
[[noreturn]] void throw_python_error();  // the one that is set, as a C++ exception

template <class Work> PyObject* guarded(Work work) noexcept {
  try {
    return work();
  } catch (...) {
    return raise_as_python();
  }
}
template <class Work> int guarded_int(Work work) noexcept {
  try {
    work();
    return 0;
  } catch (...) {
    raise_as_python();
    return -1;
  }
}

// Nodes whose step back is written in Python (custom_node.cpp).
Value custom_node(double data, PyObject* children, const char* name);
void set_step_back(PyObject* self, PyObject* function);

// Methods and functions of every op of the table (operators.cpp).
extern PyNumberMethods number_methods;
PyMethodDef* op_methods();
PyMethodDef* op_functions();
PyObject* compare(PyObject* x, PyObject* y, int how);

// Graphs as plain data for pickle (flat_graph.cpp).
PyObject* flatten(PyObject*, PyObject* root);
PyObject* restore(PyObject*, PyObject* arguments);

PyTypeObject* make_value_type();

}  // namespace gradwalk::python
