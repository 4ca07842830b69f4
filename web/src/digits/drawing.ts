// SPDX-License-Identifier: MIT
// A drawing as the network sees digits: 28 × 28 pixels, 0 for paper and 1 for ink. As in MNIST, the strokes fill a square of 20 pixels,
// and their centre of mass is the centre of the picture.
import { pixelCount, side } from './types.ts'

export interface Point {
  x: number
  y: number
}
export type Stroke = Point[]

const box = 20
const pen = 2.3

function boundsOf(strokes: Stroke[]) {
  const [x, y] = [strokes.flat().map((point) => point.x), strokes.flat().map((point) => point.y)]
  const [x0, x1, y0, y1] = [Math.min(...x), Math.max(...x), Math.min(...y), Math.max(...y)]
  return { x: (x0 + x1) / 2, y: (y0 + y1) / 2, size: Math.max(x1 - x0, y1 - y0) }
}

/** Draws lines through the points, in the colour that is set; a single point is a dot. */
export function paintStrokes(context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D, strokes: Stroke[], place: (point: Point) => Point, width: number) {
  context.lineWidth = width
  context.lineCap = context.lineJoin = 'round'
  for (const stroke of strokes) {
    context.beginPath()
    for (const [i, point] of stroke.entries()) {
      const { x, y } = place(point)
      if (i === 0) context.moveTo(x, y)
      else context.lineTo(x, y)
      if (stroke.length === 1) context.lineTo(x + 0.01, y)
    }
    context.stroke()
  }
}

/** Coordinates may have any scale. Without strokes the picture is empty. */
export function pixelsOf(strokes: Stroke[]): Float64Array {
  const pixels = new Float64Array(pixelCount)
  if (strokes.length === 0) return pixels
  const canvas = new OffscreenCanvas(side, side)
  const context = canvas.getContext('2d', { willReadFrequently: true })!
  const bounds = boundsOf(strokes)
  const scale = (box - pen) / Math.max(bounds.size, 1e-9)
  const ink = (right: number, down: number) => {
    context.clearRect(0, 0, side, side)
    paintStrokes(context, strokes, ({ x, y }) => ({ x: (x - bounds.x) * Math.min(scale, 1e3) + side / 2 + right, y: (y - bounds.y) * Math.min(scale, 1e3) + side / 2 + down }), pen)
    const { data } = context.getImageData(0, 0, side, side)
    for (let i = 0; i < pixelCount; i++) pixels[i] = data[4 * i + 3]! / 255
  }
  ink(0, 0)
  let [mass, x, y] = [0, 0, 0]
  for (const [i, value] of pixels.entries()) {
    mass += value
    x += value * ((i % side) + 0.5)
    y += value * (Math.floor(i / side) + 0.5)
  }
  const most = (side - box) / 2
  const kept = (shift: number) => Math.max(-most, Math.min(most, shift))
  if (mass > 0) ink(kept(side / 2 - x / mass), kept(side / 2 - y / mass))
  return pixels
}
