// SPDX-License-Identifier: MIT
// Where the words on edges stand: in the middle if nothing else does, else a little before or after.
import type { Link, Placed } from './layout.ts'
import { pointAt, type Point } from './path.ts'

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

/** Past this many, the first place is taken: comparing all with all would take too long. */
const mostCompared = 260

export function placePills(placed: Placed, links: Link[]) {
  if (links.length > mostCompared) return
  const taken: { link: Link; rect: Rect }[] = []
  const cards = [...placed.boxes.values()]
  for (const link of links) {
    const { path } = placed.links.get(link.id)!
    // Behind a bend the line belongs to one edge alone: its words stand on the last piece.
    const last = path.length > 1 ? path.at(-1)! : null
    let best = { at: 0.5, cost: Infinity }
    for (const place of places) {
      const at = last ? 1 - (1 - place) / path.length : place
      const point = pointAt(path, at)
      const rect = around(point, link.product)
      let cost = Math.abs(place - 0.5)
      for (const other of taken) {
        // While one edge is paid the others show their short words; edges of the same user may be paid in one step.
        const isSibling = other.link.to === link.to
        cost += overlap(isSibling ? rect : around(point, link.pill), other.rect)
        if (!isSibling) cost += overlap(rect, around(pointAt(placed.links.get(other.link.id)!.path, placed.links.get(other.link.id)!.at), other.link.pill))
      }
      for (const card of cards) cost += 3 * overlap(around(point, link.pill), card)
      if (cost < best.cost) best = { at, cost }
      if (cost < 0.5) break
    }
    placed.links.get(link.id)!.at = best.at
    taken.push({ link, rect: around(pointAt(path, best.at), link.product) })
  }
}
