// SPDX-License-Identifier: MIT
// Generates the operators, methods and functions of Value from the op table, and adds those that are made of its ops.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "gradwalk/choice.hpp"
#include "value_object.hpp"

namespace gradwalk::python {
namespace {

// Each op as a function object. Binary ops take Values and numbers. number() is the op of plain numbers.
#define GRADWALK_UNARY(name_, ...)                                              \
  struct Do_##name_ {                                                           \
    static constexpr const char* call = #name_;                                 \
    Value operator()(const Value& x) const { return name_(x); }                 \
    static double number(double x) { return rules::Rule<Op::name_>::value(x); } \
  };
#define GRADWALK_BINARY(name_, ...)                                                                    \
  struct Do_##name_ {                                                                                  \
    static constexpr const char* call = #name_;                                                        \
    template <class X, class Y> Value operator()(const X& x, const Y& y) const { return name_(x, y); } \
    static double number(double x, double y) { return rules::Rule<Op::name_>::value(x, y); }           \
  };
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY

// The functions that are made of ops. Those of plain numbers compute with Values too, which are freed at once.
struct OfValues {
  template <class Do, class... X> static double number_of(const X&... x) { return Do()(Value(x)...).data(); }
};
struct Do_maximum : Do_max {
  static constexpr const char* call = "maximum";
};
struct Do_minimum : Do_min {
  static constexpr const char* call = "minimum";
};
struct Do_greater {
  static constexpr const char* call = "greater";
  template <class X, class Y> Value operator()(const X& x, const Y& y) const { return less(y, x); }
  static double number(double x, double y) { return x > y ? 1 : 0; }
};
struct Do_greater_equal {
  static constexpr const char* call = "greater_equal";
  template <class X, class Y> Value operator()(const X& x, const Y& y) const { return less_equal(y, x); }
  static double number(double x, double y) { return x >= y ? 1 : 0; }
};
struct Do_silu {
  static constexpr const char* call = "silu";
  Value operator()(const Value& x) const { return x * sigmoid(x); }
  static double number(double x) { return OfValues::number_of<Do_silu>(x); }
};
// -1, 0 or 1; NaN for NaN. No gradient passes.
struct Do_sign {
  static constexpr const char* call = "sign";
  Value operator()(const Value& x) const { return select(x == x, less(0.0, x) - less(x, 0.0), stop(x)); }
  static double number(double x) { return OfValues::number_of<Do_sign>(x); }
};
// The nearest whole number; halves go to the even one, as in NumPy.
struct Do_rint {
  static constexpr const char* call = "rint";
  Value operator()(const Value& x) const { return select(abs(x - trunc(x)) == 0.5, 2 * round(0.5 * x), round(x)); }
  static double number(double x) { return std::nearbyint(x); }
};
struct Do_degrees {
  static constexpr const char* call = "degrees";
  Value operator()(const Value& x) const { return x * 57.29577951308232; }
};
struct Do_radians {
  static constexpr const char* call = "radians";
  Value operator()(const Value& x) const { return x * 0.017453292519943295; }
};
// Python's % and //: the remainder has the sign of y.
struct Do_remainder {
  static constexpr const char* call = "remainder";
  template <class X, class Y> Value operator()(const X& x, const Y& y) const {
    const Value r = fmod(x, y);
    return select(r * y < 0, r + y, r);
  }
};
struct Do_floor_divide {
  static constexpr const char* call = "floor_divide";
  template <class X, class Y> Value operator()(const X& x, const Y& y) const {
    return round((x - Do_remainder()(x, y)) / y);
  }
};

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

template <class Do> PyObject* binary(PyObject* x, PyObject* y);
// In arithmetic, a Condition is its node: 1 or 0.
PyObject* node_of(PyObject* condition) {
  return guarded([&] { return enter(), new_object(Value(condition_in(condition))); });
}
template <class Do> PyObject* with_conditions(PyObject* x, PyObject* y) {
  PyObject* const first = is_condition(x) ? node_of(x) : Py_NewRef(x);
  PyObject* const second = is_condition(y) ? node_of(y) : Py_NewRef(y);
  PyObject* const result = first != nullptr && second != nullptr ? binary<Do>(first, second) : nullptr;
  Py_XDECREF(first);
  Py_XDECREF(second);
  return result;
}

template <class Do> PyObject* binary(PyObject* x, PyObject* y) {
  const bool x_is_value = is_value(x), y_is_value = is_value(y);
  if (x_is_value && y_is_value) return guarded([&] { return enter(), new_object(Do()(value_in(x), value_in(y))); });
  if (is_condition(x) || is_condition(y)) return with_conditions<Do>(x, y);
  return y_is_value ? with_number_on_the_left<Do>(x, y) : with_number_on_the_right<Do>(x, y);
}

template <class Do> PyObject* unary(PyObject* x) {
  return guarded([&] {
    enter();
    return new_object(is_condition(x) ? Do()(Value(condition_in(x))) : Do()(value_in(x)));
  });
}

PyObject* power(PyObject* x, PyObject* y, PyObject* modulus) {
  return modulus == Py_None ? binary<Do_pow>(x, y) : not_implemented();
}

PyObject* itself(PyObject* x) { return is_condition(x) ? node_of(x) : Py_NewRef(x); }

// Each op is a method, a.max(b), and a function, max(a, b). A function of plain numbers returns a number.
constexpr const char* operand = "a Value or a number";
template <class Do> PyObject* need_operand(PyObject* result, PyObject* x, PyObject* y) {
  if (result != Py_NotImplemented) return result;
  Py_DECREF(result);
  PyObject* const both[] = {x, y};
  return of_arrays(Do::call, operand, both, 2);
}
template <class Do> PyObject* unary_method(PyObject* x, PyObject*) { return unary<Do>(x); }
template <class Do> PyObject* binary_method(PyObject* x, PyObject* y) {
  return need_operand<Do>(binary<Do>(x, y), x, y);
}
bool is_operand(PyObject* x) { return is_value(x) || is_condition(x); }

template <class Do> PyObject* unary_function(PyObject*, PyObject* x) {
  if (is_operand(x)) return unary<Do>(x);
  double number = 0;
  switch (to_number(x, number)) {
    case Conversion::done: return guarded([&] { return enter(), PyFloat_FromDouble(Do::number(number)); });
    case Conversion::failed: return nullptr;
    case Conversion::not_a_number: break;
  }
  return of_arrays(Do::call, operand, &x, 1);
}
template <class Do> PyObject* binary_function(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2)
    return PyErr_Format(PyExc_TypeError, "%s: needs two operands, got %zd; give x and y", Do::call, count);
  PyObject* const x = arguments[0];
  PyObject* const y = arguments[1];
  if (is_operand(x) || is_operand(y)) return need_operand<Do>(binary<Do>(x, y), x, y);
  std::array<double, 2> numbers{};
  for (std::size_t i = 0; i < 2; ++i) switch (to_number(arguments[i], numbers[i])) {
      case Conversion::done: break;
      case Conversion::failed: return nullptr;
      case Conversion::not_a_number: return of_arrays(Do::call, operand, arguments, 2);
    }
  return guarded([&] { return enter(), PyFloat_FromDouble(Do::number(numbers[0], numbers[1])); });
}

// ---- docstrings ----

std::string rule_text(Op op) {
  const OpInfo& rule = info(op);
  std::string text = "Returns r = " + std::string(rule.value) + ". Derivative by x: " + std::string(rule.dx);
  if (rule.operands == 2) text += "; by y: " + std::string(rule.dy);
  return text + ".";
}
std::string repr_of(double number) {
  char* const text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, nullptr);
  std::string copy = text != nullptr ? text : "";
  PyMem_Free(text);
  return copy;
}

// A docstring with its signature and an example, which is computed here. It is allocated once and never freed, like the
// module.
template <class Do> const char* doc_of(const std::string& name, const std::string& about, bool is_method) {
  constexpr bool is_binary = std::is_invocable_v<Do, const Value&, const Value&>;
  std::string signature, example;
  double x = 0.5;
  if constexpr (is_binary) {
    signature = is_method ? "($self, y, /)" : "(x, y, /)";
    example = is_method ? "Value(0.5)." + name + "(2.0)" : name + "(Value(0.5), 2.0)";
    example += "\n" + to_string(Do()(Value(x), 2.0));
  } else {
    if (std::isnan(Do()(Value(x)).data())) x = 2;  // outside the domain of acosh
    signature = is_method ? "($self, /)" : "(x, /)";
    const std::string number = repr_of(x);
    example = is_method ? "Value(" + number + ")." + name + "()" : name + "(Value(" + number + "))";
    example += "\n" + to_string(Do()(Value(x)));
  }
  return (new std::string(name + signature + "\n--\n\n" + about + "\n\n>>> " + example))->c_str();
}

template <class Do> PyMethodDef method(const char* name, const std::string& about) {
  if constexpr (std::is_invocable_v<Do, const Value&, const Value&>)
    return {name, binary_method<Do>, METH_O, doc_of<Do>(name, about, true)};
  else
    return {name, unary_method<Do>, METH_NOARGS, doc_of<Do>(name, about, true)};
}
template <class Do> PyMethodDef function(const char* name, const std::string& about) {
  if constexpr (std::is_invocable_v<Do, const Value&, const Value&>)
    return {name, as_method(binary_function<Do>), METH_FASTCALL, doc_of<Do>(name, about, false)};
  else
    return {name, unary_function<Do>, METH_O, doc_of<Do>(name, about, false)};
}

// ---- comparisons and choices ----

template <class X, class Y> Condition compare_values(const X& x, const Y& y, int how) {
  switch (how) {
    case Py_EQ: return x == y;
    case Py_NE: return x != y;
    case Py_LT: return x < y;
    case Py_LE: return x <= y;
    case Py_GT: return x > y;
    default: return x >= y;
  }
}

// An operand of select: a Value, a Condition's node or a number. Raises TypeError for anything else.
struct Choice {
  Value value;
  double number = 0;
  bool is_node = false;
  explicit Choice(PyObject* object) {
    is_node = is_operand(object);
    if (!is_node) switch (to_number(object, number)) {
        case Conversion::done: return;
        case Conversion::failed: throw_python_error();
        case Conversion::not_a_number: throw_type_error("select", operand, object, "convert it to a float");
      }
    enter();
    value = is_value(object) ? value_in(object) : Value(condition_in(object));
    number = value.data();
  }
};

PyObject* select_function(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 3)
      return PyErr_Format(PyExc_TypeError,
                          "select: needs a condition and two operands, got %zd; give condition, x and y", count);
    PyObject* const condition = arguments[0];
    enter();
    const Choice x(arguments[1]), y(arguments[2]);
    if (!is_operand(condition)) {
      const bool first = need_number(condition, "select") != 0;
      enter();
      const Choice& chosen = first ? x : y;
      if (!x.is_node && !y.is_node) return PyFloat_FromDouble(chosen.number);
      return object_of(chosen.is_node ? Value(chosen.value) : Value(chosen.number));
    }
    enter();
    const Value node = is_value(condition) ? value_in(condition) : Value(condition_in(condition));
    return new_object(
        detail::choose(node, x.is_node ? &x.value : nullptr, x.number, y.is_node ? &y.value : nullptr, y.number));
  });
}
constexpr const char* about_select =
    "select(condition, x, y, /)\n--\n\nReturns x if the condition holds (a Value: if it is not 0), else y.\n\nThe "
    "choice is recorded: recompute() and compiled programs choose again. With a bool or a number nothing is recorded, "
    "and the chosen operand is returned.\n\n>>> a = Value(3.0)\n>>> select(a < 5, a * 10, 0.0)\n"
    "Value(data=30, grad=0)";

}  // namespace

// Comparisons return a Condition. == and != of two Values compare identity, as in micrograd; with a number they compare
// the data.
PyObject* compare(PyObject* x, PyObject* y, int how) {
  const bool both = is_value(y);
  if (both && (how == Py_EQ || how == Py_NE)) return not_implemented();
  double number = 0;
  if (!both && !is_condition(y)) switch (to_number(y, number)) {
      case Conversion::done: break;
      case Conversion::failed: return nullptr;
      case Conversion::not_a_number: return not_implemented();
    }
  return guarded([&] {
    enter();
    if (both) return new_condition([&] { return compare_values(value_in(x), value_in(y), how); });
    if (is_condition(y)) return new_condition([&] { return compare_values(value_in(x), Value(condition_in(y)), how); });
    return new_condition([&] { return compare_values(value_in(x), number, how); });
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
  methods.nb_remainder = binary<Do_remainder>;
  methods.nb_floor_divide = binary<Do_floor_divide>;
  return methods;
}();

PyMethodDef* op_methods() {
  static std::vector<PyMethodDef> methods{
#define GRADWALK_UNARY(name_, ...) method<Do_##name_>(#name_, rule_text(Op::name_)),
#define GRADWALK_BINARY(name_, ...) method<Do_##name_>(#name_, rule_text(Op::name_)),
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
      {nullptr, nullptr, 0, nullptr}};
  return methods.data();
}

PyMethodDef* op_functions() {
  static std::vector<PyMethodDef> functions{
#define GRADWALK_UNARY(name_, ...) function<Do_##name_>(#name_, rule_text(Op::name_)),
#define GRADWALK_BINARY(name_, ...) function<Do_##name_>(#name_, rule_text(Op::name_)),
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
      {nullptr, nullptr, 0, nullptr}};
  return functions.data();
}

PyMethodDef* other_functions() {
  static std::vector<PyMethodDef> functions{
      function<Do_greater>("greater", "Returns a node with the data 1 if x > y, else 0."),
      function<Do_greater_equal>("greater_equal", "Returns a node with the data 1 if x >= y, else 0."),
      function<Do_maximum>("maximum", "Returns the larger of x and y, as max does."),
      function<Do_minimum>("minimum", "Returns the smaller of x and y, as min does."),
      function<Do_silu>("silu", "Returns x * sigmoid(x), which is also called swish."),
      function<Do_sign>("sign", "Returns -1, 0 or 1, the sign of x. No gradient passes."),
      {"select", as_method(select_function), METH_FASTCALL, about_select},
      {nullptr, nullptr, 0, nullptr}};
  return functions.data();
}

// NumPy calls a method on each item of an object array. These are the names of its functions.
PyMethodDef* other_methods() {
  const auto as = [](const char* op) { return "As " + std::string(op) + "(), under NumPy's name."; };
  static std::vector<PyMethodDef> methods{
      method<Do_greater>("greater", "Returns a node with the data 1 if self > y, else 0."),
      method<Do_greater_equal>("greater_equal", "Returns a node with the data 1 if self >= y, else 0."),
      method<Do_silu>("silu", "Returns self * sigmoid(self), which is also called swish."),
      method<Do_sign>("sign", "Returns -1, 0 or 1, the sign. No gradient passes."),
      method<Do_rint>("rint", "Returns the nearest whole number; halves go to the even one, as in NumPy."),
      method<Do_degrees>("degrees", "Returns an angle in radians as degrees."),
      method<Do_degrees>("rad2deg", as("degrees")),
      method<Do_radians>("radians", "Returns an angle in degrees as radians."),
      method<Do_radians>("deg2rad", as("radians")),
      method<Do_abs>("fabs", as("abs")),
      method<Do_asin>("arcsin", as("asin")),
      method<Do_acos>("arccos", as("acos")),
      method<Do_atan>("arctan", as("atan")),
      method<Do_asinh>("arcsinh", as("asinh")),
      method<Do_acosh>("arccosh", as("acosh")),
      method<Do_atanh>("arctanh", as("atanh")),
      method<Do_atan2>("arctan2", as("atan2")),
      {"conjugate", as_method(+[](PyObject* x, PyObject*) { return itself(x); }), METH_NOARGS,
       "conjugate($self, /)\n--\n\nReturns the Value itself, which is real. numpy.vdot() calls it.\n\n>>> a = "
       "Value(2.0)\n"
       ">>> a.conjugate() is a\nTrue"},
      method<Do_floor>("__floor__", "math.floor(), recorded."),
      method<Do_ceil>("__ceil__", "math.ceil(), recorded."),
      method<Do_trunc>("__trunc__", "math.trunc(), recorded."),
      {nullptr, nullptr, 0, nullptr}};
  return methods.data();
}

}  // namespace gradwalk::python
