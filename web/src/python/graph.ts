// SPDX-License-Identifier: MIT
// The graph that a program built, as a listing that the engine reads. The engine computes its data and derivatives; the program's
// own numbers are compared with them.
import type { Engine } from '../engine/engine.ts'
import type { Walk } from '../engine/types.ts'
import type { Trace } from './python.ts'

export interface ProgramGraph {
  /** For the engine: everything that takes an expression takes it. */
  text: string
  walk: Walk
  /** By Value of the trace: its node; undefined where the root does not depend on it. */
  nodeOf: Map<number, number>
}

/** What a program calls its operations, where the engine has another name. */
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
  const add = (op: string, symbol: string, data: number, operands: number[], label: string, name: string) => {
    lines.push([op, symbol, data, operands.join(' '), operands.map(() => 0).join(' '), label, name].join('\t'))
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
    const [x, y] = from.map((one) => (/^[\w.[\]]+$/.test(names[one]!) ? names[one]! : `(${names[one]!})`))
    nodeOf.set(index, add(op, symbol, data, from, label, label || (y === undefined ? `${symbol}${x!.startsWith('(') ? x! : `(${x!})`}` : `${x!}${symbol}${y}`)))
  }
  const text = ['# gradwalk-graph changed', ...lines].join('\n')
  return { text, walk: engine.walk(text), nodeOf }
}

const plainNumber = (data: number) => String(data)
