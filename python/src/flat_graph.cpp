// SPDX-License-Identifier: MIT
// Converts a graph to a few flat pieces and back, for pickle and deepcopy. The pieces are not nested, so there is no
// limit to the depth of a graph.
//
// Leaves stay Python objects, so that other objects in the same pickle, such as a model, share them with the graph.
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "gradwalk/graph.hpp"
#include "value_object.hpp"

namespace gradwalk::python {
namespace {

struct FlatNode {  // 40 bytes, the same on all machines of one byte order
  double data, grad;
  std::int32_t operands[3];  // indices of nodes; -1: none
  std::int32_t leaf;         // index in the list of leaves; -1: not a leaf
  std::int32_t op;           // index in the list of op names
  std::int32_t padding;
};
static_assert(sizeof(FlatNode) == 40);

using Operand = std::variant<double, Value>;

Value choose(const Operand& c, const Operand& x, const Operand& y) {
  return std::visit(
      [&](const auto& a, const auto& b) -> Value {
        return select(std::holds_alternative<Value>(c) ? std::get<Value>(c) : Value(std::get<double>(c)), a, b);
      },
      x, y);
}

// Applies an op of the table by its name.
Value apply_op(std::string_view op, const std::array<Operand, 3>& operands) {
#define GRADWALK_UNARY(name_, ...) \
  if (op == #name_) return name_(std::get<Value>(operands[0]));
#define GRADWALK_BINARY(name_, ...)                                                                              \
  if (op == #name_) {                                                                                            \
    if (const auto* const x = std::get_if<double>(&operands[0])) return name_(*x, std::get<Value>(operands[1])); \
    if (const auto* const y = std::get_if<double>(&operands[1])) return name_(std::get<Value>(operands[0]), *y); \
    return name_(std::get<Value>(operands[0]), std::get<Value>(operands[1]));                                    \
  }
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
  if (op == name(Op::select)) return choose(operands[0], operands[1], operands[2]);
  throw Error("unpickle", "an operation of this version", "'" + std::string(op) + "'",
              "load it with the version of gradwalk that saved it");
}

void set_item(PyObject* list, PyObject* item) {
  const int status = item == nullptr ? -1 : PyList_Append(list, item);
  Py_XDECREF(item);
  if (status != 0) throw_python_error();
}

}  // namespace

// Returns (leaves, names of ops, bytes of nodes, labels), the arguments of restore().
PyObject* flatten(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    if (!is_value(object)) throw_type_error("flatten", "a Value", object, "give a Value");
    enter();
    const std::vector<Value> order = topological_order(value_in(object));
    std::unordered_map<std::uint64_t, std::int32_t> places;
    std::unordered_map<Op, std::int32_t> ops;
    std::vector<FlatNode> nodes;
    std::vector<Op> used;
    PyObject* const leaves = PyList_New(0);
    PyObject* const labels = PyDict_New();
    if (leaves == nullptr || labels == nullptr) throw_python_error();
    for (const Value& node : order) {
      const Op op = node.op();
      if (op == Op::custom)
        throw Error("pickle", "a graph without custom nodes", "the custom node '" + std::string(node.op_name()) + "'",
                    "save its leaves, and build the graph again");
      if (op == Op::pick)
        throw Error("pickle", "a graph without look-ups", "a pick", "save its leaves, and build the graph again");
      const auto place = static_cast<std::int32_t>(nodes.size());
      places.emplace(node.id(), place);
      const auto [name_of_op, is_new] = ops.emplace(op, static_cast<std::int32_t>(used.size()));
      if (is_new) used.push_back(op);
      FlatNode flat{node.data(), node.grad(), {-1, -1, -1}, -1, name_of_op->second, 0};
      std::size_t i = 0;
      for (const Value& input : node.inputs()) flat.operands[i++] = places.at(input.id());
      if (op == Op::leaf) {
        flat.leaf = static_cast<std::int32_t>(PyList_GET_SIZE(leaves));
        set_item(leaves, object_of(Value(node)));
      } else if (const std::string label = node.label(); !label.empty()) {
        PyObject* const key = PyLong_FromLong(place);
        PyObject* const text = PyUnicode_FromStringAndSize(label.data(), static_cast<Py_ssize_t>(label.size()));
        PyDict_SetItem(labels, key, text);
        Py_XDECREF(key);
        Py_XDECREF(text);
      }
      nodes.push_back(flat);
    }
    PyObject* const names = PyList_New(0);
    for (const Op op : used)
      set_item(names, PyUnicode_FromStringAndSize(name(op).data(), static_cast<Py_ssize_t>(name(op).size())));
    return Py_BuildValue("(NNy#N)", leaves, names, reinterpret_cast<const char*>(nodes.data()),
                         static_cast<Py_ssize_t>(nodes.size() * sizeof(FlatNode)), labels);
  });
}

PyObject* restore(PyObject*, PyObject* arguments) {
  PyObject *leaves = nullptr, *names = nullptr, *labels = nullptr;
  const char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (PyArg_ParseTuple(arguments, "O!O!y#O!", &PyList_Type, &leaves, &PyList_Type, &names, &bytes, &size, &PyDict_Type,
                       &labels) == 0)
    return nullptr;
  return guarded([&]() -> PyObject* {
    enter();
    const auto damaged = [] { return Error("unpickle", "a graph", "damaged data", "save it again"); };
    std::vector<FlatNode> nodes(static_cast<std::size_t>(size) / sizeof(FlatNode));
    if (nodes.empty()) throw damaged();
    std::memcpy(nodes.data(), bytes, nodes.size() * sizeof(FlatNode));
    std::vector<std::string> ops;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
      const char* const text = PyUnicode_AsUTF8(PyList_GET_ITEM(names, i));
      if (text == nullptr) throw_python_error();
      ops.emplace_back(text);
    }
    std::vector<Operand> restored;
    restored.reserve(nodes.size());
    for (const FlatNode& node : nodes) {
      if (node.op < 0 || static_cast<std::size_t>(node.op) >= ops.size()) throw damaged();
      const std::string& op = ops[static_cast<std::size_t>(node.op)];
      if (op == name(Op::leaf)) {
        if (node.leaf < 0 || node.leaf >= PyList_GET_SIZE(leaves) || !is_value(PyList_GET_ITEM(leaves, node.leaf)))
          throw damaged();
        restored.emplace_back(value_in(PyList_GET_ITEM(leaves, node.leaf)));
        continue;
      }
      if (op == name(Op::constant)) {
        restored.emplace_back(node.data);
        continue;
      }
      std::array<Operand, 3> operands{0.0, 0.0, 0.0};
      for (std::size_t i = 0; i < 3 && node.operands[i] >= 0; ++i) {
        if (static_cast<std::size_t>(node.operands[i]) >= restored.size()) throw damaged();
        operands[i] = restored[static_cast<std::size_t>(node.operands[i])];
      }
      Value value = apply_op(op, operands);
      // Write data and grad only if they differ, because writing to an inner node makes it slower.
      if (const double data = std::as_const(value).data();
          data != node.data && (data == data || node.data == node.data))
        value.data() = node.data;
      if (node.grad != 0) value.grad() = node.grad;
      restored.emplace_back(std::move(value));
    }
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *text = nullptr;
    while (PyDict_Next(labels, &at, &key, &text) != 0) {
      const long place = PyLong_AsLong(key);
      const char* const label = PyUnicode_AsUTF8(text);
      if (label == nullptr || place < 0 || static_cast<std::size_t>(place) >= restored.size()) throw damaged();
      if (auto* const node = std::get_if<Value>(&restored[static_cast<std::size_t>(place)])) node->label(label);
    }
    if (!std::holds_alternative<Value>(restored.back())) throw damaged();
    return object_of(std::move(std::get<Value>(restored.back())));
  });
}

}  // namespace gradwalk::python
