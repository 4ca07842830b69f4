// SPDX-License-Identifier: MIT
// How the learner likes the page: speed, what is folded. Kept between visits; without storage it is forgotten.

const key = 'gradwalk-lesson-view'

export interface Memory {
  speed: 'slow' | 'normal' | 'fast'
  language: string
  /** Folds that are open, by name. */
  open: string[]
  constants: boolean
  /** Where practice goes on. */
  practice: { level: number; number: number }
}
const first: Memory = { speed: 'normal', language: 'cpp', open: [], constants: false, practice: { level: 1, number: 1 } }

/** A whole number from 1 to `most`; else 1. */
const within = (value: unknown, most: number) => (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most ? (value as number) : 1)

function load(): Memory {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? 'null') as Partial<Memory> | null
    return {
      speed: kept?.speed === 'slow' || kept?.speed === 'fast' ? kept.speed : 'normal',
      language: typeof kept?.language === 'string' ? kept.language : first.language,
      open: Array.isArray(kept?.open) ? kept.open.filter((one) => typeof one === 'string') : [],
      constants: kept?.constants === true,
      practice: { level: within(kept?.practice?.level, 99), number: within(kept?.practice?.number, 1e9) },
    }
  } catch {
    return { ...first }
  }
}

export const recalled: Memory = $state(load())

export function keep() {
  try {
    localStorage.setItem(key, JSON.stringify(recalled))
  } catch {
    // Private windows and full disks: it only forgets.
  }
}

export function setOpen(name: string, isOpen: boolean) {
  if (isOpen === recalled.open.includes(name)) return
  recalled.open = isOpen ? [...recalled.open, name] : recalled.open.filter((one) => one !== name)
  keep()
}
