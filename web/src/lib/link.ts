// SPDX-License-Identifier: MIT
// The page's state in its address: #order/diamond?e=a%3D2...&r=right&o=5,4,2,0&s=7 is a chapter, a figure in it, and that
// figure's expression, rule, order and step. Whatever cannot be read is left out and told.
import { walkRules, type WalkRule } from '../engine/types.ts'

export interface FigureLink {
  figure: string
  text?: string
  rule?: WalkRule
  order?: number[]
  step?: number
}
export interface PageLink {
  chapter: string
  figure: FigureLink | null
}

export function formatLink(chapter: string, link: FigureLink | null): string {
  if (!link) return `#${chapter}`
  const parts: [string, string][] = []
  if (link.text !== undefined) parts.push(['e', link.text])
  if (link.rule && link.rule !== 'right') parts.push(['r', link.rule])
  if (link.order) parts.push(['o', link.order.join(',')])
  if (link.step) parts.push(['s', String(link.step)])
  return `#${chapter}/${link.figure}${parts.length ? `?${parts.map(([key, value]) => `${key}=${encoded(value)}`).join('&')}` : ''}`
}

/** As encodeURIComponent, but formulas stay readable. */
const encoded = (text: string) => encodeURIComponent(text).replace(/%(3D|2C|2B|2F|3B|5E)/g, decodeURIComponent)

export function readLink(hash: string, chapters: string[]): { link: PageLink; problems: string[] } {
  const problems: string[] = []
  const [path = '', query = ''] = split(hash.replace(/^#/, ''), '?')
  const [chapter = '', figure = ''] = split(path, '/')
  if (chapter === '') return { link: { chapter: chapters[0]!, figure: null }, problems }
  if (!chapters.includes(chapter)) {
    problems.push('it names a chapter that is not in this lesson')
    return { link: { chapter: chapters[0]!, figure: null }, problems }
  }
  if (!figure) return { link: { chapter, figure: null }, problems }
  const link: FigureLink = { figure }
  for (const part of query.split('&').filter(Boolean)) {
    const [key = '', raw = ''] = split(part, '=')
    const value = decoded(raw)
    if (value === null) problems.push('a part of it is garbled')
    else if (key === 'e' && value.length <= 5000) link.text = value
    else if (key === 'r' && (walkRules as readonly string[]).includes(value)) link.rule = value as WalkRule
    else if (key === 'o' && /^\d{1,4}(,\d{1,4})*$/.test(value)) link.order = value.split(',').map(Number)
    else if (key === 's' && /^\d{1,6}$/.test(value)) link.step = Number(value)
    else problems.push(`“${key}=${value.slice(0, 40)}” means nothing here`)
  }
  return { link: { chapter, figure: link }, problems }
}

function split(text: string, at: string): [string, string?] {
  const i = text.indexOf(at)
  return i < 0 ? [text] : [text.slice(0, i), text.slice(i + 1)]
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
