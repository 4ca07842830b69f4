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

export function place(boxes: Box[], links: Link[], direction: Direction): Placed {
  const isRight = direction === 'right'
  const graph = new Graph({ multigraph: true })
  graph.setGraph({
    rankdir: isRight ? 'LR' : 'TB',
    nodesep: isRight ? 18 : 12,
    edgesep: isRight ? 16 : 26,
    ranksep: isRight ? 56 : 44,
    marginx: 6,
    marginy: 8,
  })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height })
  for (const { id, from, to } of links) graph.setEdge(from, to, { width: 8, height: 8, labelpos: 'c' }, id)
  layout(graph)

  const placed: Placed = { width: graph.graph().width!, height: graph.graph().height!, boxes: new Map(), links: new Map() }
  for (const { id } of boxes) {
    const { x, y, width, height } = graph.node(id) as Point & { width: number; height: number }
    placed.boxes.set(id, { x: x - width / 2, y: y - height / 2, width, height })
  }
  const inner = new Map(links.map(({ id, from, to }) => [id, (graph.edge(from, to, id).points as Point[]).slice(1, -1)]))
  const leaving = ports(boxes, links, (link) => link.from, (link) => inner.get(link.id)![0]!, isRight)
  const entering = ports(boxes, links, (link) => link.to, null, isRight)
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

/** Fractions along a box's side, one for each of its edges: in operand order, or sorted by where the edges lead. */
function ports(
  boxes: Box[],
  links: Link[],
  end: (link: Link) => string,
  toward: ((link: Link) => Point) | null,
  isRight: boolean,
): Map<string, number> {
  const result = new Map<string, number>()
  for (const { id } of boxes) {
    const own = links.filter((link) => end(link) === id)
    if (toward) own.sort((a, b) => (isRight ? toward(a).y - toward(b).y : toward(a).x - toward(b).x))
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
