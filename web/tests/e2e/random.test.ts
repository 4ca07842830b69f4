// SPDX-License-Identifier: MIT
// Random expressions, opened by link and typed in: every number of the page is the native engine's. Needs the command line
// tool, build/release/gradwalk or $GRADWALK.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { plain, signed } from '../../src/lib/number.ts'
import { shownName } from '../../src/lib/words.ts'
import type { Walk } from '../../src/engine/types.ts'
import { randomExpression, randomNumbers } from '../random.ts'
import { test } from './lesson.ts'

const tool = process.env['GRADWALK'] ?? fileURLToPath(new URL('../../../build/release/gradwalk', import.meta.url))

function native(text: string): { walk: Walk; rows: string[][] } {
  const raw = execFileSync(tool, ['walk', '--json', '-'], { input: text, encoding: 'utf8' })
  const number = (value: unknown) => (value === 'nan' ? NaN : value === 'inf' ? Infinity : value === '-inf' ? -Infinity : (value as number))
  const walk = JSON.parse(raw) as Walk
  const rows = walk.nodes.map((node, i) => [shownName(node.name), plain(number(node.data)), node.op === 'constant' ? 'none' : signed(number(walk.outcomes[i]!.grad))])
  return { walk, rows }
}

test('200 random expressions show the native engine’s numbers', { timeout: 400_000 }, async ({ visit }) => {
  const { page, open } = await visit()
  await page.addInitScript(() => localStorage.setItem('gradwalk-lesson-view', JSON.stringify({ open: ['table'] })))
  await open('#own')
  const random = randomNumbers(20)
  const asked = Array.from({ length: 200 }, (_, i) => {
    const text = randomExpression(random, 1 + (i % 6))
    const { walk, rows } = native(text)
    const last = walk.steps.length - 1
    // Nine of ten are typed, which takes the page less time; the tenth is opened by its link.
    const hash = i % 10 === 9 ? `#own/own-graph?e=${encodeURIComponent(text)}&s=${last}` : ''
    return { text, rows, hash, there: `step ${last} of ${last}` }
  })
  const shown = await page.evaluate(async (all) => {
    const figure = () => document.getElementById('own-graph')!
    const pause = () => new Promise((done) => setTimeout(done))
    const result: string[][][] = []
    for (const { text, hash, there } of all) {
      if (hash) {
        const followed = new Promise((done) => addEventListener('hashchange', done, { once: true }))
        location.hash = hash
        await followed
      } else {
        const area = document.querySelector<HTMLTextAreaElement>('[data-testid=own-text]')!
        area.value = text
        area.dispatchEvent(new InputEvent('input', { bubbles: true }))
        await pause()
        figure().dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true }))
      }
      const isThere = () => {
        const view = figure()?.querySelector('[data-testid=table-view]')
        // A figure of another expression may have as many steps: the text in the box says which it is.
        const isNew = document.querySelector<HTMLTextAreaElement>('[data-testid=own-text]')?.value === text
        return isNew && view?.querySelector('table') && figure().querySelector('[data-testid=scrubber]')!.ariaValueText === there
      }
      for (let i = 0; i < 500 && !isThere(); i++) await pause()
      const rows = [...figure().querySelectorAll('[data-testid=table-view] tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent!.trim()))
      result.push(rows.map(([name, , data, grad]) => [name!, data!, grad!]))
    }
    return result
  }, asked)
  for (const [i, { text, rows }] of asked.entries()) expect({ text, rows: shown[i] }).toEqual({ text, rows })
  expect(await page.getByTestId('link-problem').count()).toBe(0)
})
