// SPDX-License-Identifier: MIT
// For everyone: dark and light, no motion for those who ask for less, formulas in fonts that are there. everything.test.ts
// asks axe.
import { readdirSync } from 'node:fs'
import { expect } from 'vitest'
import { chapters, figure, test, walkToEnd } from './lesson.ts'
import { dist } from './server.ts'

test('dark and light differ, and both have readable ink', async ({ visit }) => {
  const papers: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, open } = await visit({ colorScheme })
    await open()
    papers.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
  }
  expect(new Set(papers).size).toBe(2)
})

test('a visitor who asks for less motion gets none', async ({ visit }) => {
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

test('formulas are set in KaTeX’s own fonts, the few that are shipped', async ({ visit }) => {
  const { page, open } = await visit()
  const asked = new Set<string>()
  page.on('request', (request) => request.resourceType() === 'font' && asked.add(request.url().split('/').at(-1)!))
  for (const chapter of chapters) {
    await open(`#${chapter}`)
    if (chapter === 'rules') await page.getByText(/^All \d+ operations/).click()
    await page.evaluate(() => document.fonts.ready)
  }
  expect(await figure(page, 'rules-table').locator('math').count()).toBe(0) // another chapter is open
  await open('#rules')
  expect(await figure(page, 'rules-table').locator('math').count()).toBeGreaterThan(15) // for who listens
  const shipped = readdirSync(`${dist}assets`).filter((name) => name.endsWith('.woff2'))
  expect(shipped.length).toBeLessThanOrEqual(6)
  expect(asked.size).toBeGreaterThan(2)
  expect([...asked].filter((font) => !shipped.includes(font))).toEqual([])
  // None that a formula asks for is missing.
  const missing = await page.evaluate(() =>
    [...document.querySelectorAll('.katex *')].flatMap((one) => {
      const family = getComputedStyle(one).fontFamily.split(',')[0]!.replaceAll('"', '').trim()
      return family.startsWith('KaTeX') && ![...document.fonts].some((font) => font.family.replaceAll('"', '') === family) ? [family] : []
    }),
  )
  expect([...new Set(missing)]).toEqual([])
})
