// SPDX-License-Identifier: MIT
// What GraphView draws: cards and the wires between them, made from a walk's graph and a frame of it.
import type { Graph, Walk } from '../engine/types.ts'
import { signed } from '../lib/number.ts'
import { edgeKey, type Frame } from '../lib/replay.ts'
import { symbolOf } from '../lib/words.ts'

export type Mark = 'current' | 'paid' | 'visited' | 'wrong' | 'stacked' | 'listed' | ''

export interface Card {
  id: string
  /** null: stands for several nodes. */
  node: number | null
  title: string
  isNamed: boolean
  symbol: string
  kind: 'leaf' | 'constant' | 'op' | 'group'
  isRoot: boolean
  data: number | null
  grad: number | null
  /** Constants have no gradient, and before backward nobody has. */
  hasGrad: boolean
  mark: Mark
  note?: string
}

export interface Wire {
  id: string
  from: string
  to: string
  /** As "a to f": for its accessible name. */
  title: string
  /** Edge of the graph: the node that pays and the operand it pays; null where it stands for several. */
  edge: { from: number; operand: number } | null
  state: 'idle' | 'active' | 'paid' | 'late'
  label: string
}

/** A node or an edge of the graph. */
export interface Selection {
  node?: number
  edge?: { from: number; operand: number }
}

export interface Picture {
  cards: Card[]
  wires: Wire[]
}

export function draw(graph: Graph, frame: Frame | null, marks: Map<number, Mark> = new Map()): Picture {
  const active = new Set(frame?.deposits.map((one) => edgeKey(one.from, one.operand)))
  const cards = graph.nodes.map((node, i): Card => {
    const kind = node.op === 'leaf' || node.op === 'constant' ? node.op : 'op'
    return {
      id: String(i),
      node: i,
      title: node.name,
      isNamed: node.label !== '' || kind !== 'op',
      // A dot alone would look like a blemish, so a product shows a cross here.
      symbol: kind === 'op' ? symbolOf(node).replace('·', '×') : kind,
      kind,
      isRoot: i === graph.root,
      data: frame ? frame.data[i]! : node.data,
      grad: frame?.grad[i] ?? null,
      hasGrad: kind !== 'constant',
      mark: marks.get(i) ?? markOf(frame, i),
    }
  })
  const wires = graph.nodes.flatMap((node, from) =>
    node.operands.map((operand, k): Wire => {
      const key = edgeKey(from, k)
      const paid = frame?.paid.get(key)
      return {
        id: key,
        from: String(operand),
        to: String(from),
        title: `${graph.nodes[operand]!.name} to ${node.name}`,
        edge: { from, operand: k },
        state: active.has(key) ? (paid?.late ? 'late' : 'active') : paid ? (paid.late ? 'late' : 'paid') : 'idle',
        label: paid ? signed(paid.amount) : '',
      }
    }),
  )
  return { cards, wires }
}

function markOf(frame: Frame | null, node: number): Mark {
  if (!frame?.step) return ''
  if (frame.step.node === node) return 'current'
  if (frame.deposits.some((one) => one.to === node)) return 'paid'
  return frame.visited.has(node) ? 'visited' : ''
}

/** Which node a walk goes wrong at, once it has come that far. */
export function partingMark(walk: Walk, position: number): Map<number, Mark> {
  const { parting } = walk
  return parting && position > parting.step ? new Map([[parting.node, 'wrong']]) : new Map()
}
