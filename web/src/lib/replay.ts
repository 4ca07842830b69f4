// SPDX-License-Identifier: MIT
// A walk's record, replayed to a position: what every node shows after some steps and some deposits of the next. It
// copies the engine's numbers as docs/walk-format.md says and computes none.
import type { Deposit, Walk, WalkStep } from '../engine/types.ts'

export type Phase = 'ready' | 'forward' | 'backward' | 'done'
export type Step = Exclude<WalkStep, { kind: 'end' }>

/** One line of a node's ledger, in the order they came. */
export interface Coin {
  amount: number
  /** null: the seed. */
  deposit: Deposit | null
  /** The gradient of the payer. */
  upstream: number
  pass: number
  late: boolean
  /** Another deposit took its place: the rule was = where += belongs. */
  isWiped: boolean
}

export interface Frame {
  /** null: not computed yet. */
  data: (number | null)[]
  /** null: backward has not begun, or a constant. */
  grad: (number | null)[]
  /** By node; the gradient is the sum of those that were not wiped out. */
  coins: Coin[][]
  /** By node: what it had when it paid; null while it has not, and for leaves, which keep theirs. */
  door: (number | null)[]
  /** The step under way, or the last one; null before the first. */
  step: Step | null
  /** Whether that step is done. */
  isWhole: boolean
  /** Those of the step that have landed. */
  deposits: Deposit[]
  /** By edgeKey: what went along an edge last. */
  paid: Map<string, Deposit>
  visited: Set<number>
  /** Where leaves are visited one after the other: those visited so far, up to the last step. */
  leaves: number[]
  phase: Phase
}

/** Edges are named by the node that pays and which of its operands is paid. */
export const edgeKey = (from: number, operand: number) => `${from}:${operand}`

export const stepsOf = (walk: Walk) => walk.steps.filter((step): step is Step => step.kind !== 'end')

/** Whether a deposit took the place of what was there. */
export const isReplacing = (walk: Walk, deposit: Deposit) => deposit.replaces ?? walk.rule === 'overwrite'

const isInput = (op: string) => op === 'leaf' || op === 'constant'
const payments = (step: Step) => (step.kind === 'visit' || step.kind === 'deposit' ? step.deposits : [])

/** `landed`: of the step after `position`, how many of its effects have come; a step without deposits has one. */
export function replay(walk: Walk, steps: Step[], position: number, landed = 0, isUnderWay = landed > 0): Frame {
  const frame: Frame = {
    data: walk.nodes.map((node) => (isInput(node.op) ? node.data : null)),
    grad: walk.nodes.map(() => null),
    coins: walk.nodes.map(() => []),
    door: walk.nodes.map(() => null),
    step: (isUnderWay ? steps[position] : steps[position - 1]) ?? null,
    isWhole: !isUnderWay,
    deposits: [],
    paid: new Map(),
    visited: new Set(),
    leaves: [],
    phase: phaseOf(steps, position),
  }
  for (const step of steps.slice(0, position)) apply(walk, frame, step, Infinity)
  const next = steps[position]
  if (isUnderWay && next) apply(walk, frame, next, landed)
  if (!isUnderWay && position > 0) frame.leaves = steps.slice(together(walk, steps, position - 1)[0], position).flatMap((step) => (isLeafVisit(walk, step) ? [step.node] : []))
  if (frame.step) frame.deposits = payments(frame.step).slice(0, isUnderWay ? landed : Infinity)
  return frame
}

/** A leaf passes nothing on. */
const isLeafVisit = (walk: Walk, step: Step | undefined) => step?.kind === 'visit' && step.deposits.length === 0 && walk.nodes[step.node]!.operands.length === 0

/** Leaves that are visited one after the other are one step together: where it begins, and where it ends. */
export function together(walk: Walk, steps: Step[], position: number): [from: number, to: number] {
  let [from, to] = [position, position + 1]
  if (!isLeafVisit(walk, steps[position])) return [from, to]
  while (isLeafVisit(walk, steps[from - 1])) from--
  while (isLeafVisit(walk, steps[to])) to++
  return [from, to]
}

function apply(walk: Walk, frame: Frame, step: Step, landed: number) {
  const { data, grad, coins, door, paid, visited } = frame
  const { node } = step
  if (landed === 0 && step.kind !== 'visit') return
  switch (step.kind) {
    case 'forward':
      data[node] = step.data
      if (grad[node] !== null) {
        grad[node] = 0
        coins[node] = []
        door[node] = null
        for (const [edge, deposit] of paid) if (deposit.to === node) paid.delete(edge)
      }
      break
    case 'seed':
      beginBackward(walk, grad)
      grad[node] = step.after
      coins[node] = [{ amount: step.after, deposit: null, upstream: step.after, pass: step.pass, late: false, isWiped: false }]
      visited.clear()
      paid.clear()
      door.fill(null)
      break
    case 'update':
      data[node] = step.after
      break
    case 'set':
      beginBackward(walk, grad)
      grad[node] = step.after
      for (const coin of coins[node]!) coin.isWiped = true
      break
    case 'visit':
    case 'deposit': {
      beginBackward(walk, grad) // where the learner's code forgot the seed
      for (const deposit of step.deposits.slice(0, landed)) {
        const { to, amount, late } = deposit
        if (isReplacing(walk, deposit)) for (const coin of coins[to]!) coin.isWiped = true
        coins[to]!.push({ amount, deposit, upstream: step.grad, pass: step.pass, late, isWiped: false })
        grad[to] = deposit.after
        paid.set(edgeKey(deposit.from, deposit.operand), deposit)
      }
      if (landed < Infinity) return
      visited.add(node)
      // In the recursion visits come first and deposits one by one: the door closes with the first of them.
      if (step.deposits.length || (step.kind === 'visit' && walk.rule !== 'recursion' && walk.nodes[node]!.operands.length)) door[node] = step.grad
    }
  }
}

/** From now on all gradients are numbers. */
function beginBackward(walk: Walk, grad: (number | null)[]) {
  for (const [i, one] of walk.nodes.entries()) if (one.op !== 'constant') grad[i] ??= 0
}

function phaseOf(steps: Step[], position: number): Phase {
  if (position === 0) return 'ready'
  if (position >= steps.length) return 'done'
  return steps[position - 1]!.kind === 'forward' ? 'forward' : 'backward'
}
