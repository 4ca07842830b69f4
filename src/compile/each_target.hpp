// SPDX-License-Identifier: MIT
// hwy/foreach_target.h, also for a compiler that may use AVX3_DL everywhere (-march=native on such a processor).
// Highway 1.0 stops with an error there, because it leaves that set out of its list.
#if defined(__AVX512VBMI2__) && !defined(HWY_WANT_AVX3_DL)
#define HWY_WANT_AVX3_DL
#endif
// The vectors of SVE and RVV have no size at compile time, so they cannot be members of Lanes. Processors with SVE also
// have NEON.
//
// On Windows, g++ may store a vector of 32 or 64 bytes on the stack by an instruction that needs it aligned, although
// Windows aligns the stack to 16 bytes only (GCC bug 54412). The assembler can write instructions that need no
// alignment instead; CMakeLists.txt asks it to. If it cannot, sets with vectors larger than those of SSE4 are left out;
// on x86, better sets have lower bits.
#if !defined(HWY_DISABLED_TARGETS) && defined(__MINGW32__) && !defined(__clang__) && \
    !defined(GRADWALK_UNALIGNED_VECTOR_MOVES)
#define HWY_DISABLED_TARGETS ((HWY_AVX2 << 1) - 1)
#endif
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#include <hwy/foreach_target.h>
