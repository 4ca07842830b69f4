// SPDX-License-Identifier: MIT
// Where the words on edges stand: in the middle if nothing else does, else a little before or after; and inside the drawing.
import type { Link, Placed } from './layout.ts'
import { pointAt, type Path, type Point } from './path.ts'

interface Rect {
  x: number
  y: number
  width: number
  height: number
}
const height = 26
const places = [0.5, 0.45, 0.55, 0.4, 0.6, 0.35, 0.65, 0.3, 0.7, 0.25, 0.75]

const overlap = (a: Rect, b: Rect) =>
  Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
  Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y))

const around = ({ x, y }: Point, width: number): Rect => ({ x: x - width / 2 - 3, y: y - height / 2 - 2, width: width + 6, height: height + 4 })

/** Behind a bend the line belongs to one edge alone: its words stand on the last piece, and before it only for want of room. */
const placesOn = (path: Path) => (path.length === 1 ? places : [...places.map((place) => 1 - (1 - place) / path.length), ...places.map((place) => place * (1 - 1 / path.length))])

/** Past this many, the first place is taken: comparing all with all would take too long. */
const mostCompared = 260
const rounds = 6
/** With more edges than this, one start is enough: a learner looks at a few of them at a time. */
const fewEdges = 16
const beginnings = 10
const manyEdges = 100

interface Standing {
  link: Link
  places: { at: number; words: Point }[]
  chosen: number
}

export function placePills(placed: Placed, links: Link[]) {
  const wordsAt = (link: Link, path: Path, at: number): Point => {
    const { x, y } = pointAt(path, at)
    const half = link.product / 2 + 1
    return { x: Math.max(half, Math.min(placed.width - half, x)), y }
  }
  const all = links.map((link): Standing => {
    const { path } = placed.links.get(link.id)!
    return { link, places: placesOn(path).map((at) => ({ at, words: wordsAt(link, path, at) })), chosen: 0 }
  })
  if (links.length <= mostCompared) choose(all, [...placed.boxes.values()])
  for (const { link, places, chosen } of all) Object.assign(placed.links.get(link.id)!, places[chosen]!)
}

/** From several beginnings, for a place that is best with the others as they stand need not be best: the same ones every time. */
function choose(all: Standing[], cards: Rect[]) {
  let best = { cost: Infinity, places: all.map(() => 0) }
  for (let begin = 0; begin < (all.length > fewEdges ? 1 : beginnings) && best.cost > all.length; begin++) {
    for (const [i, one] of all.entries()) one.chosen = begin === 0 ? 0 : (7 * i * begin + 3 * begin) % places.length
    for (let round = 0; round < (all.length > manyEdges ? 2 : rounds); round++) if (!settle(all, cards, begin === 0 && round === 0)) break
    const sum = all.reduce((total, one) => total + cost(one, one.chosen, all.filter((other) => other !== one), cards), 0)
    if (sum < best.cost) best = { cost: sum, places: all.map((one) => one.chosen) }
  }
  for (const [i, one] of all.entries()) one.chosen = best.places[i]!
}

/** Each moves to its best place among the others as they stand; `isFirst`: among those before it. True if one has moved. */
function settle(all: Standing[], cards: Rect[], isFirst: boolean): boolean {
  let hasMoved = false
  for (const [i, one] of all.entries()) {
    const others = isFirst ? all.slice(0, i) : all.filter((other) => other !== one)
    const costs = one.places.map((_, k) => cost(one, k, others, cards))
    const best = costs.indexOf(Math.min(...costs))
    if (costs[best]! < costs[one.chosen]!) [one.chosen, hasMoved] = [best, true]
  }
  return hasMoved || isFirst
}

function cost({ link, places }: Standing, k: number, others: Standing[], cards: Rect[]): number {
  const { words } = places[k]!
  const [short, long] = [around(words, link.pill), around(words, link.product)]
  let sum = k / 40
  const widest = Math.max(link.pill, link.product)
  for (const other of others) {
    const there = other.places[other.chosen]!.words
    // Most are far away, which is seen without making a rectangle.
    if (Math.abs(there.y - words.y) >= height + 4) continue
    if (Math.abs(there.x - words.x) >= (widest + Math.max(other.link.pill, other.link.product)) / 2 + 6) continue
    // While one edge is paid the others show their short words; edges of the same user may be paid in one step.
    const isSibling = other.link.to === link.to
    sum += 2 * overlap(short, around(there, other.link.pill))
    sum += overlap(isSibling ? long : short, around(there, other.link.product)) + (isSibling ? 0 : overlap(long, around(there, other.link.pill)))
  }
  for (const card of cards)
    if (card.y < long.y + long.height && card.y + card.height > long.y) sum += 3 * overlap(short, card) + overlap(long, card)
  return sum
}
