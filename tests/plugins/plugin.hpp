// SPDX-License-Identifier: MIT
// The interface of the two test plug-ins. It is plain C, so that the host, like an interpreter, does not depend on
// gradwalk.
#pragma once

extern "C" {
void* plugin_make(double data);                  // returns a new Value
void* plugin_square_plus(void* value);           // returns value * value + value as a new Value
double plugin_gradient(void* root, void* leaf);  // runs backward() of root, returns leaf's gradient and frees both
const char* plugin_use(void* value);             // squares a Value, returns the Error's message or "", and frees it
const char* plugin_message();                    // returns the message of the Error for a moved-from Value
}
