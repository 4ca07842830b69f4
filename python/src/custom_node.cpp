// SPDX-License-Identifier: MIT
// Custom operations in micrograd's style: out = Value(data, children, name), then out._backward = a function.
//
// The tape owns the function and calls it when the backward pass visits the node. Such a function usually refers to
// `out`, and this cycle would keep the node and the function alive for ever. So the function gets a new closure cell
// for `out`, which is filled only while the function runs.
#include <memory>
#include <unordered_map>
#include <vector>

#include "gradwalk/graph.hpp"
#include "no_grad.hpp"
#include "value_object.hpp"

namespace gradwalk::python {
namespace {

struct Step {
  PyObject* function = nullptr;
  PyObject* own_cell = nullptr;  // the closure cell that refers to the node, if there is one
  std::uint64_t id = 0;
  Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step();
  void set(PyObject* new_function, PyObject* new_cell) {
    std::swap(function, new_function);
    std::swap(own_cell, new_cell);
    Py_XDECREF(new_function);
    Py_XDECREF(new_cell);
  }
};

std::unordered_map<std::uint64_t, Step*>& steps() {  // keys are the ids of nodes
  static auto* const map = new std::unordered_map<std::uint64_t, Step*>;
  return *map;
}

Step::~Step() {
  if (Py_IsInitialized() == 0) return;
  const PyGILState_STATE lock = PyGILState_Ensure();
  if (const auto found = steps().find(id); found != steps().end() && found->second == this) steps().erase(found);
  set(nullptr, nullptr);
  PyGILState_Release(lock);
}

void call(Step& step, const Value& node) {
  if (step.function == nullptr) return;
  PyObject* const self = object_of(Value(node));
  PyObject* const function = step.function;
  PyObject* const cell = step.own_cell;
  Py_INCREF(function);
  Py_XINCREF(cell);
  if (cell != nullptr) PyCell_Set(cell, self);
  PyObject* const result = PyObject_CallNoArgs(function);
  if (cell != nullptr) PyCell_Set(cell, nullptr);
  Py_XDECREF(cell);
  Py_DECREF(function);
  Py_DECREF(self);
  enter();
  if (result == nullptr) throw_python_error();
  Py_DECREF(result);
}

// Copies the function, with a new closure cell in place of the one that refers to `self`. Returns nullptr if no cell
// refers to `self`.
PyObject* without_itself(PyObject* function, PyObject* self, PyObject*& own_cell) {
  if (!PyFunction_Check(function)) return nullptr;
  PyObject* const closure = PyFunction_GET_CLOSURE(function);
  if (closure == nullptr) return nullptr;
  const Py_ssize_t size = PyTuple_GET_SIZE(closure);
  Py_ssize_t own = 0;
  while (own < size && PyCell_GET(PyTuple_GET_ITEM(closure, own)) != self) ++own;
  if (own == size) return nullptr;

  PyObject* const copy = PyFunction_New(PyFunction_GET_CODE(function), PyFunction_GET_GLOBALS(function));
  PyObject* const cells = copy != nullptr ? PyTuple_GetSlice(closure, 0, size) : nullptr;
  PyObject* const fresh = cells != nullptr ? PyTuple_New(size) : nullptr;
  own_cell = fresh != nullptr ? PyCell_New(nullptr) : nullptr;
  if (own_cell == nullptr) throw_python_error();
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* const cell = i == own ? own_cell : PyTuple_GET_ITEM(cells, i);
    Py_INCREF(cell);
    PyTuple_SET_ITEM(fresh, i, cell);
  }
  Py_DECREF(cells);
  PyFunction_SetClosure(copy, fresh);
  Py_DECREF(fresh);
  if (PyObject* const defaults = PyFunction_GET_DEFAULTS(function)) PyFunction_SetDefaults(copy, defaults);
  return copy;
}

}  // namespace

Value custom_node(double data, PyObject* children, const char* name) {
  PyObject* const items = PySequence_Fast(children, "Value: needs children in a tuple, list or set");
  if (items == nullptr) throw_python_error();
  struct Release {
    PyObject* object;
    ~Release() { Py_DECREF(object); }
  } const release{items};
  enter();
  std::vector<Value> inputs;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i) {
    PyObject* const child = PySequence_Fast_GET_ITEM(items, i);
    if (!is_value(child))
      throw_type_error("Value", "children that are Values", child, "wrap the number, as in Value(2)");
    inputs.push_back(value_in(child));
  }
  if (inputs.empty()) return {data};
  const auto step = std::make_shared<Step>();
  Value node = custom(data, inputs, [step](const Value& visited) { call(*step, visited); }, name);
  if (node.op() != Op::custom) return node;  // inside no_grad nothing is recorded
  step->id = node.id();
  steps()[step->id] = step.get();
  return node;
}

void set_step_back(PyObject* self, PyObject* function) {
  enter();
  const auto found = steps().find(value_in(self).id());
  if (found == steps().end() && no_grad_blocks > 0 && value_in(self).op() == Op::leaf)
    return;  // made inside no_grad, so no backward pass reaches it
  if (found == steps().end()) {
    PyErr_SetString(PyExc_ValueError,
                    "_backward: needs a node made by Value(data, children, op), got another node; leave it to its "
                    "own operation");
    throw_python_error();
  }
  if (PyCallable_Check(function) == 0)
    throw_type_error("_backward", "a function", function, "give a function without arguments");
  PyObject* cell = nullptr;
  PyObject* own = without_itself(function, self, cell);
  if (own == nullptr) {
    Py_INCREF(function);
    own = function;
  }
  found->second->set(own, cell);
}

}  // namespace gradwalk::python
