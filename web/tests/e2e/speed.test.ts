// SPDX-License-Identifier: MIT
// What is promised in numbers: a graph to work with within a second, 500 KB for everything but Python, and 200 training steps a second
// while the page draws 30 frames. What others do on the machine is left out where it can be: threads are asked for their own time.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { chapters, figure, next, test, textOf } from './lesson.ts'
import { dist } from './server.ts'

test('everything that the lesson loads before Python is asked for is under 500 KB compressed', async ({ visit }) => {
  const { page, address, open } = await visit()
  const asked = new Set<string>()
  // Without the document: that is index.html.
  page.on('request', (request) => asked.add(new URL(request.url()).pathname.slice(new URL(address).pathname.length) || 'index.html'))
  const size = () => [...asked].reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file)), { level: 9 }).length, 0)
  for (const chapter of ['', ...chapters.filter((one) => one !== 'write')]) {
    await open(chapter && `#${chapter}`)
    await page.waitForLoadState('networkidle')
  }
  const before = size()
  expect([...asked].filter((file) => file.includes('python'))).toEqual([])
  await open('#write')
  await expect.poll(() => figure(page, 'write-value').getByTestId('run').isEnabled(), { timeout: 60_000 }).toBe(true)
  console.log(`${(before / 1000).toFixed(1)} KB compressed, and ${((size() - before) / 1000).toFixed(1)} KB for Python`)
  expect([...asked].filter((file) => file.includes('python')).length).toBeGreaterThan(1)
  expect(before).toBeLessThan(500_000)
})

test('Python comes with a progress bar', async ({ visit }) => {
  const { page, open } = await visit()
  let go = () => {}
  const held = new Promise<void>((done) => (go = done))
  await page.route('**/micropython*.wasm', async (route) => {
    await held
    await route.continue()
  })
  await open('#write')
  await page.getByTestId('loading').getByRole('progressbar').waitFor()
  expect(await page.getByTestId('run').isDisabled()).toBe(true)
  go()
  await expect.poll(() => page.getByTestId('run').isEnabled(), { timeout: 60_000 }).toBe(true)
  expect(await page.getByTestId('loading').count()).toBe(0)
})

test('the first graph can be stepped within a second of navigation', async ({ visit }) => {
  const times: number[] = []
  for (let i = 0; i < 5 && (i < 2 || Math.min(...times) > 1000); i++) {
    const { page, address } = await visit()
    await page.addInitScript(() => {
      const look = () => {
        const button = document.querySelector<HTMLButtonElement>('[data-testid=next]')
        if (!button) return requestAnimationFrame(look)
        button.click()
        const check = () =>
          document.querySelector<HTMLInputElement>('[data-testid=scrubber]')?.value === '1'
            ? Object.assign(window, { ready: performance.now() })
            : requestAnimationFrame(check)
        return check()
      }
      requestAnimationFrame(look)
    })
    await page.goto(`${address}#fill`)
    times.push(await (await page.waitForFunction(() => (window as unknown as { ready?: number }).ready)).jsonValue() as number)
    expect(await next(figure(page, 'fill-graph')).isEnabled()).toBe(true)
  }
  console.log(`first step ${times.map((time) => time.toFixed(0)).join(', ')} ms after navigation`)
  expect(Math.min(...times)).toBeLessThan(1000)
})

test('trained as fast as it goes, 200 steps a second leave the page the time for 30 frames', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#learn')
  const train = figure(page, 'learn-network')
  await train.getByTestId('train-speed').selectOption({ label: 'as fast as it goes' })
  await train.getByRole('button', { name: 'train', exact: true }).first().click()
  await expect.poll(async () => Number(await textOf(train.getByTestId('train-count')))).toBeGreaterThan(0)
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busy = async () => 1000 * (await session.send('Performance.getMetrics')).metrics.find((one) => one.name === 'TaskDuration')!.value
  const before = await busy()
  // Others may take both threads' time, so what each does with its own is counted: steps a report, and the page's work a frame.
  const { frames, reports } = await train.getByTestId('train-count').evaluate(async (counter) => {
    const reports: number[] = []
    let last = Number(counter.textContent)
    let frames = 0
    for (; frames < 150; frames++) {
      await new Promise((drawn) => requestAnimationFrame(drawn))
      const now = Number(counter.textContent)
      if (now !== last) reports.push(now - last)
      last = now
    }
    return { frames, reports }
  })
  const frame = ((await busy()) - before) / frames
  const most = Math.max(...reports)
  console.log(`up to ${most} steps a report, ${reports.length} reports, ${frame.toFixed(1)} ms a frame`)
  expect(most).toBeGreaterThanOrEqual(200 / 30)
  expect(reports.length).toBeGreaterThan(3)
  expect(frame).toBeLessThan(1000 / 30)
})

test('while a network is watched, script takes at most 8 ms of a frame, 95 times in 100', async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await open('#learn')
  const train = figure(page, 'learn-network')
  await train.getByTestId('plane').waitFor()
  await train.evaluate((one) => one.scrollIntoView({ block: 'center' }))
  await expect.poll(async () => Number(await textOf(train.getByTestId('train-count')))).toBeGreaterThan(5)
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const script = async () => (await session.send('Performance.getMetrics')).metrics.find((one) => one.name === 'ScriptDuration')!.value
  const frames: number[] = []
  let before = await script()
  for (let i = 0; i < 60; i++) {
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)))
    const now = await script()
    frames.push(1000 * (now - before))
    before = now
  }
  frames.sort((a, b) => a - b)
  const high = frames[Math.floor(0.95 * frames.length)]!
  console.log(`script a frame: median ${frames[30]!.toFixed(1)} ms, 95th percentile ${high.toFixed(1)} ms`)
  expect(high).toBeLessThanOrEqual(8)
})
