// SPDX-License-Identifier: MIT
// A nudge on its way forward: which nodes move, one after the other, and the token that runs along the edges between them. How far
// each of them moves is the engine's.
import type { Graph, Nudge } from '../engine/types.ts'
import { beat, ease, seed, within } from '../lib/beats.ts'
import { widthOf } from '../lib/measure.ts'
import { plain, signed, term, times } from '../lib/number.ts'
import { pointAt } from '../lib/path.ts'
import { edgeKey } from '../lib/replay.ts'
import type { Picture } from './picture.ts'
import { nothing, type Scene, type Token } from './scene.ts'
import { lines, pads, type Extent, type Staged } from './sizes.ts'

/** A node that moves, and through which of its operands; the leaf that is nudged moves by itself. */
export interface Move {
  node: number
  operand: number | null
}

const length = beat.settle + 20
export const moveDuration = (move: Move | undefined) => (move?.operand == null ? seed.end : length)

/** In the order in which they move: each after its operands. */
export function movesOf(graph: Graph, { leaf, nodes }: Nudge): Move[] {
  const isMoved = (node: number) => nodes[node]!.moved !== 0
  return graph.nodes.flatMap((node, i): Move[] => {
    if (i === leaf) return [{ node: i, operand: null }]
    const operand = node.operands.findIndex(isMoved)
    return isMoved(i) && operand >= 0 ? [{ node: i, operand }] : []
  })
}

/** How many of the moves have landed. */
export function landedAt(moves: Move[], at: number): number {
  const position = Math.floor(at + 1e-9)
  const move = moves[position]
  const ms = (at - position) * moveDuration(move)
  return move && ms >= (move.operand === null ? seed.land : beat.land) ? position + 1 : position
}

/** "0.1 × 10 = " and "+1": what an edge makes of the nudge that comes along it. */
export function equationOf(graph: Graph, nudge: Nudge, { node, operand }: Move): [string, string] {
  const { operands, locals } = graph.nodes[node]!
  return [`${term(nudge.nodes[operands[operand!]!]!.moved)} × ${term(locals[operand!]!.value)} = `, signed(nudge.nodes[node]!.moved)]
}

export function sweepScene(graph: Graph, nudge: Nudge, moves: Move[], at: number, picture: Picture, placed: Staged): Scene {
  const position = Math.floor(at + 1e-9)
  const move = moves[position]
  const time = (at - position) * moveDuration(move)
  if (!move || time <= 0 || time >= (move.operand === null ? seed.land : beat.land)) return nothing
  const moved = (node: number) => signed(nudge.nodes[node]!.moved)
  const token = (kind: Token['kind'], parts: Token['parts'], point: { x: number; y: number }, scale = 1): Token => ({ id: 'nudge', kind, parts, tone: 'data', ...point, scale, isUnder: false })
  const dataPlace = (node: number) => {
    const box = placed.boxes.get(picture.cardOf[node]!)!
    return { x: box.x + pads[placed.form] + 26, y: box.y + lines[placed.form].value - 6 }
  }
  if (move.operand === null) {
    const place = dataPlace(move.node)
    const part = ease(time / seed.land)
    return { ...nothing, tokens: [token('data', [{ text: moved(move.node), tone: 'data' }], { x: place.x, y: place.y - 26 * (1 - part) }, 0.7 + 0.3 * part)] }
  }
  const operand = graph.nodes[move.node]!.operands[move.operand]!
  const wire = edgeKey(move.node, move.operand)
  const link = placed.links.get(wire)
  if (!link) return nothing
  const local = graph.nodes[move.node]!.locals[move.operand]!.value
  if (time < beat.meet) {
    const from = dataPlace(operand)
    const part = ease(within(time, beat.leave, beat.meet))
    const port = pointAt(link.path, 0)
    const hiding = 0.3
    const way = part < hiding ? part / hiding : 1
    const point = part < hiding ? { x: from.x + (port.x - from.x) * way, y: from.y + (port.y - from.y) * way } : pointAt(link.path, link.at * ((part - hiding) / (1 - hiding)))
    const touches = time >= beat.leave && Math.abs(point.x - link.words.x) < (widthOf(moved(operand), 'token') + widthOf(times(local), 'pill')) / 2 + 22 && Math.abs(point.y - link.words.y) < 27
    if (!touches) return { ...nothing, tokens: [token('carry', [{ text: moved(operand), tone: 'data' }], point, time < beat.leave ? 0.7 + (0.3 * time) / beat.leave : 1)] }
  }
  const [factors, result] = equationOf(graph, nudge, move)
  if (time < beat.product) return { ...nothing, tokens: [token('meet', [{ text: factors.slice(0, -3), tone: 'ink' }], link.words)], merged: wire }
  if (time < beat.arrive) return { ...nothing, tokens: [token('product', [{ text: factors, tone: 'ink' }, { text: result, tone: 'data' }], link.words)], merged: wire }
  return { ...nothing, tokens: [token('arrive', [{ text: result, tone: 'data' }], pointAt(link.path, link.at + (1 - link.at) * ease(within(time, beat.arrive, beat.land))))] }
}

/** Space for everything that a walk and these nudges ever show. `notes`: the words on a card that has moved. */
export function sweepExtent(graph: Graph, extent: Extent, nudges: Nudge[], note: (moved: number) => string): Extent {
  const cards = new Map(extent.cards)
  const products = new Map(extent.products)
  for (const nudge of nudges)
    for (const move of movesOf(graph, nudge)) {
      const id = String(move.node)
      const { after, moved } = nudge.nodes[move.node]!
      const was = cards.get(id)!
      cards.set(id, { ...was, data: Math.max(was.data, widthOf(plain(after), 'value')), coins: Math.max(was.coins, widthOf(note(moved), 'note') + 24) })
      if (move.operand === null) continue
      const wire = edgeKey(move.node, move.operand)
      products.set(wire, Math.max(products.get(wire) ?? 0, widthOf(equationOf(graph, nudge, move).join(''), 'token') + 20))
    }
  return { ...extent, cards, products }
}
