// SPDX-License-Identifier: MIT
// Arguments and results of bound functions, converted with the engine's own messages.
//
// define(module, "walk(root, *, rule='right')", "Returns ...", [](const Node& root, const std::string& rule) {...})
// binds a function, and define(bound, "Trainer.step(self, rows)", ...) a method. The signature is what inspect and
// help() show, and its defaults are Python literals. Every argument goes through Convert<T>, which raises a TypeError
// "walk: needs a Value for root, got str; ..." instead of pybind11's own.
#pragma once

#include <pybind11/numpy.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "gradwalk/compile.hpp"
#include "gradwalk/optim.hpp"

namespace gradwalk::python {

using Numbers = std::vector<double>;
using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;  // row after row, without gaps

inline std::span<const double> numbers_in(const Array& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

// An argument for messages: the call, and the name of the parameter. An empty name stands for the call's only argument.
struct Place {
  std::string_view call, name;
};

// Raises TypeError "<call>: needs <needs> for <name>, got <type of got>; <advice>".
[[noreturn]] void refuse(const Place& place, const std::string& needs, py::handle got, const std::string& advice);
// Describes an argument for a message: None, its type, or an array with its shape.
std::string described(py::handle object);

// ---- from Python ----

// A Value that must be one: unlike a plain Value, a number is refused.
struct Node {
  Value value;
  operator const Value&() const { return value; }  // NOLINT(google-explicit-constructor)
};
// A list of Values that must be Values, such as parameters: a number among them would not be trained.
struct Nodes {
  std::vector<Value> values;
  operator const std::vector<Value>&() const& { return values; }  // NOLINT(google-explicit-constructor)
};

Value to_value(py::handle object, const Place& place);  // a Value, a Condition or a number
Value to_node(py::handle object, const Place& place);   // a Value
std::vector<py::object> to_items(py::handle list, const Place& place, const char* needs);
std::vector<Value> to_values(py::handle list, const Place& place);
std::vector<Value> to_nodes(py::handle list, const Place& place);
double to_double(py::handle object, const Place& place);
Numbers to_numbers(py::handle list, const Place& place);  // of a list, a 1-D array or any other iterable
Array to_array(py::handle object, const Place& place);    // copies only if it must convert; refuses Values
bool to_bool(py::handle object, const Place& place);
std::string to_text(py::handle object, const Place& place);
std::uint64_t to_count(py::handle object, const Place& place, std::uint64_t most = UINT64_MAX);  // 0 or more
std::int64_t to_integer(py::handle object, const Place& place, std::int64_t least, std::int64_t most);
py::function to_function(py::handle object, const Place& place);
Precision to_precision(const std::string& name, const char* call);  // of 'float64' or 'float32'
OptimizerConfig to_config(py::handle object, const Place& place);
// A function from the number of a step to a learning rate. None is an empty one.
Schedule to_schedule(py::handle object, const Place& place);
// A dict with steps, first and second, as state_dict() returns it.
OptimizerState to_state(py::handle object, const Place& place);
py::dict dict_of(const OptimizerState& state);
void need_instance(py::handle object, const std::type_info& type, const Place& place);  // one that __init__ has made

// The primary template converts to a reference to a bound class.
template <class T> struct Convert {
  using Result = T&;
  static T& from(py::handle object, const Place& place) {
    need_instance(object, typeid(T), place);
    return py::cast<T&>(object);
  }
};
#define GRADWALK_CONVERT(type_, ...)                                                                  \
  template <> struct Convert<type_> {                                                                 \
    using Result = type_;                                                                             \
    static type_ from(py::handle object, [[maybe_unused]] const Place& place) { return __VA_ARGS__; } \
  };
GRADWALK_CONVERT(Value, to_value(object, place))
GRADWALK_CONVERT(Node, Node{to_node(object, place)})
GRADWALK_CONVERT(std::vector<Value>, to_values(object, place))
GRADWALK_CONVERT(Nodes, Nodes{to_nodes(object, place)})
GRADWALK_CONVERT(double, to_double(object, place))
GRADWALK_CONVERT(Numbers, to_numbers(object, place))
GRADWALK_CONVERT(Array, to_array(object, place))
GRADWALK_CONVERT(OptimizerConfig, to_config(object, place))
GRADWALK_CONVERT(Schedule, to_schedule(object, place))
GRADWALK_CONVERT(OptimizerState, to_state(object, place))
GRADWALK_CONVERT(bool, to_bool(object, place))
GRADWALK_CONVERT(std::string, to_text(object, place))
GRADWALK_CONVERT(std::uint64_t, to_count(object, place))
GRADWALK_CONVERT(int, static_cast<int>(to_integer(object, place, INT32_MIN, INT32_MAX)))
GRADWALK_CONVERT(py::function, to_function(object, place))
GRADWALK_CONVERT(py::object, py::reinterpret_borrow<py::object>(object))
#undef GRADWALK_CONVERT
template <class T> struct Convert<std::optional<T>> {
  using Result = std::optional<T>;
  static std::optional<T> from(py::handle object, const Place& place) {
    if (object.is_none()) return std::nullopt;
    return Convert<T>::from(object, place);
  }
};

// ---- a function's inputs and results ----

// The form of a point: one number, a list or a NumPy array. A function gets its Values in the form of the point, and
// results return in it: an array for an array, a list for a list, a number for a number.
class Form {
 public:
  // `dimensions` is the most that an array may have.
  Form(py::handle point, const Place& place, std::size_t dimensions = 32);
  // The form of one row of a table: lists for a list of lists, arrays for an array, numbers for one dimension.
  static Form of_row(py::handle table, const Array& converted);
  const Numbers& numbers() const { return numbers_; }
  bool is_one() const { return kind_ == Kind::one; }
  bool is_array() const { return kind_ == Kind::array; }

  py::object inputs(const std::vector<Value>& values) const;  // the argument of the user's function
  py::object result(const Numbers& numbers) const;            // as many numbers as the point has
  py::object shape() const;                                   // None for one number, [] for a list, else a tuple

 private:
  Form() = default;
  enum class Kind : std::uint8_t { one, list, array };
  Kind kind_ = Kind::one;
  Numbers numbers_;
  std::vector<py::ssize_t> shape_;
};
// Any other numbers of a result: a list, or an array.
py::object list_of(const Numbers& numbers, bool as_array);
py::object matrix_of(const std::vector<Numbers>& rows, bool as_array);
void bind_forms(py::module_& module);

// Whether the object is a NumPy array, or something that NumPy reads as one. Does not import NumPy.
bool is_array(py::handle object);
py::object array_of_values(const std::vector<Value>& values, const std::vector<py::ssize_t>& shape);
py::object array_of_numbers(const Numbers& numbers, const std::vector<py::ssize_t>& shape);

// The result of the user's function, or "<call>: needs a function that returns a Value, got one that returns str; ...".
Value returned_value(const py::object& returned, const char* call);
// A list, a tuple or an array of Values, or one Value.
std::vector<Value> returned_values(const py::object& returned, const char* call);

// Wrap the user's function of a point for the engine. Further arguments are passed on. Python code may let other
// threads run, so the tape is entered again.
inline auto scalar_function_of(py::function f, const Form& form, const char* call, py::tuple more = py::tuple()) {
  return [f = std::move(f), form, call, more = std::move(more)](const std::vector<Value>& inputs) {
    return returned_value(f(form.inputs(inputs), *more), call);
  };
}
inline auto vector_function_of(py::function f, const Form& form, const char* call, py::tuple more = py::tuple()) {
  return [f = std::move(f), form, call, more = std::move(more)](const std::vector<Value>& inputs) {
    return returned_values(f(form.inputs(inputs), *more), call);
  };
}

// ---- signatures ----

// The parameters of "name(a, b=1, /, c=None, *, d='x')", or of a method "Class.name(self, a)". Defaults are None, True,
// False, numbers, quoted text and (). Messages leave out the underscore of a private name.
class Signature {
 public:
  explicit Signature(const std::string& text);
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  std::size_t size() const { return parameters_.size(); }
  Place place(std::size_t i) const { return {call_, parameters_[i].name}; }
  // The argument of each parameter, or its default. Raises TypeError.
  std::vector<py::object> match(const py::args& arguments, const py::kwargs& keywords) const;

 private:
  struct Parameter {
    std::string name;
    py::object fallback;  // null: none
    bool by_position, by_name;
  };
  std::string name_, call_, text_;  // step, Trainer.step, step(self, rows)
  std::vector<Parameter> parameters_;
};

template <class F> struct CallOf : CallOf<decltype(&F::operator())> {};
template <class F, class R, class... A> struct CallOf<R (F::*)(A...) const> {
  static constexpr std::size_t count = sizeof...(A);
  static R call(const F& function, const Signature& signature, const py::args& arguments, const py::kwargs& keywords) {
    const std::vector<py::object> given = signature.match(arguments, keywords);
    return [&]<std::size_t... i>(std::index_sequence<i...>) -> R {
      std::tuple<typename Convert<std::remove_cvref_t<A>>::Result...> converted{
          Convert<std::remove_cvref_t<A>>::from(given[i], signature.place(i))...};
      enter();
      return function(static_cast<A>(std::get<i>(converted))...);
    }(std::index_sequence_for<A...>());
  }
};

// The function with checked arguments, for py::class_::def and py::init. The parameters of a signature are those of the
// function; a method's first one is self.
template <class F> auto checked(const std::string& signature, F function) {
  Signature parsed(signature);
  if (parsed.size() != CallOf<F>::count)
    throw Error("Signature", std::to_string(CallOf<F>::count) + " parameters", signature, "name each argument");
  return [parsed = std::move(parsed), function = std::move(function)](const py::args& arguments,
                                                                      const py::kwargs& keywords) {
    return CallOf<F>::call(function, parsed, arguments, keywords);
  };
}

// The docstring from which Python takes both the signature and the text.
inline std::string doc_with(const std::string& signature, const std::string& text) {
  return signature + "\n--\n\n" + text;
}

// Binds a function of a module, or a method of a class: its signature then is "Class.name(self, ...)".
template <class Scope, class F>
void define(Scope& scope, const std::string& signature, const std::string& text, F function) {
  py::options options;
  options.disable_function_signatures();
  const Signature parsed(signature);
  scope.def(parsed.name().c_str(), checked(signature, std::move(function)), doc_with(parsed.text(), text).c_str());
}
// Binds a constructor "Class(a, b=1)"; the function returns the object.
template <class Class, class F> void define_init(Class& bound, const std::string& signature, F function) {
  py::options options;
  options.disable_function_signatures();
  const std::size_t open = signature.find('(');
  const std::string more = signature.substr(open + 1);
  const std::string shown = "__init__(self" + (more == ")" ? more : ", " + more);
  bound.def(py::init(checked(signature, std::move(function))), doc_with(shown, "Makes the object.").c_str());
}
// Binds an attribute that cannot be set.
template <class Class, class Get> void property(Class& bound, const char* name, const std::string& text, Get get) {
  using Self = typename Class::type;
  const std::string call = std::string(py::str(bound.attr("__name__"))) + "." + name;
  bound.def_property_readonly(
      name,
      [get, call](const py::object& self) {
        Self& object = Convert<Self>::from(self, {call, "self"});
        enter();
        return get(object);
      },
      text.c_str());
}
// Binds a number that can be set. Its docstring shows the default.
template <class Class, class Member> void field(Class& bound, const char* name, Member member, const char* text) {
  using Self = typename Class::type;
  const std::string of = py::str(bound.attr("__name__")), call = of + "." + name;
  const std::string example = "\n\n>>> " + of + "()." + name + "\n" + std::string(py::repr(py::float_(Self{}.*member)));
  bound.def_property(
      name, [member, call](const py::object& self) { return Convert<Self>::from(self, {call, "self"}).*member; },
      [member, call](const py::object& self, const py::object& value) {
        Convert<Self>::from(self, {call, "self"}).*member = to_double(value, {call, ""});
      },
      (text + example).c_str());
}

}  // namespace gradwalk::python
