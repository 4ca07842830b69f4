// SPDX-License-Identifier: MIT
// The source of both test plug-ins: two shared libraries with gradwalk's inline code that share its tape.
#include "plugin.hpp"

#include <string>

#include "gradwalk/value.hpp"

using gradwalk::Value;

void* plugin_make(double data) { return new Value(data); }

void* plugin_square_plus(void* value) {
  const Value& x = *static_cast<Value*>(value);
  return new Value(x * x + x);
}

double plugin_gradient(void* root, void* leaf) {
  static_cast<Value*>(root)->backward();
  const double result = static_cast<Value*>(leaf)->grad();
  delete static_cast<Value*>(root);
  delete static_cast<Value*>(leaf);
  return result;
}

const char* plugin_use(void* value) {
  static std::string message;
  message.clear();
  try {
    const Value& x = *static_cast<Value*>(value);
    (void)(x * x);
  } catch (const gradwalk::Error& error) {
    message = error.what();
  }
  delete static_cast<Value*>(value);
  return message.c_str();
}

const char* plugin_message() {
  static std::string message;
  Value value{1};
  const Value taken = std::move(value);
  try {
    value.backward();
  } catch (const gradwalk::Error& error) {
    message = error.what();
  }
  return message.c_str();
}
