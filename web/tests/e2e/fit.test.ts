// SPDX-License-Identifier: MIT
// Nothing is cut: every text of every card lies inside its card, every number inside its pill, every field shows its value, for every
// preset at every step and for 200 random expressions with extreme numbers, at three widths. Presets are drawn whole even on a phone,
// and what stands on their edges touches nothing else.
import { describe, expect } from 'vitest'
import { presets } from '../../src/lesson/presets.ts'
import { randomNumbers } from '../random.ts'
import { middle, narrow, test, wide } from './lesson.ts'

interface Show {
  id: string
  /** Texts to type into the expression's box, or to choose from the list of graphs. */
  texts: string[]
  /** Looks at every step, and not at the end alone. */
  isStepped: boolean
}

/** In the page: shows one text after the other, and reports what is cut off or overlaps something else. */
async function examine({ id, texts, isStepped }: Show): Promise<string[]> {
  const found: string[] = []
  const settle = () => new Promise((done) => setTimeout(done))
  const figure = () => document.getElementById(id)!
  const within = (inner: DOMRect, outer: DOMRect, by: number) => inner.left >= outer.left - by && inner.right <= outer.right + by
  const overlap = (a: DOMRect, b: DOMRect) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5
  function look(where: string) {
    const tell = (what: string) => found.push(`${where}: ${what}`)
    const frame = figure().querySelector('[data-testid=graph]')!
    const inked: [DOMRect, string][] = []
    for (const card of figure().querySelectorAll('[data-testid=node]')) {
      const face = card.querySelector('rect.face')!.getBoundingClientRect()
      const texts = [...card.querySelectorAll('text')].filter((text) => text.textContent!.trim()).map((text): [DOMRect, string] => [text.getBoundingClientRect(), text.textContent!])
      inked.push(...texts)
      for (const [box, text] of texts) if (!within(box, face, 1)) tell(`${card.getAttribute('data-node')}: “${text}” sticks out`)
      // Data and gradient side by side, the name and "paid" too: none runs into the other.
      for (const [a, one] of texts) for (const [b, other] of texts) if (one !== other && Math.abs(a.top - b.top) < 4 && a.left < b.left && a.right > b.left + 1) tell(`${card.getAttribute('data-node')}: “${one}” runs into “${other}”`)
    }
    const pills = [...figure().querySelectorAll('[data-testid=pill]')].map((pill) => ({ box: pill.querySelector('rect')!.getBoundingClientRect(), text: pill.querySelector('text')! }))
    for (const [i, { box, text }] of pills.entries()) {
      if (!within(text.getBoundingClientRect(), box, 0.5)) tell(`“${text.textContent}” sticks out of its pill`)
      if (!isStepped) continue
      for (const other of pills.slice(i + 1)) if (overlap(box, other.box)) tell(`“${text.textContent}” lies on “${other.text.textContent}”`)
      for (const [other, word] of inked) if (overlap(box, other)) tell(`“${text.textContent}” lies on “${word}”`)
    }
    for (const input of frame.querySelectorAll('input')) if (input.scrollWidth > input.clientWidth + 1) tell(`the field shows less than ${input.value}`)
    if (isStepped && frame.scrollWidth > frame.clientWidth) tell(`${frame.scrollWidth - frame.clientWidth} px of the drawing are out of sight`)
  }
  const press = async (key: string) => {
    figure().dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
    await settle()
  }
  for (const text of texts) {
    const box = document.querySelector<HTMLTextAreaElement | HTMLSelectElement>(isStepped ? `#${id} [data-testid=preset]` : '[data-testid=own-text]')!
    box.value = text
    box.dispatchEvent(new Event(isStepped ? 'change' : 'input', { bubbles: true }))
    await settle()
    const last = Number(figure().querySelector<HTMLInputElement>('[data-testid=scrubber]')!.max)
    for (let step = 0; isStepped && step <= last; step++) {
      look(`${text}, step ${step}`)
      await press('ArrowRight')
    }
    if (!isStepped) {
      await press('End')
      look(text)
    }
  }
  return found
}

function extreme(random: () => number): string {
  const number = () => `${random() < 0.5 ? '-' : ''}${(random() * 9 + 1).toFixed(Math.floor(random() * 8))}e${Math.floor(random() * 200 - 100)}`
  const names = ['a', 'b', 'c']
  const lines = names.map((name) => `${name}=${number()}`)
  const any = () => names[Math.floor(random() * names.length)]!
  for (let i = 0; i < 1 + random() * 4; i++) {
    const form = [`${any()}*${any()}`, `${any()}+${any()}`, `${any()}/${any()}`, `${any()}-${any()}*${any()}`, `tanh(${any()})*${number()}`, `${any()}**3`][Math.floor(random() * 6)]!
    lines.push(`long_name_${i}=${form}`)
    names.push(`long_name_${i}`)
  }
  return `${lines.join(';')};r=${any()}*${names.at(-1)}+a*b-c`
}

describe.each([wide, middle, narrow])('at $width px', (viewport) => {
  test('every preset at every step, by the right rule and by broken ones', { timeout: 180_000 }, async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#back')
    expect(await page.evaluate(examine, { id: 'back-graph', texts: presets.map((one) => one.id), isStepped: true })).toEqual([])
    await open('#sort/sort-broken?r=twice')
    expect((await page.evaluate(examine, { id: 'sort-broken', texts: presets.map((one) => one.id), isStepped: true })).filter((one) => !one.includes('out of sight'))).toEqual([])
  })

  test('200 random expressions with extreme numbers', { timeout: 300_000 }, async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#own')
    const random = randomNumbers(viewport.width)
    expect(await page.evaluate(examine, { id: 'own-graph', texts: Array.from({ length: 200 }, () => extreme(random)), isStepped: false })).toEqual([])
  })
})
