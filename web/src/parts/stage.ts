// SPDX-License-Identifier: MIT
// A picture put on stage: to the right where there is room for it, else downward with cards as narrow as it takes, and leaves
// in layers of their own where a layer is too wide. Only shape, sizes and room matter, so nothing moves from step to step.
import { place, type Box, type Direction, type Link } from '../lib/layout.ts'
import type { Picture } from './picture.ts'
import { cardSize, wireSize, type Extent, type Form, type Staged } from './sizes.ts'

interface Sized {
  boxes: Box[]
  links: Link[]
}
/** What is to be placed, at every size it may have. */
export interface Shape {
  right: Sized
  flat: Sized
  tall: Sized
}

export function shapeOf({ cards, wires }: Picture, extent: Extent | null): Shape {
  const sized = (direction: Direction, form: Form): Sized => ({
    boxes: cards.map((card) => ({ id: card.id, ...cardSize(card, extent, direction, form) })),
    links: wires.map((wire) => ({ id: wire.id, from: wire.from, to: wire.to, ...wireSize(wire, extent, direction) })),
  })
  return { right: sized('right', 'tall'), flat: sized('down', 'flat'), tall: sized('down', 'tall') }
}

/** Past this many cards a drawing is panned anyway: one way down is enough. */
const mostTried = 40

/** `direction`: where it was decided before. */
export function stage(shape: Shape, room: number, direction: Direction | null = null): Staged {
  if (direction !== 'down') {
    const across = place(shape.right.boxes, shape.right.links, 'right', { width: room })
    if (direction === 'right' || room === 0 || across.width <= room + 2) return { ...across, form: 'tall' }
  }
  const down = (form: Form, canSplit: boolean): Staged => ({ ...place(shape[form].boxes, shape[form].links, 'down', { width: room, canSplit }), form })
  let best = down('flat', false)
  if (shape.flat.boxes.length > mostTried) return best
  for (const canSplit of [false, true]) {
    if (best.width <= room) break
    const tall = down('tall', canSplit)
    if (tall.width < best.width) best = tall
  }
  return best
}
