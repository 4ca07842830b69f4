// SPDX-License-Identifier: MIT
// The life of Value objects, for the type that is made of them (value_type.cpp).
#pragma once

#include "value_object.hpp"

namespace gradwalk::python {

PyObject* new_object_of(PyTypeObject* type, Value&& value);
void refill(ValueObject* object, Value&& value);  // it is another node's from now on
void empty(ValueObject* object) noexcept;         // it is no node's
void free_object(PyObject* self) noexcept;        // an empty one

}  // namespace gradwalk::python
