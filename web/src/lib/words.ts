// SPDX-License-Identifier: MIT
// Steps of a walk in words and lines of arithmetic, the command line's way of saying them.
import type { Deposit, Graph, GraphNode, Walk } from '../engine/types.ts'
import { words } from '../words/index.ts'
import { plain, signed, term } from './number.ts'
import { isReplacing, together, type Frame, type Step } from './replay.ts'

const infix = new Set(['+', '-', '*', '/', '**'])
const shown: Record<string, string> = { '*': '·', '-': '−', '/': '/', '**': '^' }

export const symbolOf = (node: GraphNode) => shown[node.symbol] ?? node.symbol

/** A node's name, or a formula of the op table, with the signs people write. */
export const shownName = (name: string) => name.replaceAll('**', '^').replaceAll('*', '·').replaceAll('-', '−')

/** The short name of a node, where it is clear which part of a graph is meant. */
export const called = (node: GraphNode) => node.short ?? node.name

const isPlainName = (text: string) => /^[\w.#₀-₉]+$/.test(text)

/** Names that are expressions themselves stand in parentheses before a dot. */
export const gradOf = (name: string) => (isPlainName(name) ? `${name}.grad` : `(${shownName(name)}).grad`)

/** An expression as the page shows it: with the one minus sign that all its numbers have. The engine reads that one too. */
export const shownText = (text: string) => text.replaceAll('-', '−')

/** A long name keeps its beginning and its end. */
export const shortened = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2))}…${text.slice(-Math.floor(most / 2) + 1)}`

export function applied(node: GraphNode, operands: string[]): string {
  if (infix.has(node.symbol) && operands.length === 2) return operands.join(` ${symbolOf(node)} `)
  if (node.op === 'neg') return `−${operands[0]}`
  return `${node.symbol || node.op}(${operands.join(', ')})`
}

/** As an operand inside another formula: an unnamed sum needs parentheses there, and is shortened first. */
function operandName(graph: Graph, node: number, isArgument = false): string {
  const { op, label } = graph.nodes[node]!
  const name = called(graph.nodes[node]!)
  const text = shortened(shownName(name), 12)
  if (isArgument) return text
  return op === 'constant' ? (name.startsWith('-') ? `(${text})` : text) : label || /^[\w.#()₀-₉]+$/.test(name) ? text : `(${text})`
}

/** "a + b" for a card's head. */
export const formulaOf = (graph: Graph, node: GraphNode) => applied(node, node.operands.map((one) => operandName(graph, one, !infix.has(node.symbol) && node.op !== 'neg')))

/** "2 + (−3)" */
export const forwardNumbers = (walk: Walk, step: Step & { kind: 'forward' }) => applied(walk.nodes[step.node]!, step.operands.map(term))

/** "e = a + b" and "2 + (−3)". */
export function forwardLine(walk: Walk, step: Step & { kind: 'forward' }): { left: string; numbers: string } {
  const node = walk.nodes[step.node]!
  const formula = formulaOf(walk, node)
  return { left: node.label === '' ? formula : `${called(node)} = ${formula}`, numbers: forwardNumbers(walk, step) }
}

export function depositLine(walk: Walk, step: Step, deposit: Deposit): string {
  const local = walk.nodes[deposit.from]!.locals[deposit.operand]!
  const sign = isReplacing(walk, deposit) ? '=' : '+='
  const formula = local.with_names.length > 40 ? 'local' : shownName(local.with_names)
  const factor = isPlainName(formula) ? formula : `(${formula})`
  const upstream = 'grad' in step ? step.grad : 0
  const from = gradOf(called(walk.nodes[deposit.from]!))
  return `${gradOf(called(walk.nodes[deposit.to]!))} ${sign} ${from} · ${factor} = ${term(upstream)} · ${term(deposit.local)}`
}

/** Each name once, however often its node is visited. */
const namesOf = (walk: Walk, nodes: number[]) => [...new Set(nodes)].map((node) => shownName(called(walk.nodes[node]!))).join(', ')

/** The words for one press: leaves that are visited one after the other are named together. */
export function actionAt(walk: Walk, steps: Step[], position: number): string {
  const step = steps[position]
  if (!step) return ''
  const [from, to] = together(walk, steps, position)
  if (to - from === 1) return action(walk, step)
  return words.steps.visit(shortened(namesOf(walk, steps.slice(position, to).map((one) => one.node)), 24))
}

/** The words for a step, on its button: "compute e", "start backward", "visit f". */
export function action(walk: Walk, step: Step): string {
  const name = shortened(shownName(walk.nodes[step.node]!.name), 24)
  switch (step.kind) {
    case 'forward':
      return words.steps.compute(name)
    case 'seed':
      return step.pass > 1 ? words.steps.seedAgain : words.steps.seed
    case 'visit':
      return words.steps.visit(name)
    case 'deposit':
      return words.steps.pays(name, shortened(step.deposits.map((one) => shownName(walk.nodes[one.to]!.name)).join(', '), 24))
    case 'update':
      return words.steps.move(name)
    case 'set':
      return words.steps.set(gradOf(name), plain(step.after))
  }
}

export interface Telling {
  title: string
  /** Each line of arithmetic, and what it came to once it has. */
  lines: { text: string; tone: 'data' | 'grad'; result: string; change: string }[]
  remark: string
  isWrong: boolean
}

/** The step under way, or the last, as far as it has come. `isForward`: before anything was said of edges. */
export function tell(walk: Walk, frame: Frame, landed: number, isForward = false): Telling {
  const { step } = frame
  const say = words.story
  if (!step) return { title: say.leavesOnly, lines: [], remark: say.leavesHint, isWrong: false }
  const name = shownName(walk.nodes[step.node]!.name)
  const hasCome = frame.isWhole || landed > 0
  switch (step.kind) {
    case 'forward': {
      const { left, numbers } = forwardLine(walk, step)
      const line = { text: numbers === left ? left : `${left} = ${numbers}`, tone: 'data' as const, result: hasCome ? plain(step.data) : '', change: '' }
      return { title: '', lines: [line], remark: !hasCome ? say.sending(name) : isForward ? say.computedAlone(name) : say.computed(name), isWrong: false }
    }
    case 'seed':
      return {
        title: say.seed,
        lines: [{ text: gradOf(name), tone: 'grad', result: hasCome ? signed(step.after) : '', change: '' }],
        remark: step.pass > 1 ? say.seededAgain(name) : say.seeded(name),
        isWrong: false,
      }
    case 'update':
      return { title: say.update(name), lines: [{ text: name, tone: 'data', result: '', change: hasCome ? `${plain(step.before)} → ${plain(step.after)}` : '' }], remark: '', isWrong: false }
    case 'set':
      return {
        title: say.set(name),
        lines: [{ text: gradOf(name), tone: 'grad', result: '', change: hasCome ? `${plain(step.before)} → ${plain(step.after)}` : '' }],
        remark: hasCome && step.before !== 0 ? say.lost(name, plain(step.before)) : '',
        isWrong: hasCome && step.before !== 0,
      }
    default:
      return tellVisit(walk, frame, step, landed)
  }
}

function tellVisit(walk: Walk, frame: Frame, step: Step & { kind: 'visit' | 'deposit' }, landed: number): Telling {
  const say = words.story
  const name = shownName(walk.nodes[step.node]!.name)
  const come = frame.isWhole ? step.deposits.length : landed
  const under = frame.isWhole ? come : Math.min(come + 1, step.deposits.length)
  const lines = step.deposits.slice(0, under).map((deposit, i) => ({
    text: depositLine(walk, step, deposit),
    tone: 'grad' as const,
    result: i < come ? signed(deposit.amount) : '',
    change: i < come ? `${plain(deposit.before)} → ${plain(deposit.after)}` : '',
  }))
  const arrived = step.deposits.slice(0, come)
  const late = arrived.find((one) => one.late)
  const wiped = arrived.find((one) => isReplacing(walk, one) && one.before !== 0)
  if (new Set(frame.leaves).size > 1) return tellLeaves(walk, frame)
  const title = `${say.visit(name)}, ${say.has} ${signed(step.grad)}.`
  if (late) return { title, lines, remark: say.late(shownName(walk.nodes[late.to]!.name), plain(frame.door[late.to] ?? late.before), signed(late.amount)), isWrong: true }
  if (wiped) return { title, lines, remark: say.wiped(plain(wiped.before), plain(wiped.after)), isWrong: true }
  if (walk.nodes[step.node]!.operands.length === 0) return { title, lines, remark: tellLeaf(walk, step), isWrong: false }
  if (step.grad === 0 && (walk.outcomes[step.node]?.right_grad ?? 0) !== 0) return { title, lines, remark: say.early(name), isWrong: true }
  return { title, lines, remark: step.deposits.length ? say.pays(name) : '', isWrong: false }
}

/** Leaves that were visited together: each with what it has. */
function tellLeaves(walk: Walk, { leaves, grad }: Frame): Telling {
  const say = words.story
  const list = (of: (node: number) => string) => [...new Set(leaves)].map(of).join(', ')
  const name = (node: number) => shownName(called(walk.nodes[node]!))
  const isPaid = (walk.rule === 'right' || walk.rule === 'code') && leaves.every((node) => grad[node] === walk.outcomes[node]!.right_grad)
  const root = shownName(walk.nodes[walk.root]!.name)
  const remark = isPaid ? say.leaves(list((node) => `∂${root}/∂${name(node)} = ${plain(grad[node]!)}`)) : say.leavesKeep(list((node) => `${name(node)} ${signed(grad[node]!)}`))
  return { title: `${say.visit(namesOf(walk, leaves))}.`, lines: [], remark, isWrong: false }
}

/** A leaf pays nobody: with all its deposits it is done; before them its place does not matter; by a broken rule nothing is claimed. */
function tellLeaf(walk: Walk, step: Step & { kind: 'visit' | 'deposit' }): string {
  const say = words.story
  const name = shownName(called(walk.nodes[step.node]!))
  const isPaid = step.grad === walk.outcomes[step.node]!.right_grad
  if (walk.rule !== 'right' && !(walk.rule === 'code' && isPaid)) return say.leafKeeps(name)
  return isPaid ? say.leaf(name, shownName(walk.nodes[walk.root]!.name), plain(step.grad)) : say.leafEarly(name)
}
