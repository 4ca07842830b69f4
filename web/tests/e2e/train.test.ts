// SPDX-License-Identifier: MIT
// Training on the page: a neuron and networks learn, the controls do what they say, points come and go, and one point's
// graph is walked with its layers folded and opened.
import type { Locator } from 'playwright-core'
import { describe, expect } from 'vitest'
import { count, figure, narrow, show, sizes, test, textOf } from './lesson.ts'

const accuracy = async (train: Locator) => parseFloat(await textOf(train.getByTestId('train-accuracy')))
const steps = async (train: Locator) => Number(await textOf(train.getByTestId('train-count')))
const loss = (train: Locator) => textOf(train.getByTestId('train-loss'))
const play = (train: Locator) => train.getByRole('button', { name: 'train', exact: true }).first()
const pause = (train: Locator) => train.getByRole('button', { name: 'pause', exact: true }).first()
const pointCount = async (train: Locator) => Number((await train.getByTestId('plane').getAttribute('aria-label'))!.match(/(\d+) points/)![1])

describe.each(sizes)('at $width px', (viewport) => {
  test('a neuron parts the clouds, a network the moons', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#learn')
    for (const id of ['learn-neuron', 'learn-network']) {
      const train = figure(page, id)
      await play(train).click()
      await expect.poll(() => accuracy(train), { timeout: 60_000 }).toBeGreaterThanOrEqual(95)
      await pause(train).click()
      await play(train).waitFor()
      // A step may be under way when the button is pressed; its report still arrives. Then the count stays.
      const stepsIn150ms = async () => {
        const before = await steps(train)
        await page.waitForTimeout(150)
        return (await steps(train)) - before
      }
      await expect.poll(stepsIn150ms, { timeout: 30_000 }).toBe(0)
      await expect.poll(() => page.getByTestId(`task-${id}`).getAttribute('data-done')).toBe('true')
    }
  })
})

test('one step, reset, seed, rate and layers', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#learn')
  const train = figure(page, 'learn-network')
  const step = train.getByRole('button', { name: 'one step' })
  await step.click()
  await expect.poll(() => steps(train)).toBe(1)
  const first = await loss(train)
  await step.click()
  await expect.poll(() => steps(train)).toBe(2)
  expect(await loss(train)).not.toBe(first)
  await train.getByTestId('train-reset').click()
  await expect.poll(() => steps(train)).toBe(0)
  await step.click()
  await expect.poll(() => steps(train)).toBe(1)
  expect(await loss(train)).toBe(first) // the same seed, the same network
  await train.getByTestId('train-seed').fill('7')
  await page.keyboard.press('Enter')
  await expect.poll(() => steps(train)).toBe(0)
  await step.click()
  await expect.poll(() => steps(train)).toBe(1)
  expect(await loss(train)).not.toBe(first)
  await train.getByTestId('train-seed').fill('12')
  await page.keyboard.press('Enter')
  await train.getByTestId('train-layers').selectOption({ label: '4' })
  await expect.poll(() => steps(train)).toBe(0)
  await step.click()
  await expect.poll(() => steps(train)).toBe(1)
  expect(await loss(train)).not.toBe(first)
  // The slowest rate moves the loss less than the one it starts with.
  const fall = async (rate: string | null) => {
    await train.getByTestId('train-reset').click()
    await expect.poll(() => steps(train)).toBe(0)
    if (rate !== null) await train.getByTestId('train-rate').fill(rate)
    await step.click()
    await expect.poll(() => steps(train)).toBe(1)
    const before = Number(await loss(train))
    for (let i = 2; i < 6; i++) {
      await step.click()
      await expect.poll(() => steps(train)).toBe(i)
    }
    return before - Number(await loss(train))
  }
  const usual = await fall(null)
  expect(Math.abs(await fall('0'))).toBeLessThan(Math.abs(usual))
})

test('a click adds a point, another takes it away, a drag moves it', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#learn')
  const train = figure(page, 'learn-neuron')
  const plane = train.getByTestId('plane')
  await plane.waitFor()
  const before = await pointCount(train)
  await train.getByRole('radio', { name: /^add ●/ }).check()
  await plane.click({ position: { x: 20, y: 20 } })
  await expect.poll(() => pointCount(train)).toBe(before + 1)
  await train.getByRole('radio', { name: /^move/ }).check()
  await plane.scrollIntoViewIfNeeded()
  const box = (await plane.boundingBox())!
  await page.mouse.move(box.x + 20, box.y + 20)
  await page.mouse.down()
  await page.mouse.move(box.x + 40, box.y + 300, { steps: 4 })
  await page.mouse.up()
  expect(await pointCount(train)).toBe(before + 1)
  await train.getByRole('radio', { name: /^delete/ }).check()
  await plane.click({ position: { x: 40, y: 300 } })
  await expect.poll(() => pointCount(train)).toBe(before)
  // By keyboard: the cursor begins in the middle.
  await train.getByRole('radio', { name: /^add ■/ }).check()
  await plane.focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  await expect.poll(() => pointCount(train)).toBe(before + 1)
  await train.getByRole('button', { name: 'one step' }).click()
  await expect.poll(() => steps(train)).toBe(1)
})

describe.each(sizes)('at $width px', (viewport) => {
  test('a point’s graph is walked, its layers opened and closed', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#learn')
    const train = figure(page, 'learn-network')
    await train.getByRole('spinbutton', { name: /point number/ }).fill('3')
    await train.getByRole('button', { name: 'walk its graph' }).click()
    const walk = train.getByTestId('point-walk')
    expect(await textOf(walk.locator('p').first())).toMatch(/^Point 3\b.*: \d+ nodes, walked in \d+ steps/)
    await walk.getByTestId('node').first().waitFor()
    const boxes = await walk.getByTestId('node').count()
    const direction = () => walk.getByTestId('graph').getAttribute('data-direction')
    const before = await direction()
    await walk.locator('[data-testid=node][data-node="layer 1"]').click()
    await expect.poll(() => walk.getByTestId('node').count()).toBeGreaterThan(boxes)
    expect(await direction()).toBe(before) // opening a box never turns the drawing
    await walk.getByRole('button', { name: 'close layer 1' }).click()
    await expect.poll(() => walk.getByTestId('node').count()).toBe(boxes)
    await walk.focus()
    await page.keyboard.press('ArrowRight')
    expect(await count(walk)).toBe(1)
    await walk.getByRole('button', { name: 'to the end' }).click()
    expect(await textOf(walk.getByTestId('phase'))).toBe('done')
    expect(await page.getByTestId('task-learn-point').getAttribute('data-done')).toBe('true')
  })
})

test('a point’s graph speaks the names of the picture, introduces softplus, and counts one node as one', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#learn')
  const train = figure(page, 'learn-network')
  await train.getByTestId('plane').waitFor()
  const walk = train.getByTestId('point-walk')
  const notes: string[] = []
  for (const point of [1, 2, 3, 4]) {
    await train.getByRole('spinbutton', { name: /point number/ }).fill(String(point))
    await train.getByRole('button', { name: 'walk its graph' }).click()
    await expect.poll(() => textOf(walk.locator('p').first())).toContain(`Point ${point} `)
    notes.push((await walk.locator('[data-testid=node][data-node=loss]').textContent())!)
  }
  // A ■ has softplus(s) for its loss, one node; a ● has the minus sign too.
  expect(notes.some((note) => /1 node(?!s)/.test(note))).toBe(true)
  expect(notes.some((note) => /2 nodes/.test(note))).toBe(true)
  expect(await textOf(walk)).toContain('The last step is softplus')
  await walk.locator('[data-testid=node][data-node="layer 1"]').click()
  await walk.locator('[data-testid=node][data-node="h₄"]').click()
  await expect.poll(() => walk.locator('[data-testid=node][data-node="w₁ of h₄"]').count()).toBe(1)
  expect(await textOf(walk.getByRole('button', { name: 'close h₄' }))).toBe('close h₄')
  const table = walk.getByTestId('table-view')
  if (!(await table.getByRole('table').count())) await show(walk, 'table')
  const said = new Set<string>([await textOf(table)])
  await walk.focus()
  const last = Number(await walk.getByTestId('scrubber').getAttribute('max'))
  for (let i = 0; i < last; i++) {
    await page.keyboard.press('ArrowRight')
    said.add(`${await textOf(walk.getByTestId('story'))} | ${await textOf(walk.getByTestId('next'))}`)
  }
  const all = [...said].join('\n')
  expect(all.match(/layers\.\S*|\bt\d+\b|neurons?\.\S*/g) ?? []).toEqual([])
  for (const words of ['Visit z of h₄', 'w₁.grad +=', 'Visit k₁', 'softplus(']) expect(all).toContain(words)
})

test('the spiral has three classes', async ({ visit }) => {
  const { page, open } = await visit({ viewport: narrow })
  await open('#learn')
  const train = figure(page, 'learn-network')
  await train.getByTestId('train-data').selectOption({ label: 'spiral, three classes' })
  await train.getByRole('radio', { name: /^add ▲/ }).waitFor()
  await train.getByTestId('train-speed').selectOption({ label: 'as fast as it goes' })
  await play(train).click()
  await expect.poll(() => accuracy(train), { timeout: 60_000 }).toBeGreaterThan(60)
})

test('ten thousand points are refused in a sentence, and the run goes on without them', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#learn')
  const train = figure(page, 'learn-neuron')
  await train.getByTestId('plane').waitFor()
  await train.getByRole('radio', { name: /^add ●/ }).check()
  // A finger on Enter, for a long time.
  const longest = await train.getByTestId('plane').evaluate(async (plane) => {
    let longest = 0
    const press = (key: string) => plane.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
    press('ArrowRight')
    for (let i = 0; i < 100; i++) {
      const before = performance.now()
      for (let k = 0; k < 100; k++) press('Enter')
      await new Promise((painted) => setTimeout(painted))
      longest = Math.max(longest, performance.now() - before)
    }
    return longest / 100
  })
  expect(longest).toBeLessThan(100) // milliseconds a press
  await expect.poll(() => train.getByRole('alert').allInnerTexts()).not.toEqual([])
  expect(await textOf(train.getByRole('alert').first())).toMatch(/^The plane takes up to 1000 points/)
  await expect.poll(() => pointCount(train)).toBe(1000)
  await train.getByRole('button', { name: 'one step' }).click()
  await expect.poll(() => steps(train)).toBe(1)
})
