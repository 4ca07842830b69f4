// SPDX-License-Identifier: MIT
// Orders of the learner's own, broken rules, and the sort: what they end in, what was lost, and where wrong and right part.
import { describe, expect } from 'vitest'
import { cellsOf, choose, figure, narrow, next, sizes, test, textOf, wide } from './lesson.ts'
import type { Locator } from 'playwright-core'

const tray = async (graph: Locator) => (await graph.getByTestId('tray').locator('li span').allInnerTexts()).join(' ')
const deepDiamond = 'deep diamond, with a = x·x'

async function runBroken(graph: Locator) {
  await graph.getByRole('button', { name: 'run all' }).click()
  const rows = await cellsOf(graph.getByTestId('broken-table'))
  return {
    rows: Object.fromEntries(rows.map(([name, visits, wrong, right]) => [name, `${visits} ${wrong} ${right}`])),
    words: await textOf(graph.getByTestId('parting')),
    marked: await graph.locator('[data-mark=wrong]').getAttribute('data-node'),
  }
}

describe.each(sizes)('at $width px', (viewport) => {
  test('the diamond in an order placed by its buttons', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#order')
    const graph = figure(page, 'order-try')
    expect(await tray(graph)).toBe('a b c d')
    for (let i = 0; i < 3; i++) await graph.getByRole('button', { name: 'move a later' }).click()
    await graph.getByRole('button', { name: 'move d earlier' }).click()
    expect(await tray(graph)).toBe('b d c a')
    await graph.getByRole('button', { name: 'run all' }).click()
    const verdict = await textOf(graph.getByTestId('order-verdict'))
    expect(verdict).toContain('This order loses gradient.')
    expect(verdict).toContain('b was visited before the deposit from d arrived: 6 lost, so a misses 6')
    expect(verdict).toContain('b was visited with 0, before its full gradient of 6 had arrived')
    expect(await cellsOf(graph.getByTestId('order-result'))).toEqual([
      ['b', '0', '+6', '+6'],
      ['d', '+1', '+1', '+1'],
      ['c', '+3', '+3', '+3'],
      ['a', '+9', '+9 ✗', '+15'],
    ])
    // How all orders end is the answer: it waits until it is found, or asked for.
    const orders = graph.getByTestId('orders')
    expect(await orders.count()).toBe(0)
    await graph.getByRole('button', { name: /^I give up/ }).click()
    expect(await textOf(orders)).toContain('8 of 24 orders are right.')
    const counts = (await cellsOf(orders)).map(([many, grad, , remark]) => `${many}: ${grad} ${remark}`.trim())
    expect(counts[0]).toBe('8 of 24: +15 ✓ right')
    expect(counts.slice(1).sort()).toEqual(['4 of 24: +6 ✗ wrong', '4 of 24: +9 ✗ wrong', '8 of 24: 0 ✗ wrong'])
    expect(await page.getByTestId('task-order-wrong').getAttribute('data-done')).toBe('true')
  })

  test('the deep diamond: 10 of 120 orders give 108', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#order')
    const graph = figure(page, 'order-try')
    await choose(graph, deepDiamond)
    expect(await tray(graph)).toBe('x a b c d')
    await graph.getByRole('button', { name: 'run all' }).click()
    expect(await graph.getByTestId('orders').count()).toBe(0)
    for (const name of ['a', 'b', 'c', 'd']) for (let at = 'xabcd'.indexOf(name); at > 0; at--) await graph.getByRole('button', { name: `move ${name} earlier` }).click()
    expect(await tray(graph)).toBe('d c b a x')
    // Step by step this time.
    while (await next(graph).isEnabled()) await next(graph).click()
    expect(await textOf(graph.getByTestId('order-verdict'))).toContain('This order is right.')
    expect((await cellsOf(graph.getByTestId('order-result'))).at(-1)).toEqual(['x', '+108', '+108', '+108'])
    expect(await textOf(graph.getByTestId('orders'))).toContain('10 of 120 orders are right.')
    expect(await page.getByTestId('task-order-right').getAttribute('data-done')).toBe('true')
  })

  test('= instead of +=, and backward twice: wrong beside right, and where they part', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#twice')
    const graph = figure(page, 'twice-broken')
    await choose(graph, 'a · a')
    let { rows, words, marked } = await runBroken(graph)
    expect(rows['a']).toBe('1 +3 ✗ +6')
    expect(words).toBe('It goes wrong at step 3: a held 3, and the next deposit replaced it. a ends with 3; it should be 6.')
    expect(marked).toBe('a')
    await choose(graph, 'a + a')
    ;({ rows, words } = await runBroken(graph))
    expect(rows['a']).toBe('1 +1 ✗ +2')
    expect(words).toBe('It goes wrong at step 3: a held 1, and the next deposit replaced it. a ends with 1; it should be 2.')
    await choose(graph, '(a + b) · c')
    await graph.getByRole('button', { name: 'run all' }).click()
    expect(await textOf(graph.getByTestId('parting'))).toContain('the result is still right')
    await graph.getByRole('radio', { name: 'backward twice, nothing zeroed' }).check()
    await choose(graph, 'c = a·b, d = c+a, e = d²')
    ;({ rows, words, marked } = await runBroken(graph))
    expect(rows['a']).toBe('2 +240 ✗ +128')
    expect(rows['b']).toBe('2 +128 ✗ +64')
    expect(words).toContain('d still had 16 from the previous pass: 32 instead of 16')
    expect(marked).toBe('d')
    for (const task of ['twice-overwrite', 'twice-twice']) expect(await page.getByTestId(`task-${task}`).getAttribute('data-done')).toBe('true')
  })

  test('naive recursion, the sort without its visited set, and forward order on the deep diamond', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#order')
    const graph = figure(page, 'order-broken')
    let { rows, words, marked } = await runBroken(graph)
    expect(rows['x']).toBe('4 +156 ✗ +108')
    expect(words).toContain('9 visits instead of 5.')
    expect(words).toContain('a was visited with 12, before its full gradient of 27 had arrived')
    expect(marked).toBe('a')
    await graph.getByRole('radio', { name: 'the sort without its visited set' }).check()
    ;({ rows, words } = await runBroken(graph))
    expect(rows['x']).toBe('4 +168 ✗ +108')
    expect(words).toContain('a was visited with 15')
    // A leaf that is visited twice is named once.
    expect(await textOf(graph.getByTestId('story'))).toContain('Visit x, which has +168.')
    await graph.getByRole('radio', { name: 'forward order' }).check()
    ;({ rows, words } = await runBroken(graph))
    expect(rows).toMatchObject({ x: '1 0 ✗ +108', a: '1 0 ✗ +27', d: '1 +1 +1' })
    expect(words).toMatch(/^It goes wrong at step \d+: /) // as many visits as there are nodes are not worth a word
  })

  test('a training step repeated without zeroing', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#learn')
    const { rows, words } = await runBroken(figure(page, 'learn-broken'))
    expect(rows['a']).toBe('2 +10.8 ✗ +4.8')
    expect(words).toContain('a still had 6 from the previous pass: 8.4 instead of 2.4')
  })

  test('the sort: the stack, the visited set, the list and the list reversed', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#sort')
    const graph = figure(page, 'sort-steps')
    const state = async () => {
      const names = async (part: string) => (await graph.getByTestId(part).locator('.chip').allInnerTexts()).join('')
      return `${await names('stack')}|${await names('visited')}|${await names('list')}|${await names('reversed')}`
    }
    const seen = [await state()]
    while (await next(graph).isEnabled()) {
      await next(graph).click()
      seen.push(await state())
    }
    expect(seen).toEqual([
      ...['|||', 'd|d||', 'db|db||', 'dba|dba||', 'db|dba|a|', 'd|dba|ab|', 'dc|dbac|ab|', 'dc|dbac|ab|', 'd|dbac|abc|'],
      ...['|dbac|abcd|', '|dbac|abcd|dcba'],
    ])
    expect(await page.getByTestId('task-sort-done').getAttribute('data-done')).toBe('true')
  })
})

describe.each([narrow, wide])('at $width px', (viewport) => {
  test('the tray says first and last, and five names stay on one line', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#order')
    const graph = figure(page, 'order-try')
    await choose(graph, deepDiamond)
    const tray = graph.getByTestId('tray')
    const places = await tray.locator('li').evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ left, right, top }) => ({ left, right, top: Math.round(top) })))
    expect(places).toHaveLength(5)
    expect(new Set(places.map((one) => one.top)).size).toBe(1)
    expect(Math.max(...places.map((one) => one.right))).toBeLessThanOrEqual(viewport.width)
    expect(await tray.evaluate((list) => list.scrollWidth - list.clientWidth)).toBe(0)
    const at = async (word: string) => (await graph.locator('.tray').getByText(word, { exact: true }).boundingBox())!
    const [first, last] = [await at('first'), await at('last')]
    expect(first.width * last.width).toBeGreaterThan(0)
    expect(first.x).toBeLessThan(places[0]!.right)
    expect(last.x + last.width).toBeGreaterThan(places[4]!.left)
  })
})

test('an order by keyboard alone', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#order')
  const graph = figure(page, 'order-try')
  const name = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent?.trim() ?? '')
  const tabTo = async (wanted: string, key = 'Tab') => {
    for (let i = 0; i < 60 && (await name()) !== wanted; i++) await page.keyboard.press(key)
    expect(await name()).toBe(wanted)
  }
  await tabTo('move a later')
  for (let i = 0; i < 3; i++) await page.keyboard.press('Enter')
  expect(await tray(graph)).toBe('b c d a')
  expect(await name()).toBe('move a earlier') // at the end, the focus stays on what was moved
  await tabTo('move d earlier', 'Shift+Tab')
  for (let i = 0; i < 2; i++) await page.keyboard.press('Enter')
  expect(await tray(graph)).toBe('d b c a')
  await tabTo('run all')
  await page.keyboard.press('Enter')
  expect(await textOf(graph.getByTestId('order-verdict'))).toContain('This order is right.')
  expect((await cellsOf(graph.getByTestId('order-result'))).at(-1)).toEqual(['a', '+15', '+15', '+15'])
})

test('an order by dragging', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#order')
  const graph = figure(page, 'order-try')
  const item = (at: number) => graph.getByTestId('tray').locator('li').nth(at).locator('span')
  const [from, to] = [(await item(3).boundingBox())!, (await item(0).boundingBox())!]
  await page.mouse.move(from.x + 8, from.y + 8)
  await page.mouse.down()
  await page.mouse.move(to.x + 8, to.y + 8, { steps: 5 })
  await page.mouse.up()
  expect(await tray(graph)).toBe('d a b c')
})
