// SPDX-License-Identifier: MIT
// The graph that is walked: every preset's numbers, every control, edges, ledgers, leaves; by mouse and by keyboard alone.
import { describe, expect } from 'vitest'
import { cardOf, choose, count, figure, menuOf, next, show, sizes, tableOf, test, textOf, walkToEnd } from './lesson.ts'

interface Expected {
  title: string
  /** Where the graph can be chosen or is shown. */
  at: [chapter: string, figure: string]
  data: Record<string, string>
  grad: Record<string, string>
}
const presets: Expected[] = [
  { title: '(a + b) · c', at: ['back', 'back-graph'], data: { e: '−1', f: '−10' }, grad: { a: '+10', b: '+10', c: '−1', e: '+10', f: '+1' } },
  {
    title: 'a neuron: tanh(x1·w1 + x2·w2 + b)',
    at: ['back', 'back-graph'],
    data: { n: '0.8814', o: '0.7071' },
    grad: { x1: '−1.5', w1: '+1', x2: '+0.5', w2: '0', n: '+0.5' },
  },
  { title: 'a · a', at: ['twice', 'twice-graph'], data: { f: '9' }, grad: { a: '+6' } },
  { title: 'a + a', at: ['twice', 'twice-graph'], data: { f: '6' }, grad: { a: '+2' } },
  { title: 'd = a·b, e = a+b, f = d·e', at: ['back', 'back-graph'], data: { f: '−6' }, grad: { a: '−3', b: '−8' } },
  { title: 'c = a·b, d = c+a, e = d²', at: ['twice', 'twice-graph'], data: { e: '64' }, grad: { d: '+16', c: '+16', a: '+64', b: '+32' } },
  { title: 'diamond: b = a+1, c = 3a, d = b·c', at: ['twice', 'twice-graph'], data: { d: '18' }, grad: { a: '+15' } },
  { title: 'deep diamond, with a = x·x', at: ['back', 'back-graph'], data: { d: '60' }, grad: { x: '+108' } },
]

describe.each(sizes)('at $width px', (viewport) => {
  test('every preset shows its numbers at the end of its walk', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    let here = ''
    for (const { title, at: [chapter, id], data, grad } of presets) {
      if (here !== chapter) await open(`#${(here = chapter)}`)
      const graph = figure(page, id)
      await choose(graph, title)
      const leaves = await tableOf(graph)
      for (const name of Object.keys(data)) expect(leaves[name]).toMatchObject({ data: 'not yet', grad: 'not yet' })
      await walkToEnd(graph)
      expect(await textOf(graph.getByTestId('phase'))).toBe('done')
      const table = await tableOf(graph)
      for (const [name, value] of Object.entries(data)) expect(`${title}: ${name} ${table[name]!.data}`).toBe(`${title}: ${name} ${value}`)
      for (const [name, value] of Object.entries(grad)) {
        expect(`${title}: ${name}.grad ${table[name]!.grad}`).toBe(`${title}: ${name}.grad ${value}`)
        const card = await cardOf(graph, name)
        expect(card.grad).toBe(value)
        expect(card.name).toContain(`gradient ${value}`)
      }
    }
  })

  test('steps go forward, back, and anywhere by the scrubber; undo takes the last of these back; reset begins again', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#back')
    const graph = figure(page, 'back-graph')
    const story = () => textOf(graph.getByTestId('story'))
    await expect.poll(story).toContain('Only the leaves have values so far.')
    await next(graph).click()
    expect(await story()).toContain('e = a + b = 2 + (−3) = −1')
    await next(graph).click()
    expect(await textOf(next(graph))).toBe('start backward')
    await next(graph).click()
    expect(await story()).toContain('f.grad = +1')
    await next(graph).click()
    expect(await story()).toContain('e.grad += f.grad · c = 1 · 10 = +10')
    expect(await story()).toContain('c.grad += f.grad · e = 1 · (−1) = −1')
    expect(await tableOf(graph)).toMatchObject({ e: { grad: '+10' }, c: { grad: '−1' }, a: { grad: '0' } })
    await graph.getByRole('button', { name: 'step back' }).click()
    expect(await tableOf(graph)).toMatchObject({ e: { grad: '0' }, f: { grad: '+1' } })
    await graph.getByRole('button', { name: 'step back' }).click()
    expect(await tableOf(graph)).toMatchObject({ e: { data: '−1', grad: 'not yet' } })
    await graph.getByTestId('scrubber').fill('7')
    expect(await tableOf(graph)).toMatchObject({ a: { grad: '+10' }, b: { grad: '+10' } })
    await (await menuOf(graph)).getByRole('button', { name: 'undo' }).click()
    expect(await count(graph)).toBe(2)
    await (await menuOf(graph)).getByRole('button', { name: 'reset' }).click()
    expect(await count(graph)).toBe(0)
    expect(await tableOf(graph)).toMatchObject({ a: { data: '2' }, e: { data: 'not yet' } })
    await (await menuOf(graph)).getByRole('button', { name: 'undo' }).click()
    expect(await count(graph)).toBe(2)
  })

  test('another value over a leaf computes everything anew, and undo brings the old one back', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    for (const [chapter, id, gradients] of [
      ['fill', 'fill-graph', {}],
      ['back', 'back-graph', { a: { grad: '+10' }, c: { grad: '+6' } }],
    ] as const) {
      await open(`#${chapter}`)
      const graph = figure(page, id)
      await walkToEnd(graph)
      const leaf = graph.getByRole('textbox', { name: 'value of b' })
      await leaf.fill('4')
      await leaf.press('Enter')
      await expect.poll(() => tableOf(graph)).toMatchObject({ b: { data: '4' }, e: { data: '6' }, f: { data: '60' }, ...gradients })
      if (chapter === 'fill') await expect.poll(() => page.getByTestId('task-fill-edit').getAttribute('data-done')).toBe('true')
      await (await menuOf(graph)).getByRole('button', { name: 'undo' }).click()
      expect(await tableOf(graph)).toMatchObject({ b: { data: '−3' }, f: { data: '−10' } })
      expect(await leaf.inputValue()).toBe('−3')
    }
  })

  test('an edge opens its local derivative, a node its ledger and paths', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#twice')
    const graph = figure(page, 'twice-graph')
    await choose(graph, 'c = a·b, d = c+a, e = d²')
    await walkToEnd(graph)
    await graph.getByRole('button', { name: /^edge from d to e/ }).press('Enter')
    expect(await graph.getByTestId('edge-detail').locator('math').count()).toBeGreaterThan(0)
    expect(await textOf(graph.getByTestId('local'))).toBe('16')
    await graph.locator('[data-testid=node][data-node=a]').click()
    const ledger = graph.getByRole('region', { name: 'ledger of a' })
    let words = await textOf(ledger)
    expect(words).toContain('a.grad = +64, the sum of 2 deposits:')
    await graph.getByTestId('scrubber').fill('6')
    expect(await textOf(ledger)).toContain('a.grad = +16, so far, the sum of one deposit:')
    await graph.getByTestId('scrubber').fill('9')
    words = await textOf(ledger)
    expect(words).toMatch(/\+48 c → a 16 · 3/)
    expect(words).toMatch(/\+16 d → a 16 · 1/)
    await ledger.getByText('The paths behind it').click()
    await expect.poll(() => textOf(ledger)).toContain('2 paths from e')
    words = await textOf(ledger)
    expect(words).toContain('e → d → c → a: 16 · 1 · 3 = +48')
    expect(words).toContain('e → d → a: 16 · 1 = +16')
    await choose(graph, 'a · a')
    await walkToEnd(graph)
    expect(await graph.getByRole('button', { name: /^edge from a to f/ }).count()).toBe(2)
    await graph.locator('[data-testid=node][data-node=a]').click()
    expect(await textOf(graph.getByTestId('ledger'))).toMatch(/\+3 f → a \(operand 1\).*\+3 f → a \(operand 2\)/)
  })
})

test('an edge can be hit with the mouse', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#back')
  const graph = figure(page, 'back-graph')
  await walkToEnd(graph)
  const edge = graph.getByRole('button', { name: /^edge from e to f/ })
  const at = await edge.locator('path.hit').evaluate((path: SVGPathElement) => {
    const middle = path.getPointAtLength(path.getTotalLength() / 3).matrixTransform(path.getScreenCTM()!)
    return { x: middle.x, y: middle.y }
  })
  await page.mouse.click(at.x, at.y)
  expect(await textOf(graph.getByTestId('local'))).toBe('10')
})

test('chapter 1 shows data alone: no word and no pill of what comes later', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#fill')
  const graph = figure(page, 'fill-graph')
  await tableOf(graph)
  const options = await graph.getByTestId('preset').locator('option').allInnerTexts()
  for (const option of options) {
    await choose(graph, option)
    const said: string[] = []
    do {
      expect(await graph.getByTestId('pill').count()).toBe(0)
      const names = await graph.locator('[aria-label]').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')!).join(' '))
      said.push(`${await textOf(graph)} ${names}`)
      if (await next(graph).isDisabled()) break
      await next(graph).click()
    } while (said.length < 20)
    expect(said.length).toBeGreaterThan(2)
    expect(said.join(' ').match(/local|derivative|grad\w*|backward|ledger|deposit|paid|pays|visit|seed|tanh|neuron/gi) ?? []).toEqual([])
    expect(await textOf(graph.getByTestId('story'))).toContain('f is computed.')
    expect(await textOf(graph.getByTestId('phase'))).toBe('done')
  }
  expect((await textOf(page.locator('article'))).match(/local derivative|backward|ledger|deposit|pays|visit|seed|tanh|neuron/gi) ?? []).toEqual([])
})

test('the walk by keyboard alone', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#back')
  const graph = figure(page, 'back-graph')
  await tableOf(graph) // opened by mouse, to read from; all else below is keys
  await page.getByRole('heading', { level: 2 }).first().focus()
  const focused = () => page.evaluate(() => document.activeElement?.id)
  for (let i = 0; i < 40 && (await focused()) !== 'back-graph'; i++) await page.keyboard.press('Tab')
  expect(await focused()).toBe('back-graph')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  expect(await tableOf(graph)).toMatchObject({ e: { data: '−1' }, f: { data: '−10', grad: 'not yet' } })
  await page.keyboard.press('ArrowLeft')
  expect(await tableOf(graph)).toMatchObject({ f: { data: 'not yet' } })
  await page.keyboard.press('End')
  expect(await tableOf(graph)).toMatchObject({ a: { grad: '+10' } })
  await page.keyboard.press('Home')
  expect(await count(graph)).toBe(0)
  await page.keyboard.press('Space')
  expect(await textOf(graph.getByTestId('play'))).toBe('pause')
  await expect.poll(() => count(graph)).toBeGreaterThanOrEqual(2)
  await page.keyboard.press('Space')
  expect(await textOf(graph.getByTestId('play'))).toBe('play')
  await page.keyboard.press('End')
  // On to an edge and to a node, and Enter on each.
  const name = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')
  for (let i = 0; i < 12 && !(await name()).startsWith('edge from e to f'); i++) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  expect(await textOf(graph.getByTestId('local'))).toBe('10')
  for (let i = 0; i < 40 && !(await name()).startsWith('e ='); i++) await page.keyboard.press('Tab')
  expect(await name()).toMatch(/^e = a \+ b/)
  await page.keyboard.press('Enter')
  expect(await textOf(graph.getByTestId('ledger'))).toContain('e.grad = +10')
})

test('the code beside the graph marks the line of the step, in three languages', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#back')
  const graph = figure(page, 'back-graph')
  await show(graph, 'code')
  const marked = () => graph.getByTestId('code').locator('[aria-current=step]').allInnerTexts()
  await next(graph).click()
  for (const [language, line] of [['C++', /e\b.*=.*a \+ b/], ['Python', /e = a \+ b/], ['PyTorch', /e = a \+ b/]] as const) {
    await graph.getByTestId('code').getByRole('button', { name: language, exact: true }).click()
    expect((await marked()).join('')).toMatch(line)
  }
  await walkToEnd(graph)
  expect((await marked()).join('')).toMatch(/f\.backward\(\)/)
})

test('by hand: the page asks for each number before it shows it', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#rules')
  const graph = figure(page, 'rules-graph')
  const ask = graph.getByTestId('hand')
  await ask.getByRole('textbox').fill('5')
  await ask.getByRole('button', { name: 'check' }).click()
  expect(await textOf(ask)).toContain('not yet')
  expect(await count(graph)).toBe(0)
  await ask.getByRole('textbox').fill('−6')
  await ask.getByRole('button', { name: 'check' }).click()
  await expect.poll(() => count(graph)).toBe(1)
  expect(await page.getByTestId('task-rules-hand').getAttribute('data-done')).toBe('true')
})

test('the bar has back, step, play and scrub; all the rest is in one menu that closes again', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#back')
  const graph = figure(page, 'back-graph')
  const bar = graph.getByTestId('controls')
  expect(await bar.getByRole('button').count()).toBe(4)
  expect(await bar.getByRole('slider').count()).toBe(1)
  expect(await graph.locator('summary').count()).toBe(0)
  const menu = await menuOf(graph)
  expect(await menu.getByRole('button').allInnerTexts()).toEqual(['slow', '1×', 'fast', 'undo', 'reset'])
  expect(await menu.getByRole('checkbox').count()).toBe(4)
  await page.keyboard.press('Escape')
  expect(await menu.count()).toBe(0)
  expect(await page.evaluate(() => document.activeElement?.getAttribute('data-testid'))).toBe('more')
  await menuOf(graph)
  await page.getByRole('heading', { level: 2 }).click()
  expect(await menu.count()).toBe(0)
  await show(graph, 'table')
  expect(await graph.getByTestId('table-view').getByRole('table').count()).toBe(1)
  await graph.getByRole('button', { name: 'close: The graph as a table' }).click()
  expect(await graph.getByTestId('table-view').count()).toBe(0)
})

test('leaves that are visited one after the other are one step with one sentence, and back again', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#neuron')
  const graph = figure(page, 'neuron-graph')
  expect(await walkToEnd(graph)).toBe(14)
  expect(await textOf(graph.getByTestId('story'))).toBe('Visit w1, x1. They are leaves, so we are done here: ∂o/∂w1 = 1, ∂o/∂x1 = −1.5.')
  await expect.poll(() => page.getByTestId('task-neuron-walk').getAttribute('data-done')).toBe('true')
  await graph.getByRole('button', { name: 'step back' }).click()
  expect(await textOf(next(graph))).toBe('visit w1, x1')
  expect(await count(graph)).toBe(14)
})
