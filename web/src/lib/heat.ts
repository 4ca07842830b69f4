// SPDX-License-Identifier: MIT
// Numbers of a grid as a small picture: blue above zero, grey below, paper at zero. Colours are the page's own.

export interface Palette {
  [name: string]: string
}
const names = ['paper', 'stage', 'card', 'leaf', 'ink', 'soft', 'line', 'wire', 'data', 'grad', 'gneg', 'ok', 'heat-neg', 'heat-0', 'heat-pos', 'focus']

export function palette(): Palette {
  const style = getComputedStyle(document.documentElement)
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]))
}

export const rgb = (hex: string) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as [number, number, number]

const sheets = new Map<number, { canvas: HTMLCanvasElement; context: CanvasRenderingContext2D; image: ImageData }>()
function sheet(size: number) {
  let found = sheets.get(size)
  if (!found) {
    const canvas = document.createElement('canvas')
    canvas.width = canvas.height = size
    const context = canvas.getContext('2d')!
    found = { canvas, context, image: context.createImageData(size, size) }
    sheets.set(size, found)
  }
  return found
}

/** Values from −1 to 1, row by row; `strength` of the colour at the ends. */
export function paintHeat(target: CanvasRenderingContext2D, colours: Palette, values: ArrayLike<number>, from: number, size: number, place: { x: number; y: number; size: number; radius: number }, strength: number) {
  const { canvas, context, image } = sheet(size)
  const [zero, minus, plus] = [rgb(colours['heat-0']!), rgb(colours['heat-neg']!), rgb(colours['heat-pos']!)]
  for (let i = 0; i < size * size; i++) {
    const value = Math.max(-1, Math.min(1, values[from + i]!))
    const [end, part] = [value < 0 ? minus : plus, Math.abs(value) * strength]
    for (let k = 0; k < 3; k++) image.data[4 * i + k] = zero[k]! + (end[k]! - zero[k]!) * part
    image.data[4 * i + 3] = 255
  }
  context.putImageData(image, 0, 0)
  target.save()
  target.beginPath()
  target.roundRect(place.x, place.y, place.size, place.size, place.radius)
  target.clip()
  target.imageSmoothingEnabled = true
  target.imageSmoothingQuality = 'high'
  target.drawImage(canvas, place.x, place.y, place.size, place.size)
  target.restore()
}

/** ● for the class above zero, ■ for the other, ▲ for a third: shapes first, colour second. */
export function paintPoint(target: CanvasRenderingContext2D, colours: Palette, x: number, y: number, label: number, r: number) {
  target.beginPath()
  if (label === 1) target.arc(x, y, r, 0, 7)
  else if (label === 0) target.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8)
  else {
    target.moveTo(x, y - r * 1.2)
    target.lineTo(x + r * 1.1, y + r * 0.8)
    target.lineTo(x - r * 1.1, y + r * 0.8)
    target.closePath()
  }
  target.fillStyle = label === 1 ? colours['data']! : label === 0 ? colours['ink']! : colours['ok']!
  target.fill()
  target.lineWidth = 1.2
  target.strokeStyle = colours['card']!
  target.stroke()
}

export const shapes = ['■', '●', '▲'] as const
