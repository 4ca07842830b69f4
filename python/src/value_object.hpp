// SPDX-License-Identifier: MIT
// The Python object gradwalk.Value, which contains a C++ Value, and the functions that convert between them.
//
// All threads of the interpreter share one tape, protected by the interpreter's lock. Call enter() before you touch a
// Value, and again after any call that may run Python code. A node has at most one object.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "gradwalk/tapes.hpp"

namespace gradwalk::python {

struct ValueObject {
  PyObject_HEAD              // NOLINT
      PyObject* attributes;  // the instance dict; usually null
  PyObject* weak_references;
  PyObject** slot;  // the table entry of the node, which points to this object
  alignas(Value) unsigned char place[sizeof(Value)];

  Value& value() { return *reinterpret_cast<Value*>(place); }
};

extern PyTypeObject* value_type;  // never freed
extern SharedTape* shared_tape;
inline std::size_t numbers_read = 0;  // how often Python code has read a Value's data, which leaves no trace in a graph

void enter_slowly();
inline void enter() {
  if (!shared_tape->is_here()) [[unlikely]]
    enter_slowly();
}

// Releases the interpreter's lock during its lifetime, but keeps the tape: other threads run, and wait only if they
// need a Value.
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

// The tape, for a destructor: another thread may hold the tape while it runs without the interpreter's lock.
void take_tape_to_free() noexcept;

PyObject* new_object(Value&& value);  // a new object, for a node that has none
PyObject* object_of(Value&& value);   // the object of the node, or a new one

// Converts any Python number: int, float, bool, NumPy scalars, fractions. Objects with a length are not numbers, and
// neither is a Value, whose graph would be lost.
enum class Conversion { done, not_a_number, failed };
Conversion to_number(PyObject* object, double& number);
double need_number(PyObject* object, const char* call);  // raises TypeError if it is not a number

// Returns a text of the engine with the names that Python uses.
std::string in_python(std::string text);
// Sets an Error as a Python ValueError, with the names that Python uses.
void raise_error(const Error& error) noexcept;
// Sets the current C++ exception as the Python error. Returns nullptr.
PyObject* raise_as_python() noexcept;
[[noreturn]] void throw_type_error(const char* call, const char* needs, PyObject* got, const char* advice);
[[noreturn]] void throw_python_error();  // throws the current Python error as a C++ exception

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

// Nodes with a _backward function written in Python (custom_node.cpp).
Value custom_node(double data, PyObject* children, const char* name);
void set_step_back(PyObject* self, PyObject* function);

// Methods and functions for every op of the table (operators.cpp). `other_` are those that are made of ops, or are ops
// under a name of NumPy.
extern PyNumberMethods number_methods;
PyMethodDef* op_methods();
PyMethodDef* other_methods();
PyMethodDef* op_functions();
PyMethodDef* other_functions();
PyObject* compare(PyObject* x, PyObject* y, int how);

// NumPy calls this method of Values and Conditions in place of its own loops (numpy_calls.cpp).
PyObject* array_ufunc(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords);
// Applies a function of gradwalk to each item of its array arguments, or raises `call: needs <needs>, ...`.
PyObject* of_arrays(const char* call, const char* needs, PyObject* const* arguments, Py_ssize_t count);

// The results of comparisons (condition_type.cpp).
extern PyTypeObject* condition_type;
struct ConditionObject {
  PyObject_HEAD               // NOLINT
      ConditionObject* next;  // in the list of freed objects
  alignas(Condition) unsigned char place[sizeof(Condition)];
};
inline bool is_condition(PyObject* object) { return Py_TYPE(object) == condition_type; }
inline Condition& condition_in(PyObject* object) {
  return *std::launder(reinterpret_cast<Condition*>(reinterpret_cast<ConditionObject*>(object)->place));
}
ConditionObject* take_condition();                      // an object without a Condition inside
void keep_condition(ConditionObject* object) noexcept;  // it will be taken again
// A new object with the Condition that make() returns, which is made in its place.
template <class Make> PyObject* new_condition(Make make) {
  ConditionObject* const object = take_condition();
  try {
    new (object->place) Condition(make());
  } catch (...) {
    keep_condition(object);
    throw;
  }
  return reinterpret_cast<PyObject*>(object);
}
PyTypeObject* make_condition_type();

// Conversion of graphs to plain data, for pickle (flat_graph.cpp).
PyObject* flatten(PyObject*, PyObject* root);
PyObject* restore(PyObject*, PyObject* arguments);

PyTypeObject* make_value_type();

// For tables of methods and slots.
template <class Function> PyCFunction as_method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
template <class Function> PyType_Slot slot(int number, Function* function) {
  return {number, reinterpret_cast<void*>(function)};
}

}  // namespace gradwalk::python
