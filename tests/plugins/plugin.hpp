// SPDX-License-Identifier: MIT
// What the two test plug-ins show their host: plain C, so that the host knows nothing of gradwalk and links to nothing
// of it, as an interpreter does.
#pragma once

extern "C" {
void* plugin_make(double data);                  // a new Value
void* plugin_square_plus(void* value);           // value * value + value, as a new Value
double plugin_gradient(void* root, void* leaf);  // walks root back, gives leaf's gradient and frees both
const char* plugin_use(void* value);             // what squaring it says, "" if nothing; then frees it
const char* plugin_message();                    // what using a moved-from Value says, caught as gradwalk::Error
}
