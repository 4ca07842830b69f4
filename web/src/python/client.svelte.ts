// SPDX-License-Identifier: MIT
// Python for a figure: loads MicroPython once, with its progress, and runs each program in a worker of its own. A worker that takes
// too long is ended; the next one is started before it is needed.
import bytesAddress from '@micropython/micropython-webassembly-pyscript/micropython.wasm?url'
import { fetchWithProgress } from '../lib/fetch.ts'
import { longestRun } from './limits.ts'
import type { PythonRequest, Trace } from './python.ts'
import type { WorkerRequest, WorkerResponse } from './python.worker.ts'

declare const __PYTHON_BYTES__: number

export class PythonTimeout extends Error {}

class Spare {
  readonly worker = new Worker(new URL('./python.worker.ts', import.meta.url), { type: 'module' })
  readonly ready: Promise<void>
  #answer: ((response: WorkerResponse) => void) | null = null

  constructor(bytes: ArrayBuffer) {
    this.worker.onmessage = ({ data }: MessageEvent<WorkerResponse>) => this.#answer?.(data)
    this.worker.onerror = (event) => {
      event.preventDefault()
      this.#answer?.({ type: 'failed', message: event.message })
    }
    this.ready = this.ask({ type: 'init', bytes }).then((response) => {
      if (response.type === 'failed') throw new Error(response.message)
    })
    this.ready.catch(() => {})
  }
  ask(request: WorkerRequest): Promise<WorkerResponse> {
    return new Promise((done) => {
      this.#answer = done
      this.worker.postMessage(request)
    })
  }
}

export class Python {
  /** How much of Python has come, from 0 to 1. */
  loaded = $state(0)
  isReady = $state(false)
  failure = $state('')
  #bytes: ArrayBuffer | null = null
  #spare: Spare | null = null
  #isClosed = false

  async load() {
    this.failure = ''
    try {
      this.#bytes ??= await fetchWithProgress(bytesAddress, __PYTHON_BYTES__, (part) => (this.loaded = part))
      if (this.#isClosed) return
      this.#spare ??= new Spare(this.#bytes)
      await this.#spare.ready
      this.isReady = true
    } catch (error) {
      this.#spare?.worker.terminate()
      this.#spare = null
      this.failure = error instanceof Error ? error.message : String(error)
    }
  }

  /** Throws a PythonTimeout when the time is over. */
  async run(requests: PythonRequest[], most = longestRun): Promise<Trace[]> {
    const own = this.#spare ?? new Spare(this.#bytes!)
    this.#spare = null
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      await own.ready
      const late = new Promise<null>((done) => (timer = setTimeout(() => done(null), most)))
      const response = await Promise.race([own.ask({ type: 'run', requests }), late])
      if (response === null) throw new PythonTimeout()
      if (response.type !== 'traces') throw new Error(response.type === 'failed' ? response.message : response.type)
      return response.traces
    } finally {
      clearTimeout(timer)
      own.worker.terminate()
      if (!this.#isClosed) this.#spare = new Spare(this.#bytes!)
    }
  }

  close() {
    this.#isClosed = true
    this.#spare?.worker.terminate()
    this.#spare = null
  }
}
