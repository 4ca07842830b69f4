// SPDX-License-Identifier: MIT
// The opening's story: a network learns, one weight is held up out of place, the learner says which way it should move, it rolls,
// and the gradients of all the others come into view. Losses and gradients are the engine's.
import type { Engine, Training } from '../engine/engine.ts'
import type { GridView, NetworkView, Points, WeightPlace } from '../engine/types.ts'
import { isStill } from './playback.svelte.ts'

export const sizes = [2, 4, 4, 1]
/** Weights and biases together, and biases alone: one per neuron that is no input. */
export const numberCount = 37
export const biasCount = 9
const steps = 900
/** A network that ends well, and a weight that matters to it: the one whose displacement costs most, of those we look at. */
const options = { kind: 'moons', samples: 90, noise: 0.12, seed: 4, hidden: [4, 4], rate: 0.6, activation: 'tanh' } as const
const far = 2.2
const reach = 3.4
const samples = 71

export type Phase = 'learning' | 'asking' | 'answered' | 'done'

export class Opening {
  readonly #training: Training
  readonly points: Points
  readonly view: GridView
  phase: Phase = $state('learning')
  step = $state(0)
  loss = $state(NaN)
  losses: number[] = $state.raw([])
  network: NetworkView = $state.raw(null as unknown as NetworkView)
  plane: Float64Array = $state.raw(new Float64Array())
  held: WeightPlace = [1, 0, 0]
  weight = $state(0)
  gradient = $state(0)
  curve: { weight: number; loss: number }[] = $state.raw([])
  /** Where it has been while rolling. */
  trail: { weight: number; loss: number }[] = $state.raw([])
  /** Layers whose gradients are in view, from the last. */
  wave = $state(0)
  verdict: '' | 'right' | 'wrong' | 'found' = $state('')
  /** After a wrong answer: the loss before the ball went uphill. It is NaN while the ball moves, and where it cannot climb. */
  lossBefore = $state(NaN)
  isPaused = $state(false)
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(engine: Engine) {
    this.#training = engine.createTraining(options)
    this.points = this.#training.points()
    const { x, y } = this.points
    const [cx, cy] = [(Math.min(...x) + Math.max(...x)) / 2, (Math.min(...y) + Math.max(...y)) / 2]
    const half = 0.6 * Math.max(Math.max(...x) - Math.min(...x), Math.max(...y) - Math.min(...y))
    this.view = { x0: cx - half, x1: cx + half, y0: cy - half, y1: cy + half, width: 40, height: 40 }
    this.#look()
  }

  get grid() {
    return 40
  }

  #look() {
    this.network = this.#training.network(this.view, 14)
    const { label, confidence } = this.#training.regions(this.view)
    // The surer, the stronger: from −1, certainly ■, to 1, certainly ●.
    this.plane = Float64Array.from(confidence, (p, i) => (label[i] === 1 ? 1 : -1) * (2 * p - 1))
  }

  /** A frame's share of learning: few steps at first, when much happens. */
  learn() {
    if (this.phase !== 'learning' || this.isPaused) return
    const count = isStill() ? steps - this.step : Math.min(steps - this.step, 1 + Math.floor(this.step / 60))
    const report = this.#training.step(count)
    this.step = report.step
    this.loss = report.loss
    this.losses = [...this.losses, report.loss]
    if (this.step >= steps) this.#hold()
    else this.#look()
  }

  #hold() {
    const shown = this.#training.network(this.view, 1)
    let worst = { loss: -1, place: this.held, at: 0, from: 0 }
    for (let neuron = 0; neuron < 4; neuron++)
      for (let input = 0; input < 4; input++) {
        const place = [1, neuron, input] as const
        const weight = shown.weights[sizes[1]! * 3 + neuron * 5 + input]!
        const tried = [weight - far, weight + far]
        const losses = this.#training.probe(place, tried)
        tried.forEach((at, i) => {
          if (losses[i]! > worst.loss) worst = { loss: losses[i]!, place, at, from: weight }
        })
      }
    this.held = worst.place
    const grid = Array.from({ length: samples }, (_, i) => worst.from - reach + (2 * reach * i) / (samples - 1))
    const losses = this.#training.probe(this.held, grid)
    this.curve = grid.map((weight, i) => ({ weight, loss: losses[i]! }))
    this.put(worst.at)
    this.phase = 'asking'
  }

  put(weight: number) {
    const [least, most] = [this.curve[0]!.weight, this.curve.at(-1)!.weight]
    this.weight = Math.max(least, Math.min(most, weight))
    const { loss, gradient } = this.#training.setWeight(this.held, this.weight)
    this.loss = loss
    this.gradient = gradient
    this.#look()
  }

  /** By hand; at the bottom it has been found. */
  drag(weight: number) {
    clearTimeout(this.#timer)
    this.lossBefore = NaN
    this.put(weight)
    if (this.phase === 'asking' && Math.abs(this.gradient) < 0.02) {
      this.verdict = 'found'
      this.phase = 'answered'
      this.#sweep()
    }
  }

  answer(direction: -1 | 1) {
    if (this.phase !== 'asking') return
    this.verdict = direction === -Math.sign(this.gradient) ? 'right' : 'wrong'
    clearTimeout(this.#timer)
    this.lossBefore = NaN
    if (this.verdict === 'wrong') return this.#climb(direction, 5, this.loss)
    this.phase = 'answered'
    this.#timer = setTimeout(() => this.#roll(16), isStill() ? 0 : 900)
  }

  /** Uphill in the direction of a wrong answer, while the slope still says so. */
  #climb(direction: -1 | 1, left: number, from: number) {
    const isUphill = Math.sign(this.gradient) === direction && Math.abs(this.gradient) > 0.04
    const isInside = this.weight + 0.1 * direction > this.curve[0]!.weight && this.weight + 0.1 * direction < this.curve.at(-1)!.weight
    if (left === 0 || !isUphill || !isInside) {
      if (this.loss > from) this.lossBefore = from
      return
    }
    const { weight } = this
    this.put(weight + 0.1 * direction)
    // The answer has to stay the same, so the ball stops before a top.
    if (Math.sign(this.gradient) !== direction || Math.abs(this.gradient) < 0.04) this.put(weight)
    this.#timer = setTimeout(() => this.#climb(direction, left - 1, from), isStill() ? 0 : 120)
  }

  #roll(left: number) {
    this.trail = [...this.trail, { weight: this.weight, loss: this.loss }]
    const by = -Math.sign(this.gradient) * Math.min(0.42, Math.abs(this.gradient) * 3.2)
    this.put(this.weight + by)
    if (left > 0 && Math.abs(this.gradient) > 0.006) this.#timer = setTimeout(() => this.#roll(left - 1), isStill() ? 0 : 150)
    else this.#sweep()
  }

  #sweep() {
    this.#timer = setTimeout(
      () => {
        this.wave += 1
        if (this.wave < 3) this.#sweep()
        else this.phase = 'done'
      },
      isStill() ? 0 : 380,
    )
  }

  close() {
    clearTimeout(this.#timer)
  }
}
