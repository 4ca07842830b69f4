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

export function placePills(placed: Placed, links: Link[]) {
  const wordsAt = (link: Link, path: Path, at: number): Point => {
    const { x, y } = pointAt(path, at)
    const half = link.product / 2 + 1
    return { x: Math.max(half, Math.min(placed.width - half, x)), y }
  }
  const taken: { link: Link; words: Point }[] = []
  const cards = [...placed.boxes.values()]
  for (const link of links) {
    const own = placed.links.get(link.id)!
    const { path } = own
    own.words = wordsAt(link, path, own.at)
    if (links.length > mostCompared) continue
    let least = Infinity
    for (const [i, at] of placesOn(path).entries()) {
      const words = wordsAt(link, path, at)
      let cost = i / 40
      for (const other of taken) {
        // While one edge is paid the others show their short words; edges of the same user may be paid in one step.
        const isSibling = other.link.to === link.to
        cost += overlap(around(words, isSibling ? link.product : link.pill), around(other.words, other.link.product))
        if (!isSibling) cost += overlap(around(words, link.product), around(other.words, other.link.pill))
      }
      for (const card of cards) cost += 3 * overlap(around(words, link.pill), card)
      if (cost < least) [least, own.at, own.words] = [cost, at, words]
      if (cost < 0.5) break
    }
    taken.push({ link, words: own.words })
  }
}
