// SPDX-License-Identifier: MIT
// Pictures of 28 × 28 pixels: ink on paper, a gradient over it as heat, and the weights of many neurons. Warm is above zero and purple
// below; the strongest pixels of a gradient also have a sign.
import { pixelCount, side } from '../digits/types.ts'
import { rgb, type Palette } from './heat.ts'
import type { Tile } from './netshape.ts'

/** The number of pixels of each sign that have their sign drawn. */
const marked = 12
/** Weights of this size have the full colour. */
const largestWeight = 0.4

type Colour = readonly [number, number, number]

/** A small canvas that is painted pixel by pixel and then drawn larger. */
class Sheet {
  readonly canvas = document.createElement('canvas')
  readonly #context: CanvasRenderingContext2D
  readonly #image: ImageData

  constructor(height: number) {
    this.canvas.width = side
    this.canvas.height = height
    this.#context = this.canvas.getContext('2d')!
    this.#image = this.#context.createImageData(side, height)
  }
  set(pixel: number, [red, green, blue]: Colour, alpha: number) {
    const { data } = this.#image
    data[4 * pixel] = red
    data[4 * pixel + 1] = green
    data[4 * pixel + 2] = blue
    data[4 * pixel + 3] = 255 * alpha
  }
  finish() {
    this.#context.putImageData(this.#image, 0, 0)
    return this.canvas
  }
}
let picture: Sheet | null = null
let column: Sheet | null = null

function drawSharp(context: CanvasRenderingContext2D, sheet: HTMLCanvasElement, size: number) {
  context.imageSmoothingEnabled = false
  context.drawImage(sheet, 0, 0, size, size)
}

export function paintInk(context: CanvasRenderingContext2D, colours: Palette, pixels: ArrayLike<number>, size: number) {
  picture ??= new Sheet(side)
  const ink = rgb(colours['ink']!)
  for (let i = 0; i < pixelCount; i++) picture.set(i, ink, pixels[i] ?? 0)
  context.fillStyle = colours['card']!
  context.fillRect(0, 0, size, size)
  drawSharp(context, picture.finish(), size)
}

/** The indices of the largest numbers, at most `count`. */
function largestOf(numbers: ArrayLike<number>, count: number): number[] {
  const found: number[] = []
  for (let i = 0; i < numbers.length; i++) {
    if (!(numbers[i]! > 0) || (found.length === count && numbers[i]! <= numbers[found.at(-1)!]!)) continue
    const at = found.findIndex((one) => numbers[one]! < numbers[i]!)
    found.splice(at < 0 ? found.length : at, 0, i)
    found.length = Math.min(found.length, count)
  }
  return found
}

export function paintGradient(context: CanvasRenderingContext2D, colours: Palette, gradient: Float64Array, size: number) {
  picture ??= new Sheet(side)
  const [above, below] = [rgb(colours['grad']!), rgb(colours['gneg']!)]
  const strongest = [largestOf(gradient, marked), largestOf(gradient.map((one) => -one), marked)].flat()
  const most = strongest.reduce((largest, i) => Math.max(largest, Math.abs(gradient[i]!)), 1e-12)
  for (let i = 0; i < pixelCount; i++) picture.set(i, gradient[i]! < 0 ? below : above, (0.9 * Math.abs(gradient[i]!)) / most)
  context.clearRect(0, 0, size, size)
  drawSharp(context, picture.finish(), size)
  const cell = size / side
  context.strokeStyle = colours['card']!
  context.lineWidth = Math.max(1, cell / 5)
  context.beginPath()
  for (const i of strongest) {
    const [x, y, arm] = [((i % side) + 0.5) * cell, (Math.floor(i / side) + 0.5) * cell, cell * 0.3]
    context.moveTo(x - arm, y)
    context.lineTo(x + arm, y)
    if (gradient[i]! < 0) continue
    context.moveTo(x, y - arm)
    context.lineTo(x, y + arm)
  }
  context.stroke()
}

/** The weights of neurons with one weight per pixel and a bias each, neuron by neuron, one tile for each: blue above zero, grey below. */
export function paintWeights(context: CanvasRenderingContext2D, colours: Palette, weights: ArrayLike<number>, tiles: Tile[], radius: number) {
  if (column?.canvas.height !== side * tiles.length) column = new Sheet(side * tiles.length)
  const [zero, minus, plus] = [rgb(colours['heat-0']!), rgb(colours['heat-neg']!), rgb(colours['heat-pos']!)]
  const mixed: [number, number, number] = [0, 0, 0]
  for (let neuron = 0; neuron < tiles.length; neuron++)
    for (let i = 0; i < pixelCount; i++) {
      const weight = weights[neuron * (pixelCount + 1) + i]!
      const [end, part] = [weight < 0 ? minus : plus, Math.min(1, Math.abs(weight) / largestWeight)]
      for (let k = 0; k < 3; k++) mixed[k] = zero[k]! + (end[k]! - zero[k]!) * part
      column.set(neuron * pixelCount + i, mixed, 1)
    }
  const sheet = column.finish()
  context.save()
  context.beginPath()
  for (const { x, y, size } of tiles) context.roundRect(x, y, size, size, radius)
  context.clip()
  context.imageSmoothingEnabled = true
  for (const [i, { x, y, size }] of tiles.entries()) context.drawImage(sheet, 0, i * side, side, side, x, y, size, size)
  context.restore()
}
