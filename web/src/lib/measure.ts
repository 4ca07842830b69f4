// SPDX-License-Identifier: MIT
// How wide text is. In the page a canvas knows, with the fonts that are there; where there is none (tests of the layout
// alone) letters have a width of their own.

export const fonts = {
  sans: "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
  serif: "'Iowan Old Style', 'Palatino Linotype', Palatino, 'Book Antiqua', Georgia, 'DejaVu Serif', serif",
}

export type Font = 'value' | 'small-value' | 'token' | 'pill' | 'soft-pill' | 'name' | 'formula' | 'note' | 'slope'
const css: Record<Font, string> = {
  value: `600 17px ${fonts.sans}`,
  'small-value': `600 16px ${fonts.sans}`,
  token: `600 14px ${fonts.sans}`,
  pill: `600 13px ${fonts.sans}`,
  'soft-pill': `400 13px ${fonts.sans}`,
  name: `italic 600 16px ${fonts.serif}`,
  formula: `400 14px ${fonts.sans}`,
  note: `400 12px ${fonts.sans}`,
  slope: `600 16px ${fonts.sans}`,
}

let context: CanvasRenderingContext2D | null | undefined
const known = new Map<string, number>()

export function widthOf(text: string, font: Font): number {
  const key = `${font} ${text}`
  let width = known.get(key)
  if (width !== undefined) return width
  if (context === undefined) context = typeof document === 'undefined' ? null : document.createElement('canvas').getContext('2d')
  if (context) {
    context.font = css[font]
    width = context.measureText(text).width
  } else width = text.length * parseFloat(/\d+px/.exec(css[font])![0]) * 0.62
  if (known.size > 20_000) known.clear()
  known.set(key, width)
  return width
}
