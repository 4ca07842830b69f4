// SPDX-License-Identifier: MIT
#include "process.hpp"

namespace gradwalk::platform {

long process_number() { return 1; }  // Windows has no fork()

}  // namespace gradwalk::platform
