// SPDX-License-Identifier: MIT
// The page's end of the training worker: sends requests, keeps what came back. All training happens over there.
import type {
  GridView,
  NetworkView,
  Points,
  PointWalk,
  Regions,
  RingedPoint,
  TrainingOptions,
  TrainRequest,
  TrainResponse,
} from '../engine/types.ts'
import { isStill } from './playback.svelte.ts'
import { figureWords } from '../words/index.ts'

const cells = 48
/** Cells a side of what a neuron sees. */
const grid = 18

/** Steps a second; as fast as it goes, a small network is done before one has looked. */
export const speeds = { slow: 5, steady: 60, full: Infinity } as const
export type Speed = keyof typeof speeds
const mostRecords = 600
/** Milliseconds between pictures of a network in training: more are not seen, and painting them takes frames from everything else. */
const glance = 80
/** Below this loss the first run pauses. */
const enough = 0.03
/** More than anyone places by hand; a held key should not bring the page to its knees. */
const mostPoints = 1000

export class Trainer {
  readonly #worker: Worker
  #beat: ReturnType<typeof setInterval> | undefined
  #speed: Speed = 'steady'
  /** A beat has been asked for and not answered: a slow machine skips beats instead of falling ever further behind. */
  #isBusy = false
  step = $state(0)
  loss = $state(NaN)
  accuracy = $state(NaN)
  isRunning = $state(false)
  message = $state('')
  points: Points | null = $state.raw(null)
  regions: Regions | null = $state.raw(null)
  network: NetworkView | null = $state.raw(null)
  ring: RingedPoint | null = $state.raw(null)
  /** It pauses by itself once, while there are still gradients to see. */
  #hasRested = false
  /** A learner who asks for less motion sees every 20th state. */
  #shownAt = -1
  #shownWhen = 0
  view: GridView | null = $state.raw(null)
  history: { step: number; loss: number }[] = $state.raw([])
  /** `step`: when it was asked for; training goes on meanwhile. */
  walk: { index: number; walk: PointWalk; step: number } | null = $state.raw(null)

  constructor(module: WebAssembly.Module) {
    this.#worker = new Worker(new URL('../engine/train.worker.ts', import.meta.url), { type: 'module' })
    this.#worker.onmessage = (event: MessageEvent<TrainResponse>) => this.#hear(event.data)
    this.#worker.onerror = () => (this.message = figureWords.train.notStarted)
    this.#send({ type: 'init', module })
    this.#send({ type: 'network', grid })
  }

  #send(request: TrainRequest) {
    this.#sendPoints()
    this.#worker.postMessage(request)
  }

  /** Points that were changed and not sent yet: a dragged one changes more often than a network can look at it. */
  #changed: Points | null = null
  #later: ReturnType<typeof setTimeout> | undefined
  #sendPoints() {
    clearTimeout(this.#later)
    this.#later = undefined
    if (!this.#changed) return
    const points = this.#changed
    this.#changed = null
    this.#worker.postMessage({ type: 'setPoints', points } satisfies TrainRequest)
  }

  #hear(said: TrainResponse) {
    switch (said.type) {
      case 'state':
        this.#isBusy = false
        this.step = said.step
        this.loss = said.loss
        this.accuracy = said.accuracy
        this.isRunning = said.running || this.#beat !== undefined
        this.#record(said.step, said.loss)
        if (this.isRunning && said.loss < enough && !this.#hasRested && this.#speed !== 'full') {
          this.#hasRested = true
          this.pause()
        }
        if (this.isRunning && (performance.now() - this.#shownWhen < glance || (isStill() && Math.abs(said.step - this.#shownAt) < 20))) break
        this.#shownAt = said.step
        this.#shownWhen = performance.now()
        if (said.regions) this.regions = said.regions
        if (said.network) this.network = said.network
        this.ring = said.ring
        break
      case 'points':
        this.points = said.points
        this.#frame(said.points)
        break
      case 'walk':
        this.walk = { index: said.index, walk: said.walk, step: this.step }
        break
      case 'error':
        this.message = said.message
        this.#rest()
        this.isRunning = false
    }
  }

  #record(step: number, loss: number) {
    const last = this.history.at(-1)
    if (last && step <= last.step) this.history = this.history.filter((one) => one.step < step)
    if (!Number.isFinite(loss)) return
    const kept = this.history.length < mostRecords ? this.history : this.history.filter((_, i) => i % 2 === 0)
    this.history = [...kept, { step, loss }]
  }

  /** A square around all points, with a margin to click into. */
  #frame({ x, y }: Points) {
    const [x0, x1] = [Math.min(...x), Math.max(...x)]
    const [y0, y1] = [Math.min(...y), Math.max(...y)]
    const half = 0.58 * Math.max(x1 - x0, y1 - y0, 0.5)
    const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2]
    this.view = { x0: cx - half, x1: cx + half, y0: cy - half, y1: cy + half, width: cells, height: cells }
    this.#send({ type: 'regions', view: this.view })
  }

  reset(options: TrainingOptions, points?: Points) {
    this.#rest()
    this.message = ''
    this.history = []
    this.walk = null
    this.#changed = null
    this.#hasRested = false
    this.#send({ type: 'reset', options, points })
  }
  start() {
    this.message = ''
    this.isRunning = true
    const rate = speeds[this.#speed]
    if (rate === Infinity) return this.#send({ type: 'start' })
    const beats = Math.min(30, rate)
    this.#beat = setInterval(() => {
      if (this.#isBusy) return
      this.#isBusy = true
      this.#send({ type: 'step', count: rate / beats })
    }, 1000 / beats)
  }
  pause() {
    this.#rest()
    this.isRunning = false
    this.#send({ type: 'pause' })
  }
  setSpeed(speed: Speed) {
    this.#speed = speed
    if (!this.isRunning) return
    this.pause()
    this.start()
  }
  #rest() {
    clearInterval(this.#beat)
    this.#beat = undefined
    this.#isBusy = false
  }
  once() {
    this.#send({ type: 'step', count: 1 })
  }
  setRate(rate: number) {
    this.#send({ type: 'setRate', rate })
  }
  walkPoint(index: number) {
    this.#send({ type: 'walkPoint', index })
  }
  setRing(index: number | null) {
    this.#send({ type: 'ring', index })
  }
  setPoints(points: Points) {
    if (points.x.length > mostPoints) {
      this.message = figureWords.train.full1000(mostPoints)
      return
    }
    this.message = ''
    this.points = points
    this.walk = null
    this.#changed = points
    this.#later ??= setTimeout(() => this.#sendPoints(), 40)
  }
  close() {
    this.#rest()
    clearTimeout(this.#later)
    this.#worker.terminate()
  }
}
