// SPDX-License-Identifier: MIT
// Python in the page: MicroPython with trace.py in it. It takes the learner's class and a program, and gives what the program did:
// the Values it made, and every visit and every write to a gradient, in order.
import harness from './trace.py?raw'

export interface PythonRequest {
  /** The learner's class. */
  text: string
  /** A program that runs after it, with the same names. */
  program: string
  /** The name of the Value that the page walks back from; '' where the program calls backward() itself. */
  root: string
  /** Whether the lines of visits and writes are wanted. */
  wantsLines: boolean
}

export interface TracedValue {
  /** '' where no name of the program leads to it. */
  name: string
  /** As the program gives it: '+'. */
  sign: string
  data: number
  /** By index, each before this one. */
  operands: number[]
}

export interface TraceEvent {
  kind: 'begin' | 'end' | 'visit' | 'leave' | 'write'
  value: number
  /** For a write: the gradient before and after it, and whether the visit read it first, as += does. */
  before: number
  after: number
  hasRead: boolean
  /** In the learner's class or in the program; 0 where it is neither's, or was not asked for. */
  line: number
  file: 'value.py' | 'program.py' | ''
}

export interface PythonError {
  kind: string
  message: string
  file: 'value.py' | 'program.py' | ''
  line: number
}

export interface Trace {
  values: TracedValue[]
  events: TraceEvent[]
  printed: string[]
  error: PythonError | null
}

interface MicroPython {
  runPython(text: string): unknown
  registerJsModule(name: string, module: object): void
  globals: { get(name: string): unknown }
}
export type LoadMicroPython = (options: { heapsize: number; pystack: number; url?: string; stdout: (line: string) => void; stderr: (line: string) => void }) => Promise<MicroPython>

const heapSize = 8 << 20
/** So large that recursion ends at Python's own limit, which has a message. */
const stackSize = 16_384
const mostPrinted = 200
/** Lines are found by running again: no more of them than a drawn walk has, and for no longer than this. */
const mostLines = 400
const longestSearch = 900

export async function startPython(load: LoadMicroPython, url?: string): Promise<(request: PythonRequest) => Trace> {
  let trace: Trace = { values: [], events: [], printed: [], error: null }
  let isQuiet = false
  let deadline = 0
  const print = (line: string) => {
    if (!isQuiet && trace.printed.length < mostPrinted) trace.printed.push(line.slice(0, 400))
  }
  const python = await load({ heapsize: heapSize, pystack: stackSize, url, stdout: print, stderr: print })
  python.registerJsModule('_page', {
    event: (kind: TraceEvent['kind'], value: number, before: number, after: number, hasRead: boolean) =>
      void trace.events.push({ kind, value, before, after, hasRead, line: 0, file: '' }),
    value: (name: string, sign: string, data: number, operands: string) =>
      void trace.values.push({ name, sign, data, operands: operands === '' ? [] : operands.split(',').map(Number) }),
    error: (kind: string, message: string, file: PythonError['file'], line: number) => void (trace.error = { kind, message, file, line }),
    wants: (at: number) => {
      isQuiet = true
      const kind = trace.events[at - 1]?.kind
      return at <= mostLines && (kind === 'visit' || kind === 'write') && performance.now() < deadline
    },
    line: (at: number, file: TraceEvent['file'], line: number) => void Object.assign(trace.events[at - 1]!, { file, line }),
  })
  python.runPython(harness)
  const start = python.globals.get('start') as (text: string, program: string, root: string, wantsLines: boolean) => void
  return ({ text, program, root, wantsLines }) => {
    trace = { values: [], events: [], printed: [], error: null }
    isQuiet = false
    deadline = performance.now() + longestSearch
    start(text, program, root, wantsLines)
    return trace
  }
}
