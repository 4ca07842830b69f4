// SPDX-License-Identifier: MIT
// A layer of four neurons as a graph of scalars, and where in it the cells of x, W and h are. Every number is the engine's.
import type { Engine } from '../engine/engine.ts'
import type { Deposit, Walk } from '../engine/types.ts'
import { stepsOf } from './replay.ts'

/** Rows are neurons, columns are inputs. */
export interface LayerNumbers {
  x: readonly number[]
  w: readonly (readonly number[])[]
}

/** One cell of the layer: an input, a neuron, or a weight by neuron and input. All count from 0. */
export type Cell = { of: 'x'; j: number } | { of: 'h'; i: number } | { of: 'w'; i: number; j: number }

const sumOf = (terms: string[]) => terms.join(' + ')
/** In pairs, so that the graph is no deeper than it has to be. */
function lossText(rows: number[]): string {
  if (rows.length === 1) return `h${rows[0]! + 1}**2`
  const half = rows.length / 2
  return [rows.slice(0, half), rows.slice(half)].map((part) => (part.length > 1 ? `(${lossText(part)})` : lossText(part))).join(' + ')
}

/** The layer as an expression: leaves, one line per neuron, and the squares of h added up, in pairs. */
export function layerText({ x, w }: LayerNumbers): string {
  const leaves = [...x.map((value, j) => `x${j + 1} = ${value}`), ...w.flatMap((row, i) => row.map((value, j) => `w${i + 1}${j + 1} = ${value}`))]
  const neurons = w.map((row, i) => `h${i + 1} = ${sumOf(row.map((_, j) => `w${i + 1}${j + 1}*x${j + 1}`))}`)
  return [...leaves, ...neurons, `L = ${lossText(w.map((_, i) => i))}`].join('; ')
}

export interface Layer {
  walk: Walk
  x: number[]
  h: number[]
  w: number[][]
  loss: number
  /** By neuron: its square, as the loss adds it. */
  squares: number[]
  /** The products that each neuron adds up. */
  terms: number[][]
  hGrad: number[]
  /** By neuron and input: what the neuron pays the input, and the weight. */
  toX: Deposit[][]
  toW: Deposit[][]
  /** Neurons in the order in which the walk visits them. */
  visits: number[]
}

export function layerOf(engine: Engine, numbers: LayerNumbers): Layer {
  const walk = engine.walk(layerText(numbers))
  const place = new Map(walk.nodes.map((node, i) => [node.name, i]))
  const at = (name: string) => place.get(name)!
  const data = (node: number) => walk.nodes[node]!.data
  const rows = numbers.w.map((_, i) => i)
  const columns = numbers.x.map((_, j) => j)
  const users = (node: number) => walk.nodes.flatMap(({ operands }, i) => (operands.includes(node) ? [i] : []))
  const product = (i: number, j: number) => users(at(`w${i + 1}${j + 1}`))[0]!
  const deposits = stepsOf(walk).flatMap((step) => ('deposits' in step ? step.deposits : []))
  const paid = (from: number, to: number) => deposits.find((one) => one.from === from && one.to === to)!
  const grid = <Value>(of: (i: number, j: number) => Value) => rows.map((i) => columns.map((j) => of(i, j)))
  const toX = grid((i, j) => paid(product(i, j), at(`x${j + 1}`)))
  return {
    walk,
    x: columns.map((j) => data(at(`x${j + 1}`))),
    h: rows.map((i) => data(at(`h${i + 1}`))),
    w: grid((i, j) => data(at(`w${i + 1}${j + 1}`))),
    loss: data(walk.root),
    squares: rows.map((i) => data(users(at(`h${i + 1}`))[0]!)),
    terms: grid((i, j) => data(product(i, j))),
    hGrad: rows.map((i) => walk.outcomes[at(`h${i + 1}`)]!.grad),
    toX,
    toW: grid((i, j) => paid(product(i, j), at(`w${i + 1}${j + 1}`))),
    visits: [...rows].sort((one, other) => deposits.indexOf(toX[one]![0]!) - deposits.indexOf(toX[other]![0]!)),
  }
}

/** The scalars that a cell's gradient comes from, as an expression of its own. Everything that does not depend on the cell is one number. */
export function cellText(engine: Engine, { x, w }: LayerNumbers, cell: Cell): string {
  const valueOf = (text: string) => {
    const { nodes, root } = engine.walk(text)
    return nodes[root]!.data
  }
  const product = (i: number, j: number) => `(${w[i]![j]!})*(${x[j]!})`
  /** A neuron in which only one product has a name; all others are one number. */
  const alone = (i: number, j: number, term: string) => {
    const rest = valueOf(sumOf(x.flatMap((_, k) => (k === j ? [] : [product(i, k)]))))
    return `p${i + 1} = ${term}; h${i + 1} = p${i + 1} ${rest < 0 ? '-' : '+'} ${Math.abs(rest)}`
  }
  if (cell.of === 'w') {
    const { i, j } = cell
    const [name, input] = [`w${i + 1}${j + 1}`, `x${j + 1}`]
    return `${input} = ${x[j]}; ${name} = ${w[i]![j]}; ${alone(i, j, `${name}*${input}`)}; L${i + 1} = h${i + 1}**2`
  }
  if (cell.of === 'x') {
    const { j } = cell
    const name = `x${j + 1}`
    return [`${name} = ${x[j]}`, ...w.map((row, i) => alone(i, j, `${row[j]! < 0 ? `(${row[j]})` : row[j]}*${name}`)), `L = ${lossText(w.map((_, i) => i))}`].join('; ')
  }
  const { i } = cell
  const leaves = [...x.map((value, j) => `x${j + 1} = ${value}`), ...w[i]!.map((value, j) => `w${i + 1}${j + 1} = ${value}`)]
  return [...leaves, `h${i + 1} = ${sumOf(x.map((_, j) => `w${i + 1}${j + 1}*x${j + 1}`))}`, `L${i + 1} = h${i + 1}**2`].join('; ')
}
