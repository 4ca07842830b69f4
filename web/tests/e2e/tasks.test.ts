// SPDX-License-Identifier: MIT
// Tasks are done by the learner: what plays or trains by itself ticks none. One that is done says so in the figure where it was done,
// in view, over nothing else; the last one of a chapter and of the lesson says where to go.
import type { Locator, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { chapters as lesson } from '../../src/lesson/chapters.ts'
import { figure, narrow, next, test, textOf, walkToEnd } from './lesson.ts'

const isDone = async (page: Page, task: string) => (await page.getByTestId(`task-${task}`).getAttribute('data-done')) === 'true'

test('a walk that is played to its end ticks nothing; stepped through, it is done', { timeout: 240_000 }, async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await page.addInitScript(() => localStorage.setItem('gradwalk-lesson-view', JSON.stringify({ speed: 'fast' })))
  for (const [chapter, id, ...tasks] of [
    ['fill', 'fill-graph', 'fill-forward'],
    ['back', 'back-graph', 'back-walk'],
    ['twice', 'twice-broken', 'twice-overwrite'],
    ['sort', 'sort-steps', 'sort-done'],
  ] as const) {
    await open(`#${chapter}`)
    const graph = figure(page, id)
    const scrubber = graph.getByTestId('scrubber')
    const last = (await scrubber.getAttribute('max'))!
    await graph.getByTestId('play').click()
    await expect.poll(() => scrubber.inputValue(), { timeout: 60_000 }).toBe(last)
    await expect.poll(() => textOf(graph.getByTestId('play'))).toBe('play')
    for (const task of tasks) expect(`${task} ${await isDone(page, task)}`).toBe(`${task} false`)
    expect(await textOf(page.getByTestId('progress'))).toMatch(/^0 of /)
    expect(await graph.getByTestId('done-note').isVisible()).toBe(false)
  }
  // The same walks, step by step.
  for (const [chapter, id, task] of [['fill', 'fill-graph', 'fill-forward'], ['back', 'back-graph', 'back-walk'], ['twice', 'twice-broken', 'twice-overwrite'], ['sort', 'sort-steps', 'sort-done']] as const) {
    const still = await visit()
    await still.open(`#${chapter}`)
    await walkToEnd(figure(still.page, id))
    await expect.poll(async () => `${task} ${await isDone(still.page, task)}`).toBe(`${task} true`)
  }
})

test('a network that began to learn by itself ticks nothing; one that was started over and trained is done', { timeout: 120_000 }, async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await open('#learn')
  const train = figure(page, 'learn-network')
  await train.getByTestId('plane').waitFor()
  await train.evaluate((one) => one.scrollIntoView({ block: 'center' }))
  const right = async () => parseFloat(await textOf(train.getByTestId('train-accuracy')))
  await expect.poll(right, { timeout: 60_000 }).toBeGreaterThanOrEqual(95)
  await page.waitForTimeout(200)
  expect(await isDone(page, 'learn-network')).toBe(false)
  await train.getByTestId('train-reset').click()
  await train.getByTestId('train-speed').selectOption({ label: 'as fast as it goes' })
  await train.getByTestId('train-play').click()
  await expect.poll(() => isDone(page, 'learn-network'), { timeout: 60_000 }).toBe(true)
  expect(await textOf(train.getByTestId('done-note').first())).toContain('✓ Task done: Start a network over')
})

/** The note is seen, and nothing lies under it or on it. */
async function isInView(note: Locator): Promise<boolean> {
  return note.evaluate((one) => {
    const box = one.getBoundingClientRect()
    const isFree = !['fixed', 'absolute'].includes(getComputedStyle(one).position)
    const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)
    return isFree && box.top >= 0 && box.bottom <= innerHeight && hit !== null && one.contains(hit)
  })
}

describe.each([{ width: 1280, height: 800 }, narrow])('at $width × $height', (viewport) => {
  test('a task that is done says so where the learner is looking', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    const told = async (id: string, task: string) => {
      const note = figure(page, id).getByTestId('done-note').last()
      await expect.poll(() => textOf(note)).toContain(`✓ Task done: ${task}`)
      expect(await isInView(note)).toBe(true)
    }
    await open('#fill')
    await figure(page, 'fill-graph').focus()
    for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowRight')
    await told('fill-graph', 'Step forward until the root has its data.')
    await page.getByTestId('nudge').scrollIntoViewIfNeeded()
    await page.getByTestId('nudge').fill('3')
    await told('fill-nudge', 'Move a leaf and see how far the root moves.')
    await open('#back')
    const quiz = figure(page, 'back-quiz')
    await quiz.getByTestId('answer').fill('10')
    await quiz.getByRole('button', { name: 'check' }).click()
    await told('back-quiz', 'Answer: ∂f/∂a.')
    await open('#order')
    await figure(page, 'order-try').getByTestId('run-all').click()
    await told('order-try', 'Run an order that loses gradient, and read why.')
  })

  test('the last task of a chapter offers the next one, the last of all says so and offers more; neither covers anything', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    const ids = lesson.flatMap((one) => one.tasks.map((task) => task.id))
    const begin = async (done: string[]) => {
      await open('#fill')
      await page.evaluate((all) => localStorage.setItem('gradwalk-lesson', JSON.stringify({ version: 1, done: all })), done)
      await page.reload()
      await next(figure(page, 'fill-graph')).waitFor()
      await walkToEnd(figure(page, 'fill-graph'))
      return figure(page, 'fill-graph').getByTestId('done-note')
    }
    let note = await begin(['fill-edit', 'fill-nudge'])
    expect(await textOf(note)).toContain('That was the last task of this chapter. Next: Seed the root and walk back →')
    expect(await isInView(note)).toBe(true)
    await note.getByRole('link').click()
    await expect.poll(() => textOf(page.getByRole('heading', { level: 2 }).first())).toBe('2 Seed the root and walk back')
    note = await begin(ids.filter((id) => id !== 'fill-forward'))
    expect(await textOf(note.getByTestId('just-done'))).toContain('you have walked it all')
    expect(await isInView(note)).toBe(true)
    await note.getByRole('link').click()
    await expect.poll(() => page.url()).toMatch(/#practice$/)
    await figure(page, 'practice-go').waitFor()
  })
})
