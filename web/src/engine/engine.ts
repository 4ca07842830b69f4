// SPDX-License-Identifier: MIT
// The engine in the browser: gradwalk itself as WebAssembly behind typed functions. Nothing is computed here.
//
// Arguments are copied into the module's memory, results come back as JSON text or arrays of numbers. C++ errors arrive
// as EngineError; what they leave behind is not cleaned up, so the instance is thrown away and a fresh one takes its
// place (the compiled module is kept: this takes a millisecond).

import type {
  Check,
  Code,
  Explanation,
  GridView,
  LossHistory,
  NetworkView,
  Nudge,
  OpRule,
  Orders,
  Overrides,
  ParseResult,
  Points,
  PointWalk,
  Quiz,
  Regions,
  RingedPoint,
  Sort,
  TrainingOptions,
  TrainingReport,
  Walk,
  WalkOptions,
  WeightPlace,
  Wiggle,
} from './types.ts'

export class EngineError extends Error {
  override name = 'EngineError'
}

export type EngineSource = WebAssembly.Module | BufferSource | Response | URL

export interface Engine {
  /** Can be posted to a worker, which then needs no second download: createEngine(module). */
  readonly module: WebAssembly.Module
  parse(text: string): ParseResult
  walk(text: string, options?: WalkOptions): Walk
  sort(text: string, overrides?: Overrides): Sort
  /** Every visiting order, tried; graphs of at most 8 nodes that are no constants. */
  orders(text: string, overrides?: Overrides): Orders
  explain(text: string, overrides: Overrides, node: number, paths?: number): Explanation
  wiggle(text: string, overrides: Overrides, leaf: number, h: readonly number[]): Wiggle
  /** How far every node moves when a leaf moves by h. */
  nudge(text: string, overrides: Overrides, leaf: number, h: number): Nudge
  ops(): OpRule[]
  quiz(seed: number): Quiz
  check(text: string, name: string): Check
  code(text: string, overrides?: Overrides): Code
  createTraining(options: TrainingOptions, points?: Points): Training
}

/** A network and its data, in an instance of its own. After an EngineError it starts again, with the same points. */
export interface Training {
  /** Makes `count` steps on all points. */
  step(count: number): TrainingReport
  points(): Points
  /** Other data for the same network. */
  setPoints(points: Points): void
  setRate(rate: number): void
  regions(view: GridView): Regions
  /** Weights, their gradients, and what each neuron sees of the view's stretch of the plane. */
  network(view: GridView, grid: number): NetworkView
  /** The loss with one weight at each of the values, all others held. */
  probe(place: WeightPlace, values: readonly number[]): Float64Array
  /** Puts a weight somewhere; the loss there, and that weight's gradient. */
  setWeight(place: WeightPlace, value: number): { loss: number; gradient: number }
  /** A point's loss and scores; without one, the point whose loss is largest. */
  point(index: number | null): RingedPoint
  walkPoint(index: number): PointWalk
  history(): LossHistory
}

type Argument = string | number | readonly number[] | Float64Array | Uint8Array

export async function compile(source: EngineSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source
  const given = source instanceof URL ? await fetch(source) : source
  if (!(given instanceof Response)) return WebAssembly.compile(given as BufferSource)
  if (!given.ok) throw new EngineError(`engine: needs its module, got ${given.status} for ${given.url}`)
  return WebAssembly.compile(await given.arrayBuffer()) // also from hosts that do not know what application/wasm is
}

interface Exports {
  memory: WebAssembly.Memory
  _initialize(): void
  gradwalk_input(bytes: number): number
  gradwalk_result(): number
  gradwalk_result_size(): number
}

/** One instance of a module, replaced after every error. */
export class Instance {
  readonly module: WebAssembly.Module
  #exports: Exports | null = null

  constructor(module: WebAssembly.Module) {
    this.module = module
  }

  get isFresh() {
    return this.#exports === null
  }

  #start(): Exports {
    if (this.#exports) return this.#exports
    let memory: WebAssembly.Memory | null = null
    const fail = (at: number, size: number) => {
      throw new EngineError(new TextDecoder().decode(new Uint8Array(memory!.buffer, at, size)))
    }
    const refuse = () => 8 // EBADF: there are no files, clocks or streams
    const instance = new WebAssembly.Instance(this.module, {
      gradwalk: { throw: fail },
      wasi_snapshot_preview1: Object.fromEntries(
        WebAssembly.Module.imports(this.module).map(({ name }) => [name, name === 'proc_exit' ? stop : refuse]),
      ),
    })
    const exports = instance.exports as unknown as Exports
    memory = exports.memory
    exports._initialize()
    this.#exports = exports
    return exports
  }

  /** Calls an exported function; strings, bytes and lists become a pointer and a size. */
  call(name: string, ...args: Argument[]): void {
    try {
      const exports = this.#start()
      const packed = args.map((one) =>
        typeof one === 'string' ? new TextEncoder().encode(one) : typeof one === 'number' || one instanceof Uint8Array ? one : Float64Array.from(one),
      )
      let bytes = 0
      for (const one of packed) if (typeof one !== 'number') bytes += aligned(one.byteLength)
      let at = exports.gradwalk_input(bytes)
      const flat: number[] = []
      for (const one of packed) {
        if (typeof one === 'number') {
          flat.push(one)
          continue
        }
        new Uint8Array(exports.memory.buffer, at, one.byteLength).set(
          new Uint8Array(one.buffer, one.byteOffset, one.byteLength),
        )
        flat.push(at, one.length)
        at += aligned(one.byteLength)
      }
      ;(exports as unknown as Record<string, (...numbers: number[]) => void>)[name]!(...flat)
    } catch (error) {
      this.#exports = null
      throw error instanceof EngineError ? error : new EngineError(`engine: stopped in ${name}: ${String(error)}`)
    }
  }

  json<T>(name: string, ...args: Argument[]): T {
    this.call(name, ...args)
    const text = new TextDecoder().decode(this.#bytes())
    const value: unknown = JSON.parse(text)
    const result = /"(nan|-?inf)"/.test(text) ? withNumbers('', value) : value
    const refused = (result as { error?: string }).error
    if (refused !== undefined) throw new EngineError(refused)
    return result as T
  }

  numbers(name: string, ...args: Argument[]): Float64Array {
    this.call(name, ...args)
    const bytes = this.#bytes()
    return new Float64Array(bytes.slice().buffer)
  }

  #bytes(): Uint8Array {
    const exports = this.#exports!
    return new Uint8Array(exports.memory.buffer, exports.gradwalk_result(), exports.gradwalk_result_size())
  }
}

const aligned = (bytes: number) => (bytes + 7) & ~7

function stop(): never {
  throw new EngineError('engine: stopped')
}

const textFields = new Set([
  ...['name', 'label', 'op', 'symbol', 'formula', 'with_names', 'reason', 'names', 'message', 'error', 'text'],
  ...['expression', 'ask', 'domain', 'dx', 'dy'],
])

/** "nan", "inf" and "-inf" as the numbers they stand for; a list has the name of the field it is the value of. */
function withNumbers(field: string, value: unknown): unknown {
  if (typeof value === 'string') {
    if (textFields.has(field)) return value
    return value === 'nan' ? NaN : value === 'inf' ? Infinity : value === '-inf' ? -Infinity : value
  }
  if (Array.isArray(value)) return value.map((one) => withNumbers(field, one))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withNumbers(name, one)]))
}

const flat = (overrides: Overrides) => overrides.flat()

export async function createEngine(source: EngineSource): Promise<Engine> {
  const module = await compile(source)
  const instance = new Instance(module)
  return {
    module,
    parse: (text) => instance.json('gradwalk_parse', text),
    walk: (text, { overrides = [], rule = 'right', order = null, rate = 0.1, mostVisits = 10_000 } = {}) =>
      instance.json('gradwalk_walk', text, flat(overrides), rule, order ?? [], rate, mostVisits),
    sort: (text, overrides = []) => instance.json('gradwalk_sort', text, flat(overrides)),
    orders: (text, overrides = []) => instance.json('gradwalk_orders', text, flat(overrides)),
    explain: (text, overrides, node, paths = 10) =>
      instance.json('gradwalk_explain', text, flat(overrides), node, paths),
    wiggle: (text, overrides, leaf, h) => instance.json('gradwalk_wiggle', text, flat(overrides), leaf, h),
    nudge: (text, overrides, leaf, h) => instance.json('gradwalk_nudge', text, flat(overrides), leaf, h),
    ops: () => instance.json('gradwalk_ops'),
    quiz: (seed) => instance.json('gradwalk_quiz', seed),
    check: (text, name) => instance.json('gradwalk_check', text, name),
    code: (text, overrides = []) => instance.json('gradwalk_code', text, flat(overrides)),
    createTraining: (options, points) => new EngineTraining(module, options, points),
  }
}

class EngineTraining implements Training {
  readonly #instance: Instance
  readonly #options: TrainingOptions
  #points: Points | undefined
  #rate: number

  constructor(module: WebAssembly.Module, options: TrainingOptions, points?: Points) {
    this.#instance = new Instance(module)
    this.#options = options
    this.#points = points
    this.#rate = options.rate
    this.#ready()
  }

  /** After an error the run begins again, with the points it had. */
  #ready(): Instance {
    if (!this.#instance.isFresh) return this.#instance
    const { kind, samples, noise, seed, hidden, activation } = this.#options
    this.#instance.json('gradwalk_train', kind, samples, noise, seed, hidden, this.#rate, activation)
    if (this.#points) this.#sendPoints(this.#points)
    return this.#instance
  }

  #sendPoints({ x, y, label }: Points) {
    this.#instance.json('gradwalk_train_set_points', x, y, Float64Array.from(label))
  }

  step(count: number): TrainingReport {
    return this.#ready().json('gradwalk_train_step', count)
  }

  points(): Points {
    const numbers = this.#ready().numbers('gradwalk_train_points')
    const n = numbers.length / 3
    return {
      x: numbers.slice(0, n),
      y: numbers.slice(n, 2 * n),
      label: Uint8Array.from(numbers.subarray(2 * n)),
    }
  }

  setPoints(points: Points) {
    this.#ready()
    this.#sendPoints(points)
    this.#points = points
  }

  setRate(rate: number) {
    this.#ready().json('gradwalk_train_set_rate', rate)
    this.#rate = rate
  }

  regions(view: GridView): Regions {
    const { x0, x1, y0, y1, width, height } = view
    const numbers = this.#ready().numbers('gradwalk_train_regions', x0, x1, y0, y1, width, height)
    const cells = numbers.length / 2
    return { ...view, label: Uint8Array.from(numbers.subarray(0, cells)), confidence: numbers.slice(cells) }
  }

  network({ x0, x1, y0, y1 }: GridView, grid: number): NetworkView {
    const instance = this.#ready()
    const both = instance.numbers('gradwalk_train_weights')
    const seen = instance.numbers('gradwalk_train_neurons', x0, x1, y0, y1, grid)
    const outputs = this.#options.kind === 'spiral' ? 3 : 1
    const half = both.length / 2
    return { sizes: [2, ...this.#options.hidden, outputs], weights: both.slice(0, half), gradients: both.slice(half), grid, seen }
  }

  probe(place: WeightPlace, values: readonly number[]): Float64Array {
    return this.#ready().numbers('gradwalk_train_probe', ...place, values)
  }

  setWeight(place: WeightPlace, value: number): { loss: number; gradient: number } {
    return this.#ready().json('gradwalk_train_set_weight', ...place, value)
  }

  point(wanted: number | null): RingedPoint {
    const [index, loss, ...scores] = this.#ready().numbers('gradwalk_train_point', wanted ?? -1)
    return { index: index!, loss: loss!, scores }
  }

  walkPoint(index: number): PointWalk {
    return this.#ready().json('gradwalk_train_walk_point', index)
  }

  history(): LossHistory {
    return this.#ready().json('gradwalk_train_history')
  }
}
