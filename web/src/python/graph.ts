// SPDX-License-Identifier: MIT
// The graph that a program built, as a listing that the engine reads. The engine computes its data and derivatives; the program's
// own numbers are compared with them.
import { EngineError, type Engine } from '../engine/engine.ts'
import type { Walk } from '../engine/types.ts'
import type { Trace } from './python.ts'

export interface ProgramGraph {
  /** For the engine: everything that takes an expression takes it. */
  text: string
  walk: Walk
  /** By Value of the trace: its node; undefined where the root does not depend on it. */
  nodeOf: Map<number, number>
}

/** A program's names of operations, where the engine has another name. */
const ops: Record<string, string> = { '+': 'add', '-': 'sub', '*': 'mul', '/': 'div', '**': 'pow', ReLU: 'relu', leaky_relu: 'leaky_relu' }
const power = /^\*\*\s*(.+)$/

export class GraphError extends Error {}

/** `refuse` words why a Value cannot be part of a graph of the engine. */
export function graphOf(engine: Engine, trace: Trace, root: number, refuse: { sign: (sign: string) => string; operands: (sign: string, needs: number, got: number) => string }): ProgramGraph {
  const { values } = trace
  const wanted = new Set<number>()
  const waiting = [root]
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop())
    if (!wanted.has(one)) {
      wanted.add(one)
      waiting.push(...values[one]!.operands)
    }
  const counts = new Map(engine.ops().map((op) => [op.name, op.operands as number]))
  const lines: string[] = []
  const names: string[] = []
  const nodeOf = new Map<number, number>()
  const taken = new Set<string>()
  const uses = new Map<string, number>()
  const add = (op: string, symbol: string, data: number, operands: number[], label: string, name: string) => {
    const times = op === 'constant' ? 1 : (uses.get(name) ?? 0) + 1
    if (op !== 'constant') uses.set(name, times)
    lines.push([op, symbol, data, operands.join(' '), operands.map(() => 0).join(' '), label, times > 1 ? `${name}#${times}` : name].join('\t'))
    names.push(name)
    return lines.length - 1
  }
  for (const index of [...wanted].sort((a, b) => a - b)) {
    const { name, sign, data, operands } = values[index]!
    const label = taken.has(name) ? '' : name
    taken.add(name)
    if (operands.length === 0) {
      // A number inside an operation becomes a Value without a name: a constant.
      nodeOf.set(index, add(label === '' ? 'constant' : 'leaf', '', data, [], label, label || plainNumber(data)))
      continue
    }
    const from = operands.map((one) => nodeOf.get(one)!)
    const exponent = power.exec(sign)
    let op = ops[sign] ?? sign
    if (exponent && from.length === 1 && Number.isFinite(Number(exponent[1]))) {
      op = 'pow'
      from.push(add('constant', '', Number(exponent[1]), [], '', exponent[1]!))
    }
    if (op === 'sub' && from.length === 1) op = 'neg'
    const needs = counts.get(op)
    if (needs === undefined) throw new GraphError(refuse.sign(sign))
    if (needs !== from.length) throw new GraphError(refuse.operands(sign, needs, from.length))
    const symbol = { add: '+', sub: '-', mul: '*', div: '/', pow: '**' }[op] ?? op
    nodeOf.set(index, add(op, symbol, data, from, label, label || named(formula(op, symbol, from.map((one) => names[one]!)), lines.length)))
  }
  const text = ['# gradwalk-graph changed', ...lines].join('\n')
  try {
    return { text, walk: engine.walk(text), nodeOf }
  } catch (error) {
    throw error instanceof EngineError ? new GraphError(error.message) : error
  }
}

/** An unnamed node is called by what it computes, as the engine calls it. */
function formula(op: string, symbol: string, operands: string[]): string {
  if (!infix.includes(op)) return `${symbol}(${operands.join(', ')})`
  const isSum = op === 'add' || op === 'sub'
  const isLoose = (name: string) => (isSum ? false : / [-+] /.test(name)) || name.startsWith('-')
  const [x, y] = operands.map((name, k) => (isLoose(name) || (k === 1 && op !== 'add' && !isPlain.test(name)) ? `(${name})` : name))
  return isSum ? `${x!} ${symbol} ${y!}` : `${x!}${symbol}${y!}`
}
/** Formulas of formulas grow long; nobody reads them then. */
const named = (name: string, index: number) => (name.length > 60 ? `t${index}` : name)
const infix = ['add', 'sub', 'mul', 'div', 'pow']
const isPlain = /^[\w.[\]]+$/

const plainNumber = (data: number) => String(data)
