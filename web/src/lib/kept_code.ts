// SPDX-License-Identifier: MIT
// The learner's class and program, kept between visits; without storage they are forgotten.
import { ownProgram, starter } from '../lesson/exercises.ts'
import { longestText } from '../python/limits.ts'

const key = 'gradwalk-lesson-code'

export interface KeptCode {
  text: string
  program: string
  exercise: string
  /** Exercises that the class has passed. */
  passed: string[]
}

const isText = (text: unknown): text is string => typeof text === 'string' && text.length <= longestText

export function loadCode(): KeptCode {
  const first: KeptCode = { text: starter, program: ownProgram, exercise: 'add', passed: [] }
  try {
    const kept = (JSON.parse(localStorage.getItem(key) ?? 'null') ?? {}) as Partial<KeptCode>
    return {
      text: isText(kept.text) ? kept.text : first.text,
      program: isText(kept.program) ? kept.program : first.program,
      exercise: isText(kept.exercise) ? kept.exercise : first.exercise,
      passed: Array.isArray(kept.passed) ? kept.passed.filter(isText) : [],
    }
  } catch {
    return first
  }
}

export function keepCode(code: KeptCode) {
  try {
    localStorage.setItem(key, JSON.stringify(code))
  } catch {
    // Private windows and full disks: it only forgets.
  }
}
