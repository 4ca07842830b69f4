// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "process.hpp"

namespace gradwalk::platform {

long process_number() { return getpid(); }

}  // namespace gradwalk::platform
