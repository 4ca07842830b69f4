// SPDX-License-Identifier: MIT
// The whole lesson at three widths, in light and dark: every chapter opens, every figure works, every task can be done, and the lesson
// is complete at the end. In each chapter, with its figures worked: axe finds nothing, target size included; no text is cut or smaller
// than 12 px; nothing is wider than the window.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type axe from 'axe-core'
import type { Locator, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { createEngine } from '../../src/engine/engine.ts'
import { exercises, solved } from '../../src/lesson/exercises.ts'
import { freshExercise } from '../../src/lesson/practice.ts'
import { rules } from '../../src/lesson/rules.ts'
import { drawDigit, three, why } from './digits.ts'
import { chapters, choose, figure, middle, narrow, test, textOf, wide } from './lesson.ts'

const engine = await createEngine(readFileSync(new URL('../../src/engine/gradwalk.wasm', import.meta.url)))
const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Keys pressed in a figure, one after the other, as fast as the page takes them. */
const press = (graph: Locator, ...keys: string[]) =>
  graph.evaluate(async (one, all) => {
    for (const key of all) {
      one.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
      await new Promise((done) => setTimeout(done))
    }
  }, keys)
const walk = async (graph: Locator) => press(graph, ...Array<string>(Number(await graph.getByTestId('scrubber').getAttribute('max'))).fill('ArrowRight'))
const run = (graph: Locator) => graph.getByRole('button', { name: 'run all' }).click()
const open = (graph: Locator, node: string) => graph.locator(`[data-testid=node][data-node="${node}"]`).click()
async function answer(quiz: Locator, ...answers: string[]) {
  for (const [i, text] of answers.entries()) {
    if (i) await quiz.getByTestId('next-question').click()
    await quiz.getByTestId('answer').fill(text)
    await quiz.getByRole('button', { name: 'check' }).click()
    expect(await textOf(quiz.getByTestId('verdict'))).toContain('✓ Right')
  }
}
const deepDiamond = 'deep diamond, with a = x·x'

/** The tasks of the learner, chapter by chapter. */
const doing: Record<string, (page: Page) => Promise<void>> = {
  async start(page) {
    await page.waitForSelector('[data-phase=asking]', { timeout: 60_000 })
    const isFalling = (await page.getByTestId('tangent').getAttribute('stroke-dasharray')) !== null
    await page.getByRole('button', { name: isFalling ? 'larger →' : '← smaller' }).click()
    await page.waitForSelector('[data-phase=done]', { timeout: 60_000 })
    expect(await textOf(page.getByTestId('opening-told'))).toContain('Yes.')
  },
  async fill(page) {
    const graph = figure(page, 'fill-graph')
    await walk(graph)
    await graph.getByLabel('value of a').fill('3')
    await graph.getByLabel('value of a').press('Enter')
    await page.getByTestId('nudge').fill('7')
    expect(await textOf(page.getByTestId('nudge-told'))).toContain('10 times as far.')
  },
  async back(page) {
    const sweep = figure(page, 'back-sweep')
    for (const name of ['nudge a', 'nudge b', 'nudge c', 'walk back']) await sweep.getByRole('button', { name }).click()
    const graph = figure(page, 'back-graph')
    await walk(graph)
    await open(graph, 'a')
    await answer(figure(page, 'back-quiz'), '10', '10')
  },
  async rules(page) {
    const graph = figure(page, 'rules-graph')
    await graph.getByTestId('edge').first().press('Enter')
    await graph.getByTestId('hand').getByRole('textbox').fill('-6')
    await graph.getByTestId('hand').getByRole('button', { name: 'check' }).click()
    await figure(page, 'rules-wiggle').getByTestId('h').fill('24')
    await page.getByText(/^All \d+ operations/).click()
  },
  async neuron(page) {
    await walk(figure(page, 'neuron-graph'))
    await answer(figure(page, 'neuron-quiz'), '1', '-3/2')
  },
  async twice(page) {
    await walk(figure(page, 'twice-graph'))
    const broken = figure(page, 'twice-broken')
    await run(broken)
    await broken.getByRole('radio', { name: 'backward twice' }).check()
    await choose(broken, 'c = a·b, d = c+a, e = d²')
    await run(broken)
    // In words: why 128 for two passes is right, and 240 is not.
    expect(await textOf(broken.getByTestId('parting'))).toContain('two passes of 64 each make 128 at a. That is how a batch is added up.')
    expect(await textOf(broken.getByTestId('parting'))).toContain('But a got 240, because the nodes in between still held the deposits of the first pass')
    await answer(figure(page, 'twice-quiz'), '15', '64')
    await figure(page, 'twice-paths').getByTestId('paths-count').fill('10')
  },
  async order(page) {
    const graph = figure(page, 'order-try')
    await run(graph)
    await choose(graph, deepDiamond)
    for (const name of ['a', 'b', 'c', 'd']) for (let at = 'xabcd'.indexOf(name); at > 0; at--) await graph.getByRole('button', { name: `move ${name} earlier` }).click()
    await run(graph)
    await run(figure(page, 'order-broken'))
  },
  async sort(page) {
    await walk(figure(page, 'sort-steps'))
    await run(figure(page, 'sort-broken'))
  },
  async write(page) {
    const write = figure(page, 'write-value')
    await expect.poll(() => write.getByTestId('run').isEnabled(), { timeout: 60_000 }).toBe(true)
    await write.getByTestId('editor').fill(solved)
    for (const { id } of exercises) {
      await write.locator(`[data-exercise=${id}]`).click()
      if (id === 'own') await write.getByTestId('program-editor').fill('a = Value(3.0)\nb = a * a\nb.backward()\nprint(a)')
      await write.getByTestId('run').click()
      await expect.poll(() => write.getByTestId('verdict').getAttribute('data-verdict'), { timeout: 60_000 }).toBe('right')
    }
    // A mistake is left on stage, so that its colours are looked at too.
    await write.locator('[data-exercise=both]').click()
    await write.getByTestId('editor').fill(solved.replaceAll('.grad += ', '.grad = '))
    await write.getByTestId('run').click()
    await expect.poll(() => write.getByTestId('verdict').getAttribute('data-verdict'), { timeout: 60_000 }).toBe('overwrite')
    await write.getByTestId('beside').locator('summary').click()
  },
  async own(page) {
    await page.getByTestId('own-text').fill('u=2; v=-0.5; w=u*v; z=w*w-u')
    const graph = figure(page, 'own-graph')
    await expect.poll(() => graph.getByTestId('node').count()).toBe(5)
    await walk(graph)
    await page.getByTestId('own-break').locator('summary').first().click()
    await run(figure(page, 'own-graph-broken'))
    const quiz = figure(page, 'own-quiz')
    await quiz.getByRole('button', { name: 'show me' }).click()
    await press(quiz, 'End')
    await expect.poll(() => textOf(quiz.getByTestId('verdict'))).toContain('says')
    await answer(quiz, (await textOf(quiz.getByTestId('verdict'))).replace(/^.*says |\.$/g, ''))
  },
  async learn(page) {
    for (const id of ['learn-neuron', 'learn-network']) {
      const train = figure(page, id)
      await train.getByTestId('train-speed').selectOption({ label: 'as fast as it goes' })
      await train.getByTestId('train-play').click()
      await expect.poll(async () => parseFloat(await textOf(train.getByTestId('train-accuracy'))), { timeout: 60_000 }).toBeGreaterThanOrEqual(95)
      await train.getByTestId('train-play').click()
    }
    const train = figure(page, 'learn-network')
    await train.getByTestId('neuron').first().click()
    await train.getByTestId('neuron-panel').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => train.getByTestId('neuron-panel').count()).toBe(0)
    await train.getByTestId('walk-point').click()
    await train.getByTestId('point-walk').getByRole('button', { name: 'to the end' }).click()
    const broken = figure(page, 'learn-broken')
    await run(broken)
    expect(await textOf(broken)).toContain('Learning rate 0.1')
    expect(await textOf(broken.getByTestId('right-move'))).toBe(
      'So a moved by its old gradient once more: its gradient was 10.8, and it moved to 1.32. With gradients set to zero before the second pass, its gradient would have been 4.8, and it would have moved to 1.92.',
    )
  },
  async tensors(page) {
    const layer = figure(page, 'tensors-layer')
    await layer.getByTestId('layer').waitFor()
    await walk(layer)
    await layer.getByRole('button', { name: 'one matrix' }).click()
    await walk(layer)
    await layer.locator('[data-cell="w₂₃"]').click()
    await walk(figure(page, 'tensors-layer-cell'))
  },
  async digits(page) {
    const digits = figure(page, 'digits-live')
    await digits.getByTestId('digits-play').click({ timeout: 60_000 })
    await expect.poll(async () => parseFloat(await textOf(digits.getByTestId('digits-right'))), { timeout: 30_000 }).toBeGreaterThanOrEqual(90)
    await digits.getByTestId('digits-play').click()
    await drawDigit(digits, three)
    await why(digits, 3).click()
    await expect.poll(() => textOf(digits.getByTestId('digits-told'))).toContain('Why 3?')
    await digits.getByTestId('digit-neuron').nth(4).click()
    await digits.getByTestId('neuron-panel').waitFor()
  },
  async practice(page) {
    const practice = figure(page, 'practice-go')
    await answer(practice, String(freshExercise(engine, 1, 1).answer))
    await practice.getByTestId('practice-level').selectOption('4')
    await practice.getByRole('radio', { name: rules[freshExercise(engine, 4, 2).rule as keyof typeof rules].title, exact: true }).check()
    await practice.getByRole('button', { name: 'check' }).click()
    await practice.getByTestId('share').click()
  },
}

/** Text boxes that show less than they hold and are no scrollers, and letters too small to read. */
const unreadable = (page: Page) =>
  page.evaluate(() => {
    const found: string[] = []
    for (const one of document.querySelectorAll<HTMLElement>('main *, header *')) {
      if (one.closest('.katex, .hidden, [hidden], noscript') || one.getClientRects().length === 0) continue
      const style = getComputedStyle(one)
      const told = `${one.tagName} ${String(one.className)}: ${one.textContent!.slice(0, 40)}`
      const isClipped = !one.closest('svg') && /hidden|clip/.test(style.overflowX) && one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1
      if (isClipped && one.textContent!.trim()) found.push(`cut: ${told}`)
      const hasText = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent!.trim())
      if (hasText && parseFloat(style.fontSize) < 12) found.push(`${style.fontSize}: ${told}`)
    }
    return found
  })

async function violations(page: Page, within?: string, only?: string): Promise<string[]> {
  const options: axe.RunOptions = { resultTypes: ['violations'], ...(only ? { runOnly: [only] } : { rules: { 'target-size': { enabled: true } } }) }
  const result = await page.evaluate(([root, given]) => (window as unknown as { axe: typeof axe }).axe.run(root ? { include: [root] } : document, given), [within, options] as const)
  return result.violations.map(({ id, nodes }) => `${id} at ${nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')}`)
}
/** In light by all rules, in dark by the one that colours can break. */
async function violationsInBoth(page: Page, within?: string): Promise<string[]> {
  const light = await violations(page, within)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await violations(page, within, 'color-contrast')
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light.map((one) => `light: ${one}`), ...dark.map((one) => `dark: ${one}`)]
}

describe.each([wide, middle, narrow])('at $width px', (viewport) => {
  test('every chapter, every figure and every task, in light and dark', { timeout: 600_000 }, async ({ visit }) => {
    const { page, open } = await visit({ viewport, colorScheme: 'light' })
    await open('')
    await page.addScriptTag({ path: axePath })
    const wrong: string[] = []
    for (const chapter of ['start', ...chapters]) {
      await page.evaluate((to) => (location.hash = to), chapter)
      await page.locator(`[data-chapter=${chapter}]`).waitFor()
      await doing[chapter]!(page)
      const undone = () => page.locator('[data-testid^=task-][data-done=false]').evaluateAll((all) => all.map((one) => one.textContent!.trim()))
      await expect.poll(undone, { message: chapter }).toEqual([])
      // Every menu is opened once; the last one stays open.
      for (const more of await page.getByTestId('more').all()) {
        await more.click()
        const table = page.getByTestId('menu-table')
        if ((await table.count()) && !(await table.isChecked())) await table.check()
      }
      // A panel that has just opened is measured a frame later.
      await expect.poll(() => unreadable(page), { message: chapter }).toEqual([])
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      if (width !== viewport.width) wrong.push(`${chapter}: ${width} px wide`)
      // A menu lies over what it belongs to, so it is looked at alone, and the page without it.
      const menu = '[data-testid=menu]'
      if (await page.locator(menu).count()) {
        wrong.push(...(await violationsInBoth(page, menu)).map((one) => `${chapter}, menu, ${one}`))
        await page.getByTestId('more').last().click()
      }
      wrong.push(...(await violationsInBoth(page)).map((one) => `${chapter}, ${one}`))
    }
    expect(wrong).toEqual([])
    expect(await textOf(page.getByTestId('just-done'))).toContain('you have walked it all')
    expect(await textOf(page.getByTestId('complete'))).toContain('tasks are done.')
  })
})
