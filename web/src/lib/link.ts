// SPDX-License-Identifier: MIT
// The page's state in its address: #order/diamond?e=a%3D2...&r=right&o=5,4,2,0&s=7 is a chapter, a figure in it, and that
// figure's expression, rule, order and step; q= names the node that an exercise asks for, v= says which of the figure's
// drawings is shown, t= holds a training's settings. #embed/order/diamond?… is that figure alone. Parts that cannot be read are
// left out and reported.
import { walkRules, type WalkRule } from '../engine/types.ts'
import { words } from '../words/index.ts'

export interface FigureLink {
  figure: string
  text?: string
  rule?: WalkRule
  order?: number[]
  step?: number
  /** The node that an exercise asks for. */
  ask?: string
  /** Which of a figure's drawings is shown. */
  view?: string
  /** A training's settings, as training.ts writes them. */
  training?: string
}
export interface PageLink {
  chapter: string
  /** Only the figure is shown: for a slide, an iframe. */
  isEmbedded?: boolean
  figure: FigureLink | null
}

export function formatLink(chapter: string, link: FigureLink | null): string {
  if (!link) return `#${chapter}`
  const parts: [string, string][] = []
  if (link.text !== undefined) parts.push(['e', link.text])
  if (link.ask !== undefined) parts.push(['q', link.ask])
  if (link.rule && link.rule !== 'right') parts.push(['r', link.rule])
  if (link.order) parts.push(['o', link.order.join(',')])
  if (link.view !== undefined) parts.push(['v', link.view])
  if (link.training !== undefined) parts.push(['t', link.training])
  if (link.step) parts.push(['s', String(link.step)])
  return `#${chapter}/${link.figure}${parts.length ? `?${parts.map(([key, value]) => `${key}=${encoded(value)}`).join('&')}` : ''}`
}

/** As encodeURIComponent, but formulas stay readable. */
const encoded = (text: string) => encodeURIComponent(text).replace(/%(3D|2C|2B|2F|3B|5E)/g, decodeURIComponent)

export function readLink(hash: string, chapters: string[]): { link: PageLink; problems: string[] } {
  const problems: string[] = []
  const isEmbedded = hash.startsWith('#embed/')
  const [path = '', query = ''] = split(hash.replace(/^#(embed\/)?/, ''), '?')
  const [chapter = '', figure = ''] = split(path, '/')
  if (chapter === '') return { link: { chapter: chapters[0]!, figure: null }, problems }
  if (!chapters.includes(chapter)) {
    problems.push(words.link.chapter)
    return { link: { chapter: chapters[0]!, figure: null }, problems }
  }
  if (!figure) return { link: { chapter, figure: null }, problems }
  const link: FigureLink = { figure }
  for (const part of query.split('&').filter(Boolean)) {
    const [key = '', raw = ''] = split(part, '=')
    const value = decoded(raw)
    if (value === null) problems.push(words.link.garbled)
    else if (key === 'e' && value.length <= 5000) link.text = value
    else if (key === 'r' && (walkRules as readonly string[]).includes(value)) link.rule = value as WalkRule
    else if (key === 'o' && /^\d{1,4}(,\d{1,4})*$/.test(value)) link.order = value.split(',').map(Number)
    else if (key === 'q' && /^[\w.]{1,40}$/.test(value)) link.ask = value
    else if (key === 'v' && /^\w{1,20}$/.test(value)) link.view = value
    else if (key === 't' && /^[\w.,:~-]{1,20000}$/.test(value)) link.training = value
    else if (key === 's' && /^\d{1,6}$/.test(value)) link.step = Number(value)
    else problems.push(words.link.meaningless(`${key}=${value.slice(0, 40)}`))
  }
  return { link: { chapter, figure: link, ...(isEmbedded && { isEmbedded }) }, problems }
}

/** The link of a figure alone, with the state it has in the address if that is its own. */
export function embedHash(hash: string, figure: string): string {
  const [path = '', query] = split(hash.replace(/^#(embed\/)?/, ''), '?')
  const [chapter = '', shown] = split(path, '/')
  return `#embed/${chapter}/${figure}${shown === figure && query ? `?${query}` : ''}`
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
