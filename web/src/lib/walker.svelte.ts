// SPDX-License-Identifier: MIT
// The state of one walked graph: its expression, rule and order, the position in the walk, and what can be undone.
// Everything shown follows from these; the engine is asked again whenever they change.
import { untrack } from 'svelte'
import type { Engine } from '../engine/engine.ts'
import type { Walk, WalkRule } from '../engine/types.ts'
import { duration, momentAt, type Moment } from './beats.ts'
import { isListing, withListedLeaf } from './listing.ts'
import { Playback } from './playback.svelte.ts'
import { replay, stepsOf, together, type Frame, type Step } from './replay.ts'

interface Past {
  text: string
  position: number
  rule: WalkRule
  order: number[] | null
}

/** Everything that the drawing, the words and the controls of a walk need. */
export interface Walking {
  readonly walk: Walk | null
  readonly steps: Step[]
  readonly play: Playback
  readonly moment: Moment
  readonly frame: Frame | null
}

export class Walker implements Walking {
  readonly #engine: Engine
  text = $state('')
  rule: WalkRule = $state('right')
  order: number[] | null = $state.raw(null)
  /** The walk ends where all data is there, before anything is said of gradients. */
  readonly isForward: boolean
  readonly play = new Playback({
    last: () => this.steps.length,
    duration: (position) => duration(this.steps[position]!),
    together: (position) => (this.walk ? together(this.walk, this.steps, position) : [position, position + 1]),
  })
  #past: Past[] = $state.raw([])
  #seen = new Set<number>()

  #result: { walk: Walk | null; error: string } = $derived.by(() => {
    try {
      const order = this.rule === 'right' ? this.order : null
      return { walk: this.#engine.walk(this.text, { rule: this.rule, order }), error: '' }
    } catch (error) {
      return { walk: null, error: error instanceof Error ? error.message : String(error) }
    }
  })
  readonly error = $derived(this.#result.error)
  readonly walk = $derived(this.#result.walk)
  readonly steps: Step[] = $derived(this.walk ? stepsOf(this.walk).filter((step) => !this.isForward || step.kind === 'forward') : [])
  readonly moment: Moment = $derived(momentAt(this.steps, this.play.at))
  /** Whole steps made. */
  readonly position = $derived(this.moment.position)
  readonly #landed = $derived(this.moment.landed)
  readonly #isUnderWay = $derived(this.moment.step !== null)
  readonly frame: Frame | null = $derived(this.walk && replay(this.walk, this.steps, this.position, this.#landed, this.#isUnderWay))
  readonly next: Step | null = $derived(this.steps[this.position] ?? null)
  readonly isDone = $derived(this.walk !== null && this.position >= this.steps.length)
  readonly canUndo = $derived(this.#past.length > 0)

  constructor(engine: Engine, text: string, rule: WalkRule = 'right', order: number[] | null = null, isForward = false) {
    this.#engine = engine
    this.isForward = isForward
    this.text = text
    this.rule = rule
    this.order = order
  }

  remember() {
    const { text, position, rule, order } = this
    this.#past = [...this.#past.slice(-199), { text, position, rule, order }]
  }

  /** At once, without motion. */
  go(position: number) {
    const there = Math.max(0, Math.min(this.steps.length, position))
    if (there === this.play.at) return
    this.remember()
    this.play.seek(there)
  }

  undo() {
    const last = this.#past.at(-1)
    if (!last) return
    this.#past = this.#past.slice(0, -1)
    const { position, ...rest } = last
    Object.assign(this, rest)
    this.play.seek(position)
  }

  /** Another expression, rule or order: from the start. */
  change(to: Partial<Omit<Past, 'position'>>) {
    this.remember()
    Object.assign(this, to)
    this.play.seek(0)
    this.#seen.clear()
  }

  /** Another value of a leaf: everything is computed anew, the position stays. */
  setLeaf(name: string, value: number) {
    const text = withLeaf(this.text, name, value)
    if (text === null || text === this.text) return
    this.remember()
    this.text = text
  }

  /** True once the learner has been at every step of this walk; to be called when the position has changed. Steps that play by themselves do not count. */
  look(): boolean {
    if (this.play.isOwn) {
      const from = this.walk && this.position > 0 ? together(this.walk, this.steps, this.position - 1)[0] + 1 : this.position
      for (let i = from; i <= this.position; i++) this.#seen.add(i)
    }
    return this.steps.length > 0 && this.#seen.size > this.steps.length
  }
}

/** Walks whatever text it is given from then on; in a component. */
export function followText(walker: Walker, text: () => string | undefined, onchange: () => void = () => {}) {
  $effect(() => {
    const wanted = text()
    untrack(() => {
      if (wanted === undefined || wanted === walker.text) return
      walker.change({ text: wanted })
      onchange()
    })
  })
}

/** The text with another number given to a name; null if no number is given to it there. */
export function withLeaf(text: string, name: string, value: number): string | null {
  if (isListing(text)) return withListedLeaf(text, name, value)
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const given = new RegExp(
    `((?:^|[;\\n])\\s*${escaped}\\s*=\\s*)[-+−]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d+)?(?=\\s*(?:[;\\n#]|$))`,
  )
  return given.test(text) ? text.replace(given, (_, before: string) => before + String(value)) : null
}
