// SPDX-License-Identifier: MIT
// Runs one program away from the page, which ends it when it takes too long. The page sends MicroPython's bytes first.
import { loadMicroPython } from '@micropython/micropython-webassembly-pyscript/micropython.mjs'
import { mostMemory } from './limits.ts'
import { startPython, type PythonRequest, type Trace } from './python.ts'

export type WorkerRequest = { type: 'init'; bytes: ArrayBuffer } | { type: 'run'; requests: PythonRequest[] }
export type WorkerResponse = { type: 'ready' } | { type: 'traces'; traces: Trace[] } | { type: 'failed'; message: string }

const reply = (response: WorkerResponse) => self.postMessage(response)
let python: Promise<(request: PythonRequest) => Trace>

/** MicroPython asks for memory until there is none, and writes to the console when it is refused. */
function limitMemory() {
  const grow = WebAssembly.Memory.prototype.grow
  WebAssembly.Memory.prototype.grow = function (pages: number) {
    if (this.buffer.byteLength + pages * 65_536 > mostMemory) throw new RangeError('memory: no more')
    return grow.call(this, pages)
  }
  console.error = () => {}
}

function start(bytes: ArrayBuffer) {
  limitMemory()
  // MicroPython fetches its module itself; it is here already.
  self.fetch = () => Promise.resolve(new Response(bytes, { headers: { 'content-type': 'application/wasm' } }))
  return startPython(loadMicroPython, 'micropython.wasm')
}

self.onmessage = async ({ data }: MessageEvent<WorkerRequest>) => {
  try {
    if (data.type === 'init') {
      python = start(data.bytes)
      await python
      reply({ type: 'ready' })
    } else {
      const run = await python
      reply({ type: 'traces', traces: data.requests.map(run) })
    }
  } catch (error) {
    reply({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
  }
}
