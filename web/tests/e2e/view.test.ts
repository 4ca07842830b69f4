// SPDX-License-Identifier: MIT
// The parts in view, measured in the browser at the sizes of two laptops, a tablet and a phone: graphs are drawn whole where a window
// is large enough, one graph has one direction, and the page follows a walk however it is stepped.
import type { Locator, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { preset, presets } from '../../src/lesson/presets.ts'
import { figure, middle, narrow, next, test } from './lesson.ts'

const laptops = [
  { width: 1280, height: 800 },
  { width: 1366, height: 768 },
]
const screens = [...laptops, middle, narrow]

/** Where the drawing, its cards and the bar stand in the window. */
const look = (graph: Locator) =>
  graph.evaluate((one) => {
    const box = (part: Element) => {
      const { left, right, top, bottom } = part.getBoundingClientRect()
      return { left, right, top, bottom }
    }
    const frame = one.querySelector('[data-testid=graph]')!
    const shown = (name: string) => name.replaceAll('**', '^').replaceAll('*', '·').replaceAll('-', '−')
    return {
      frame: box(frame),
      drawing: box(frame.querySelector('.sizer')!),
      direction: frame.getAttribute('data-direction'),
      bar: box(one.querySelector('[data-testid=controls]') ?? one),
      cards: Object.fromEntries([...one.querySelectorAll('[data-testid=node]')].map((card) => [shown(card.getAttribute('data-node')!), { ...box(card.querySelector('.face')!), mark: card.getAttribute('data-mark') }])),
      paid: [...one.querySelectorAll('[data-testid=pill]')].filter((pill) => pill.textContent!.includes('=')).map((pill) => one.querySelector(`[data-testid=edge][data-edge="${pill.getAttribute('data-edge')}"]`)!.getAttribute('aria-label')!.match(/^edge from (.*) to /)![1]!),
    }
  })
const scroll = (page: Page, by: (top: number, floor: number) => number, graph: Locator) =>
  look(graph).then(({ drawing, bar }) => page.evaluate((to) => scrollBy(0, to), by(drawing.top, bar.bottom)))

describe.each(laptops)('at $width × $height', (viewport) => {
  test('every preset is seen whole, from the first card to the last', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    for (const { id, text } of presets) {
      await page.goto('about:blank')
      await open(`#back/back-graph?e=${encodeURIComponent(text)}&s=3`)
      const graph = figure(page, 'back-graph')
      await scroll(page, (top) => top, graph)
      const { drawing, frame, bar } = await look(graph)
      expect({ id, isWide: drawing.right <= frame.right + 1, isHigh: drawing.bottom - drawing.top <= Math.min(viewport.height, viewport.height - (bar.bottom - bar.top)) }).toEqual({ id, isWide: true, isHigh: true })
    }
  })

  test('the neuron of chapter 4 stands over the bar, and nothing of it is smaller than it is written', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#neuron')
    const graph = figure(page, 'neuron-graph')
    await scroll(page, (top) => top - 2, graph)
    const { drawing, bar, cards } = await look(graph)
    expect(drawing.top).toBeGreaterThanOrEqual(0)
    expect(drawing.bottom).toBeLessThanOrEqual(bar.top)
    expect(Object.keys(cards)).toHaveLength(10)
    expect(await graph.locator('.sheet').evaluate((sheet) => getComputedStyle(sheet).transform)).toBe('none')
  })
})

describe.each(screens)('at $width × $height', (viewport) => {
  test('one graph has one direction in all figures of a chapter', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    for (const [chapter, ...ids] of [
      ['neuron', 'neuron-graph', 'neuron-quiz'],
      ['back', 'back-graph', 'back-quiz'],
    ] as const) {
      await open(`#${chapter}`)
      const directions = await Promise.all(ids.map(async (id) => (await look(figure(page, id))).direction))
      expect({ chapter, directions: new Set(directions).size }).toEqual({ chapter, directions: 1 })
    }
  })

  /** Steps to the end, and returns every step after which the visited card, or one that it pays, is out of sight. */
  async function lost(page: Page, graph: Locator, step: () => Promise<unknown>): Promise<string[]> {
    const found: string[] = []
    const last = Number(await graph.getByTestId('scrubber').getAttribute('max'))
    for (let i = 1; i <= last; i++) {
      await step()
      // The bar grows with its sentences, which the page hears of a frame later.
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
      const { cards, bar, paid } = await look(graph)
      const isSeen = (name: string) => cards[name]!.top >= 0 && cards[name]!.bottom <= bar.top + 1
      const visited = Object.keys(cards).find((name) => cards[name]!.mark === 'current')
      if (visited && !isSeen(visited)) found.push(`step ${i}: ${visited}`)
      // Two cards that a screen holds together are both seen; where a node pays several, the last of them counts.
      const payee = paid.at(-1)
      const holds = payee && visited && Math.max(cards[payee]!.bottom, cards[visited]!.bottom) - Math.min(cards[payee]!.top, cards[visited]!.top) + 24 <= bar.top
      if (holds && !isSeen(payee)) found.push(`step ${i}: ${visited} pays ${payee}`)
    }
    expect(last).toBeGreaterThan(5)
    return found
  }

  test.for([
    ['neuron', 'neuron-graph', preset('neuron').text],
    ['order', 'order-try', preset('deep-diamond').text],
    ['sort', 'sort-broken', preset('deep-diamond').text],
  ] as const)('the page follows the walk of %s/%s by keys and by clicks that focus nothing', async ([chapter, id, text], { visit }) => {
    const { page, open } = await visit({ viewport })
    await open(`#${chapter}/${id}?e=${encodeURIComponent(text)}`)
    const graph = figure(page, id)
    await graph.focus()
    expect(await lost(page, graph, () => page.keyboard.press('ArrowRight'))).toEqual([])
    // Safari leaves the focus where it was when a button is clicked.
    await page.goto('about:blank')
    await open(`#${chapter}/${id}?e=${encodeURIComponent(text)}`)
    await page.evaluate(() => {
      document.addEventListener('mousedown', (event) => event.preventDefault(), { capture: true })
      ;(document.activeElement as HTMLElement | null)?.blur()
    })
    expect(await lost(page, graph, () => next(graph).evaluate((button: HTMLButtonElement) => button.click()))).toEqual([])
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true)
  })

  test('a figure that plays elsewhere does not pull the page', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#neuron')
    await figure(page, 'neuron-graph').getByTestId('play').click()
    await figure(page, 'neuron-quiz').getByTestId('answer').click()
    // Sentences that grow and shrink elsewhere move the page under the window; what the learner looks at stays where it is.
    const place = async () => Math.round((await figure(page, 'neuron-quiz').getByTestId('answer').boundingBox())!.y)
    const before = await place()
    await expect.poll(() => figure(page, 'neuron-graph').getByTestId('scrubber').inputValue(), { timeout: 60_000 }).toMatch(/^([4-9]|1\d)/)
    expect(Math.abs((await place()) - before)).toBeLessThanOrEqual(2)
  })
})
