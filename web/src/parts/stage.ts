// SPDX-License-Identifier: MIT
// Puts a picture on stage, in the first way that shows it whole: to the right, else downward with flat cards, else downward with wide
// ones. Where none does, it is scaled a little, or takes the way that needs least of the missing room. Only shape, sizes and room
// matter, so nothing moves from step to step.
import { place, type Box, type Direction, type Link } from '../lib/layout.ts'
import type { Picture } from './picture.ts'
import { cardSize, wireSize, type Columns, type Extent, type Form, type Staged } from './sizes.ts'

interface Sized {
  boxes: (Box & Columns)[]
  links: Link[]
}
/** Everything to be placed, at every size it may have. */
export interface Shape {
  right: Sized
  flat: Sized
  wide: Sized
  tall: Sized
}

export function shapeOf({ cards, wires }: Picture, extent: Extent | null): Shape {
  const sized = (direction: Direction, form: Form): Sized => ({
    boxes: cards.map((card) => ({ id: card.id, ...cardSize(card, extent, direction, form) })),
    links: wires.map((wire) => ({ id: wire.id, from: wire.from, to: wire.to, ...wireSize(wire, extent, direction) })),
  })
  return { right: sized('right', 'tall'), flat: sized('down', 'flat'), wide: sized('down', 'wide'), tall: sized('down', 'tall') }
}

/** Past this many cards a drawing is panned anyway: one way down is enough. */
const mostTried = 40
/** Letters of 12 px stay readable down to this scale. */
const leastScale = 0.9

/** The room there is: the width of the figure, and the height that the window leaves beside the figure's bar. */
export interface Space {
  width: number
  height: number
}

/** `wish`: the direction that this graph has elsewhere on the page; it is kept wherever it fits. `isFixed`: it is kept in any case. */
export function stage(shape: Shape, { width: room, height }: Space, wish: Direction | null = null, isFixed = false): Staged {
  const isNarrow = (one: Staged) => one.width <= room + 2
  const isWhole = (one: Staged) => isNarrow(one) && one.height <= height
  const across = (): Staged => ({ ...place(shape.right.boxes, shape.right.links, 'right', { width: room }), form: 'tall', columns: new Map() })
  if (room === 0 || (isFixed && wish === 'right')) return across()
  const right = isFixed && wish === 'down' ? null : across()
  if (right && wish !== 'down' && (isWhole(right) || (wish === 'right' && isNarrow(right)))) return right

  const down = (form: Exclude<keyof Shape, 'right'>, canSplit = false): Staged => ({
    ...place(shape[form].boxes, shape[form].links, 'down', { width: room, canSplit, height: form === 'wide' ? height : undefined }),
    form,
    columns: new Map(form === 'wide' ? shape.wide.boxes.map(({ id, grad, coins }) => [id, { grad, coins }]) : []),
  })
  const isLarge = shape.flat.boxes.length > mostTried
  const flat = down('flat')
  if (isLarge) return right && wish !== 'down' && isNarrow(right) ? right : flat
  const wide = down('wide')
  for (const one of [flat, wide]) if (isWhole(one)) return one
  if (right && wish !== 'down' && isNarrow(right)) return right
  if (isNarrow(wide) && wide.height < flat.height) return wide
  let best = flat
  for (const canSplit of [false, true]) {
    if (best.width <= room) break
    const tall = down('tall', canSplit)
    if (tall.width < best.width) best = tall
  }
  if (right && best.width > room && isNarrow(right)) return right
  return best
}

/** How much smaller a drawing is shown, where a little is enough to show it whole. */
export function scaleOf({ width, height }: Staged, space: Space): number {
  const scale = Math.min(1, space.height / height)
  return space.width > 0 && width <= space.width + 2 && scale >= leastScale ? scale : 1
}

/** The height of the bar under a walked figure, where its sentences are as long as they usually are. */
export const barHeight = (width: number, height: number) => (height <= 560 ? 116 : width > 800 ? 132 : width > 640 ? 172 : 196)

/** Directions that graphs have been drawn in, by graph: one graph looks the same in all figures of a page. */
const drawn = new Map<string, { room: number; direction: Direction }>()
/** A scroll bar that comes or goes is no other room. */
export const scrollBar = 24

export function directionOf(subject: string, room: number): Direction | null {
  const before = drawn.get(subject)
  return before && Math.abs(before.room - room) <= scrollBar ? before.direction : null
}
export function keepDirection(subject: string, room: number, direction: Direction) {
  if (subject === '' || directionOf(subject, room) !== null) return
  if (drawn.size > 200) drawn.clear()
  drawn.set(subject, { room, direction })
}
