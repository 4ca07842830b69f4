// SPDX-License-Identifier: MIT
// How large cards and the words on edges have to be: for the longest text they show in any step of the walk, so that
// nothing moves and nothing is cut.
import type { Walk } from '../engine/types.ts'
import type { Direction, Placed } from '../lib/layout.ts'
import { widthOf } from '../lib/measure.ts'
import { plain, product, signed, times } from '../lib/number.ts'
import { edgeKey, stepsOf, type Coin } from '../lib/replay.ts'
import { words } from '../words/index.ts'
import { coinTexts, type Card, type CoinText, type Picture } from './picture.ts'

/** A tall card has the words data and grad over their numbers. A flat one has them beside: it is less high, and wider. A wide one also
 *  has its coins on the line of the numbers. */
export type Form = 'tall' | 'flat' | 'wide'
/** Where the line of a wide card is divided: the gradient ends at `grad`, the coins begin at `coins`. */
export interface Columns {
  grad: number
  coins: number
}
/** A drawing laid out, its cards of one form. `columns` is by card id, and empty unless the cards are wide. */
export interface Staged extends Placed {
  form: Form
  columns: Map<string, Columns>
}
/** Where the parts of a card stand. */
export const lines = {
  tall: { head: 22, rule: 31, label: 48, value: 69, strip: 78, coin: 84, height: 110 },
  flat: { head: 21, rule: 30, label: 51, value: 51, strip: 61, coin: 66, height: 92 },
  wide: { head: 20, rule: 28, label: 49, value: 49, strip: 28, coin: 33, height: 60 },
} as const
export const pads = { tall: 12, flat: 10, wide: 10 } as const
const least = { right: 140, down: 124 } as const

/** The widest texts of a node over a whole walk. */
interface Widest {
  data: number
  grad: number
  door: number
  coins: number
}
export interface Extent {
  /** By card id. */
  cards: Map<string, Widest>
  /** By wire id: "1 × 12 = +12". */
  products: Map<string, number>
  locals: Map<string, number>
}

export const coinWidth = (coin: CoinText) => widthOf(coin.text, 'pill') + 14
const stripWidth = (coins: CoinText[]) => coins.reduce((sum, coin) => sum + coinWidth(coin) + 5, 18)

/** Every number the walk shows, measured at both card sizes by the larger. */
export function extentOf(walk: Walk): Extent {
  const extent: Extent = { cards: new Map(), products: new Map(), locals: new Map() }
  const value = (text: string) => widthOf(text, 'value')
  const of = (node: number): Widest => {
    const id = String(node)
    if (!extent.cards.has(id)) extent.cards.set(id, { data: value(plain(walk.nodes[node]!.data)), grad: value('+1'), door: 0, coins: 0 })
    return extent.cards.get(id)!
  }
  const raise = (node: number, key: keyof Widest, width: number) => (of(node)[key] = Math.max(of(node)[key], width))
  const coins: Coin[][] = walk.nodes.map(() => [])
  walk.nodes.forEach((_, i) => of(i))
  for (const step of stepsOf(walk)) {
    if (step.kind === 'forward') raise(step.node, 'data', value(plain(step.data)))
    else if (step.kind === 'update') raise(step.node, 'data', value(plain(step.after)))
    else if (step.kind === 'set') raise(step.node, 'grad', value(signed(step.after)))
    else if (step.kind === 'seed') {
      raise(step.node, 'grad', value(signed(step.after)))
      coins[step.node] = [{ amount: step.after, deposit: null, upstream: 1, pass: 1, late: false, isWiped: false }]
      raise(step.node, 'coins', stripWidth(coinTexts(coins[step.node]!)))
    } else {
      // A leaf keeps what it has: no door closes.
      if (walk.nodes[step.node]!.operands.length) raise(step.node, 'door', widthOf(words.card.paid(signed(step.grad)), 'note'))
      for (const deposit of step.deposits) {
        raise(deposit.to, 'grad', Math.max(value(signed(deposit.after)), value(signed(deposit.before))))
        const own = coins[deposit.to]!
        own.push({ amount: deposit.amount, deposit, upstream: step.grad, pass: step.pass, late: deposit.late, isWiped: false })
        // Only the last few are shown, however many there are.
        raise(deposit.to, 'coins', stripWidth(coinTexts(own)))
        const id = edgeKey(deposit.from, deposit.operand)
        const width = widthOf(`${product(step.grad, deposit.local)}${signed(deposit.amount)}`, 'token') + 20
        extent.products.set(id, Math.max(extent.products.get(id) ?? 0, width))
        extent.locals.set(id, Math.max(extent.locals.get(id) ?? 0, widthOf(times(deposit.local), 'pill')))
      }
    }
  }
  return extent
}

export function headWidth(card: Card): number {
  const name = card.name ? widthOf(card.name, 'name') : 0
  const formula = card.formula ? widthOf(card.name ? ` = ${card.formula}` : card.formula, 'formula') : card.kind === 'leaf' ? widthOf(` ${words.card.kinds.leaf}`, 'formula') : 0
  return name + formula + (card.name && card.formula ? 4 : 0)
}

export function cardSize(card: Card, extent: Extent | null, direction: Direction, form: Form): { width: number; height: number } & Columns {
  const widest = extent?.cards.get(card.id)
  const data = widest?.data ?? widthOf(plain(card.data), 'value')
  const pad = pads[form]
  if (card.kind === 'constant') return { width: Math.ceil(Math.max(64, widthOf(plain(card.data), 'value') + 2 * pad)), height: 40, grad: 0, coins: 0 }
  const noteWidth = card.note ? widthOf(card.note, 'note') + 2 * pad : 0
  const grad = widest?.grad ?? 24
  const labels = widthOf(words.card.dataLabel, 'note') + widthOf(words.card.gradLabel, 'note')
  const box = card.kind === 'leaf' ? 16 : 0
  const body = form === 'tall' ? data + box + grad + 26 : labels + 12 + data + box + grad + 14
  const head = headWidth(card) + (widest?.door ? widest.door + 9 : 0)
  if (form === 'wide') {
    const gradEnd = Math.ceil(pad + body)
    const coins = Math.max((widest?.coins ?? 0) - 18, noteWidth - 2 * pad, 24)
    return { width: Math.ceil(Math.max(gradEnd + 12 + coins + pad, 2 * pad + head)), height: lines[form].height, grad: gradEnd, coins: gradEnd + 12 }
  }
  const width = Math.max(least[direction], 2 * pad + body, 2 * pad + head, widest?.coins ?? 0, noteWidth)
  return { width: Math.ceil(width), height: lines[form].height, grad: Math.ceil(width) - pad, coins: pad - 3 }
}

export function wireSize(wire: Picture['wires'][number], extent: Extent | null, direction: Direction): { pill: number; product: number } {
  const source = wire.source && direction === 'right' ? widthOf(`  (${wire.source})`, 'soft-pill') : 0
  const local = Math.max(extent?.locals.get(wire.id) ?? 0, widthOf(wire.local || '×1', 'pill'))
  const pill = Math.ceil(local + source + 18)
  return { pill, product: Math.max(pill, Math.ceil(extent?.products.get(wire.id) ?? 0)) }
}

