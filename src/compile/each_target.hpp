// SPDX-License-Identifier: MIT
// hwy/foreach_target.h, also for a compiler that may use AVX3_DL everywhere (-march=native on such a processor).
// Highway 1.0 stops with an error there, because it leaves that set out of its list.
#if defined(__AVX512VBMI2__) && !defined(HWY_WANT_AVX3_DL)
#define HWY_WANT_AVX3_DL
#endif
#include <hwy/foreach_target.h>
