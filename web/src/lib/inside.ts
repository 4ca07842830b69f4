// SPDX-License-Identifier: MIT
// One neuron of a point's walk: its inputs, weights and products, their sum, and what it gives, each with its gradient. At
// an input, the gradient is this neuron's deposit there, found in the walk's record.
import type { PointWalk } from '../engine/types.ts'

export interface Number2 {
  data: number
  grad: number
}
export interface Inside {
  rows: { input: Number2; weight: Number2; product: number }[]
  /** Inputs that have no row, and the sum of their products. */
  others?: { count: number; product: number }
  bias: Number2
  sum: Number2
  /** null: the neuron only weighs and adds. */
  output: (Number2 & { op: string; local: number }) | null
}

/** `layer` from 0, the first hidden one. */
export function insideOf(walk: PointWalk, layer: number, neuron: number): Inside | null {
  const prefix = `layers.${layer}.neurons.${neuron}`
  const find = (name: string) => walk.nodes.findIndex((node) => node.label === name)
  const of = (node: number): Number2 => ({ data: walk.outcomes[node]!.data, grad: walk.outcomes[node]!.grad })
  const deposits = walk.steps.flatMap((step) => (step.kind === 'visit' ? step.deposits : []))
  const out = find(prefix)
  const bias = find(`${prefix}.b`)
  if (out < 0 || bias < 0) return null
  const rows: Inside['rows'] = []
  for (let i = 0; ; i++) {
    const weight = find(`${prefix}.w.${i}`)
    if (weight < 0) break
    const product = walk.nodes.findIndex((node) => node.operands.includes(weight) && node.op === 'mul')
    const input = walk.nodes[product]!.operands.find((one) => one !== weight)!
    const paid = deposits.find((one) => one.from === product && one.to === input)
    rows.push({ input: { data: walk.outcomes[input]!.data, grad: paid?.amount ?? 0 }, weight: of(weight), product: walk.outcomes[product]!.data })
  }
  const node = walk.nodes[out]!
  const isBent = node.operands.length === 1
  return {
    rows,
    bias: of(bias),
    sum: of(isBent ? node.operands[0]! : out),
    output: isBent ? { ...of(out), op: node.op, local: node.locals[0]!.value } : null,
  }
}
