// SPDX-License-Identifier: MIT
// <windows.h> without its macros min and max, and without its older parts.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>  // IWYU pragma: export
