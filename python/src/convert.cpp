// SPDX-License-Identifier: MIT
// Converts arguments and results of bound functions.
#include "convert.hpp"

#include <algorithm>
#include <memory>
#include <variant>

namespace gradwalk::python {
namespace {

std::string wanted(const Place& place, const std::string& needs) {
  return place.name.empty() ? needs : needs + " for " + std::string(place.name);
}

std::string advice_for(py::handle item) {
  if (is_value(item.ptr())) return "use its .data";
  if (PyFloat_Check(item.ptr()) != 0 || PyLong_Check(item.ptr()) != 0) return "make it a Value, as in Value(2.0)";
  const bool is_list = PySequence_Check(item.ptr()) != 0 && PyUnicode_Check(item.ptr()) == 0;
  return is_list ? "give one list without lists in it" : "convert it to a float";
}

// Calls `take` with each item of a list, a tuple, an array or another iterable. The list may change meanwhile, because
// a conversion can run Python code.
template <class Take> void for_each_item(py::handle list, const Place& place, const char* needs, Take take) {
  const bool is_text = PyUnicode_Check(list.ptr()) != 0 || PyBytes_Check(list.ptr()) != 0;
  if (is_text || PyDict_Check(list.ptr()) != 0 || PyAnySet_Check(list.ptr()) != 0 || is_value(list.ptr()))
    refuse(place, needs, list, "give a list");
  const auto items = py::reinterpret_steal<py::object>(PySequence_Fast(list.ptr(), ""));
  if (!items) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw_python_error();
    PyErr_Clear();
    refuse(place, needs, list, "give a list");
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
    const auto item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(items.ptr(), i));
    if (!take(item.ptr()))
      throw py::type_error(std::string(place.call) + ": needs " + wanted(place, needs) + ", got " + described(item) +
                           " at index " + std::to_string(i) + "; " + advice_for(item));
  }
}

bool take_number(PyObject* object, double& number) {
  switch (to_number(object, number)) {
    case Conversion::done: return true;
    case Conversion::failed: throw_python_error();
    case Conversion::not_a_number: break;
  }
  return false;
}

// Takes a Value, a Condition as its node, or a number.
bool take_value(PyObject* object, Value& value) {
  double number = 0;
  const bool is_node = is_value(object) || is_condition(object);
  if (!is_node && !take_number(object, number)) return false;
  enter();
  value = is_value(object) ? value_in(object) : is_node ? Value(condition_in(object)) : Value(number);
  return true;
}

// Copies the numbers of an array of doubles with one dimension, or returns false.
bool copy_doubles(py::handle object, Numbers& numbers) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool fits = view.ndim == 1 && view.format != nullptr && std::string_view(view.format) == "d";
  if (fits) {
    numbers.resize(static_cast<std::size_t>(view.shape[0]));
    const char* at = static_cast<const char*>(view.buf);
    for (double& number : numbers) {
      number = *reinterpret_cast<const double*>(at);
      at += view.strides[0];
    }
  }
  PyBuffer_Release(&view);
  return fits;
}

py::object long_of(py::handle object, const Place& place, const char* needs) {
  if (PyIndex_Check(object.ptr()) == 0) refuse(place, needs, object, "give an int");
  auto number = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!number) throw_python_error();
  return number;
}

std::string short_text(py::handle object) {
  std::string text = py::str(py::repr(object));
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

}  // namespace

std::string described(py::handle object) {
  if (object.is_none()) return "None";
  const char* const name = Py_TYPE(object.ptr())->tp_name;
  if (std::string_view(name) != "numpy.ndarray") return name;
  return "an array of shape " + std::string(py::str(object.attr("shape")));
}

void refuse(const Place& place, const std::string& needs, py::handle got, const std::string& advice) {
  throw py::type_error(std::string(place.call) + ": needs " + wanted(place, needs) + ", got " + described(got) + "; " +
                       advice);
}

// ---- from Python ----

Value to_value(py::handle object, const Place& place) {
  Value value;
  if (!take_value(object.ptr(), value)) refuse(place, "a Value or a number", object, "convert it to a float");
  return value;
}

Value to_node(py::handle object, const Place& place) {
  if (!is_value(object.ptr())) refuse(place, "a Value", object, "give a Value, as in Value(2.0)");
  enter();
  return value_in(object.ptr());
}

std::vector<py::object> to_items(py::handle list, const Place& place, const char* needs) {
  std::vector<py::object> all;
  for_each_item(list, place, needs, [&](PyObject* item) {
    all.push_back(py::reinterpret_borrow<py::object>(item));
    return true;
  });
  return all;
}

std::vector<Value> to_values(py::handle list, const Place& place) {
  std::vector<Value> values;
  for_each_item(list, place, "a list of Values", [&](PyObject* item) {
    Value value;
    if (!take_value(item, value)) return false;
    values.push_back(std::move(value));
    return true;
  });
  return values;
}

std::vector<Value> to_nodes(py::handle list, const Place& place) {
  std::vector<Value> values;
  for_each_item(list, place, "a list of Values", [&](PyObject* item) {
    if (!is_value(item)) return false;
    enter();
    values.push_back(value_in(item));
    return true;
  });
  return values;
}

double to_double(py::handle object, const Place& place) {
  double number = 0;
  if (!take_number(object.ptr(), number))
    refuse(place, "a number", object, is_value(object.ptr()) ? "use its .data" : "convert it to a float");
  return number;
}

Numbers to_numbers(py::handle list, const Place& place) {
  Numbers numbers;
  if (copy_doubles(list, numbers)) return numbers;
  for_each_item(list, place, "a list of numbers", [&](PyObject* item) {
    double number = 0;
    if (!take_number(item, number)) return false;
    numbers.push_back(number);
    return true;
  });
  return numbers;
}

Array to_array(py::handle object, const Place& place) {
  constexpr const char* needs = "an array of numbers";
  if (Array::check_(object)) return py::reinterpret_borrow<Array>(object);
  const py::array array = py::array::ensure(object);
  if (!array) refuse(place, needs, object, "give rows that are equally long");
  const char kind = array.dtype().kind();
  if (kind == 'O') {
    for (const py::handle item : array.attr("ravel")()) {
      double number = 0;
      if (!take_number(item.ptr(), number))
        refuse(place, needs, item, is_value(item.ptr()) ? "use its .data" : "give numbers only");
    }
  } else if (std::string_view("biuf").find(kind) == std::string_view::npos) {
    refuse(place, needs, object, "give numbers only");
  }
  Array converted = Array::ensure(array);
  if (!converted) refuse(place, needs, object, "give numbers only");
  return converted;
}

bool to_bool(py::handle object, const Place& place) {
  if (PyBool_Check(object.ptr()) != 0) return object.is(py::handle(Py_True));
  if (std::string_view(Py_TYPE(object.ptr())->tp_name).starts_with("numpy.bool"))
    return PyObject_IsTrue(object.ptr()) == 1;
  refuse(place, "True or False", object, "give a bool");
}

std::string to_text(py::handle object, const Place& place) {
  if (PyUnicode_Check(object.ptr()) == 0) refuse(place, "text", object, "give a str");
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (bytes == nullptr) throw_python_error();
  return {bytes, static_cast<std::size_t>(size)};
}

std::uint64_t to_count(py::handle object, const Place& place, std::uint64_t most) {
  const py::object number = long_of(object, place, "a whole number");
  const std::uint64_t count = PyLong_AsUnsignedLongLong(number.ptr());
  const bool failed = count == UINT64_MAX && PyErr_Occurred() != nullptr;
  if (failed) PyErr_Clear();
  if (failed || count > most)
    throw Error(place.call,
                wanted(place, most == UINT64_MAX ? "a whole number of 0 or more"
                                                 : "a whole number from 0 to " + std::to_string(most)),
                short_text(number), "give one in this range");
  return count;
}

std::int64_t to_integer(py::handle object, const Place& place, std::int64_t least, std::int64_t most) {
  const py::object number = long_of(object, place, "a whole number");
  int overflow = 0;
  const std::int64_t integer = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || integer < least || integer > most)
    throw Error(place.call,
                wanted(place, "a whole number from " + std::to_string(least) + " to " + std::to_string(most)),
                short_text(number), "give one in this range");
  return integer;
}

py::function to_function(py::handle object, const Place& place) {
  if (PyCallable_Check(object.ptr()) == 0) refuse(place, "a function", object, "give a function");
  return py::reinterpret_borrow<py::function>(object);
}

Precision to_precision(const std::string& name, const char* call) {
  if (name == "float64") return Precision::float64;
  if (name == "float32") return Precision::float32;
  throw Error(call, "precision 'float64' or 'float32'", "'" + name + "'", "choose one of them");
}

OptimizerConfig to_config(py::handle object, const Place& place) {
  std::optional<OptimizerConfig> config;
  const auto take = [&]<class Rule>(const Rule&) {
    if (py::isinstance<Rule>(object)) config = Convert<Rule>::from(object, place);
  };
  for (const OptimizerConfig& known : all_optimizers) std::visit(take, known);
  if (!config) refuse(place, "an optimizer", object, "give SGD(), Adam(), AdamW(), RMSprop() or Adagrad()");
  return *config;
}

Schedule to_schedule(py::handle object, const Place& place) {
  if (object.is_none()) return {};
  return [function = std::make_shared<py::function>(to_function(object, place)),
          call = std::string(place.call)](std::uint64_t step) {
    const py::gil_scoped_acquire lock;
    return to_double((*function)(step), {call, "the result of schedule"});
  };
}

OptimizerState to_state(py::handle object, const Place& place) {
  const auto part = [&](const char* name) {
    if (PyDict_Check(object.ptr()) == 0 || PyDict_GetItemString(object.ptr(), name) == nullptr)
      refuse(place, "a dict with steps, first and second", object, "give one that state_dict() returned");
    return py::reinterpret_borrow<py::object>(PyDict_GetItemString(object.ptr(), name));
  };
  return {to_count(part("steps"), {place.call, "steps"}), to_numbers(part("first"), {place.call, "first"}),
          to_numbers(part("second"), {place.call, "second"})};
}

py::dict dict_of(const OptimizerState& state) {
  using namespace py::literals;
  return py::dict("steps"_a = state.steps, "first"_a = state.first, "second"_a = state.second);
}

void need_instance(py::handle object, const std::type_info& type, const Place& place) {
  const py::detail::type_info* const info = py::detail::get_type_info(type);
  const std::string wanted_type = info != nullptr ? info->type->tp_name : "another class";
  const std::string short_name = wanted_type.substr(wanted_type.rfind('.') + 1);
  const std::string advice = short_name == "Program" ? "compile() makes one" : "make one by its constructor";
  if (info == nullptr || PyObject_TypeCheck(object.ptr(), info->type) == 0)
    refuse(place, "a " + short_name, object, advice);
  auto* const instance = reinterpret_cast<py::detail::instance*>(object.ptr());
  if (!instance->get_value_and_holder(info).holder_constructed())
    throw py::type_error(std::string(place.call) + ": needs a " + short_name +
                         " that __init__ has made, got an empty one; " + advice);
}

// ---- a function's inputs and results ----

bool is_array(py::handle object) {
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()));
  return Py_TYPE(object.ptr()) != value_type && PyObject_HasAttrString(type, "__array__") != 0 &&
         PyObject_HasAttrString(object.ptr(), "shape") != 0;
}

Form::Form(py::handle point, const Place& place, std::size_t dimensions) {
  double number = 0;
  if (take_number(point.ptr(), number)) {
    kind_ = Kind::one;
    numbers_ = {number};
    return;
  }
  if (is_value(point.ptr())) refuse(place, "numbers", point, "use its .data");
  if (!python::is_array(point)) {
    kind_ = Kind::list;
    numbers_ = to_numbers(point, place);
    return;
  }
  kind_ = Kind::array;
  const py::object array = py::module_::import("numpy").attr("asarray")(point);
  for (const py::handle side : array.attr("shape")) shape_.push_back(py::cast<py::ssize_t>(side));
  if (shape_.size() > dimensions)
    refuse(place,
           "an array of at most " + std::to_string(dimensions) + (dimensions == 1 ? " dimension" : " dimensions"),
           array, "give it by .ravel()");
  numbers_ = to_numbers(array.attr("ravel")(), place);
}

py::object array_of_values(const std::vector<Value>& values, const std::vector<py::ssize_t>& shape) {
  const py::object numpy = py::module_::import("numpy");
  py::object array = numpy.attr("empty")(values.size(), "object");
  auto** const items = static_cast<PyObject**>(py::reinterpret_borrow<py::array>(array).mutable_data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyObject* const old = std::exchange(items[i], object_of(Value(values[i])));
    Py_XDECREF(old);
  }
  return shape.size() == 1 ? array : array.attr("reshape")(py::cast(shape));
}

py::object array_of_numbers(const Numbers& numbers, const std::vector<py::ssize_t>& shape) {
  return py::array_t<double>(shape, numbers.data());
}

py::object Form::inputs(const std::vector<Value>& values) const {
  switch (kind_) {
    case Kind::one: return py::reinterpret_steal<py::object>(object_of(Value(values.at(0))));
    case Kind::list: return py::cast(values);
    case Kind::array: break;
  }
  return array_of_values(values, shape_);
}

py::object Form::result(const Numbers& numbers) const {
  if (is_one()) return py::float_(numbers.at(0));
  return is_array() ? array_of_numbers(numbers, shape_) : py::cast(numbers);
}

py::object Form::shape() const {
  switch (kind_) {
    case Kind::one: return py::none();
    case Kind::list: return py::list();
    case Kind::array: break;
  }
  return py::tuple(py::cast(shape_));
}

Form Form::of_row(py::handle table, const Array& converted) {
  Form form;
  if (converted.ndim() == 1) return form;
  form.kind_ = python::is_array(table) ? Kind::array : Kind::list;
  form.shape_ = {converted.shape(1)};
  return form;
}

py::object list_of(const Numbers& numbers, bool as_array) {
  if (!as_array) return py::cast(numbers);
  return array_of_numbers(numbers, {static_cast<py::ssize_t>(numbers.size())});
}

py::object matrix_of(const std::vector<Numbers>& rows, bool as_array) {
  if (!as_array) return py::cast(rows);
  Numbers flat;
  for (const Numbers& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return array_of_numbers(
      flat, {static_cast<py::ssize_t>(rows.size()), static_cast<py::ssize_t>(rows.empty() ? 0 : rows[0].size())});
}

void bind_forms(py::module_& module) {
  py::class_<Form> form(module, "_Form", "The form of a point: one number, a list or an array.");
  define_init(form, "_Form(x, call, name)", [](const py::object& x, const std::string& call, const std::string& name) {
    return Form(x, {call, name});
  });
  property(form, "numbers", "The numbers of the point.", [](const Form& self) { return self.numbers(); });
  property(form, "shape", "None for one number, [] for a list, a tuple for an array.",
           [](const Form& self) { return self.shape(); });
  define(form, "_Form.values(self, values)", "Returns the Values in this form.",
         [](const Form& self, const std::vector<Value>& values) { return self.inputs(values); });
  define(form, "_Form.result(self, numbers)", "Returns the numbers in this form.",
         [](const Form& self, const Numbers& numbers) { return self.result(numbers); });
  define(
      module, "_array(x, call, name)", "Returns the numbers as an array of doubles. Refuses Values.",
      [](const py::object& x, const std::string& call, const std::string& name) { return to_array(x, {call, name}); });
  define(module, "_returned_value(returned, call)", "Returns the one Value that a function has returned.",
         [](const py::object& returned, const std::string& call) { return returned_value(returned, call.c_str()); });
}

namespace {

[[noreturn]] void refuse_returned(const char* call, const char* needs, py::handle got, const char* advice) {
  throw py::type_error(std::string(call) + ": needs a function that returns " + needs + ", got one that returns " +
                       described(got) + "; " + advice);
}

// An array with no dimensions, such as the sum of an array of Values, stands for its one item.
py::object without_dimensions(const py::object& returned) {
  if (is_value(returned.ptr()) || !is_array(returned)) return returned;
  return py::len(returned.attr("shape")) == 0 ? returned.attr("item")() : returned;
}

}  // namespace

Value returned_value(const py::object& returned, const char* call) {
  const py::object one = without_dimensions(returned);
  Value value;
  if (!take_value(one.ptr(), value))
    refuse_returned(call, "a Value", one, one.is_none() ? "write return in it" : "return one Value");
  return value;
}

std::vector<Value> returned_values(const py::object& returned, const char* call) {
  py::object list = without_dimensions(returned);
  Value value;
  if (take_value(list.ptr(), value)) return {value};
  if (is_array(list)) list = list.attr("ravel")();
  if (list.is_none() || PySequence_Check(list.ptr()) == 0 || PyUnicode_Check(list.ptr()) != 0)
    refuse_returned(call, "Values", list, list.is_none() ? "write return in it" : "return a Value or a list of Values");
  return to_values(list, {call, "the result of the function"});
}

// ---- signatures ----

namespace {

py::object literal(const std::string& text) {
  if (text == "None") return py::none();
  if (text == "True" || text == "False") return py::bool_(text == "True");
  if (text == "()") return py::tuple(0);
  if (text.front() == '\'') return py::str(text.substr(1, text.size() - 2));
  const bool is_whole = text.find_first_not_of("0123456789") == std::string::npos;
  const auto number = py::reinterpret_steal<py::object>(is_whole ? PyLong_FromString(text.c_str(), nullptr, 10)
                                                                 : PyFloat_FromString(py::str(text).ptr()));
  if (!number) throw_python_error();
  return number;
}

}  // namespace

Signature::Signature(const std::string& text) : call_(text.substr(0, text.find('('))) {
  const std::size_t dot = call_.rfind('.');
  name_ = dot == std::string::npos ? call_ : call_.substr(dot + 1);
  text_ = dot == std::string::npos ? text : text.substr(dot + 1);
  if (call_.front() == '_') call_.erase(0, 1);
  const std::size_t open = text_.find('('), close = text_.rfind(')');
  bool by_position = true;
  for (std::size_t at = open + 1; at < close;) {
    const std::size_t end = std::min(text_.find(", ", at), close);
    const std::string part = text_.substr(at, end - at);
    at = end + (end == close ? 0 : 2);
    if (part == "*") {
      by_position = false;
    } else if (part == "/") {
      for (Parameter& parameter : parameters_) parameter.by_name = false;
    } else {
      const std::size_t equals = part.find('=');
      const bool has_default = equals != std::string::npos;
      parameters_.push_back(
          {part.substr(0, equals), has_default ? literal(part.substr(equals + 1)) : py::object(), by_position, true});
    }
  }
}

namespace {
// The old name of a keyword that was renamed, or "". It works until 0.3 and warns.
std::string old_name(const std::string& name) {
  for (const char* const renamed : {"output", "target", "label", "program"})
    if (name == renamed) return name + "s";
  return "";
}
void warn_of_old_name(const std::string& call, const std::string& old, const std::string& name) {
  const std::string text =
      call + ": needs the keyword " + name + ", got " + old + ", its old name; write " + name + "=";
  if (PyErr_WarnEx(PyExc_DeprecationWarning, text.c_str(), 1) != 0) throw py::error_already_set();
}
}  // namespace

std::vector<py::object> Signature::match(const py::args& arguments, const py::kwargs& keywords) const {
  const auto refuse = [&](const std::string& needs, const std::string& got) {
    std::string how = call_ + text_.substr(text_.find('('));
    if (const std::size_t self = how.find("(self"); self != std::string::npos)
      how.erase(self + 1, how[self + 5] == ',' ? 6 : 4);
    throw py::type_error(call_ + ": needs " + needs + ", got " + got + "; call " + how);
  };
  std::vector<py::object> given(parameters_.size());
  std::size_t by_position = 0;
  for (const Parameter& parameter : parameters_) by_position += parameter.by_position ? 1 : 0;
  if (arguments.size() > by_position)
    refuse("at most " + std::to_string(by_position) + (by_position == 1 ? " argument" : " arguments") + " by position",
           std::to_string(arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) given[i] = arguments[i];
  std::size_t used = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const auto take = [&](const std::string& name) {
      if (name.empty() || !keywords.contains(name)) return false;
      if (given[i]) refuse(parameter.name + " once", "it twice");
      given[i] = keywords[name.c_str()];
      ++used;
      return true;
    };
    if (parameter.by_name && keywords.size() != 0) {
      take(parameter.name);
      if (const std::string old = old_name(parameter.name); take(old)) warn_of_old_name(call_, old, parameter.name);
    }
    if (!given[i]) given[i] = parameter.fallback;
    if (!given[i]) refuse(parameter.name, "no argument for it");
  }
  if (used != keywords.size())
    for (const auto& [name, value] : keywords) {
      const std::string text = py::str(name);
      bool is_known = false;
      for (const Parameter& parameter : parameters_)
        is_known = is_known || (parameter.by_name && (parameter.name == text || old_name(parameter.name) == text));
      if (!is_known) refuse("only arguments that it has", "'" + text + "'");
    }
  return given;
}

}  // namespace gradwalk::python
