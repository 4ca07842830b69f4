// SPDX-License-Identifier: MIT
// Random expressions, opened by link and typed in: every number of the page is the native engine's. Needs the command line
// tool, build/release/gradwalk or $GRADWALK.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { plain, signed } from '../../src/lib/number.ts'
import type { Walk } from '../../src/engine/types.ts'
import { randomExpression, randomNumbers } from '../random.ts'
import { figure, test } from './lesson.ts'

const tool = process.env['GRADWALK'] ?? fileURLToPath(new URL('../../../build/release/gradwalk', import.meta.url))

function native(text: string): { walk: Walk; rows: string[][] } {
  const raw = execFileSync(tool, ['walk', '--json', '-'], { input: text, encoding: 'utf8' })
  const number = (value: unknown) => (value === 'nan' ? NaN : value === 'inf' ? Infinity : value === '-inf' ? -Infinity : (value as number))
  const walk = JSON.parse(raw) as Walk
  const rows = walk.nodes.map((node, i) => [node.name, plain(number(node.data)), node.op === 'constant' ? 'none' : signed(number(walk.outcomes[i]!.grad))])
  return { walk, rows }
}

test.skipIf(!existsSync(tool))('200 random expressions show the native engine’s numbers', { timeout: 60_000 }, async ({ visit }) => {
  const { page, open } = await visit()
  await open('#own')
  const random = randomNumbers(20)
  for (let i = 0; i < 200; i++) {
    const text = randomExpression(random, 1 + (i % 6))
    const { walk, rows } = native(text)
    const last = walk.steps.length - 1
    const isTyped = i % 10 !== 0
    if (isTyped) {
      await page.getByTestId('own-text').fill(text)
      await figure(page, 'own-graph').press('End')
    }
    const shown = await page.evaluate(
      async ([hash, wanted]) => {
        if (hash) {
          const followed = new Promise((done) => addEventListener('hashchange', done, { once: true }))
          location.hash = hash
          await followed
        }
        const figure = () => document.getElementById('own-graph')!
        const frame = () => new Promise((done) => requestAnimationFrame(done))
        const isThere = () => {
          const view = figure()?.querySelector<HTMLDetailsElement>('[data-testid=table-view]')
          if (view) view.open = true
          return view?.querySelector('table') && figure().querySelector('[data-testid=scrubber]')!.ariaValueText === wanted
        }
        for (let i = 0; i < 100 && !isThere(); i++) await frame()
        const cells = [...figure().querySelectorAll('[data-testid=table-view] tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent!.trim()))
        return cells.map(([name, , data, grad]) => [name!, data!, grad!])
      },
      [isTyped ? '' : `#own/own-graph?e=${encodeURIComponent(text)}&s=${last}`, `step ${last} of ${last}`] as const,
    )
    expect({ text, rows: shown }).toEqual({ text, rows })
  }
  expect(await page.getByTestId('link-problem').count()).toBe(0)
})
