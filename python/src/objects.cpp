// SPDX-License-Identifier: MIT
// Allocates and frees Value objects. A node has at most one object, which is found by the node's position on the tape.
// All threads of the interpreter share one tape.
//
// - A node has at least four words, so its position divided by four is unique. It indexes a table of slots.
// - Most objects live for one operation, so freed objects are kept in a list and used again.
// - An object without user-defined attributes refers to no other object, so the garbage collector does not track it.
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include "objects.hpp"
#include "value_object.hpp"

namespace gradwalk::python {

PyTypeObject* value_type = nullptr;
SharedTape* shared_tape = nullptr;

namespace {

constexpr std::size_t slots_in_page = 2048, most_kept = 4096;
std::array<PyObject**, (std::size_t{1} << 30) / slots_in_page> pages;  // slots by position, allocated on demand

ValueObject* kept = nullptr;  // freed objects for reuse, linked through `attributes`
std::size_t kept_count = 0;

bool is_lent = false;  // whether a thread has released the interpreter's lock but still uses the tape
std::mutex lent_tape;  // held by that thread

PyObject** slot_of(const Value& value) {
  const std::size_t index = static_cast<std::uint32_t>(value.id()) / 4;
  PyObject**& page = pages[index / slots_in_page];
  if (page == nullptr) [[unlikely]] {
    page = static_cast<PyObject**>(std::calloc(slots_in_page, sizeof(PyObject*)));
    if (page == nullptr) throw std::bad_alloc();
  }
  return page + index % slots_in_page;
}

ValueObject* take_object() {
  if (kept == nullptr) [[unlikely]] {
    ValueObject* const object = PyObject_GC_New(ValueObject, value_type);
    if (object == nullptr) throw_python_error();
    return object;
  }
  ValueObject* const object = kept;
  kept = reinterpret_cast<ValueObject*>(object->attributes);
  --kept_count;
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(object), 1);
  Py_INCREF(value_type);
  return object;
}

}  // namespace

void enter_slowly() {
  while (is_lent) {
    PyThreadState* const state = PyEval_SaveThread();
    {
      const std::lock_guard wait(lent_tape);
    }
    PyEval_RestoreThread(state);
  }
  shared_tape->use();
}

WithoutLock::WithoutLock() {
  enter();
  lent_tape.lock();
  is_lent = true;
  state_ = PyEval_SaveThread();
}
WithoutLock::~WithoutLock() {
  PyEval_RestoreThread(state_);
  is_lent = false;
  lent_tape.unlock();
}

void fill(ValueObject* object, Value&& value, PyObject** slot) {
  object->attributes = nullptr;
  object->weak_references = nullptr;
  object->slot = slot;
  *slot = reinterpret_cast<PyObject*>(object);
  new (object->place) Value(std::move(value));
}

void take_tape_to_free() noexcept {
  if (!is_lent && !shared_tape->is_here()) shared_tape->use();
}

void empty(ValueObject* object) noexcept {
  *object->slot = nullptr;
  take_tape_to_free();
  object->value().~Value();
}

PyObject* new_object(Value&& value) {
  PyObject** const slot = slot_of(value);
  ValueObject* const object = take_object();
  fill(object, std::move(value), slot);
  return reinterpret_cast<PyObject*>(object);
}

PyObject* object_of(Value&& value) {
  enter();
  PyObject** const slot = slot_of(value);
  if (*slot == nullptr) return new_object(std::move(value));
  Py_INCREF(*slot);
  return *slot;
}

void refill(ValueObject* object, Value&& value) {
  PyObject** const slot = slot_of(value);
  *object->slot = nullptr;
  object->value() = std::move(value);
  object->slot = slot;
  *slot = reinterpret_cast<PyObject*>(object);
}

PyObject* new_object_of(PyTypeObject* type, Value&& value) {
  if (type == value_type) return new_object(std::move(value));
  PyObject** const slot = slot_of(value);
  PyObject* const object = type->tp_alloc(type, 0);
  if (object == nullptr) throw_python_error();
  fill(reinterpret_cast<ValueObject*>(object), std::move(value), slot);
  return object;
}

void free_object(PyObject* self) noexcept {
  auto* const object = reinterpret_cast<ValueObject*>(self);
  PyTypeObject* const type = Py_TYPE(self);
  if (type != value_type) {
    type->tp_free(self);
  } else if (kept_count < most_kept) {
    object->attributes = reinterpret_cast<PyObject*>(kept);
    kept = object;
    ++kept_count;
  } else {
    PyObject_GC_Del(self);
  }
  Py_DECREF(type);
}

}  // namespace gradwalk::python
