// SPDX-License-Identifier: MIT
// The one function of Highway's library that compile() calls. The library itself is not built for WebAssembly, and its
// headers need nothing else of it.
#include <cstdint>

#include <hwy/targets.h>

namespace hwy {

int64_t SupportedTargets() { return HWY_STATIC_TARGET; }

}  // namespace hwy
