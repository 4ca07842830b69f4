// SPDX-License-Identifier: MIT
// Steps of a walk in words and lines of arithmetic, the command line's way of saying them.
import type { Deposit, GraphNode, Walk } from '../engine/types.ts'
import { plain, term } from './number.ts'
import type { Step } from './replay.ts'

const infix = new Set(['+', '-', '*', '/', '**'])
const shown: Record<string, string> = { '*': '·', '-': '−', '/': '/', '**': '^' }

export const symbolOf = (node: GraphNode) => shown[node.symbol] ?? node.symbol

/** Names that are expressions themselves stand in parentheses before a dot. */
export const gradOf = (name: string) => (/^[\w.#]+$/.test(name) ? `${name}.grad` : `(${name}).grad`)

function applied(node: GraphNode, operands: string[]): string {
  if (infix.has(node.symbol) && operands.length === 2) return operands.join(` ${symbolOf(node)} `)
  if (node.op === 'neg') return `−${operands[0]}`
  return `${node.symbol || node.op}(${operands.join(', ')})`
}

export interface Line {
  text: string
  /** A remark in the margin: "late". */
  remark?: string
}

/** "a + b = 2 + (−3) = −1" behind "e = ". */
export function forwardLine(walk: Walk, step: Step & { kind: 'forward' }): string {
  const node = walk.nodes[step.node]!
  const names = node.operands.map((one) => walk.nodes[one]!.name)
  const formula = applied(node, names)
  const numbers = applied(node, step.operands.map(term))
  const left = formula === node.name || node.label === '' ? formula : `${node.name} = ${formula}`
  return `${left} = ${numbers === formula ? '' : `${numbers} = `}${plain(step.data)}`
}

export function depositLine(walk: Walk, deposit: Deposit): Line {
  const from = walk.nodes[deposit.from]!
  const local = from.locals[deposit.operand]!
  const sign = walk.rule === 'overwrite' ? '=' : '+='
  const formula = local.with_names.length > 40 ? 'local' : local.with_names.replaceAll('*', '·')
  const factor = /^[\w.#]+$/.test(formula) ? formula : `(${formula})`
  const grad = walk.nodes[deposit.to]!.name
  const upstream = walk.steps.length ? gradientOf(walk, deposit) : null
  const numbers = upstream === null ? '' : `${term(upstream)} · ${term(deposit.local)} = `
  return {
    text: `${gradOf(grad)} ${sign} ${gradOf(from.name)} · ${factor} = ${numbers}${plain(deposit.amount)}`,
    remark: `${plain(deposit.before)} → ${plain(deposit.after)}${deposit.late ? ', too late' : ''}`,
  }
}

const payers = new WeakMap<Deposit, number>()

/** The gradient a deposit was made from stands in the step around it. */
function gradientOf(walk: Walk, deposit: Deposit): number | null {
  if (!payers.has(deposit))
    for (const step of walk.steps)
      if (step.kind === 'visit' || step.kind === 'deposit') for (const one of step.deposits) payers.set(one, step.grad)
  return payers.get(deposit) ?? null
}

/** What a step does, for a button or a status line: "compute e", "start backward", "visit f". */
export function action(walk: Walk, step: Step): string {
  const name = walk.nodes[step.node]!.name
  switch (step.kind) {
    case 'forward':
      return `compute ${name}`
    case 'seed':
      return step.pass > 1 ? 'start backward again' : 'start backward'
    case 'visit':
      return `visit ${name}`
    case 'deposit':
      return `${name} pays ${step.deposits.map((one) => walk.nodes[one.to]!.name).join(', ')}`
    case 'update':
      return `move ${name}`
  }
}

/** A step told in full: a headline, and a line of arithmetic for each deposit. */
export function tell(walk: Walk, step: Step): { title: string; lines: Line[] } {
  const name = walk.nodes[step.node]!.name
  switch (step.kind) {
    case 'forward':
      return { title: 'Forward', lines: [{ text: forwardLine(walk, step) }] }
    case 'seed':
      return {
        title: 'Backward begins',
        lines: [
          {
            text: `${gradOf(name)} = ${plain(step.after)}`,
            remark: 'the seed: the root changes one for one with itself',
          },
        ],
      }
    case 'update':
      return { title: 'A training step', lines: [{ text: `${name}: ${plain(step.before)} → ${plain(step.after)}` }] }
    default: {
      const isLeaf = walk.nodes[step.node]!.operands.length === 0
      return {
        title: `Visit ${name}, gradient ${plain(step.grad)}${isLeaf ? ': a leaf, it keeps it' : ''}`,
        lines: step.deposits.map((deposit) => depositLine(walk, deposit)),
      }
    }
  }
}
