// SPDX-License-Identifier: MIT
// The type gradwalk.Value, written with the C API of CPython for speed. It has the attributes of micrograd's Value,
// under the same names.
#include <Python.h>
#include <structmember.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "gradwalk/graph.hpp"
#include "objects.hpp"
#include "value_object.hpp"

namespace gradwalk::python {
namespace {

ValueObject* as_object(PyObject* self) { return reinterpret_cast<ValueObject*>(self); }
bool is_exact(PyObject* self) { return Py_TYPE(self) == value_type; }
PyObject* text(std::string_view text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

// ---- construction ----

struct Arguments {
  PyObject *data = nullptr, *children = nullptr, *op = nullptr, *label = nullptr;
};
constexpr std::array<const char*, 4> argument_names{"data", "_children", "_op", "label"};

const char* utf8(PyObject* object, const char* call) {
  if (!PyUnicode_Check(object)) throw_type_error(call, "text", object, "give a str");
  const char* const bytes = PyUnicode_AsUTF8(object);
  if (bytes == nullptr) throw_python_error();
  return bytes;
}

bool has_children(PyObject* children) {
  if (children == nullptr) return false;
  const int answer = PyObject_IsTrue(children);
  if (answer < 0) throw_python_error();
  return answer == 1;
}

Value make(const Arguments& arguments) {
  const double data = need_number(arguments.data, "Value");
  const char* const op = arguments.op != nullptr ? utf8(arguments.op, "Value") : "";
  enter();
  Value value = has_children(arguments.children) ? custom_node(data, arguments.children, op) : Value(data);
  if (arguments.label != nullptr)
    if (const char* const label = utf8(arguments.label, "label"); *label != '\0') value.label(label);
  return value;
}

PyObject* new_value(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] { return enter(), new_object_of(type, Value(0.0)); });
}

int init(PyObject* self, PyObject* arguments, PyObject* keywords) {
  Arguments given;
  std::array<char*, 5> names{};
  for (std::size_t i = 0; i < argument_names.size(); ++i) names[i] = const_cast<char*>(argument_names[i]);
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|OOO:Value", names.data(), &given.data, &given.children,
                                  &given.op, &given.label) == 0)
    return -1;
  return guarded_int([&] { refill(as_object(self), make(given)); });
}

// A fast path for Value(2.0): it needs no tuple of arguments, and no empty object to fill.
PyObject* call_type(PyObject* type, PyObject* const* arguments, std::size_t flagged_count, PyObject* keywords) {
  const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
  if (keywords == nullptr && count == 1) return guarded([&] { return new_object(make({.data = arguments[0]})); });
  PyObject* const tuple = PyTuple_New(count);
  PyObject* const named = keywords != nullptr ? PyDict_New() : nullptr;
  if (tuple == nullptr || (keywords != nullptr && named == nullptr)) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(arguments[i]);
    PyTuple_SET_ITEM(tuple, i, arguments[i]);
  }
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_GET_SIZE(keywords); ++i)
    PyDict_SetItem(named, PyTuple_GET_ITEM(keywords, i), arguments[count + i]);
  PyObject* object = new_value(reinterpret_cast<PyTypeObject*>(type), nullptr, nullptr);
  if (object != nullptr && init(object, tuple, named) != 0) Py_CLEAR(object);
  Py_DECREF(tuple);
  Py_XDECREF(named);
  return object;
}

// ---- lifetime ----

// The garbage collector tracks an object from its first attribute on, and an object of a subclass from the start.
void track(PyObject* self) {
  if (as_object(self)->attributes != nullptr && PyObject_GC_IsTracked(self) == 0) PyObject_GC_Track(self);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  const int status = PyObject_GenericSetAttr(self, name, value);
  track(self);
  return status;
}

PyObject* get_dict(PyObject* self, void* context) {
  PyObject* const dict = PyObject_GenericGetDict(self, context);
  track(self);
  return dict;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_object(self)->attributes);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(as_object(self)->attributes);
  return 0;
}

void deallocate(PyObject* self) {
  ValueObject* const object = as_object(self);
  if (!is_exact(self) || object->attributes != nullptr) PyObject_GC_UnTrack(self);
  if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object->attributes);
  empty(object);
  free_object(self);
}

// ---- data, grad and label ----

PyObject* get_data(PyObject* self, void*) {
  ++numbers_read;
  return guarded([&] { return enter(), PyFloat_FromDouble(std::as_const(value_in(self)).data()); });
}
PyObject* get_grad(PyObject* self, void*) {
  return guarded([&] { return enter(), PyFloat_FromDouble(std::as_const(value_in(self)).grad()); });
}
double number_to_set(PyObject* value, const char* name) {
  if (value == nullptr) throw Error(name, "a number", "del", "set it to 0");
  return need_number(value, name);
}
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    const double number = number_to_set(value, "data");
    enter();
    value_in(self).data() = number;
  });
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    const double number = number_to_set(value, "grad");
    enter();
    value_in(self).grad() = number;
  });
}
PyObject* get_label(PyObject* self, void*) {
  return guarded([&] { return enter(), text(value_in(self).label()); });
}
int set_label(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    if (value == nullptr) throw Error("label", "text", "del", "set it to ''");
    const char* const label = utf8(value, "label");
    enter();
    value_in(self).label(label);
  });
}
PyObject* get_repr(PyObject* self) {
  return guarded([&] { return enter(), text(to_string(value_in(self))); });
}

// ---- the graph ----

// A constant exponent is part of the op in micrograd, as in **3, and not a child.
bool has_exponent(const Value& value, const std::vector<Value>& inputs) {
  return value.op() == Op::pow && inputs[1].op() == Op::constant;
}

PyObject* get_op(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    enter();
    const Value& value = value_in(self);
    if (value.op() == Op::relu) return text("ReLU");
    if (value.op() != Op::pow) return text(value.op_name());
    const std::vector<Value> inputs = value.inputs();
    if (!has_exponent(value, inputs)) return text(value.op_name());
    const double exponent = inputs[1].data();
    if (std::floor(exponent) == exponent && std::abs(exponent) < 1e15)
      return PyUnicode_FromFormat("**%lld", static_cast<long long>(exponent));
    PyObject* const number = PyFloat_FromDouble(exponent);
    PyObject* const shown = number != nullptr ? PyUnicode_FromFormat("**%R", number) : nullptr;
    Py_XDECREF(number);
    return shown;
  });
}

PyObject* get_prev(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    enter();
    std::vector<Value> inputs = value_in(self).inputs();
    if (has_exponent(value_in(self), inputs)) inputs.pop_back();
    PyObject* const set = PySet_New(nullptr);
    if (set == nullptr) return nullptr;
    for (Value& input : inputs) {
      PyObject* const object = object_of(std::move(input));
      const int status = PySet_Add(set, object);
      Py_DECREF(object);
      if (status != 0) throw_python_error();
    }
    return set;
  });
}

PyObject* get_inputs(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    enter();
    std::vector<Value> inputs = value_in(self).inputs();
    PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(inputs.size()));
    if (tuple == nullptr) return nullptr;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), object_of(std::move(inputs[i])));
    return tuple;
  });
}

// ---- the backward pass ----

PyObject* backward(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count > 1)
      return PyErr_Format(PyExc_TypeError, "backward: needs at most one argument, the seed, got %zd; give one number",
                          count);
    const double seed = count == 1 ? need_number(arguments[0], "backward") : 1.0;
    enter();
    value_in(self).backward(seed);
    Py_RETURN_NONE;
  });
}

PyObject* propagate(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    enter();
    value_in(self).propagate();
    Py_RETURN_NONE;
  });
}

PyObject* get_step_back(PyObject* self, void*) { return PyObject_GetAttrString(self, "propagate"); }
int set_step_back_of(PyObject* self, PyObject* function, void*) {
  return guarded_int([&] {
    if (function == nullptr) throw Error("_backward", "a function", "del", "set it to lambda: None");
    set_step_back(self, function);
  });
}

PyObject* detach(PyObject* self, PyObject*) {
  return guarded([&] { return enter(), object_of(value_in(self).detach()); });
}

// ---- numbers ----

// The data as a plain number. While a function is recorded for compile(), a recording notices that it leaves the graph.
double number_that_leaves(PyObject* self) {
  enter();
  return static_cast<double>(value_in(self));
}
PyObject* to_float(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(number_that_leaves(self)); });
}
PyObject* to_int(PyObject* self) {
  return guarded([&] { return PyLong_FromDouble(number_that_leaves(self)); });
}
PyObject* item(PyObject* self, PyObject*) { return to_float(self); }
int is_not_zero(PyObject* self) {
  bool holds = false;
  const int status = guarded_int([&] {
    enter();
    holds = static_cast<bool>(value_in(self) != 0.0);
  });
  return status != 0 ? status : static_cast<int>(holds);
}

PyObject* round_to(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count > 1)
    return PyErr_Format(PyExc_TypeError, "round: needs a number of digits, got %zd arguments; give one", count);
  PyObject* const number = to_float(self);
  if (number == nullptr) return nullptr;
  PyObject* const rounded =
      PyObject_CallMethod(number, "__round__", count == 1 ? "(O)" : "()", count == 1 ? arguments[0] : nullptr);
  Py_DECREF(number);
  return rounded;
}

// Formatting is for people, so a recording does not count it as a number that leaves the graph.
PyObject* format(PyObject* self, PyObject* how) {
  if (PyUnicode_Check(how) == 0)
    return guarded([&]() -> PyObject* { throw_type_error("format", "text", how, "give a str, as in '.3f'"); });
  if (PyUnicode_GET_LENGTH(how) == 0) return PyObject_Str(self);
  PyObject* const number = get_data(self, nullptr);
  PyObject* const shown = number != nullptr ? PyObject_Format(number, how) : nullptr;
  Py_XDECREF(number);
  return shown;
}

// ---- pickle and copy ----

PyObject* attributes_or_none(PyObject* self) {
  PyObject* const attributes = as_object(self)->attributes;
  return attributes != nullptr ? attributes : Py_None;
}

PyObject* reduce_leaf(PyObject* self) {
  PyObject* const copyreg = PyImport_ImportModule("copyreg");
  PyObject* const make_new = copyreg != nullptr ? PyObject_GetAttrString(copyreg, "__newobj__") : nullptr;
  Py_XDECREF(copyreg);
  if (make_new == nullptr) return nullptr;
  const Value& value = value_in(self);
  return Py_BuildValue("N(O)(ddNO)", make_new, Py_TYPE(self), value.data(), value.grad(), text(value.label()),
                       attributes_or_none(self));
}

PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    enter();
    const Op op = value_in(self).op();
    if (op == Op::leaf || op == Op::constant) return reduce_leaf(self);
    PyObject* const module = PyImport_ImportModule("gradwalk._core");
    PyObject* const make_again = module != nullptr ? PyObject_GetAttrString(module, "_restore") : nullptr;
    Py_XDECREF(module);
    PyObject* const flat = make_again != nullptr ? flatten(nullptr, self) : nullptr;
    if (flat == nullptr) {
      Py_XDECREF(make_again);
      return nullptr;
    }
    if (as_object(self)->attributes == nullptr) return Py_BuildValue("NN", make_again, flat);
    return Py_BuildValue("NNO", make_again, flat, as_object(self)->attributes);
  });
}

PyObject* set_state(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    PyObject* attributes = state;
    if (PyTuple_Check(state)) {
      double data = 0, grad = 0;
      const char* label = nullptr;
      if (PyArg_ParseTuple(state, "ddsO", &data, &grad, &label, &attributes) == 0) return nullptr;
      enter();
      Value& value = value_in(self);
      value.data() = data;
      value.grad() = grad;
      if (*label != '\0') value.label(label);
    }
    if (attributes != Py_None) {
      if (PyDict_Check(attributes) == 0)
        throw_type_error("__setstate__", "a dict of attributes", attributes, "leave the call to pickle");
      PyObject* const own = get_dict(self, nullptr);
      const int status = own != nullptr ? PyDict_Update(own, attributes) : -1;
      Py_XDECREF(own);
      if (status != 0) return nullptr;
    }
    Py_RETURN_NONE;
  });
}

// ---- the type ----

std::vector<PyMethodDef> all_methods() {
  std::vector<PyMethodDef> methods{
      {"backward", as_method(backward), METH_FASTCALL,
       "backward($self, seed=1.0, /)\n--\n\nComputes the derivative of this Value with respect to each node below "
       "it.\n\n"
       "The gradients of leaves accumulate. seed is the gradient of this Value itself.\n\n>>> a = Value(3.0)\n>>> (a * "
       "a).backward()\n>>> a.grad\n6.0"},
      {"propagate", propagate, METH_NOARGS,
       "propagate($self, /)\n--\n\nAdds this node's gradient times each local derivative to the gradient of its "
       "inputs.\n\n"
       "It is one step of the backward pass, like micrograd's _backward().\n\n>>> a = Value(3.0)\n>>> b = a * 2\n>>> "
       "b.grad = 1\n>>> b.propagate()\n>>> a.grad\n2.0"},
      {"detach", detach, METH_NOARGS,
       "detach($self, /)\n--\n\nReturns a leaf with the same data and no graph below it.\n\n>>> (Value(3.0) * "
       "2).detach()\n"
       "Value(data=6, grad=0)"},
      {"item", item, METH_NOARGS,
       "item($self, /)\n--\n\nReturns the data as a float, as float() does.\n\n>>> (Value(3.0) * 2).item()\n6.0"},
      {"__round__", as_method(round_to), METH_FASTCALL,
       "__round__($self, ndigits=None, /)\n--\n\nReturns the data, rounded: a float, or an int without digits.\n\n"
       ">>> import builtins\n>>> builtins.round(Value(3.14159), 2)\n3.14"},
      {"__format__", format, METH_O,
       "__format__($self, spec, /)\n--\n\nFormats the data.\n\n>>> f\"{Value(3.14159):.2f}\"\n'3.14'"},
      {"__array_ufunc__", as_method(array_ufunc), METH_FASTCALL | METH_KEYWORDS,
       "__array_ufunc__($self, ufunc, method, /, *inputs, **keywords)\n--\n\nRecords the operation that a function of "
       "NumPy stands for."},
      {"__reduce__", reduce, METH_NOARGS, nullptr},
      {"__setstate__", set_state, METH_O, nullptr},
  };
  for (const PyMethodDef* method = op_methods(); method->ml_name != nullptr; ++method) methods.push_back(*method);
  for (const PyMethodDef* method = other_methods();; ++method) {
    methods.push_back(*method);
    if (method->ml_name == nullptr) return methods;
  }
}

PyGetSetDef properties[] = {
    {"data", get_data, set_data, "The number.\n\n>>> (Value(2.0) * 3).data\n6.0", nullptr},
    {"grad", get_grad, set_grad,
     "The gradient, as backward() computed it.\n\n>>> a = Value(2.0)\n>>> (a * 3).backward()\n>>> a.grad\n3.0",
     nullptr},
    {"label", get_label, set_label, "A name for drawings and messages.\n\n>>> Value(2.0, label='a').label\n'a'",
     nullptr},
    {"inputs", get_inputs, nullptr,
     "The operands, in order. a * a has two.\n\n>>> (Value(2.0) * 3).inputs\n(Value(data=2, grad=0), Value(data=3, "
     "grad=0))",
     nullptr},
    {"_prev", get_prev, nullptr,
     "The operands as a set, as in micrograd.\n\n>>> a = Value(2.0)\n>>> (a * a)._prev == {a}\nTrue", nullptr},
    {"_op", get_op, nullptr,
     "The operation as micrograd writes it: '+', '**2', 'ReLU'. '' for a leaf.\n\n>>> (Value(2.0) ** 3)._op\n'**3'",
     nullptr},
    {"_backward", get_step_back, set_step_back_of,
     "The node's step of the backward pass. You can set it on nodes that you made with children.\n\n>>> a = "
     "Value(2.0)\n>>> b = a * 3\n>>> b.grad = 1\n>>> b._backward()\n>>> a.grad\n3.0",
     nullptr},
    {"__dict__", get_dict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef offsets[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(ValueObject, attributes), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ValueObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr const char* description =
    "Value(data, _children=(), _op='', label='')\n--\n\nA number with a gradient, and the operation that computed "
    "it.\n\n"
    ">>> a, b = Value(2.0, label='a'), Value(-3.0, label='b')\n>>> c = a * b + a\n>>> c.backward()\n"
    ">>> a.grad, b.grad\n(-2.0, 2.0)";

}  // namespace

PyTypeObject* make_value_type() {
  static std::vector<PyMethodDef> methods = all_methods();
  static std::vector<PyType_Slot> slots{
      slot(Py_tp_new, new_value),
      slot(Py_tp_init, init),
      slot(Py_tp_dealloc, deallocate),
      slot(Py_tp_traverse, traverse),
      slot(Py_tp_clear, clear),
      slot(Py_tp_setattro, set_attribute),
      slot(Py_tp_repr, get_repr),
      slot(Py_tp_richcompare, compare),
      {Py_tp_hash, reinterpret_cast<void*>(PyBaseObject_Type.tp_hash)},
      {Py_tp_methods, methods.data()},
      {Py_tp_getset, properties},
      {Py_tp_members, offsets},
      {Py_tp_doc, const_cast<char*>(description)},
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
      slot(Py_nb_bool, is_not_zero),
      slot(Py_nb_float, to_float),
      slot(Py_nb_int, to_int),
      {0, nullptr},
  };
  PyType_Spec spec{"gradwalk.Value", sizeof(ValueObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) throw_python_error();
  type->tp_vectorcall = call_type;
  return type;
}

}  // namespace gradwalk::python
