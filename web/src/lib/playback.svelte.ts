// SPDX-License-Identifier: MIT
// Moving through steps in time: `at` is whole steps and a part of the next. One step plays and stops; play goes to the end;
// pressing again while something moves completes it. A learner who asks for less motion gets stills.
import { recalled } from './memory.svelte.ts'

const less = typeof matchMedia === 'undefined' ? { matches: true } : matchMedia('(prefers-reduced-motion: reduce)')
export const isStill = () => less.matches

export const speeds = { slow: 0.4, normal: 1, fast: 3 } as const
export type Speed = keyof typeof speeds

/** How long a still stays when stills are played. */
const still = 900

export interface Course {
  last(): number
  /** The time of the step at this position, at normal speed. */
  duration(position: number): number
  /** The steps that one press of the button makes, if the step at this position is among them: from the first position to the
      last. Without this function, a press makes one step. */
  together?(position: number): readonly [from: number, to: number]
}

export class Playback {
  readonly #course: Course
  at = $state(0)
  /** null: nothing moves; else where it stops. */
  #goal: number | null = $state(null)
  isPlaying = $state(false)
  /** Whether the learner brought it here, step by step or at once, and no playing did. */
  isOwn = $state(true)
  #frame = 0
  #before = 0
  readonly isMoving = $derived(this.#goal !== null)
  readonly position = $derived(Math.floor(this.at + 1e-9))

  constructor(course: Course) {
    this.#course = course
  }

  get speed(): Speed {
    return recalled.speed
  }
  set speed(speed: Speed) {
    recalled.speed = speed
  }

  /** The next step, in motion; while one is under way, its end. `most`: nothing past it is shown yet. */
  step(most = Infinity) {
    if (this.#goal !== null) return this.seek(this.isPlaying ? Math.ceil(this.at) : this.#goal)
    const here = Math.floor(this.at)
    const goal = Math.min(this.#course.last(), most, this.#course.together?.(here)[1] ?? here + 1)
    if (goal <= this.at) return
    this.isOwn = true
    if (isStill()) this.seek(goal)
    else this.#run(goal)
  }
  back() {
    const before = Math.ceil(this.at) - 1
    this.seek(this.#course.together?.(before)[0] ?? before)
  }
  toggle(most = Infinity) {
    if (this.isPlaying) return this.stop()
    if (this.at >= this.#course.last()) this.at = 0
    const goal = Math.min(this.#course.last(), most)
    if (goal <= this.at) return
    this.isPlaying = true
    this.isOwn = false
    this.#run(goal)
  }
  /** At once. */
  seek(at: number) {
    this.stop()
    this.isOwn = true
    this.at = Math.max(0, Math.min(this.#course.last(), at))
  }
  stop() {
    cancelAnimationFrame(this.#frame)
    this.#goal = null
    this.isPlaying = false
  }

  #run(goal: number) {
    cancelAnimationFrame(this.#frame)
    this.#goal = goal
    this.#before = performance.now()
    this.#frame = requestAnimationFrame((now) => this.#tick(now))
  }
  #tick(now: number) {
    if (this.#goal === null) return
    let left = (now - this.#before) * speeds[recalled.speed]
    if (isStill()) {
      if (left >= still) {
        this.at = Math.min(this.#goal, Math.floor(this.at) + 1)
        this.#before = now
      }
    } else {
      this.#before = now
      while (left > 0 && this.at < this.#goal) {
        const position = Math.floor(this.at)
        const length = this.#course.duration(position)
        const rest = (position + 1 - this.at) * length
        if (rest > left + 1e-6) {
          this.at += left / length
          break
        }
        this.at = position + 1
        left -= rest
      }
    }
    if (this.at >= this.#goal) return this.stop()
    this.#frame = requestAnimationFrame((next) => this.#tick(next))
  }
}
