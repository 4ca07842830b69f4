// SPDX-License-Identifier: MIT
// The first screen: alive before it is read, a weight held up, a question, and what a gradient is by feeling for it.
import { expect } from 'vitest'
import { advance, narrow, test, textOf, virtualClock, wide } from './lesson.ts'

test('a network learns, then one weight is held and the question asked; a wrong answer is shown the slope, a right one rolls', async ({ visit }) => {
  const { page, open } = await visit({ viewport: wide, reducedMotion: 'no-preference' })
  await page.addInitScript(virtualClock)
  await open()
  const opening = page.getByTestId('opening-figure')
  expect(await opening.getAttribute('data-phase')).toBe('learning')
  const picture = () => opening.locator('canvas').evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL())
  const step = () => opening.getByText(/^learning: step/).textContent()
  const frames = async (count: number) => {
    for (let i = 0; i < count; i++) await advance(page, 16)
  }
  await frames(3)
  const [first, firstStep] = [await picture(), await step()]
  await frames(12)
  expect(await picture()).not.toBe(first)
  expect(await step()).not.toBe(firstStep)
  await page.getByRole('button', { name: 'pause' }).click()
  await frames(1)
  const paused = await step()
  await frames(12)
  expect(await step()).toBe(paused)
  await page.getByRole('button', { name: 'go on' }).click()
  await expect.poll(async () => (await frames(10), opening.getAttribute('data-phase'))).toBe('asking')
  const told = page.getByTestId('opening-told')
  // The loss has numbers beside it, and the tangent ends where the plot does, wherever the ball is.
  const levels = (await opening.getByTestId('loss-level').allTextContents()).map(Number)
  expect(levels.length).toBeGreaterThanOrEqual(3)
  expect(levels[0]).toBe(0)
  expect([...levels].sort((a, b) => a - b)).toEqual(levels)
  const isInside = () =>
    opening.getByTestId('tangent').evaluate((line) => {
      const axes = line.closest('svg')!.querySelector('path')!.getBBox()
      const [x0, y0, x1, y1] = line.getAttribute('d')!.match(/-?[\d.]+/g)!.map(Number) as [number, number, number, number]
      return [x0, x1].every((x) => x >= axes.x - 0.5 && x <= axes.x + axes.width + 0.5) && [y0, y1].every((y) => y >= axes.y - 0.5 && y <= axes.y + axes.height + 0.5)
    })
  expect(await isInside()).toBe(true)
  // The slope is drawn, but its number is not shown before it is asked for.
  expect(await opening.getByTestId('slope').textContent()).toContain('how steep, and which way?')
  const isFalling = (await opening.getByTestId('tangent').getAttribute('stroke-dasharray')) !== null
  await page.getByRole('button', { name: isFalling ? '← smaller' : 'larger →' }).click()
// The ball goes the wrong way first, and the loss grows.
  await expect.poll(() => textOf(told)).toMatch(/^That way, the loss grows from 0\.\d+ to 0\.\d+\. Look at the line through the ball\./)
  const [, lossBefore, lossNow] = (await textOf(told)).match(/from (\S+) to (\S+)\. Look/)!
  expect(Number(lossNow)).toBeGreaterThan(Number(lossBefore))
  expect(await textOf(told)).toMatch(isFalling ? /Its slope is −\d.*So the weight should be larger\./ : /Its slope is \+\d.*So the weight should be smaller\./)
  // The ball by keys: downhill the loss falls.
  const ball = opening.getByTestId('ball')
  await ball.focus()
  const before = Number(await ball.getAttribute('aria-valuenow'))
  await page.keyboard.press(isFalling ? 'ArrowRight' : 'ArrowLeft')
  expect(Number(await ball.getAttribute('aria-valuenow'))).toBeCloseTo(before + (isFalling ? 0.1 : -0.1), 1)
  for (const way of ['ArrowLeft', 'ArrowRight'])
    for (let i = 0; i < 25; i++) {
      await page.keyboard.press(way)
      expect(await isInside()).toBe(true)
      if ((await opening.getAttribute('data-phase')) !== 'asking') break
    }
  if ((await opening.getAttribute('data-phase')) !== 'asking') {
    await page.reload()
    await opening.waitFor()
    await expect.poll(async () => (await frames(10), opening.getAttribute('data-phase'))).toBe('asking')
  }
  await page.getByRole('button', { name: isFalling ? 'larger →' : '← smaller' }).click()
  expect(await textOf(told)).toContain('Yes.')
  await page.waitForSelector('[data-phase=done]', { timeout: 60_000 })
  expect(await textOf(page.locator('.opening'))).toContain('To move them all at once, we need the gradient of every weight. Here is how to find them.')
  await page.getByRole('link', { name: 'Start walking' }).click()
  await expect.poll(() => textOf(page.getByRole('heading', { level: 2 }).first())).toBe('1 Fill in the data')
})

test('on a phone the question and its answers are on the first screen; dragged to the bottom, the weight is found', async ({ visit }) => {
  const { page, open } = await visit({ viewport: narrow, hasTouch: true })
  await open()
  await page.waitForSelector('[data-phase=asking]', { timeout: 60_000 })
  for (const one of [page.getByRole('heading', { level: 2 }), page.getByRole('button', { name: '← smaller' }), page.getByRole('button', { name: 'larger →' })]) {
    const box = (await one.boundingBox())!
    expect(box.y + box.height).toBeLessThanOrEqual(narrow.height)
  }
  const ball = page.getByTestId('ball')
  const isFalling = (await page.getByTestId('tangent').getAttribute('stroke-dasharray')) !== null
  await ball.focus()
  for (let i = 0; i < 60 && (await page.getByTestId('opening-figure').getAttribute('data-phase')) === 'asking'; i++) await page.keyboard.press(isFalling ? 'ArrowRight' : 'ArrowLeft')
  await expect.poll(() => textOf(page.getByTestId('opening-told'))).toContain('You found the bottom by feel.')
})
