// SPDX-License-Identifier: MIT
// The type gradwalk.Condition: the result of comparing Values, as in C++. Where a bool is needed it is one, and a
// recording notices the branch. select() and arithmetic record the comparison itself, as a node with the data 1 or 0.
#include <Python.h>

#include "value_object.hpp"

namespace gradwalk::python {

PyTypeObject* condition_type = nullptr;

namespace {

constexpr std::size_t most_conditions = 256;
ConditionObject* kept_conditions = nullptr;  // Most Conditions live for one branch, so freed objects are used again.
std::size_t kept_condition_count = 0;

void free_condition(PyObject* self) {
  take_tape_to_free();
  condition_in(self).~Condition();
  keep_condition(reinterpret_cast<ConditionObject*>(self));
}

// The outcome as a bool. A recording notices it.
bool outcome(PyObject* self) {
  enter();
  return static_cast<bool>(condition_in(self));
}
// Python compares by == to find things in lists and dictionaries, which decides nothing about a graph. So only a
// WatchRecording is notified of equality.
int is_true(PyObject* self) {
  const Condition& condition = condition_in(self);
  if (detail::watch == nullptr && (condition.op() == Op::equal || condition.op() == Op::not_equal))
    return static_cast<int>(condition.holds());
  bool holds = false;
  const int status = guarded_int([&] { holds = outcome(self); });
  return status != 0 ? status : static_cast<int>(holds);
}

PyObject* condition_text(PyObject* self) { return PyUnicode_FromString(condition_in(self).holds() ? "True" : "False"); }
PyObject* condition_repr(PyObject* self) {
  return PyUnicode_FromString(condition_in(self).holds() ? "Condition(True)" : "Condition(False)");
}
PyObject* outcome_as_int(PyObject* self) {
  return guarded([&] { return PyLong_FromLong(outcome(self) ? 1 : 0); });
}
PyObject* outcome_as_float(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(outcome(self) ? 1 : 0); });
}
Py_hash_t get_hash(PyObject* self) { return is_true(self); }

// Compares the outcome, as a bool does.
PyObject* compare_outcomes(PyObject* x, PyObject* y, int how) {
  return guarded([&]() -> PyObject* {
    PyObject* const first = outcome(x) ? Py_True : Py_False;
    PyObject* const second = !is_condition(y) ? y : outcome(y) ? Py_True : Py_False;
    return PyObject_RichCompare(first, second, how);
  });
}

PyObject* get_node(PyObject* self, void*) {
  return guarded([&] { return enter(), object_of(Value(condition_in(self))); });
}

// & | ^ and ~ record a Condition of the outcomes.
bool as_logical(PyObject* object, Value& value) {
  if (is_condition(object)) {
    value = Value(condition_in(object));
  } else if (is_value(object)) {
    value = not_equal(value_in(object), 0.0);
  } else if (PyBool_Check(object) != 0) {
    value = Value(object == Py_True ? 1.0 : 0.0);
  } else {
    return false;
  }
  return true;
}
template <class Join> PyObject* joined(PyObject* x, PyObject* y, Join join) {
  return guarded([&]() -> PyObject* {
    enter();
    Value first, second;
    if (!as_logical(x, first) || !as_logical(y, second)) Py_RETURN_NOTIMPLEMENTED;
    return new_condition([&] { return join(first, second) != 0.0; });
  });
}
PyObject* both(PyObject* x, PyObject* y) {
  return joined(x, y, [](const Value& a, const Value& b) { return a * b; });
}
PyObject* either(PyObject* x, PyObject* y) {
  return joined(x, y, [](const Value& a, const Value& b) { return max(a, b); });
}
PyObject* one_of(PyObject* x, PyObject* y) {
  return joined(x, y, [](const Value& a, const Value& b) { return not_equal(a, b); });
}
PyObject* inverted(PyObject* x) {
  return guarded([&] { return enter(), new_condition([&] { return Value(condition_in(x)) == 0.0; }); });
}

PyObject* refuse_call(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "Condition: needs a comparison of Values, got a call; write a < b");
  return nullptr;
}

// Reached by copy and pickle: the comparison as a bool.
PyObject* reduce_condition(PyObject* self, PyObject*) {
  return Py_BuildValue("O(O)", &PyBool_Type, condition_in(self).holds() ? Py_True : Py_False);
}

PyMethodDef condition_methods[] = {
    {"__reduce__", reduce_condition, METH_NOARGS, nullptr},
    {"__array_ufunc__", as_method(array_ufunc), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef condition_properties[] = {
    {"node", get_node, nullptr,
     "The comparison as a new node with the data 1 or 0.\n\n>>> (Value(1.0) < 2).node.data\n1.0", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

constexpr const char* about_conditions =
    "The result of comparing Values: a < b, a <= b, a > b, a >= b, a == 2.0 or a != 2.0.\n\n"
    "`if a < b:` branches on the present numbers. select(a < b, x, y) records the choice, so that recompute() and "
    "compiled programs choose again. & | ^ ~ combine Conditions; in arithmetic a Condition is 1 or 0.\n\n"
    ">>> a = Value(1.0)\n>>> small = select(a < 2, a * 10, a)\n>>> a.data = 5\n>>> recompute(small)\n>>> small.data\n"
    "5.0";

}  // namespace

ConditionObject* take_condition() {
  ConditionObject* object = kept_conditions;
  if (object != nullptr) {
    kept_conditions = object->next;
    --kept_condition_count;
    Py_INCREF(condition_type);
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(object), 1);
  } else {
    object = PyObject_New(ConditionObject, condition_type);
    if (object == nullptr) throw_python_error();
  }
  return object;
}

void keep_condition(ConditionObject* object) noexcept {
  if (kept_condition_count < most_conditions) {
    object->next = kept_conditions;
    kept_conditions = object;
    ++kept_condition_count;
  } else {
    PyObject_Free(object);
  }
  Py_DECREF(condition_type);
}

PyTypeObject* make_condition_type() {
  static PyType_Slot slots[] = {
      slot(Py_tp_new, refuse_call),
      slot(Py_tp_dealloc, free_condition),
      slot(Py_tp_repr, condition_repr),
      slot(Py_tp_str, condition_text),
      slot(Py_tp_hash, get_hash),
      slot(Py_tp_richcompare, compare_outcomes),
      {Py_tp_methods, condition_methods},
      {Py_tp_getset, condition_properties},
      {Py_tp_doc, const_cast<char*>(about_conditions)},
      slot(Py_nb_bool, is_true),
      slot(Py_nb_int, outcome_as_int),
      slot(Py_nb_index, outcome_as_int),
      slot(Py_nb_float, outcome_as_float),
      slot(Py_nb_and, both),
      slot(Py_nb_or, either),
      slot(Py_nb_xor, one_of),
      slot(Py_nb_invert, inverted),
      slot(Py_nb_add, number_methods.nb_add),
      slot(Py_nb_subtract, number_methods.nb_subtract),
      slot(Py_nb_multiply, number_methods.nb_multiply),
      slot(Py_nb_true_divide, number_methods.nb_true_divide),
      slot(Py_nb_power, number_methods.nb_power),
      slot(Py_nb_negative, number_methods.nb_negative),
      slot(Py_nb_positive, number_methods.nb_positive),
      slot(Py_nb_absolute, number_methods.nb_absolute),
      slot(Py_nb_remainder, number_methods.nb_remainder),
      slot(Py_nb_floor_divide, number_methods.nb_floor_divide),
      {0, nullptr},
  };
  static PyType_Spec spec{"gradwalk.Condition", sizeof(ConditionObject), 0, Py_TPFLAGS_DEFAULT, slots};
  auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw_python_error();
  return type;
}

}  // namespace gradwalk::python
