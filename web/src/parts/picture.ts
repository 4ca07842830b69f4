// SPDX-License-Identifier: MIT
// The picture that GraphView draws: cards and the wires between them, made from a walk's graph and a frame of it.
import type { Graph, GraphNode, Walk } from '../engine/types.ts'
import { plain, product, signed, times } from '../lib/number.ts'
import { edgeKey, type Coin, type Frame } from '../lib/replay.ts'
import { called, formulaOf, shortened, shownName } from '../lib/words.ts'
import { words } from '../words/index.ts'

export type Mark = 'current' | 'wrong' | 'stacked' | 'listed' | ''
/** 0 bare and soft, the others in the gradient's two colours. */
export type Tone = 'plus' | 'minus' | 'zero'
export const toneOf = (value: number): Tone => (value > 0 ? 'plus' : value < 0 ? 'minus' : 'zero')

export interface CoinText {
  text: string
  tone: Tone
  isWiped: boolean
  late: boolean
}

export interface Card {
  id: string
  /** null: stands for several nodes. */
  node: number | null
  /** In full, for its accessible name. */
  title: string
  /** In its head; '' where the formula is all there is. */
  name: string
  formula: string
  kind: 'leaf' | 'constant' | 'op' | 'group'
  isRoot: boolean
  data: number | null
  grad: number | null
  /** Constants have no gradient, and before backward nobody has. */
  hasGrad: boolean
  coins: CoinText[]
  /** The gradient that it had when it paid. */
  door: number | null
  /** Something came after the door had closed. */
  isLate: boolean
  mark: Mark
  /** Says nothing of deposits: they have not been taught yet. */
  isQuiet?: boolean
  note?: string
  /** Its place in the sorted list. */
  rank?: number
}

export interface Wire {
  id: string
  from: string
  to: string
  /** As "a to f": for its accessible name. */
  title: string
  /** Edge of the graph: the node that pays and the operand it pays; null where it stands for several. */
  edge: { from: number; operand: number } | null
  /** The last payment along it; null: none. */
  paid: number | null
  late: boolean
  isActive: boolean
  /** "×12" once the user has data. */
  local: string
  /** Where the local derivative comes from: a name, or ''. */
  source: string
  /** In the step that pays it: "1 × 12 = " and "+12". */
  equation: [string, string] | null
  /** The left side of the equation, where it is not about a gradient. */
  tone?: 'data'
}

/** A node or an edge of the graph. */
export interface Selection {
  node?: number
  edge?: { from: number; operand: number }
}

export interface Picture {
  cards: Card[]
  wires: Wire[]
  /** By edgeKey: the wire that stands for an edge; none inside a box. */
  wireOf: Map<string, string>
  /** By node: its card's id. */
  cardOf: string[]
}

export interface DrawOptions {
  marks?: Map<number, Mark>
  /** Constants take no gradient: they stand in the formulas, unless asked for. */
  hasConstants?: boolean
  /** Edges whose local derivative is asked for, and so not shown. */
  isAsked?: (from: number) => boolean
  ranks?: Map<number, number>
  /** Data alone: no gradients on cards, nothing on edges. */
  isForward?: boolean
}

const mostCoins = 4

export function coinTexts(coins: Coin[]): CoinText[] {
  const earlier = coins.length <= mostCoins ? 0 : coins.length - mostCoins + 1
  const texts = coins.slice(earlier).map((coin): CoinText => ({
    text: `${coin.deposit ? '' : `${words.card.seed} `}${signed(coin.amount)}${coin.late ? ` ${words.card.late}` : ''}`,
    tone: toneOf(coin.amount),
    isWiped: coin.isWiped,
    late: coin.late,
  }))
  return earlier ? [{ text: words.card.earlier(earlier), tone: 'zero', isWiped: false, late: false }, ...texts] : texts
}

export const isInput = (node: GraphNode) => node.op === 'leaf' || node.op === 'constant'
/** The text of an edge whose number the learner is asked for. */
export const asked = '×?'
const isName = (text: string) => /^[A-Za-z_][\w₀-₉]*$/.test(text)

export function draw(graph: Graph, frame: Frame | null, { marks, hasConstants = false, isAsked, ranks, isForward = false }: DrawOptions = {}): Picture {
  const isDrawn = (node: GraphNode) => hasConstants || node.op !== 'constant'
  // A graph of constants alone has nothing else to show.
  const showsAll = hasConstants || graph.nodes.every((node) => node.op === 'constant')
  const cards = graph.nodes.flatMap((node, i): Card[] => {
    if (!showsAll && !isDrawn(node)) return []
    const kind = node.op === 'leaf' || node.op === 'constant' ? node.op : 'op'
    const isNamed = node.label !== '' || kind !== 'op'
    const door = frame?.door[i] ?? null
    const coins = frame?.coins[i] ?? []
    return [
      {
        id: String(i),
        node: i,
        title: node.name,
        name: isNamed ? shortened(called(node), 14) : '',
        formula: kind === 'op' ? shortened(formulaOf(graph, node), 22) : kind === 'leaf' ? '' : words.card.constant,
        kind,
        isRoot: i === graph.root,
        data: frame ? frame.data[i]! : node.data,
        grad: frame?.grad[i] ?? null,
        hasGrad: kind !== 'constant' && !isForward,
        coins: coinTexts(coins),
        door,
        isLate: coins.some((coin) => coin.late),
        mark: marks?.get(i) ?? (frame?.step?.node === i ? 'current' : ''),
        rank: ranks?.get(i),
      },
    ]
  })
  const active = new Set(frame?.deposits.map((one) => edgeKey(one.from, one.operand)))
  const wires = graph.nodes.flatMap((node, from) =>
    node.operands.flatMap((operand, k): Wire[] => {
      if (!showsAll && !isDrawn(graph.nodes[operand]!)) return []
      const key = edgeKey(from, k)
      const paid = frame?.paid.get(key)
      const local = node.locals[k]!
      const knows = frame && !isForward ? frame.data[from] !== null && !isAsked?.(from) : false
      const step = frame?.step
      const equation =
        paid && active.has(key) && step && 'deposits' in step
          ? ([product(step.grad, paid.local), signed(paid.amount)] as [string, string])
          : null
      return [
        {
          id: key,
          from: String(operand),
          to: String(from),
          title: words.card.between(shownName(graph.nodes[operand]!.name), shownName(node.name)),
          edge: { from, operand: k },
          paid: paid?.amount ?? null,
          late: paid?.late ?? false,
          isActive: active.has(key),
          local: knows ? times(paid ? paid.local : local.value) : frame && !isForward && isAsked?.(from) && frame.data[from] !== null ? asked : '',
          source: isName(local.with_names) ? local.with_names : '',
          equation,
        },
      ]
    }),
  )
  return { cards, wires, wireOf: new Map(wires.map((wire) => [wire.id, wire.id])), cardOf: graph.nodes.map((_, i) => String(i)) }
}

/** Which graph it is, whatever its numbers and rule: the same in all figures that show it. */
export const subjectOf = (graph: Graph) => graph.nodes.map((node) => `${node.name}=${node.op}(${node.operands})`).join(';')

/** Which node a walk goes wrong at, once it has come that far. */
export function partingMark(walk: Walk, position: number): Map<number, Mark> {
  const { parting } = walk
  return parting && position > parting.step ? new Map([[parting.node, 'wrong']]) : new Map()
}

export function describe(card: Card): string {
  const title = shownName(card.title)
  const parts = card.kind === 'op' ? [`${title}${card.name && card.formula ? ` = ${card.formula}` : ''}`] : [title, words.card.kinds[card.kind]]
  parts.push(card.data === null ? (card.note ?? words.card.notYet) : words.card.data(plain(card.data)))
  if (card.grad !== null && card.hasGrad) parts.push(words.card.gradient(signed(card.grad)))
  if (card.door !== null) parts.push(words.card.paid(signed(card.door)))
  return parts.join(', ')
}
