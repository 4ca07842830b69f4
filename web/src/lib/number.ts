// SPDX-License-Identifier: MIT
// How numbers are written and read on the page: at most six significant digits and four decimals, a real minus sign,
// an explicit plus where a sign matters. Nothing is computed here but the value of a typed fraction.

const minus = '−'

function digits(size: number): string {
  if (size === 0) return '0'
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = size.toExponential(3).split('e') as [string, string]
    return `${trimmed(mantissa)}e${exponent.replace('+', '').replace('-', minus)}`
  }
  const whole = Math.floor(size).toString().length
  return trimmed(size.toFixed(Math.min(4, 6 - Math.min(6, whole))))
}

const trimmed = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)

/** 0.7071, −3, 1.2e−7, NaN, ∞ */
export function plain(value: number | null | undefined): string {
  if (value === null || value === undefined) return ''
  if (Number.isNaN(value)) return 'NaN'
  const size = Math.abs(value)
  const text = size === Infinity ? '∞' : digits(size)
  return (value < 0 && text !== '0' ? minus : '') + text
}

/** The same with its sign always shown; zero has none. */
export function signed(value: number | null | undefined): string {
  const text = plain(value)
  return typeof value === 'number' && value > 0 && text !== '0' ? `+${text}` : text
}

/** With nine digits, for a difference that shows only there. */
export const precise = (value: number) => value.toPrecision(9).replaceAll('-', minus)

/** As a factor or a term in a line of arithmetic: negative numbers in parentheses. */
export const term = (value: number) => (value < 0 ? `(${plain(value)})` : plain(value))

/** A local derivative on its edge: ×12, ×−1. */
export const times = (value: number) => `×${plain(value)}`
/** "5 × 3 = ", to be followed by what it gives. */
export const product = (upstream: number, local: number) => `${term(upstream)} × ${term(local)} = `

const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/** Reads 1.5, −3, 3/2, -1/4, 1e-3, 0,5; null if it is none of these. */
export function readNumber(text: string): number | null {
  const parts = text
    .trim()
    .replace(/[−–]/g, '-')
    .replace(/^([^,]*),([^,]*)$/, '$1.$2')
    .split('/')
    .map((part) => part.trim())
  if (parts.length > 2 || !parts.every((part) => number.test(part))) return null
  const [above, below] = parts.map(Number) as [number, number | undefined]
  if (below === 0) return null
  return below === undefined ? above : above / below
}

/** Equal up to what a person types: a thousandth of the larger, or of one. */
export const close = (answer: number, right: number) => Math.abs(answer - right) <= 1e-3 * Math.max(1, Math.abs(right))

/** A probability: 0.2 %, 41 %, > 99 %. */
export const shareText = (part: number) => (part > 0.995 ? '> 99 %' : `${(100 * part).toFixed(part < 0.0995 && part >= 0.0005 ? 1 : 0)} %`)
