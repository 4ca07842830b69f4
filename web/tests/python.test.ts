// SPDX-License-Identifier: MIT
// The learner's code, run by the same Python as in the page: its deeds are reported exactly, right code passes, and every mistake gets
// its own name. Needs `npm run wasm`.
import { readFileSync } from 'node:fs'
import { loadMicroPython } from '@micropython/micropython-webassembly-pyscript/micropython.mjs'
import { beforeAll, describe, expect, test } from 'vitest'
import { createEngine, type Engine } from '../src/engine/engine.ts'
import { exercises, solved, starter } from '../src/lesson/exercises.ts'
import { replay, stepsOf } from '../src/lib/replay.ts'
import { codeWalk, isClose, type CodeWalk, type MistakeName } from '../src/python/codewalk.ts'
import { startPython, type PythonRequest, type Trace } from '../src/python/python.ts'
import { gradedGraphs, randomProgram } from '../src/python/randomprogram.ts'
import { wrongCodes } from './wrongcodes.ts'

let engine: Engine
let run: (request: PythonRequest) => Trace
beforeAll(async () => {
  engine = await createEngine(readFileSync(new URL('../src/engine/gradwalk.wasm', import.meta.url)))
  run = await startPython(loadMicroPython)
})
const refuse = { sign: (sign: string) => `no operation ${sign}`, operands: (sign: string) => `operands of ${sign}` }
const exercise = (id: string) => exercises.find((one) => one.id === id)!
function walkOf(text: string, id: string): CodeWalk {
  const { program, root } = exercise(id)
  const trace = run({ text, program, root, wantsLines: true })
  expect(trace.error).toBeNull()
  return codeWalk(engine, trace, refuse)!
}
const gradOf = ({ walk }: CodeWalk, name: string) => walk.outcomes[walk.nodes.findIndex((node) => node.name === name)]!.grad
const lineOf = (text: string, part: string) => text.split('\n').findIndex((line) => line.includes(part)) + 1

describe('the right class', () => {
  test.each(exercises.filter((one) => one.program !== '').map((one) => one.id))('passes %s with the gradients of the engine', (id) => {
    const result = walkOf(solved, id)
    expect(result.finding).toBeNull()
    const right = engine.walk(exercise(id).text)
    for (const [i, node] of right.nodes.entries()) if (node.op === 'leaf') expect(isClose(gradOf(result, node.name), right.outcomes[i]!.grad), node.name).toBe(true)
  })

  test('is replayed to the numbers it left', () => {
    const { walk } = walkOf(solved, 'backward')
    const steps = stepsOf(walk)
    const frame = replay(walk, steps, steps.length)
    for (const [i, node] of walk.nodes.entries()) if (node.op !== 'constant') expect(frame.grad[i]).toBe(walk.outcomes[i]!.grad)
    expect(walk.nodes.map((node) => node.name)).toEqual(['x', 'a', '1', 'b', '3', 'c', 'd'])
    expect(frame.grad[0]).toBe(108)
  })

  test('agrees with the engine on every random graph', () => {
    for (let seed = 0; seed < gradedGraphs; seed++) {
      const trace = run({ text: solved, program: randomProgram(seed), root: '', wantsLines: false })
      expect(trace.error).toBeNull()
      expect(codeWalk(engine, trace, refuse)!.finding, randomProgram(seed)).toBeNull()
    }
  })

  test('knows the line of every deposit', () => {
    const { walk, lines } = walkOf(solved, 'both')
    const visit = walk.steps.findIndex((step) => step.kind === 'visit')
    expect(lines[visit]!.slice(1)).toEqual([lineOf(solved, 'self.grad += other.data'), lineOf(solved, 'other.grad += self.data')])
    expect(lines[visit]![0]).toBe(lineOf(solved, 'v._backward()'))
  })
})

describe('wrong classes', () => {
  test.each(wrongCodes)('$name: $what', ({ name, change, on, line }) => {
    const text = change(solved)
    expect(text).not.toBe(solved)
    const { finding, walk } = walkOf(text, on)
    expect(finding?.name).toBe(name)
    if (line) expect(finding!.lines).toContain(lineOf(text, line))
    const steps = stepsOf(walk)
    const frame = replay(walk, steps, steps.length)
    for (const [i, node] of walk.nodes.entries()) if (node.op !== 'constant') expect(frame.grad[i], node.name).toBe(walk.outcomes[i]!.grad)
  })

  test('= passes where no node is used twice, and fails on a + a', () => {
    const text = solved.replaceAll('.grad += ', '.grad = ')
    for (const id of ['add', 'mul', 'tanh']) expect(walkOf(text, id).finding, id).toBeNull()
    const { finding, walk } = walkOf(text, 'double')
    expect(finding).toMatchObject({ name: 'overwrite' satisfies MistakeName, got: 1, right: 2 })
    const frame = replay(walk, stepsOf(walk), stepsOf(walk).length)
    expect(frame.coins[0]!.map(({ amount, isWiped }) => [amount, isWiped])).toEqual([
      [1, true],
      [1, false],
    ])
  })

  test('the gaps pay nobody', () => expect(walkOf(starter, 'add').finding?.name).toBe('pays-nobody'))
})

describe('programs that fail', () => {
  const fails = (program: string, text = solved) => run({ text, program, root: '', wantsLines: false }).error
  test.each([
    ['import numpy', /no module named 'numpy' in this page; it has math/],
    ['import js', /no module named 'js'/],
    ['xs = [Value(1) for _ in range(10**7)]', /at most 10000 Values/],
    ['def f(n): return f(n + 1)\nf(0)', /maximum recursion depth/],
    ['x = (1', /invalid syntax/],
    ['1/0', /divide by zero/],
    ['raise SystemExit(3)', /3/],
    ['input()', /no keyboard/],
    ["x = 'a' * 10**9", /memory/],
  ])('%s', (program, message) => {
    const error = fails(program)!
    expect(error.message).toMatch(message)
    expect(fails('a = Value(1.0)\n(a + 1).backward()')).toBeNull()
  })

  test('a Value stored as a gradient is refused with the line', () => {
    const text = solved.replace('other.data * out.grad', 'other * out.grad')
    const trace = run({ ...exercise('mul'), text, wantsLines: true })
    expect(trace.error).toEqual({ kind: 'TypeError', message: '.grad needs a number, got a Value; use its .data or .grad', file: 'value.py', line: lineOf(text, 'other * out.grad') })
  })

  test('an operation that the engine does not know is refused by its sign', () => {
    const program = "a = Value(1.0)\nb = Value(2.0, (a,), 'wobble')\nb.backward()"
    expect(() => codeWalk(engine, run({ text: solved, program, root: '', wantsLines: false }), refuse)).toThrow('no operation wobble')
  })

  test('a graph of thousands of nodes is walked, or refused by name', () => {
    const sum = (n: number) => `a = Value(1.0)\nxs = [a * float(i) for i in range(${n})]\ntotal = a\nfor x in xs:\n    total = total + x\n`
    const walkOf = (n: number) => codeWalk(engine, run({ text: solved, program: sum(n), root: 'total', wantsLines: false }), refuse)!
    expect(walkOf(600)).toMatchObject({ finding: null })
    expect(() => walkOf(1500)).toThrow('at most 2000 nodes')
  })

  test('nodes without a name are called by what they compute', () => {
    const names = (program: string) => codeWalk(engine, run({ text: solved, program, root: '', wantsLines: false }), refuse)!.walk.nodes.map((node) => node.name)
    expect(names('a = Value(1.0)\nb = Value(2.0)\nf = (a*b + a*b + 2).tanh()\nf.backward()')).toEqual(engine.walk('a=1; b=2; f=tanh(a*b + a*b + 2)').nodes.map((node) => node.name))
    expect(names('a = Value(1.0)\nf = (a + 1) * (a * a)\nf.backward()')).toEqual(['a', '1', 'a + 1', 'a*a', 'f'])
  })

  test('names are found in lists and objects', () => {
    const program = 'class N:\n    def __init__(self):\n        self.w = [Value(1.0), Value(2.0)]\nn = N()\nloss = n.w[0] * n.w[1]\nloss.backward()'
    const { walk } = codeWalk(engine, run({ text: solved, program, root: '', wantsLines: false }), refuse)!
    expect(walk.nodes.map((node) => node.name)).toEqual(['n.w[0]', 'n.w[1]', 'loss'])
  })
})
