// SPDX-License-Identifier: MIT
// The module gradwalk._core: the type Value, the functions of the op table, and the functions bound by pybind11.
#include <pybind11/pybind11.h>

#include "bind.hpp"
#include "value_object.hpp"

namespace gradwalk::python {
namespace {

// The thread that forks takes the tape before the fork, because it is the only thread in the child process.
PyObject* before_fork(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    enter();
    Py_RETURN_NONE;
  });
}

PyMethodDef own_functions[] = {
    {"_flatten", flatten, METH_O, nullptr},
    {"_restore", restore, METH_VARARGS, nullptr},
    {"_before_fork", before_fork, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

void add_value(PyObject* module) {
  shared_tape = new SharedTape;  // never deleted, because Values may outlive the interpreter's threads
  shared_tape->use();
  value_type = make_value_type();
  condition_type = make_condition_type();
  if (PyModule_AddObjectRef(module, "Value", reinterpret_cast<PyObject*>(value_type)) != 0) throw_python_error();
  if (PyModule_AddObjectRef(module, "Condition", reinterpret_cast<PyObject*>(condition_type)) != 0)
    throw_python_error();
  for (PyMethodDef* functions : {op_functions(), other_functions(), own_functions})
    if (PyModule_AddFunctions(module, functions) != 0) throw_python_error();
}

// cls.__new__(cls) makes an object without a C++ object inside. pybind11 would allocate one on its first use and leave
// it uninitialized, so allocating is refused.
void refuse_empty_objects(const py::module_& module) {
  for (const auto& [name, thing] : py::dict(module.attr("__dict__")))
    if (PyType_Check(thing.ptr()) != 0)
      if (py::detail::type_info* const type = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(thing.ptr())))
        type->operator_new = [](std::size_t) -> void* {
          throw py::type_error("gradwalk: needs an object that __init__ has made, got an empty one; call its class");
        };
}

// The base of all bound classes. object.__reduce__(x), called by hand, calls it; pybind11 would end the process.
newfunc make_bound_object = nullptr;
PyObject* refuse_base(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  if (type != reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base))
    return make_bound_object(type, arguments, keywords);
  PyErr_SetString(PyExc_TypeError, "gradwalk: needs a class of the package, got their common base; call one of them");
  return nullptr;
}
void refuse_objects_of_the_base(const py::module_& module) {
  auto* const base = reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
  if (base->tp_new != refuse_base) make_bound_object = std::exchange(base->tp_new, refuse_base);
  // Python accepts cls.__new__(cls) only if the class and its base have the same function.
  for (const auto& [name, thing] : py::dict(module.attr("__dict__")))
    if (PyType_Check(thing.ptr()) != 0)
      if (auto* const type = reinterpret_cast<PyTypeObject*>(thing.ptr()); type->tp_new == make_bound_object)
        type->tp_new = refuse_base;
}

}  // namespace
}  // namespace gradwalk::python

PYBIND11_MODULE(_core, module) {
  using namespace gradwalk::python;
  add_value(module.ptr());
  pybind11::list names;
  for (const PyMethodDef* function = op_functions(); function->ml_name != nullptr; ++function)
    names.append(function->ml_name);
  module.attr("_op_names") = names;
  module.attr("__version__") = GRADWALK_VERSION;
  bind_graphs(module);
  bind_learning(module);
  bind_compile(module);
  bind_emit(module);
  bind_gpu(module);
  bind_solve(module);
  refuse_empty_objects(module);
  refuse_objects_of_the_base(module);
}
