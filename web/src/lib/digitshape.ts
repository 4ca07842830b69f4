// SPDX-License-Identifier: MIT
// Where the parts of the network of digits stand: the pad, the picture that the network sees, its hidden neurons, and its scores. Data
// goes from left to right, or down where the page is narrow.
import { classCount, hiddenCount } from '../digits/types.ts'
import type { Tile } from './netshape.ts'

export interface Row {
  x: number
  y: number
  width: number
  height: number
}
export interface DigitShape {
  isWide: boolean
  width: number
  height: number
  pad: Tile
  picture: Tile
  tiles: Tile[]
  rows: Row[]
}

/** Below each square stands its name. */
const name = 26
/** Where the page is narrow, lines to a score run down beside the scores. */
const gutter = 14

export function digitShape(width: number): DigitShape {
  const isWide = width >= 640
  const columns = isWide ? 4 : 8
  const square = isWide ? 198 : (width - 12) / 2
  const pitch = isWide ? 56 : width / columns
  const size = isWide ? 46 : pitch - 7
  const rowsWidth = isWide ? Math.min(330, width * 0.32) : width - gutter
  const gap = (width - square - columns * pitch - rowsWidth) / 2
  const top = isWide ? 0 : square + name + 14
  const left = isWide ? square + gap : 0
  const lines = hiddenCount / columns
  const rowHeight = isWide ? 44.8 : 40
  const rowsTop = isWide ? 0 : top + lines * pitch + 22
  const tiles = Array.from({ length: hiddenCount }, (_, i): Tile => ({ x: left + (i % columns) * pitch + (pitch - size) / 2, y: top + Math.floor(i / columns) * pitch + (pitch - size) / 2, size }))
  const rows = Array.from({ length: classCount }, (_, i): Row => ({ x: width - rowsWidth, y: rowsTop + i * rowHeight, width: rowsWidth, height: rowHeight }))
  return {
    isWide,
    width,
    height: isWide ? 2 * (square + name) : rowsTop + classCount * rowHeight,
    pad: { x: 0, y: 0, size: square },
    picture: isWide ? { x: 0, y: square + name, size: square } : { x: square + 12, y: 0, size: square },
    tiles,
    rows,
  }
}

/** The line from the picture to a neuron. */
export function lineIn({ isWide, picture }: DigitShape, tile: Tile, share: number): string {
  if (isWide) {
    const [x0, y0, x1, y1] = [picture.x + picture.size, picture.y + picture.size * share, tile.x, tile.y + tile.size / 2]
    return `M${x0} ${y0}C${(x0 + x1) / 2} ${y0} ${(x0 + x1) / 2} ${y1} ${x1} ${y1}`
  }
  const [x0, y0, x1, y1] = [picture.x + picture.size * share, picture.y + picture.size, tile.x + tile.size / 2, tile.y]
  return `M${x0} ${y0}C${x0} ${(y0 + y1) / 2} ${x1} ${(y0 + y1) / 2} ${x1} ${y1}`
}

/** The line from a neuron to a score. */
export function lineOut({ isWide, rows }: DigitShape, tile: Tile, row: Row): string {
  if (isWide) {
    const [x0, y0, x1, y1] = [tile.x + tile.size, tile.y + tile.size / 2, row.x, row.y + row.height / 2]
    return `M${x0} ${y0}C${(x0 + x1) / 2} ${y0} ${(x0 + x1) / 2} ${y1} ${x1} ${y1}`
  }
  const [x0, y0, x1, y1] = [tile.x + tile.size / 2, tile.y + tile.size, gutter / 2, rows[0]!.y]
  return `M${x0} ${y0}C${x0} ${y1 - 6} ${x1} ${y0 + 6} ${x1} ${y1}V${row.y + row.height / 2}H${row.x}`
}
