// SPDX-License-Identifier: MIT
// Paints a network: lines as thick as their weight in the colour of their gradient (dashed below zero), and in each neuron's
// place what it sees.
import type { GridView, NetworkView, Points } from '../engine/types.ts'
import { paintHeat, paintPoint, type Palette } from './heat.ts'
import { offsetOf, seenOf, type NetShape, type Tile } from './netshape.ts'

export interface LineLook {
  colour: string
  alpha: number
  isDashed: boolean
  width: number
}

export function lineEnds(from: Tile, to: Tile) {
  return { x0: from.x + from.size, y0: from.y + from.size / 2, x1: to.x, y1: to.y + to.size / 2 }
}

/** Thick as the weight; coloured by its gradient's sign, as strong as it is among all of them. */
export function gradientLook(colours: Palette, weight: number, gradient: number, most: number, isWide: boolean): LineLook {
  return {
    width: 1.2 + (isWide ? 6.5 : 4) * Math.min(1, Math.abs(weight) / 3.5),
    colour: gradient === 0 ? colours['wire']! : gradient < 0 ? colours['gneg']! : colours['grad']!,
    isDashed: gradient < 0,
    alpha: 0.28 + 0.72 * Math.min(1, Math.sqrt(Math.abs(gradient) / most)),
  }
}

export function paintLines(context: CanvasRenderingContext2D, shape: NetShape, network: NetworkView, look: (weight: number, gradient: number, layer: number, neuron: number, input: number) => LineLook) {
  for (let layer = 1; layer < network.sizes.length; layer++)
    for (let neuron = 0; neuron < network.sizes[layer]!; neuron++) {
      const at = offsetOf(network, layer, neuron)
      for (let input = 0; input < network.sizes[layer - 1]!; input++) {
        const { x0, y0, x1, y1 } = lineEnds(shape.tiles[layer - 1]![input]!, shape.tiles[layer]![neuron]!)
        const { width, colour, alpha, isDashed } = look(network.weights[at + input]!, network.gradients[at + input]!, layer - 1, neuron, input)
        context.beginPath()
        context.moveTo(x0, y0)
        context.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1)
        context.lineWidth = width
        context.strokeStyle = colour
        context.globalAlpha = alpha
        context.setLineDash(isDashed ? [9, 5] : [])
        context.stroke()
      }
    }
  context.setLineDash([])
  context.globalAlpha = 1
}

/** Inputs see their own coordinate; the others what they give, the last squeezed as its probability would be. */
export function paintTiles(context: CanvasRenderingContext2D, colours: Palette, shape: NetShape, network: NetworkView, view: GridView, hasLast: boolean) {
  const { grid, sizes } = network
  const side = { x: view.x1 - view.x0, y: view.y1 - view.y0 }
  const coordinate = new Float64Array(grid * grid)
  for (const [layer, column] of shape.tiles.entries()) {
    if (layer === sizes.length - 1 && !hasLast) continue
    for (const [i, tile] of column.entries()) {
      const place = { ...tile, radius: Math.min(12, tile.size * 0.18) }
      if (layer === 0) {
        for (let cell = 0; cell < grid * grid; cell++) {
          const part = i === 0 ? ((cell % grid) + 0.5) / grid : 1 - (Math.floor(cell / grid) + 0.5) / grid
          coordinate[cell] = ((i === 0 ? view.x0 + side.x * part : view.y0 + side.y * part) * 2) / (i === 0 ? side.x : side.y)
        }
        paintHeat(context, colours, coordinate, 0, grid, place, 0.8)
      } else paintHeat(context, colours, network.seen, seenOf(network, layer, i), grid, place, 0.8)
      context.lineWidth = 1.3
      context.strokeStyle = colours['line']!
      context.beginPath()
      context.roundRect(tile.x, tile.y, tile.size, tile.size, place.radius)
      context.stroke()
    }
  }
}

export function toPixel(view: GridView, plane: Tile, x: number, y: number) {
  return { x: plane.x + ((x - view.x0) / (view.x1 - view.x0)) * plane.size, y: plane.y + ((view.y1 - y) / (view.y1 - view.y0)) * plane.size }
}

export function paintPoints(context: CanvasRenderingContext2D, colours: Palette, view: GridView, plane: Tile, points: Points, r: number, picked: number | null) {
  for (let i = 0; i < points.x.length; i++) {
    const { x, y } = toPixel(view, plane, points.x[i]!, points.y[i]!)
    paintPoint(context, colours, x, y, points.label[i]!, r)
    if (i !== picked) continue
    context.beginPath()
    context.arc(x, y, r + 6, 0, 7)
    context.lineWidth = 2.5
    context.strokeStyle = colours['ok']!
    context.stroke()
  }
}
