// SPDX-License-Identifier: MIT
// No input freezes the page: what stands at the stated bounds answers or is refused within a second of the main thread's time, typed or
// linked; a graph too large to draw says so and is offered folded, or as a table.
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { test, textOf } from './lesson.ts'

/** The main thread's own time for what `act` sets off, in milliseconds: tasks counted by the browser, not by the wall. */
async function busy(page: Page, act: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const taken = async () => (await session.send('Performance.getMetrics')).metrics.find((one) => one.name === 'TaskDuration')!.value
  const before = await taken()
  await act()
  await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))))
  const time = 1000 * ((await taken()) - before)
  await session.detach()
  return time
}

const chain = (n: number) => `x=1;${Array.from({ length: n }, (_, i) => `n${i}=${i ? `n${i - 1}` : 'x'}*x`).join(';')}`
const texts: [name: string, text: string, answer: 'drawn' | 'folded' | 'table' | 'refused'][] = [
  ['200 terms', `x=1;y=${'x+'.repeat(199)}x`, 'folded'],
  ['as many nodes as are drawn', `x=1;y=${'x+'.repeat(118)}x`, 'drawn'],
  ['a chain of named nodes as long as is drawn', chain(118), 'drawn'],
  ['more names than are drawn', chain(400), 'table'],
  ['as many nodes as the engine takes', `x=1;y=${'x+'.repeat(1990)}x`, 'folded'],
  ['deep parentheses', `x=1;y=${'('.repeat(4000)}x${')'.repeat(4000)}`, 'drawn'],
  ['more nodes than the engine takes', `x=1;y=${'x+'.repeat(3000)}x`, 'refused'],
  ['longer than the engine takes', `x=1;y=${'x+'.repeat(10_000)}x`, 'refused'],
]

test('typed: answered or refused within a second', { timeout: 180_000 }, async ({ visit }) => {
  const { page, open } = await visit()
  await open('#own')
  const type = (text: string) =>
    page.getByTestId('own-text').evaluate((box: HTMLTextAreaElement, value) => {
      box.value = value
      box.dispatchEvent(new InputEvent('input', { bubbles: true }))
    }, text)
  const times: string[] = []
  for (const [name, text, answer] of texts) {
    await type('a=3; f=a*a')
    const time = await busy(page, () => type(text))
    times.push(`${name} ${time.toFixed(0)} ms`)
    expect(`${name}: ${time < 1000 ? 'in time' : `${time} ms`}`).toBe(`${name}: in time`)
    const error = `${await textOf(page.getByTestId('own-error'))}${(await page.getByTestId('too-large').allInnerTexts()).join(' ')}`
    expect(`${name}: ${error === '' ? 'drawn' : error}`).toMatch(answer === 'drawn' ? /: drawn$/ : answer === 'refused' ? /needs at most/ : /This graph has \d+ nodes; up to 120 are drawn\./)
    expect(await page.getByTestId('fold').count()).toBe(answer === 'folded' ? 1 : 0)
    if (answer === 'table') expect(await page.getByText('Even folded it has too many names to draw.').count()).toBe(1)
    if (answer !== 'folded') continue
    const folding = await busy(page, () => page.getByTestId('fold').click())
    times.push(`folded ${folding.toFixed(0)} ms`)
    expect(folding).toBeLessThan(1000)
    expect(await page.locator('#own-graph-folded').getByTestId('node').count()).toBe(2)
    const stepping = await busy(page, () => page.locator('#own-graph-folded').getByTestId('next').click())
    expect(stepping).toBeLessThan(1000)
  }
  console.log(times.join(', '))
})

test('linked: checked before it is opened', { timeout: 180_000 }, async ({ visit }) => {
  const { page, open } = await visit()
  for (const [figure, chapter] of [
    ['back-graph', 'back'],
    ['sort-steps', 'sort'],
    ['order-try', 'order'],
    ['twice-broken', 'twice'],
  ] as const) {
    await page.goto('about:blank')
    const time = await busy(page, () => open(`#${chapter}/${figure}?e=${encodeURIComponent(`x=1;y=${'x+'.repeat(199)}x`)}`))
    expect(`${figure}: ${time < 2500 ? 'in time' : time}`).toBe(`${figure}: in time`) // the page's own start is part of it
    expect(await textOf(page.getByTestId('link-problem'))).toContain('its graph has 200 nodes, and up to 120 are drawn')
  }
})
