// SPDX-License-Identifier: MIT
// Where a network's neurons stand in a picture of it, and its connections between them. The last neuron is the plane where
// there is one.
import type { NetworkView } from '../engine/types.ts'

export interface Tile {
  x: number
  y: number
  size: number
}
export interface NetShape {
  width: number
  height: number
  /** By layer, the inputs first. */
  tiles: Tile[][]
  plane: Tile
  isWide: boolean
}

/** `plane`: its side; beside the network where there is room, else after it. */
export function shapeOf(sizes: number[], width: number, isWide: boolean, plane: number, wish: number, gapWish: number): NetShape {
  const most = Math.max(...sizes.slice(0, -1))
  const height = isWide ? Math.max(plane, 4 * (wish + gapWish)) + 22 : 0
  const room = isWide ? height - 20 : 280
  const pitch = Math.min(wish + gapWish, room / most)
  const size = Math.floor(Math.min(wish, pitch * 0.76))
  const netHeight = isWide ? height : most * pitch + 18
  const netWidth = isWide ? width - plane - 70 : width
  const columns = isWide ? sizes.length - 1 : sizes.length
  const tiles = sizes.map((count, layer): Tile[] =>
    Array.from({ length: count }, (_, i) => ({
      x: 2 + ((netWidth - size - 4) * layer) / Math.max(1, columns - (isWide ? 0.35 : 1)),
      y: 14 + (netHeight - 14 - count * pitch) / 2 + i * pitch + (pitch - size) / 2,
      size,
    })),
  )
  const where: Tile = isWide ? { x: width - plane - 2, y: (height - plane) / 2, size: plane } : { x: (width - plane) / 2, y: netHeight + 12, size: plane }
  if (isWide) tiles[tiles.length - 1] = sizes.at(-1) === 1 ? [where] : tiles.at(-1)!.map((_, i, all) => ({ x: where.x, y: where.y + (where.size * i) / all.length, size: where.size / all.length }))
  return { width, height: isWide ? height : netHeight + 12 + plane + 6, tiles, plane: where, isWide }
}

/** Where a layer's neuron begins in `weights`. */
export function offsetOf({ sizes }: NetworkView, layer: number, neuron: number): number {
  let at = 0
  for (let l = 1; l < layer; l++) at += sizes[l]! * (sizes[l - 1]! + 1)
  return at + neuron * (sizes[layer - 1]! + 1)
}

/** Which of `seen` a neuron of a layer (from 1) is. */
export function seenOf({ sizes, grid }: NetworkView, layer: number, neuron: number): number {
  let index = neuron
  for (let l = 1; l < layer; l++) index += sizes[l]!
  return index * grid * grid
}

const subscripts = '₀₁₂₃₄₅₆₇₈₉'
export const subscript = (n: number) => [...String(n)].map((digit) => subscripts[Number(digit)]).join('')
const letters = ['x', 'h', 'k', 'm']
export function neuronName(sizes: number[], layer: number, neuron: number): string {
  if (layer === sizes.length - 1 && sizes.at(-1) === 1) return 's'
  const letter = layer === sizes.length - 1 ? 's' : letters[layer]!
  return letter + subscript(neuron + 1)
}
