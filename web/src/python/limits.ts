// SPDX-License-Identifier: MIT
// How much a learner's program may take. trace.py has those that Python itself counts.

/** Bytes of a worker's memory. */
export const mostMemory = 96 << 20
/** Milliseconds from the start of a run to its end. */
export const longestRun = 2000
/** Characters of the class, and of a program. */
export const longestText = 40_000
