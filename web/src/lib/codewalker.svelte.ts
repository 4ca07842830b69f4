// SPDX-License-Identifier: MIT
// A walk that the learner's code has made, and the moment of it that is shown.
import type { Walk } from '../engine/types.ts'
import type { CodeWalk } from '../python/codewalk.ts'
import { duration, momentAt, type Moment } from './beats.ts'
import { isStill, Playback } from './playback.svelte.ts'
import { replay, stepsOf, together, type Frame, type Step } from './replay.ts'
import type { Walking } from './walker.svelte.ts'

export class CodeWalker implements Walking {
  made: CodeWalk | null = $state.raw(null)
  readonly play = new Playback({
    last: () => this.steps.length,
    duration: (position) => duration(this.steps[position]!),
    together: (position) => (this.walk ? together(this.walk, this.steps, position) : [position, position + 1]),
  })
  readonly walk: Walk | null = $derived(this.made?.walk ?? null)
  readonly steps: Step[] = $derived(this.walk ? stepsOf(this.walk) : [])
  readonly moment: Moment = $derived(momentAt(this.steps, this.play.at))
  readonly frame: Frame | null = $derived(this.walk && replay(this.walk, this.steps, this.moment.position, this.moment.landed, this.moment.step !== null))
  readonly isDone = $derived(this.moment.position >= this.steps.length)
  /** The lines of the class that the step under way, or the last one, comes from. */
  readonly lines: number[] = $derived.by(() => {
    const { step, active, position } = this.moment
    const deposit = step && 'deposits' in step && active !== null ? step.deposits[active] : undefined
    return deposit?.line ? [deposit.line] : (this.made?.lines[step ? position : position - 1] ?? [])
  })
  /** Whether the first mistake has been seen. */
  readonly isWrongNow = $derived(this.made?.finding != null && this.moment.position > Math.min(this.made.finding.step, this.steps.length - 1))

  /** Data is there already; what the code does next is played. A learner who asks for less motion gets the end. */
  show(made: CodeWalk | null) {
    this.play.seek(0)
    this.made = made
    const backward = this.steps.findIndex((step) => step.kind !== 'forward')
    this.play.seek(isStill() || backward < 0 ? this.steps.length : backward)
    if (!isStill()) this.play.toggle()
  }
}
