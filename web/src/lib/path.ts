// SPDX-License-Identifier: MIT
// Lines made of cubic curves: their text for SVG, and the point a given part of the way along.

export interface Point {
  x: number
  y: number
}
type Cubic = [Point, Point, Point, Point]
export type Path = Cubic[]

/** From a to b, leaving and arriving along the direction of the drawing. */
export function cubic(a: Point, b: Point, isRight: boolean): Cubic {
  return isRight
    ? [a, { x: (a.x + b.x) / 2, y: a.y }, { x: (a.x + b.x) / 2, y: b.y }, b]
    : [a, { x: a.x, y: (a.y + b.y) / 2 }, { x: b.x, y: (a.y + b.y) / 2 }, b]
}

const text = (point: Point) => `${point.x.toFixed(1)} ${point.y.toFixed(1)}`

export const toSvg = (path: Path) =>
  path.map(([a, b, c, d], i) => `${i ? '' : `M${text(a)}`}C${text(b)} ${text(c)} ${text(d)}`).join('')

const far = (a: Point, b: Point) => Math.hypot(b.x - a.x, b.y - a.y)

/** `part` from 0, its start, to 1, its end; pieces count by the distance between their ends. */
export function pointAt(path: Path, part: number): Point {
  const sizes = path.map(([a, , , d]) => far(a, d))
  let left = Math.max(0, Math.min(1, part)) * sizes.reduce((sum, size) => sum + size, 0)
  let i = 0
  while (i < path.length - 1 && left > sizes[i]!) left -= sizes[i++]!
  const [a, b, c, d] = path[i]!
  const s = sizes[i] ? Math.min(1, left / sizes[i]!) : 1
  const r = 1 - s
  const mix = (p: number, q: number, u: number, v: number) => r * r * r * p + 3 * r * r * s * q + 3 * r * s * s * u + s * s * s * v
  return { x: mix(a.x, b.x, c.x, d.x), y: mix(a.y, b.y, c.y, d.y) }
}
