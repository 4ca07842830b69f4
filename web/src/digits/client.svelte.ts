// SPDX-License-Identifier: MIT
// The page's end of the digits: loads the digits and their engine, with its progress, starts the worker, and keeps what it answers.
import digitsAddress from './digits.bin?url'
import moduleAddress from './digits.wasm?url'
import { fetchWithProgress } from '../lib/fetch.ts'
import { enDigits } from '../words/en.digits.ts'
import { mostSteps, type DigitsReport, type DigitsRequest, type DigitsResponse, type NeuronPlace, type OpenDigitNeuron, type Reading } from './types.ts'

declare const __DIGITS_BYTES__: number
declare const __DIGITS_ENGINE_BYTES__: number

const mostRecords = 400
/** Milliseconds between pictures of the weights in training: more are not seen, and each takes time from everything else. */
const glance = 300

export class DigitsTrainer {
  /** How much of the digits and their engine has come, from 0 to 1. */
  loaded = $state(0)
  failure = $state('')
  report: DigitsReport | null = $state.raw(null)
  isRunning = $state(false)
  right = $state(0)
  history: { step: number; right: number }[] = $state.raw([])
  weights: Float32Array | null = $state.raw(null)
  reading: Reading | null = $state.raw(null)
  opened: { place: NeuronPlace; inside: OpenDigitNeuron } | null = $state.raw(null)
  held: { pixels: Float64Array; label: number; index: number } | null = $state.raw(null)
  #worker: Worker | null = null
  #isClosed = false
  #shownWhen = -Infinity

  get isDone() {
    return (this.report?.step ?? 0) >= mostSteps
  }

  async load() {
    this.failure = ''
    const parts = [0, 0]
    const all = __DIGITS_BYTES__ + __DIGITS_ENGINE_BYTES__
    const report = (i: number, size: number) => (part: number) => {
      parts[i] = part * size
      this.loaded = (parts[0]! + parts[1]!) / all
    }
    try {
      const [packed, code] = await Promise.all([
        fetchWithProgress(digitsAddress, __DIGITS_BYTES__, report(0, __DIGITS_BYTES__)),
        fetchWithProgress(moduleAddress, __DIGITS_ENGINE_BYTES__, report(1, __DIGITS_ENGINE_BYTES__)),
      ])
      const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))
      const [file, module] = await Promise.all([new Response(unpacked).arrayBuffer(), WebAssembly.compile(code)])
      if (this.#isClosed) return
      this.#worker = new Worker(new URL('./digits.worker.ts', import.meta.url), { type: 'module' })
      this.#worker.onmessage = ({ data }: MessageEvent<DigitsResponse>) => this.#hear(data)
      this.#worker.onerror = () => (this.failure = enDigits.notStarted)
      this.#send({ type: 'init', module, file: new Uint8Array(file) })
    } catch (error) {
      this.failure = error instanceof Error ? error.message : String(error)
    }
  }

  #send(request: DigitsRequest) {
    this.#worker?.postMessage(request)
  }

  #hear(said: DigitsResponse) {
    switch (said.type) {
      case 'state':
        this.report = said.report
        this.isRunning = said.running
        this.right = said.right
        if (!said.running || performance.now() - this.#shownWhen > glance) {
          this.weights = said.weights
          this.#shownWhen = performance.now()
        }
        this.#record(said.report.step, said.right)
        break
      case 'reading':
        this.reading = said.reading
        break
      case 'neuron':
        this.opened = said
        break
      case 'held':
        this.held = said
        break
      case 'error':
        this.failure = said.message
        this.isRunning = false
    }
  }

  #record(step: number, right: number) {
    const before = this.history.filter((one) => one.step < step)
    const kept = before.length < mostRecords ? before : before.filter((_, i) => i % 2 === 0)
    this.history = [...kept, { step, right }]
  }

  start() {
    this.isRunning = true
    this.#send({ type: 'start' })
  }
  pause() {
    this.#send({ type: 'pause' })
  }
  /** Starts over with other weights. */
  reset() {
    this.#send({ type: 'reset' })
  }
  read(pixels: Float64Array | null, asked: number | null) {
    if (!pixels) this.reading = null
    this.#send({ type: 'read', pixels, asked })
  }
  openNeuron(place: NeuronPlace, asked: number) {
    this.#send({ type: 'neuron', place, asked })
  }
  nextHeld(isWrong: boolean) {
    this.#send({ type: 'held', isWrong })
  }
  close() {
    this.#isClosed = true
    this.#worker?.terminate()
  }
}
