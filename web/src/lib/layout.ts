// SPDX-License-Identifier: MIT
// Where boxes and edges of a drawing lie. Layers by dagre; edges leave and enter at ports of their own, so that two
// edges between the same two boxes stay apart. Operands stand left of (or, on narrow screens, above) what uses them.
import { Graph, layout } from '@dagrejs/dagre'

export interface Box {
  id: string
  width: number
  height: number
}
export interface Link {
  id: string
  from: string
  to: string
}
export interface Placed {
  width: number
  height: number
  boxes: Map<string, { x: number; y: number; width: number; height: number }>
  links: Map<string, { path: string; label: { x: number; y: number } }>
}
export type Direction = 'right' | 'down'

interface Point {
  x: number
  y: number
}

const mostTried = 40

/** dagre's result depends on the order it is told things in: of a few orders, the one with the fewest crossings. */
export function place(boxes: Box[], links: Link[], direction: Direction): Placed {
  const tries = [[boxes, links] as const]
  if (boxes.length <= mostTried) {
    const [turned, relinked] = [boxes.toReversed(), links.toReversed()]
    tries.push([turned, links], [boxes, relinked], [turned, relinked])
  }
  let best: Graph | null = null
  let least = Infinity
  for (const [b, l] of tries) {
    const graph = arrange(b, l, direction)
    const cost = disorder(graph, links, direction)
    if (cost < least) [best, least] = [graph, cost]
  }
  return trace(best!, boxes, links, direction)
}

function arrange(boxes: readonly Box[], links: readonly Link[], direction: Direction): Graph {
  const isRight = direction === 'right'
  const graph = new Graph({ multigraph: true })
  graph.setGraph({
    rankdir: isRight ? 'LR' : 'TB',
    nodesep: isRight ? 18 : 12,
    edgesep: isRight ? 16 : 26,
    ranksep: isRight ? 60 : 46,
    marginx: 6,
    marginy: 8,
  })
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height })
  for (const { id, from, to } of links) graph.setEdge(from, to, { width: 8, height: 8, labelpos: 'c' }, id)
  layout(graph)
  return graph
}

const pointsOf = (graph: Graph, { id, from, to }: Link) => graph.edge(from, to, id).points as Point[]

/** Crossings, and far behind them, pairs of operands that stand in the wrong order. */
function disorder(graph: Graph, links: Link[], direction: Direction): number {
  const across = direction === 'right' ? (point: Point) => point.y : (point: Point) => point.x
  const along = direction === 'right' ? (point: Point) => point.x : (point: Point) => point.y
  const lines = links.map((link) => {
    const points = [graph.node(link.from) as Point, ...pointsOf(graph, link).slice(1, -1), graph.node(link.to) as Point]
    return { link, points }
  })
  let cost = 0
  for (const [i, one] of lines.entries())
    for (const other of lines.slice(i + 1)) {
      for (let k = 1; k < one.points.length; k++)
        for (let m = 1; m < other.points.length; m++) {
          const [a, b, c, d] = [one.points[k - 1]!, one.points[k]!, other.points[m - 1]!, other.points[m]!]
          if (Math.abs(along(a) - along(c)) > 40) continue
          if ((across(a) - across(c)) * (across(b) - across(d)) < -1) cost += 1
        }
      if (one.link.to === other.link.to && across(one.points[0]!) > across(other.points[0]!)) cost += 0.01
    }
  return cost
}

function trace(graph: Graph, boxes: Box[], links: Link[], direction: Direction): Placed {
  const isRight = direction === 'right'
  const size = graph.graph() as { width: number; height: number }
  const placed: Placed = { width: size.width, height: size.height, boxes: new Map(), links: new Map() }
  for (const { id } of boxes) {
    const { x, y, width, height } = graph.node(id) as Point & { width: number; height: number }
    placed.boxes.set(id, { x: x - width / 2, y: y - height / 2, width, height })
  }
  const inner = new Map(links.map((link) => [link.id, pointsOf(graph, link).slice(1, -1)]))
  const leaving = ports(
    boxes,
    links,
    (link) => link.from,
    (link) => inner.get(link.id)![0]!,
    isRight,
  )
  const entering = ports(
    boxes,
    links,
    (link) => link.to,
    (link) => inner.get(link.id)!.at(-1)!,
    isRight,
  )
  for (const { id, from, to } of links) {
    const start = placed.boxes.get(from)!
    const end = placed.boxes.get(to)!
    const [out, into] = [leaving.get(id)!, entering.get(id)!]
    const points = isRight
      ? [
          { x: start.x + start.width, y: start.y + start.height * out },
          ...inner.get(id)!,
          { x: end.x, y: end.y + end.height * into },
        ]
      : [
          { x: start.x + start.width * out, y: start.y + start.height },
          ...inner.get(id)!,
          { x: end.x + end.width * into, y: end.y },
        ]
    placed.links.set(id, { path: curve(points, isRight), label: points[Math.ceil((points.length - 1) / 2)]! })
  }
  return placed
}

/** Fractions along a box's side, one for each of its edges, in the order of where the edges lead. */
function ports(
  boxes: Box[],
  links: Link[],
  end: (link: Link) => string,
  toward: (link: Link) => Point,
  isRight: boolean,
): Map<string, number> {
  const result = new Map<string, number>()
  for (const { id } of boxes) {
    const own = links.filter((link) => end(link) === id)
    own.sort((a, b) => (isRight ? toward(a).y - toward(b).y : toward(a).x - toward(b).x))
    own.forEach((link, i) => result.set(link.id, 0.5 + (i + 0.5 - own.length / 2) * Math.min(0.28, 0.9 / own.length)))
  }
  return result
}

function curve(points: Point[], isRight: boolean): string {
  const [first, ...rest] = points as [Point, ...Point[]]
  let path = `M${first.x.toFixed(1)},${first.y.toFixed(1)}`
  let last = first
  for (const point of rest) {
    const [x, y] = [(last.x + point.x) / 2, (last.y + point.y) / 2]
    const bend = isRight ? [x, last.y, x, point.y] : [last.x, y, point.x, y]
    path += `C${[...bend, point.x, point.y].map((one) => one.toFixed(1)).join(' ')}`
    last = point
  }
  return path
}
