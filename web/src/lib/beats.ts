// SPDX-License-Identifier: MIT
// When things happen in a step, in milliseconds at normal speed. A moment of a walk is its step and the time in it; all
// that is drawn follows from that, so scrubbing, stills, films and tests see the same.
import type { Step } from './replay.ts'

/** The time of one deposit. */
export const beat = { lift: 0, leave: 140, meet: 640, product: 840, arrive: 1080, land: 1480, settle: 1780, knock: 1640, knocked: 2460 } as const
const deposit = 1800
const late = 2700
const door = 400
export const forward = { leave: 80, meet: 750, land: 920, end: 1250 } as const
export const seed = { land: 400, end: 900 } as const
const brief = 520

/** A step none of whose parts is drawn, as inside a folded box. */
const hidden = 160

export type IsHidden = (step: Step) => boolean
const never: IsHidden = () => false

const lengthOf = (step: Step, i: number) => ('deposits' in step && step.deposits[i]!.late ? late : deposit)

export function duration(step: Step, isHidden: IsHidden = never): number {
  if (isHidden(step)) return hidden
  switch (step.kind) {
    case 'forward':
      return forward.end
    case 'seed':
      return seed.end
    case 'update':
    case 'set':
      return seed.end
    default:
      return step.deposits.length ? step.deposits.reduce((sum, _, i) => sum + lengthOf(step, i), 0) + door : brief
  }
}

export interface Moment {
  /** Whole steps before it. */
  position: number
  /** The step under way; null at rest. */
  step: Step | null
  ms: number
  /** Effects of the step that have come. */
  landed: number
  /** The deposit in motion, and its own time. */
  active: number | null
  time: number
}

/** `at`: whole steps and the part of the next that has passed. */
export function momentAt(steps: Step[], at: number, isHidden: IsHidden = never): Moment {
  const position = Math.min(Math.floor(at), steps.length)
  const step = at > position ? (steps[position] ?? null) : null
  const rest: Moment = { position, step, ms: 0, landed: 0, active: null, time: 0 }
  if (!step) return rest
  const ms = (at - position) * duration(step, isHidden)
  if (isHidden(step)) return { ...rest, ms, landed: Infinity }
  if (step.kind === 'forward') return { ...rest, ms, landed: ms >= forward.land ? 1 : 0 }
  if (!('deposits' in step)) return { ...rest, ms, landed: ms >= seed.land ? 1 : 0 }
  let begin = 0
  for (const i of step.deposits.keys()) {
    const time = ms - begin
    if (time < lengthOf(step, i)) return { ...rest, ms, landed: time >= beat.land ? i + 1 : i, active: i, time }
    begin += lengthOf(step, i)
  }
  return { ...rest, ms, landed: step.deposits.length }
}

export const ease = (part: number) => (part <= 0 ? 0 : part >= 1 ? 1 : part < 0.5 ? 4 * part ** 3 : 1 - (2 - 2 * part) ** 3 / 2)
export const within = (time: number, from: number, to: number) => (time - from) / (to - from)
