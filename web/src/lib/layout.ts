// SPDX-License-Identifier: MIT
// Where boxes and edges of a drawing lie: layers, operands before what uses them, to the right or downward. Work is
// bounded: a fixed number of sweeps over boxes and over the bends of long edges, of which an operand has one per layer
// however many edges pass there. The same input gives the same drawing, and only the input's shape matters.
import { cubic, pointAt, type Path, type Point } from './path.ts'
import { placePills } from './pills.ts'

export interface Box {
  id: string
  width: number
  height: number
}
export interface Link {
  id: string
  from: string
  to: string
  /** Widths of the words on it: always, and while it is paid. */
  pill: number
  product: number
}
export type Direction = 'right' | 'down'
export interface PlacedBox extends Point {
  width: number
  height: number
}
export interface PlacedLink {
  /** From the operand to its user. */
  path: Path
  /** Where along it its words stand, 0 to 1. */
  at: number
  /** The middle of its words: there, or as far beside it as the drawing's edge asks for. */
  words: Point
}
export interface Placed {
  direction: Direction
  width: number
  height: number
  boxes: Map<string, PlacedBox>
  links: Map<string, PlacedLink>
}

/** A box, or the point of a layer where the edges of one operand cross it. `across` runs along a layer, `along` between layers. */
interface Slot {
  layer: number
  size: number
  across: number
  before: Slot[]
  after: Slot[]
}

const sweeps = 10
/** Space for rings around cards and badges on them: along a layer, and before the first and after the last. */
const margins = { right: { side: 14, end: 14 }, down: { side: 6, end: 14 } } as const
const mostBeside = 80
const gapsAcross = { right: 20, down: 12 } as const
/** Space for an arrowhead between a line's end and the card. */
const head = 9

export interface Room {
  /** To the right, layers move apart into what is left of it; downward, they keep inside it where they can. */
  width: number
  /** Downward, a layer too wide for it sends leaves to layers of their own. */
  canSplit?: boolean
  /** Downward, layers move closer together to keep inside it, as far as the words between them allow. */
  height?: number
}

export function place(boxes: Box[], links: Link[], direction: Direction, { width: room, canSplit = false, height }: Room = { width: 0 }): Placed {
  const isRight = direction === 'right'
  const { side: margin, end } = margins[direction]
  const gap = gapsAcross[direction]
  const layerOf = layers(boxes, links)
  if (canSplit && !isRight) split(layerOf, boxes, links, room - 2 * margin, gap)
  const slots = new Map<string, Slot>()
  const rows: Slot[][] = []
  const add = (layer: number, size: number): Slot => {
    const slot = { layer, size, across: 0, before: [], after: [] }
    ;(rows[layer] ??= []).push(slot)
    return slot
  }
  for (const { id, width, height } of boxes) slots.set(id, add(layerOf.get(id)!, isRight ? height : width))
  const bends = route(links, layerOf, slots, add)
  for (let i = 0; i < rows.length; i++) rows[i] ??= []
  order(rows)
  spread(rows, gap)
  if (!isRight && room > 0) confine(rows, gap, room - 2 * margin)

  const depth = rows.map((_, layer) =>
    Math.max(0, ...boxes.filter((box) => layerOf.get(box.id) === layer).map((box) => (isRight ? box.width : box.height))),
  )
  const gaps = depth.map((_, layer) => {
    const there = links.filter((one) => layerOf.get(one.from) === layer || layerOf.get(one.to) === layer + 1)
    // Side by side to the right; downward, words that would touch stand one below the other.
    return isRight ? 26 + Math.max(34, ...there.map((one) => one.product)) : there.length < 4 ? 74 : 100
  })
  if (isRight && depth.length > 1) {
    const least = depth.reduce((sum, size, layer) => sum + size + (layer < depth.length - 1 ? gaps[layer]! : 0), 2 * end)
    const more = Math.max(0, Math.min(90, (room - least) / (depth.length - 1)))
    for (const layer of gaps.keys()) gaps[layer]! += more
  }
  if (!isRight && height !== undefined) shrink(gaps, height - depth.reduce((sum, size) => sum + size, 2 * end))
  const start: number[] = []
  let along = end
  for (const [layer, size] of depth.entries()) {
    start.push(along)
    along += size + gaps[layer]!
  }
  let most = Math.max(0, ...rows.flat().map((slot) => slot.across + slot.size / 2))
  if (!isRight) {
    // The text of a payment along an edge may be wider than the cards at its ends.
    const beside = Math.max(0, Math.min(mostBeside, (room - 2 * margin - most) / 2))
    for (const slot of rows.flat()) slot.across += beside
    most += 2 * beside
  }
  const placed: Placed = {
    direction,
    width: isRight ? along - (gaps.at(-1) ?? 0) + end : most + 2 * margin,
    height: isRight ? most + 2 * margin : along - (gaps.at(-1) ?? 0) + end,
    boxes: new Map(),
    links: new Map(),
  }
  for (const { id, width, height } of boxes) {
    const slot = slots.get(id)!
    const deep = start[slot.layer]! + (depth[slot.layer]! - (isRight ? width : height)) / 2
    const side = margin + slot.across - slot.size / 2
    placed.boxes.set(id, isRight ? { x: deep, y: side, width, height } : { x: side, y: deep, width, height })
  }
  trace(placed, links, bends, { start, depth, isRight, margin })
  placePills(placed, links)
  return placed
}

/** One row of words fits between two layers, or two rows where many edges pass. */
const leastGaps = { few: 46, many: 62 } as const

/** Takes from every gap the same part of what it can spare, until all but the last, which lies behind the root, fit into `room`. */
function shrink(gaps: number[], room: number) {
  const between = gaps.slice(0, -1)
  const least = between.map((gap) => (gap > 74 ? leastGaps.many : leastGaps.few))
  const missing = between.reduce((sum, gap) => sum + gap, 0) - room
  const spare = between.reduce((sum, gap, i) => sum + gap - least[i]!, 0)
  if (missing <= 0 || spare <= 0) return
  const part = Math.min(1, missing / spare)
  for (const [i, gap] of between.entries()) gaps[i] = gap - part * (gap - least[i]!)
}

/** Longest way from a leaf; then each leaf moves up to just before its first user. */
function layers(boxes: Box[], links: Link[]): Map<string, number> {
  const layer = new Map(boxes.map(({ id }) => [id, 0]))
  const users = new Map<string, string[]>(boxes.map(({ id }) => [id, []]))
  const waiting = new Map(boxes.map(({ id }) => [id, 0]))
  for (const { from, to } of links) {
    users.get(from)!.push(to)
    waiting.set(to, waiting.get(to)! + 1)
  }
  const leaves = boxes.filter(({ id }) => waiting.get(id) === 0)
  const ready = leaves.map(({ id }) => id)
  for (let id = ready.shift(); id !== undefined; id = ready.shift())
    for (const user of users.get(id)!) {
      layer.set(user, Math.max(layer.get(user)!, layer.get(id)! + 1))
      waiting.set(user, waiting.get(user)! - 1)
      if (waiting.get(user) === 0) ready.push(user)
    }
  for (const { id } of leaves) {
    const first = Math.min(...users.get(id)!.map((user) => layer.get(user)!))
    if (Number.isFinite(first)) layer.set(id, first - 1)
  }
  return layer
}

/** A line that passes a layer. */
const passage = 16
const mostSplits = 8

/** From the root up: what a layer has too much of leaves moves to the one before, where the next is looked at. */
function split(layerOf: Map<string, number>, boxes: Box[], links: Link[], room: number, gap: number) {
  const used = new Set(links.map((link) => link.to))
  let first = 0
  for (let layer = Math.max(...layerOf.values()); layer >= first && first > -mostSplits; layer--) {
    const row = boxes.filter((box) => layerOf.get(box.id) === layer)
    const leaves = row.filter((box) => !used.has(box.id))
    const passing = new Set(links.filter((link) => layerOf.get(link.from)! < layer && layerOf.get(link.to)! > layer).map((link) => link.from)).size
    let width = row.reduce((sum, box) => sum + box.width + gap, -gap) + passing * (passage + gap)
    let left = row.length
    for (const leaf of leaves) {
      if (width <= room || left === 1) break
      layerOf.set(leaf.id, layer - 1)
      first = Math.min(first, layer - 1)
      width += passage - leaf.width
      left--
    }
  }
  if (first < 0) for (const [id, layer] of layerOf) layerOf.set(id, layer - first)
}

const lane = 7

/** The slots a long edge passes, shared with the other long edges of its operand. */
function route(links: Link[], layerOf: Map<string, number>, slots: Map<string, Slot>, add: (layer: number, size: number) => Slot) {
  const bends = new Map<string, { slot: Slot; lane: number }[]>()
  const trunk = new Map<string, Slot>()
  for (const { id, from, to } of links) {
    const way: { slot: Slot; lane: number }[] = []
    let last = slots.get(from)!
    for (let layer = layerOf.get(from)! + 1; layer < layerOf.get(to)!; layer++) {
      const key = `${from}@${layer}`
      let slot = trunk.get(key)
      if (!slot) {
        slot = add(layer, passage)
        trunk.set(key, slot)
        join(last, slot)
      } else slot.size += lane
      way.push({ slot, lane: (slot.size - passage) / lane })
      last = slot
    }
    join(last, slots.get(to)!)
    bends.set(id, way)
  }
  return bends
}

function join(before: Slot, after: Slot) {
  before.after.push(after)
  after.before.push(before)
}

/** Fewest crossings found in a few sweeps, each row by the mean place of its neighbours. */
function order(rows: Slot[][]) {
  const number = () => rows.forEach((row) => row.forEach((slot, i) => (slot.across = i)))
  number()
  let best = rows.map((row) => [...row])
  let least = crossings(rows)
  for (let sweep = 0; sweep < sweeps && least > 0; sweep++) {
    const isDown = sweep % 2 === 0
    const path = isDown ? rows.slice(1) : rows.slice(0, -1).reverse()
    for (const row of path) {
      const wanted = new Map(row.map((slot) => [slot, mean(isDown ? slot.before : slot.after) ?? slot.across]))
      // Ties keep their order on even rounds and turn it on others, so that twins of a tie are both tried.
      const flip = sweep % 4 < 2 ? 1 : -1
      row.sort((a, b) => wanted.get(a)! - wanted.get(b)! || flip * (a.across - b.across))
      row.forEach((slot, i) => (slot.across = i))
    }
    const now = crossings(rows)
    if (now < least) [best, least] = [rows.map((row) => [...row]), now]
  }
  best.forEach((row, i) => (rows[i] = row))
  number()
}

const mean = (slots: Slot[]) => (slots.length ? slots.reduce((sum, slot) => sum + slot.across, 0) / slots.length : null)

/** Counted only while there are few edges: past that a glance cannot tell either. */
function crossings(rows: Slot[][]): number {
  let count = 0
  for (const row of rows) {
    const ends = row.flatMap((slot) => slot.after.map((to) => [slot.across, to.across] as const))
    if (ends.length > 400) return 1
    for (let i = 0; i < ends.length; i++)
      for (let k = i + 1; k < ends.length; k++)
        if ((ends[i]![0] - ends[k]![0]) * (ends[i]![1] - ends[k]![1]) < 0) count++
  }
  return count
}

/** Places in a row: as near to the neighbours' mean as the gaps between them allow. */
function spread(rows: Slot[][], gap: number) {
  for (const row of rows) {
    let at = 0
    for (const slot of row) {
      slot.across = at + slot.size / 2
      at += slot.size + gap
    }
  }
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const isDown = sweep % 2 === 0
    for (const row of isDown ? rows : rows.toReversed())
      settle(
        row,
        row.map((slot) => mean(sweep < sweeps - 2 ? (isDown ? slot.before : slot.after) : [...slot.before, ...slot.after]) ?? slot.across),
        gap,
      )
  }
  const first = Math.min(...rows.flat().map((slot) => slot.across - slot.size / 2))
  for (const slot of rows.flat()) slot.across -= first
}

/** Least squares under "not nearer than": blocks that collide move on together. */
function settle(row: Slot[], wanted: number[], gap: number) {
  const offsets: number[] = []
  row.forEach((slot, i) => offsets.push(i ? offsets[i - 1]! + row[i - 1]!.size / 2 + gap + slot.size / 2 : 0))
  const blocks: { sum: number; count: number }[] = []
  for (let i = 0; i < row.length; i++) {
    blocks.push({ sum: wanted[i]! - offsets[i]!, count: 1 })
    while (blocks.length > 1) {
      const [one, two] = blocks.slice(-2) as [(typeof blocks)[0], (typeof blocks)[0]]
      if (one.sum / one.count <= two.sum / two.count) break
      blocks.splice(-2, 2, { sum: one.sum + two.sum, count: one.count + two.count })
    }
  }
  let i = 0
  for (const { sum, count } of blocks) for (let k = 0; k < count; k++, i++) row[i]!.across = sum / count + offsets[i]!
}

/** Into a strip as wide as the room, or as the widest row: each row moves only as far as it has to. */
function confine(rows: Slot[][], gap: number, room: number) {
  const widths = rows.map((row) => row.reduce((sum, slot) => sum + slot.size + gap, -gap))
  const limit = Math.max(room, ...widths)
  const most = Math.max(...rows.flat().map((slot) => slot.across + slot.size / 2))
  if (most <= limit) return
  const from = (most - limit) / 2
  for (const [i, row] of rows.entries()) {
    let before = from
    let after = from + limit - widths[i]!
    for (const slot of row) {
      slot.across = Math.max(before + slot.size / 2, Math.min(after + slot.size / 2, slot.across))
      before += slot.size + gap
      after += slot.size + gap
    }
  }
  for (const slot of rows.flat()) slot.across -= from
}

interface Tracks {
  start: number[]
  depth: number[]
  isRight: boolean
  margin: number
}

function trace(placed: Placed, links: Link[], bends: Map<string, { slot: Slot; lane: number }[]>, { start, depth, isRight, margin }: Tracks) {
  const point = (along: number, across: number): Point => (isRight ? { x: along, y: across } : { x: across, y: along })
  const centre = (box: PlacedBox) => (isRight ? box.y + box.height / 2 : box.x + box.width / 2)
  const passing = ({ slot, lane: nth }: { slot: Slot; lane: number }) => margin + slot.across + nth * lane - (slot.size - passage) / 2
  const next = (link: Link) => {
    const bend = bends.get(link.id)![0]
    return bend ? passing(bend) : centre(placed.boxes.get(link.to)!)
  }
  const last = (link: Link) => {
    const bend = bends.get(link.id)!.at(-1)
    return bend ? passing(bend) : centre(placed.boxes.get(link.from)!)
  }
  const out = ports(placed, links, (link) => link.from, next, isRight)
  const into = ports(placed, links, (link) => link.to, last, isRight)
  for (const link of links) {
    const [from, to] = [placed.boxes.get(link.from)!, placed.boxes.get(link.to)!]
    const points = [
      isRight ? { x: from.x + from.width + 1, y: from.y + from.height / 2 + out.get(link.id)! } : { x: from.x + from.width / 2 + out.get(link.id)!, y: from.y + from.height + 1 },
    ]
    for (const bend of bends.get(link.id)!) {
      const layer = bend.slot.layer
      points.push(point(start[layer]! + 4, passing(bend)), point(start[layer]! + depth[layer]! - 4, passing(bend)))
    }
    points.push(
      isRight ? { x: to.x - head, y: to.y + to.height / 2 + into.get(link.id)! } : { x: to.x + to.width / 2 + into.get(link.id)!, y: to.y - head },
    )
    const path: Path = []
    for (let i = 1; i < points.length; i++) path.push(cubic(points[i - 1]!, points[i]!, isRight))
    placed.links.set(link.id, { path, at: 0.5, words: pointAt(path, 0.5) })
  }
}

/** Distances from the middle of a box's side, in the order of where the edges lead; operand order where that is one. */
function ports(placed: Placed, links: Link[], end: (link: Link) => string, toward: (link: Link) => number, isRight: boolean) {
  const own = new Map<string, Link[]>()
  for (const link of links) own.set(end(link), [...(own.get(end(link)) ?? []), link])
  const result = new Map<string, number>()
  for (const [id, group] of own) {
    const box = placed.boxes.get(id)!
    const side = isRight ? box.height : box.width
    const twins = group.filter((link) => group.some((other) => other !== link && other.from === link.from && other.to === link.to))
    // Twins run in parallel, so that what is paid along both stands side by side.
    const apart = isRight ? 52 : Math.max(60, ...twins.map((link) => link.product + 8))
    const shortest = Math.min(side, ...twins.flatMap((link) => [link.from, link.to].map((end) => (isRight ? placed.boxes.get(end)!.height : placed.boxes.get(end)!.width))))
    const wish = twins.length ? Math.min(apart, (shortest - 24) / Math.max(1, twins.length - 1)) : isRight ? 32 : 52
    const step = Math.min(wish, (side - (isRight ? 30 : 36)) / Math.max(1, group.length - 1))
    group.sort((a, b) => toward(a) - toward(b))
    group.forEach((link, i) => result.set(link.id, (i - (group.length - 1) / 2) * step))
  }
  return result
}
