// SPDX-License-Identifier: MIT
// A walk's record, replayed to a position: what every node shows after so many steps. It copies the engine's numbers as
// docs/walk-format.md says and computes none.
import type { Deposit, Walk, WalkStep } from '../engine/types.ts'

export type Phase = 'ready' | 'forward' | 'backward' | 'done'
export type Step = Exclude<WalkStep, { kind: 'end' }>

export interface Frame {
  /** null: not computed yet. */
  data: (number | null)[]
  /** null: backward has not begun, or a constant. */
  grad: (number | null)[]
  /** What the last step did; null before the first. */
  step: Step | null
  deposits: Deposit[]
  /** By edgeKey: what went along an edge last. */
  paid: Map<string, Deposit>
  visited: Set<number>
  phase: Phase
}

/** Edges are named by the node that pays and which of its operands is paid. */
export const edgeKey = (from: number, operand: number) => `${from}:${operand}`

export const stepsOf = (walk: Walk) => walk.steps.filter((step): step is Step => step.kind !== 'end')

const isInput = (op: string) => op === 'leaf' || op === 'constant'

export function replay(walk: Walk, steps: Step[], position: number): Frame {
  const data = walk.nodes.map((node) => (isInput(node.op) ? node.data : null))
  const grad: (number | null)[] = walk.nodes.map(() => null)
  const paid = new Map<string, Deposit>()
  const visited = new Set<number>()
  let begun = false
  for (const step of steps.slice(0, position)) {
    switch (step.kind) {
      case 'forward':
        data[step.node] = step.data
        if (begun) grad[step.node] = 0
        break
      case 'seed':
        if (!begun) for (const [i, node] of walk.nodes.entries()) if (node.op !== 'constant') grad[i] = 0
        begun = true
        grad[step.node] = step.after
        visited.clear()
        paid.clear()
        break
      case 'visit':
      case 'deposit':
        visited.add(step.node)
        for (const deposit of step.deposits) {
          grad[deposit.to] = deposit.after
          paid.set(edgeKey(deposit.from, deposit.operand), deposit)
        }
        break
      case 'update':
        data[step.node] = step.after
    }
  }
  const step = steps[position - 1] ?? null
  return {
    data,
    grad,
    step,
    deposits: step && (step.kind === 'visit' || step.kind === 'deposit') ? step.deposits : [],
    paid,
    visited,
    phase: phaseOf(steps, position),
  }
}

function phaseOf(steps: Step[], position: number): Phase {
  if (position === 0) return 'ready'
  if (position >= steps.length) return 'done'
  return steps[position - 1]!.kind === 'forward' ? 'forward' : 'backward'
}
