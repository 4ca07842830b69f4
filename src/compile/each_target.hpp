// SPDX-License-Identifier: MIT
// hwy/foreach_target.h, also for a compiler that may use AVX3_DL everywhere (-march=native on such a processor).
// Highway 1.0 stops with an error there, because it leaves that set out of its list.
#if defined(__AVX512VBMI2__) && !defined(HWY_WANT_AVX3_DL)
#define HWY_WANT_AVX3_DL
#endif
// The vectors of SVE and RVV have no size at compile time, so they cannot be members of Lanes. Processors with SVE also
// have NEON.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#include <hwy/foreach_target.h>
