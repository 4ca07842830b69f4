// SPDX-License-Identifier: MIT
// The page's address and memory: links open what they were taken from, broken ones give a message, progress outlives the visit,
// and neither a garbled record nor a browser that keeps nothing nor a very long text does any harm.
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { busy, chapters, count, figure, next, tableOf, test, textOf, walkToEnd, cellsOf } from './lesson.ts'
import { dist } from './server.ts'

test('a link opens the same graph at the same step', async ({ visit }) => {
  const { page, open, address } = await visit()
  await open('#own')
  await page.getByTestId('own-text').fill('p=2; q=p*p; r=q+p; s=r*q')
  const graph = figure(page, 'own-graph')
  for (let i = 0; i < 6; i++) await next(graph).click()
  await expect.poll(() => page.url()).toMatch(/#own\/own-graph\?e=.*&s=6$/)
  const other = await visit()
  await other.open(page.url().slice(address.length))
  const same = figure(other.page, 'own-graph')
  expect(await count(same)).toBe(6)
  expect(await tableOf(same)).toEqual(await tableOf(graph))
  expect(await other.page.getByTestId('own-text').inputValue()).toBe('p=2; q=p*p; r=q+p; s=r*q')
  expect(await other.page.getByTestId('link-problem').count()).toBe(0)
})

test('a link keeps an edited leaf, an order and a broken rule', async ({ visit }) => {
  const { page, open, address } = await visit()
  const reopened = async (part: RegExp) => {
    await expect.poll(() => page.url()).toMatch(part)
    const other = await visit()
    await other.open(page.url().slice(address.length))
    return other.page
  }
  await open('#back')
  const graph = figure(page, 'back-graph')
  await walkToEnd(graph)
  await graph.getByRole('textbox', { name: 'value of c' }).fill('0.25')
  await page.keyboard.press('Enter')
  expect(await tableOf(figure(await reopened(/0\.25.*s=8/), 'back-graph'))).toMatchObject({ c: { data: '0.25' }, a: { grad: '+0.25' } })
  await open('#order')
  const order = figure(page, 'order-try')
  await order.getByRole('button', { name: 'move d earlier' }).click()
  await order.getByRole('button', { name: 'run all' }).click()
  const again = figure(await reopened(/&o=[\d,]+&s=/), 'order-try')
  expect(await again.getByTestId('tray').locator('li span').allInnerTexts()).toEqual(['a', 'b', 'd', 'c'])
  expect(await cellsOf(again.getByTestId('order-result'))).toEqual(await cellsOf(order.getByTestId('order-result')))
  const broken = figure(page, 'order-broken')
  await broken.getByRole('radio', { name: 'forward order' }).check()
  const rule = figure(await reopened(/r=forward/), 'order-broken')
  expect(await rule.getByRole('radio', { name: 'forward order' }).isChecked()).toBe(true)
})

test('a part of a link that cannot be followed gives a message, and the rest opens', async ({ visit }) => {
  const { page, open } = await visit()
  const told = async () => textOf(page.getByTestId('link-problem'))
  const links: [string, RegExp][] = [
    ['#nowhere', /names a chapter that is not in this lesson/],
    ['#fill/no-such-figure?s=3', /names a figure that is not in this chapter/],
    ['#fill/fill-graph?e=%E0%A4%A', /a part of it is garbled/],
    ['#fill/fill-graph?e=a%3D%3D%3D', /its expression cannot be read/],
    ['#fill/fill-graph?s=9999', /its walk has 2 steps, not 9999/],
    ['#back/back-graph?s=9999', /its walk has 8 steps, not 9999/],
    ['#fill/fill-graph?s=-1', /means nothing here/],
    ['#order/order-try?o=9,9,9', /its order does not fit its graph/],
    ['#order/order-broken?r=sideways', /means nothing here/],
    ['#sort/sort-steps?e=((((', /its expression cannot be read/],
    ['#rules/rules-wiggle?e=)&s=99', /its expression cannot be read/],
    [`#own/own-graph?e=${'a'.repeat(6000)}`, /means nothing here/],
    ['#own/own-graph?e=1%2F0', /./],
  ]
  for (const [hash, message] of links) {
    await page.goto('about:blank')
    await open(hash)
    if (hash.endsWith('1%2F0')) continue // a graph without leaves is still a graph
    expect(`${hash.slice(0, 40)} ${await told()}`).toMatch(message)
    expect(await page.locator('figure').count()).toBeGreaterThan(0)
  }
  await open('#nowhere')
  await page.getByRole('button', { name: 'OK' }).click()
  expect(await page.getByTestId('link-problem').count()).toBe(0)
})

test('opened as a file, the page says how to open it', async ({ visit }) => {
  const { page } = await visit({}, { isLocal: true, mayComplain: true })
  await page.goto(pathToFileURL(`${dist}index.html`).href)
  const words = await textOf(page.getByRole('alert'))
  for (const part of ['This page needs a web server', 'gradwalk lesson', 'python3 -m http.server 8000', 'http://localhost:8000/']) expect(words).toContain(part)
})

test('back and forward in the browser turn the chapters', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#fill')
  await page.getByRole('button', { name: /^chapters/ }).click()
  await page.getByRole('navigation', { name: 'chapters' }).getByRole('link', { name: /A neuron/ }).first().click()
  const title = () => textOf(page.getByRole('heading', { level: 2 }).first())
  await expect.poll(title).toBe('4 A neuron')
  await page.goBack()
  await expect.poll(title).toBe('1 Fill in the data')
  await page.goForward()
  await expect.poll(title).toBe('4 A neuron')
})

test('progress is kept between visits, and ends in a completed state', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#fill')
  const progress = () => textOf(page.getByTestId('progress'))
  const total = Number((await progress()).match(/^0 of (\d+) tasks/)![1])
  await walkToEnd(figure(page, 'fill-graph'))
  expect(await progress()).toBe(`1 of ${total} tasks`)
  await page.reload()
  await expect.poll(progress).toBe(`1 of ${total} tasks`)
  expect(await page.getByTestId('task-fill-forward').getAttribute('data-done')).toBe('true')
  // All tasks but one done before: the last one completes the lesson.
  const ids: string[] = []
  for (const chapter of chapters) {
    await open(`#${chapter}`)
    await expect.poll(() => page.url()).toContain(chapter)
    ids.push(...(await page.locator('[data-testid^=task-]').evaluateAll((all) => all.map((one) => one.dataset['testid']!.slice(5)))))
  }
  expect(ids.length).toBe(total)
  await page.evaluate((done) => localStorage.setItem('gradwalk-lesson', JSON.stringify({ version: 1, done })), ids.filter((id) => id !== 'fill-forward'))
  await open('#fill')
  await page.reload()
  expect(await page.getByTestId('complete').count()).toBe(0)
  await walkToEnd(figure(page, 'fill-graph'))
  expect(await textOf(page.getByTestId('complete'))).toContain(`All ${total} tasks are done.`)
  expect(await textOf(page.getByTestId('just-done'))).toContain('you have walked it all')
  const complete = page.getByTestId('complete')
  await complete.getByRole('button', { name: 'start over' }).click()
  await complete.getByRole('button', { name: 'keep it' }).click()
  expect(await progress()).toBe(`${total} of ${total} tasks`)
  await complete.getByRole('button', { name: 'start over' }).click()
  await complete.getByRole('button', { name: 'forget all progress' }).click()
  expect(await progress()).toBe(`0 of ${total} tasks`)
})

test('a garbled, foreign or stale record of progress starts afresh', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#fill')
  const records = ['{"version":1,"done":', '"text"', '[]', 'null', '{"version":99,"done":["fill-forward"]}', '{"version":1,"done":{"0":"x"}}', '{"version":1,"done":[7,null,"gone-task"]}']
  for (const record of records) {
    await page.evaluate((text) => localStorage.setItem('gradwalk-lesson', text), record)
    await page.reload()
    await expect.poll(() => textOf(page.getByTestId('progress'))).toMatch(/^0 of \d+ tasks$/)
  }
  await walkToEnd(figure(page, 'fill-graph'))
  expect(await textOf(page.getByTestId('progress'))).toMatch(/^1 of /)
})

test('without storage the lesson works and only forgets', async ({ visit }) => {
  const { page, open } = await visit()
  await page.addInitScript(() =>
    Object.defineProperty(window, 'localStorage', {
      get() {
        throw new DOMException('denied', 'SecurityError')
      },
    }),
  )
  await open('#fill')
  await walkToEnd(figure(page, 'fill-graph'))
  expect(await textOf(page.getByTestId('progress'))).toMatch(/^1 of /)
})

test('an expression of a megabyte is refused in a sentence, without a freeze', async ({ visit }) => {
  const { page, open } = await visit({ permissions: ['clipboard-read', 'clipboard-write'] })
  await open('#own')
  const texts = ['a=1;' + 'a+'.repeat(500_000) + 'a', '('.repeat(1_000_000), 'x'.repeat(1_000_000), 'a=1;b=' + '-'.repeat(900_000) + 'a', '🜁'.repeat(200_000), '\n'.repeat(1_000_000)]
  for (const text of texts) {
    await page.evaluate((value) => navigator.clipboard.writeText(value), text)
    const time = await busy(page, async () => {
      await page.getByTestId('own-text').selectText()
      await page.keyboard.press('Control+v')
    })
    expect(time).toBeLessThan(3000)
    const message = await textOf(page.getByTestId('own-error'))
    expect(message).not.toBe('')
    expect(message.length).toBeLessThan(1000)
  }
  // And the figure still shows the last good one, and the page goes on.
  expect(await tableOf(figure(page, 'own-graph'))).toHaveProperty('L')
  await page.reload() // Chromium takes long to take thousands of empty lines out of any text box
  await page.getByTestId('own-text').fill('a=3; f=a*a')
  expect(await page.getByTestId('own-error').innerText()).toBe('')
  await walkToEnd(figure(page, 'own-graph'))
  expect(await tableOf(figure(page, 'own-graph'))).toMatchObject({ a: { grad: '+6' } })
})

test('a mistyped expression gives a message with its position, and the last good one stays', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#own')
  await page.getByTestId('own-text').fill('a=2; f=a*')
  expect(await page.getByTestId('own-error').innerText()).toMatch(/\^/)
  expect(await tableOf(figure(page, 'own-graph'))).toHaveProperty('L')
  await page.getByTestId('own-text').fill(`x=2; y=${'x*'.repeat(150)}x`)
  expect(await textOf(page.getByTestId('too-large'))).toMatch(/This graph has \d+ nodes; up to 120 are drawn\./)
  await page.getByTestId('own-text').fill('a=0; f=log(a); g=f*0')
  await walkToEnd(figure(page, 'own-graph'))
  expect(await tableOf(figure(page, 'own-graph'))).toMatchObject({ f: { data: '−∞' }, g: { data: 'NaN' } })
})
