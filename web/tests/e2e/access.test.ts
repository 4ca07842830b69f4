// SPDX-License-Identifier: MIT
// For everyone: axe finds nothing serious in any chapter, light or dark, with figures opened; signs are more than colours;
// whoever asks for less motion gets none.
import { createRequire } from 'node:module'
import type axe from 'axe-core'
import { describe, expect } from 'vitest'
import { figure, narrow, sizes, test, walkToEnd } from './lesson.ts'

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const chapters = ['fill', 'back', 'rules', 'neuron', 'twice', 'order', 'sort', 'own', 'learn']

describe.each([
  { colorScheme: 'light', viewport: sizes[0]! },
  { colorScheme: 'dark', viewport: narrow },
] as const)('$colorScheme, $viewport.width px', (look) => {
  test('no serious violation in any chapter', async ({ visit }) => {
    const { page, open } = await visit(look)
    const found: string[] = []
    for (const chapter of chapters) {
      await open(`#${chapter}`)
      for (const run of await page.getByRole('button', { name: 'run all' }).all()) await run.click()
      const walked = page.getByTestId('graph-figure').first()
      if (await walked.count()) {
        await walked.press('End')
        await walked.locator('[data-testid=node] button').first().click()
      }
      if (chapter === 'learn') {
        await page.getByTestId('walk-point').first().click()
        await page.getByTestId('point-walk').waitFor()
      }
      for (const table of await page.getByText('The graph as a table').all()) await table.click()
      await page.addScriptTag({ path: axePath })
      const { violations } = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ['violations'] }))
      for (const { id, impact, nodes } of violations)
        if (impact === 'serious' || impact === 'critical') found.push(`${chapter}: ${id} at ${nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')}`)
    }
    expect(found).toEqual([])
  })
})

test('dark and light differ, and both have readable ink', async ({ visit }) => {
  const papers: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, open } = await visit({ colorScheme })
    await open()
    papers.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
  }
  expect(new Set(papers).size).toBe(2)
})

test('whoever asks for less motion gets none', async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'reduce' })
  await open('#back')
  const graph = figure(page, 'back-graph')
  await walkToEnd(graph)
  const moving = await page.evaluate(
    () =>
      document.getAnimations().length +
      [...document.querySelectorAll('*')].filter((one) => {
        const { transitionDuration, animationName } = getComputedStyle(one)
        return animationName !== 'none' || transitionDuration.split(',').some((time) => parseFloat(time) > 0)
      }).length,
  )
  expect(moving).toBe(0)
})

test('formulas are MathML, and no font is shipped for them', async ({ visit }) => {
  const { page, open } = await visit()
  const fonts: string[] = []
  page.on('request', (request) => request.resourceType() === 'font' && fonts.push(request.url()))
  await open('#rules')
  expect(await figure(page, 'rules-table').locator('math').count()).toBeGreaterThan(15)
  expect(fonts).toEqual([])
})
