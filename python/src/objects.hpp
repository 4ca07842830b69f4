// SPDX-License-Identifier: MIT
// Functions that allocate and free Value objects, for value_type.cpp.
#pragma once

#include "value_object.hpp"

namespace gradwalk::python {

PyObject* new_object_of(PyTypeObject* type, Value&& value);
void refill(ValueObject* object, Value&& value);  // makes it the object of another node
void empty(ValueObject* object) noexcept;         // releases its node
void free_object(PyObject* self) noexcept;        // frees an empty object

}  // namespace gradwalk::python
