// SPDX-License-Identifier: MIT
// Generates the operators, methods and functions of Value from the op table.
#include <string>
#include <vector>

#include "value_object.hpp"

namespace gradwalk::python {
namespace {

// Each op as a function object. Binary ops take Values and numbers.
#define GRADWALK_UNARY(name_, ...)                              \
  struct Do_##name_ {                                           \
    static constexpr Op op = Op::name_;                         \
    Value operator()(const Value& x) const { return name_(x); } \
  };
#define GRADWALK_BINARY(name_, ...)                                                                    \
  struct Do_##name_ {                                                                                  \
    static constexpr Op op = Op::name_;                                                                \
    template <class X, class Y> Value operator()(const X& x, const Y& y) const { return name_(x, y); } \
  };
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY

PyObject* not_implemented() {
  Py_INCREF(Py_NotImplemented);
  return Py_NotImplemented;
}

template <class Do> PyObject* with_number_on_the_right(PyObject* x, PyObject* y) {
  double number = 0;
  switch (to_number(y, number)) {
    case Conversion::failed: return nullptr;
    case Conversion::not_a_number: return not_implemented();
    case Conversion::done: break;
  }
  return guarded([&] { return enter(), new_object(Do()(value_in(x), number)); });
}
template <class Do> PyObject* with_number_on_the_left(PyObject* x, PyObject* y) {
  double number = 0;
  switch (to_number(x, number)) {
    case Conversion::failed: return nullptr;
    case Conversion::not_a_number: return not_implemented();
    case Conversion::done: break;
  }
  return guarded([&] { return enter(), new_object(Do()(number, value_in(y))); });
}

template <class Do> PyObject* binary(PyObject* x, PyObject* y) {
  if (!is_value(x)) return with_number_on_the_left<Do>(x, y);
  if (!is_value(y)) return with_number_on_the_right<Do>(x, y);
  return guarded([&] { return enter(), new_object(Do()(value_in(x), value_in(y))); });
}

template <class Do> PyObject* unary(PyObject* x) {
  return guarded([&] { return enter(), new_object(Do()(value_in(x))); });
}

PyObject* power(PyObject* x, PyObject* y, PyObject* modulus) {
  return modulus == Py_None ? binary<Do_pow>(x, y) : not_implemented();
}

PyObject* itself(PyObject* x) {
  Py_INCREF(x);
  return x;
}

// Each op is a method, a.max(b), and a function, max(a, b). A function of plain numbers returns a number.
template <class Do> PyObject* need_operand(PyObject* result, PyObject* y) {
  if (result != Py_NotImplemented) return result;
  Py_DECREF(result);
  return guarded(
      [&]() -> PyObject* { throw_type_error(name(Do::op).data(), "a Value or a number", y, "convert it to a float"); });
}
template <class Do> PyObject* unary_method(PyObject* x, PyObject*) { return unary<Do>(x); }
template <class Do> PyObject* binary_method(PyObject* x, PyObject* y) { return need_operand<Do>(binary<Do>(x, y), y); }

template <class Do> PyObject* unary_function(PyObject*, PyObject* x) {
  if (is_value(x)) return unary<Do>(x);
  return guarded([&] { return PyFloat_FromDouble(rules::Rule<Do::op>::value(need_number(x, name(Do::op).data()))); });
}
template <class Do> PyObject* binary_function(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  const char* const call = name(Do::op).data();
  if (count != 2) return PyErr_Format(PyExc_TypeError, "%s: needs two operands, got %zd; give x and y", call, count);
  PyObject* const x = arguments[0];
  PyObject* const y = arguments[1];
  if (is_value(x) || is_value(y)) return need_operand<Do>(binary<Do>(x, y), is_value(x) ? y : x);
  return guarded([&] {
    const double x_number = need_number(x, call), y_number = need_number(y, call);
    return PyFloat_FromDouble(rules::Rule<Do::op>::value(x_number, y_number));
  });
}

std::string rule_text(Op op) {
  const OpInfo& rule = info(op);
  std::string text = "Returns r = " + std::string(rule.value) + ". Derivative by x: " + std::string(rule.dx);
  if (rule.operands == 2) text += "; by y: " + std::string(rule.dy);
  return text + ".";
}
const char* doc_of(Op op, bool is_method) {  // allocated once and never freed, like the module
  const std::string arguments =
      info(op).operands == 2 ? (is_method ? "(self, y, /)" : "(x, y, /)") : (is_method ? "(self, /)" : "(x, /)");
  return (new std::string(std::string(name(op)) + arguments + "\n--\n\n" + rule_text(op)))->c_str();
}

template <class Function> PyCFunction as_function(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// The comparison makes a Condition, so a recording notices the branch.
template <class X, class Y> bool compare_values(const X& x, const Y& y, int how) {
  switch (how) {
    case Py_LT: return x < y;
    case Py_LE: return x <= y;
    case Py_GT: return x > y;
    default: return x >= y;
  }
}

}  // namespace

// == and != compare identity, as in micrograd.
PyObject* compare(PyObject* x, PyObject* y, int how) {
  if (how == Py_EQ || how == Py_NE) return not_implemented();
  double number = 0;
  if (!is_value(y)) {
    const Conversion conversion = to_number(y, number);
    if (conversion != Conversion::done) return conversion == Conversion::failed ? nullptr : not_implemented();
  }
  return guarded([&] {
    enter();
    return PyBool_FromLong(is_value(y) ? compare_values(value_in(x), value_in(y), how)
                                       : compare_values(value_in(x), number, how));
  });
}

PyNumberMethods number_methods = [] {
  PyNumberMethods methods{};
  methods.nb_add = binary<Do_add>;
  methods.nb_subtract = binary<Do_sub>;
  methods.nb_multiply = binary<Do_mul>;
  methods.nb_true_divide = binary<Do_div>;
  methods.nb_power = power;
  methods.nb_negative = unary<Do_neg>;
  methods.nb_positive = itself;
  methods.nb_absolute = unary<Do_abs>;
  return methods;
}();

PyMethodDef* op_methods() {
  static std::vector<PyMethodDef> methods{
#define GRADWALK_UNARY(name_, ...) {#name_, unary_method<Do_##name_>, METH_NOARGS, doc_of(Op::name_, true)},
#define GRADWALK_BINARY(name_, ...) {#name_, binary_method<Do_##name_>, METH_O, doc_of(Op::name_, true)},
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
      {nullptr, nullptr, 0, nullptr}};
  return methods.data();
}

PyMethodDef* op_functions() {
  static std::vector<PyMethodDef> functions{
#define GRADWALK_UNARY(name_, ...) {#name_, unary_function<Do_##name_>, METH_O, doc_of(Op::name_, false)},
#define GRADWALK_BINARY(name_, ...) \
  {#name_, as_function(binary_function<Do_##name_>), METH_FASTCALL, doc_of(Op::name_, false)},
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
      {nullptr, nullptr, 0, nullptr}};
  return functions.data();
}

}  // namespace gradwalk::python
