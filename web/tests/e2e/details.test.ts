// SPDX-License-Identifier: MIT
// Small things that a careful reader notices: a broken rule never ends as done, a leaf says why it kept its value, one minus sign, why
// a leaf's place does not matter, a first visit in which nothing jumps, and a bar that leaves space at 200 %.
import { expect } from 'vitest'
import { chapters, figure, menuOf, next, show, test, textOf } from './lesson.ts'

test('a link to a broken rule says so and does not end with done', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#twice/twice-graph?e=a=3%3B%20f=a*a&r=overwrite&s=4')
  const graph = figure(page, 'twice-graph')
  expect(await graph.locator('[data-testid=node][data-node=a]').getByTestId('grad').textContent()).toBe('+3')
  expect(await textOf(graph.getByTestId('phase'))).toBe('broken: = instead of +=')
  expect(await textOf(graph.getByTestId('broken-link'))).toContain('Broken: = instead of +=.')
  expect(await page.getByTestId('task-twice-walk').getAttribute('data-done')).toBe('false')
  await graph.getByRole('button', { name: 'walk it by the right rule' }).click()
  await graph.focus()
  await page.keyboard.press('End')
  expect(await textOf(graph.getByTestId('phase'))).toBe('done')
  expect(await graph.locator('[data-testid=node][data-node=a]').getByTestId('grad').textContent()).toBe('+6')
})

test('a leaf that gets no number says why it went back', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#fill')
  const graph = figure(page, 'fill-graph')
  const leaf = graph.getByLabel('value of b')
  for (const [typed, shown] of [
    ['abc', '“abc”'],
    ['', '“”'],
    ['1e999', '“1e999”'],
  ]) {
    await leaf.fill(typed!)
    await page.keyboard.press('Enter')
    expect(await leaf.inputValue()).toBe('−3')
    expect(await textOf(graph.getByTestId('refused'))).toBe(`${shown} is not a number, so b is −3 again. Numbers look like 4, −1.5 or 3/2.`)
  }
  await leaf.fill('3/2')
  await page.keyboard.press('Enter')
  await expect.poll(() => leaf.inputValue()).toBe('1.5')
  expect(await graph.getByTestId('refused').isVisible()).toBe(false)
  // Looking at a number without changing it is no mistake.
  await leaf.focus()
  await page.keyboard.press('Tab')
  expect(await graph.getByTestId('refused').isVisible()).toBe(false)
})

test('numbers and names have one minus sign in every chapter', async ({ visit }) => {
  const { page, open } = await visit()
  const found: string[] = []
  for (const chapter of chapters) {
    await open(`#${chapter}`)
    if (chapter === 'own') await page.getByTestId('own-text').fill('u=-2; v=u-1; w=(u-v)*-0.5; z=w-u*v')
    for (const graph of await page.locator('figure').filter({ has: page.getByTestId('scrubber') }).all()) {
      await graph.press('End')
      const table = graph.getByTestId('table-view')
      if (!(await table.getByRole('table').count()) && (await graph.getByTestId('more').count()) === 1 && chapter !== 'write') {
        if (await (await menuOf(graph)).getByTestId('menu-table').count()) await show(graph, 'table')
        else await graph.getByTestId('more').click()
      }
      const run = graph.getByRole('button', { name: 'run all' })
      if ((await run.count()) && (await run.isEnabled())) await run.click()
    }
    if (await page.getByTestId('h').count()) await page.getByTestId('h').fill('6')
    found.push(
      ...(await page.evaluate((where) => {
        const walker = document.createTreeWalker(document.querySelector('article')!, NodeFilter.SHOW_TEXT)
        const lines: string[] = []
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          const around = node.parentElement!
          // Programs have their own minus, as do letters that a reader copies into one; MathML is KaTeX's.
          if (around.closest('pre, textarea, .editor, math, annotation, .answers') || !around.checkVisibility()) continue
          const text = node.textContent!
          if (/-\s*[\d.(]|[\d)]\s*-|\b\w{1,2}-\w{1,2}\b/.test(text)) lines.push(`${where}: ${text.trim().slice(0, 60)}`)
        }
        for (const one of document.querySelectorAll('article [aria-label]')) if (/(^|\s)-\d|\b\w{1,2}-\w{1,2}\b/.test(one.getAttribute('aria-label')!)) lines.push(`${where}: ${one.getAttribute('aria-label')}`)
        return lines
      }, chapter)),
    )
  }
  // The range of h is read aloud as it is typed; the operators are those of a program.
  expect(found.filter((one) => !/1e-15/.test(one))).toEqual([])
})

test('a leaf that is visited early says why its place does not matter, a leaf that is paid in full says what it has', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#order')
  const graph = figure(page, 'order-try')
  const story = () => textOf(graph.getByTestId('story'))
  // a b c d: a comes first, with nothing.
  while (!(await story()).startsWith('Visit a')) await next(graph).click()
  expect(await story()).toContain('a is a leaf: it pays nobody, so it does not matter when it is visited. Deposits that arrive later still count.')
  await open('#back/back-graph?s=7')
  const right = figure(page, 'back-graph')
  expect(await textOf(right.getByTestId('story'))).toMatch(/b is a leaf, so we are done here: ∂f\/∂b = 10\./)
  // By a broken rule what it has is not the derivative, and is not called so.
  await open('#twice/twice-broken?e=a=3%3B%20f=a*a&r=overwrite&s=4')
  expect(await textOf(figure(page, 'twice-broken').getByTestId('story'))).toContain('a is a leaf: it pays nobody and keeps what it has.')
})

test('nothing jumps at the first visit, however late the fonts of formulas come', async ({ visit }) => {
  for (const chapter of ['back', 'rules', 'neuron']) {
    const { page, address } = await visit()
    await page.addInitScript(() => {
      Object.assign(window, { shifts: [] })
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as (PerformanceEntry & { value: number; sources: { node?: Node }[] })[])
          (window as unknown as { shifts: string[] }).shifts.push(`${entry.value.toFixed(4)} ${entry.sources.map((source) => (source.node?.textContent ?? '').trim().slice(0, 30)).join(' | ')}`)
      }).observe({ type: 'layout-shift', buffered: true })
    })
    await page.route('**/*.woff2', async (route) => {
      await new Promise((done) => setTimeout(done, 400))
      await route.continue()
    })
    await page.goto(`${address}#${chapter}`)
    await page.getByRole('heading', { level: 2 }).first().waitFor()
    await page.waitForTimeout(1200)
    expect({ chapter, shifts: await page.evaluate(() => (window as unknown as { shifts: string[] }).shifts) }).toEqual({ chapter, shifts: [] })
  }
})

test('at 200 % the bar leaves most of the window to the figure, and the card of the step is seen', async ({ visit }) => {
  // A laptop of 1280 × 800 at 200 % has half as many pixels of the page each way.
  const viewport = { width: 640, height: 400 }
  const { page, open } = await visit({ viewport })
  await open('#back')
  const graph = figure(page, 'back-graph')
  await graph.focus()
  const last = Number(await graph.getByTestId('scrubber').getAttribute('max'))
  for (let i = 0; i < last; i++) {
    await page.keyboard.press('ArrowRight')
    // The bar grows with its sentences, which the page hears of a frame later.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    const { bar, card } = await graph.evaluate((one) => {
      const box = (query: string) => {
        const { top, bottom, height } = one.querySelector(query)!.getBoundingClientRect()
        return { top, bottom, height }
      }
      return { bar: box('[data-testid=controls]'), card: box('[data-mark=current] .face') }
    })
    expect(`step ${i + 1}: ${bar.height <= 0.42 * viewport.height ? 'low' : bar.height}`).toBe(`step ${i + 1}: low`)
    expect(card.top).toBeGreaterThanOrEqual(0)
    expect(card.bottom).toBeLessThanOrEqual(bar.top + 1)
  }
})
