// SPDX-License-Identifier: MIT
// The same lesson in Firefox: every chapter opens without a message, its first graph is walked to its end with the right numbers, a
// network is trained. $FIREFOX names another program than Debian's firefox-esr.
import { existsSync } from 'node:fs'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chapters } from './lesson.ts'
import { serve } from './server.ts'

const program = process.env['FIREFOX'] ?? '/usr/bin/firefox-esr'

describe.skipIf(!existsSync(program))('in Firefox', { timeout: 120_000 }, () => {
  let browser: Browser
  let server: Awaited<ReturnType<typeof serve>>
  let page: Page
  const problems: string[] = []
  beforeAll(async () => {
    server = await serve()
    browser = await puppeteer.launch({
      browser: 'firefox',
      executablePath: program,
      headless: true,
      extraPrefsFirefox: { 'ui.prefersReducedMotion': 1 },
    })
    page = await browser.newPage()
    await page.setViewport({ width: 1280, height: 900 })
    page.on('pageerror', (error) => problems.push(`thrown: ${error instanceof Error ? error.message : String(error)}`))
    page.on('console', (message) => message.type() === 'error' && problems.push(`console: ${message.text()}`))
  }, 90_000)
  afterAll(async () => {
    await browser?.close()
    server?.close()
  })
  /** The first visit loads the page; the others turn to another chapter, as a reader does. */
  const open = async (hash: string) => {
    if (page.url().startsWith(server.address) && hash) {
      await page.evaluate((to) => (location.hash = to), hash)
      await page.waitForFunction((chapter) => document.querySelector(`article h2, .opening h2`) !== null && location.hash.startsWith(chapter), {}, hash.split('/')[0]!)
    } else await page.goto(server.address + hash)
    await page.waitForSelector('#chapter-title')
  }
  const text = (selector: string) => page.$eval(selector, (one) => one.textContent!.replace(/\s+/g, ' ').trim())

  test('the opening asks, and a right answer lets the ball roll', async () => {
    await open('')
    await page.waitForSelector('[data-phase=asking]', { timeout: 60_000 })
    const isFalling = await page.$eval('[data-testid=tangent]', (line) => line.getAttribute('stroke-dasharray') !== null)
    await page.evaluate((larger) => {
      const [smaller, bigger] = [...document.querySelectorAll<HTMLButtonElement>('.ask .row button')]
      ;(larger ? bigger : smaller)!.click()
    }, isFalling)
    await page.waitForSelector('[data-phase=done]', { timeout: 60_000 })
    expect(await text('[data-testid=opening-told]')).toContain('Yes.')
    expect(problems).toEqual([])
  })

  test.each(chapters)('chapter %s', async (chapter) => {
    await open(`#${chapter}`)
    // Some figures are loaded with their chapter.
    await page.waitForFunction(() => document.querySelector('[data-testid=loading-figure]') === null, { timeout: 60_000 })
    expect(await page.$$eval('figure', (all) => all.length)).toBeGreaterThan(0)
    const walked = await page.evaluate(async () => {
      const figure = [...document.querySelectorAll('figure')].find((one) => one.querySelector('[data-testid=next]'))
      if (!figure || figure.querySelector('[data-testid=hand]')) return null
      const next = figure.querySelector<HTMLButtonElement>('[data-testid=next]')!
      for (let i = 0; i < 200 && !next.disabled; i++) {
        next.click()
        await new Promise((done) => setTimeout(done))
      }
      return { isDone: next.disabled, cut: [...figure.querySelectorAll('[data-testid=node]')].filter((card) => {
        const face = card.querySelector('rect.face')!.getBoundingClientRect()
        return [...card.querySelectorAll('text')].some((one) => one.getBoundingClientRect().right > face.right + 1 && one.getAttribute('data-testid') !== 'rank')
      }).length }
    })
    if (walked) expect(walked).toEqual({ isDone: true, cut: 0 })
    expect(problems).toEqual([])
  })

  test('the learner’s Python runs', async () => {
    await open('#write')
    await page.waitForSelector('#write-value [data-testid=run]:not(:disabled)', { timeout: 60_000 })
    await page.$eval('#write-value [data-testid=run]', (button) => (button as HTMLButtonElement).click())
    await page.waitForSelector('#write-value [data-testid=verdict][data-verdict=pays-nobody]', { timeout: 60_000 })
    expect(problems).toEqual([])
  })

  test('a network learns real digits, and says why it reads one', async () => {
    await open('#digits')
    await page.waitForSelector('#digits-live [data-testid=digits-play]', { timeout: 60_000 })
    await page.$eval('#digits-live [data-testid=digits-play]', (button) => (button as HTMLButtonElement).click())
    await page.waitForFunction(() => parseFloat(document.querySelector('#digits-live [data-testid=digits-right]')!.textContent!) >= 90, { timeout: 60_000 })
    await page.$eval('#digits-live [data-testid=digits-held]', (button) => (button as HTMLButtonElement).click())
    await page.waitForSelector('#digits-live [data-testid=why]:not(:disabled)', { timeout: 60_000 })
    await page.$eval('#digits-live [data-testid=why]', (button) => (button as HTMLButtonElement).click())
    await page.waitForFunction(() => document.querySelector('#digits-live [data-testid=digits-told]')!.textContent!.includes('Why 0?'), { timeout: 60_000 })
    expect(problems).toEqual([])
  })

  test('the numbers are the same, and a network learns', async () => {
    await open('#back/back-graph?s=8')
    const grads = await page.$$eval('#back-graph [data-testid=node]', (cards) =>
      Object.fromEntries(cards.map((card) => [card.getAttribute('data-node')!, card.querySelector('[data-testid=grad]')!.textContent!])),
    )
    expect(grads).toEqual({ a: '+10', b: '+10', c: '−1', e: '+10', f: '+1' })
    await open('#learn')
    await page.waitForSelector('#learn-network [data-testid=plane]')
    await page.$eval('#learn-network [data-testid=train-play]', (button) => (button as HTMLButtonElement).click())
    await page.waitForFunction(() => parseInt(document.querySelector('#learn-network [data-testid=train-accuracy]')!.textContent!) >= 95, { timeout: 60_000 })
    expect(problems).toEqual([])
  })
})
