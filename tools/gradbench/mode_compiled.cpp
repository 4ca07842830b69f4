// SPDX-License-Identifier: MIT
#include "task.hpp"

const gradbench::Mode gradbench::mode = gradbench::Mode::compiled;
