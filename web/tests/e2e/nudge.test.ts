// SPDX-License-Identifier: MIT
// One nudge, two directions: the nudge runs forward by the engine's factors, the walk comes back by the same ones, and the table counts
// what both cost; a square grows by two strips; diamonds in a row double the paths and add a few deposits.
import { readFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { createEngine } from '../../src/engine/engine.ts'
import { preset } from '../../src/lesson/presets.ts'
import { plain, signed, term } from '../../src/lib/number.ts'
import { cellsOf, figure, middle, narrow, test, textOf, wide } from './lesson.ts'

const engine = await createEngine(readFileSync(new URL('../../src/engine/gradwalk.wasm', import.meta.url)))
const { text } = preset('sum-times')
const walk = engine.walk(text)
const node = (name: string) => walk.nodes.findIndex((one) => one.name === name)

describe.each([wide, middle, narrow])('at $width px', (viewport) => {
  test('each leaf is nudged to the root, then one walk back knows them all', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#back')
    const sweep = figure(page, 'back-sweep')
    const pills = async () => Object.fromEntries((await sweep.getByTestId('pill').evaluateAll((all) => all.map((one) => [one.getAttribute('data-edge')!, one.textContent!.trim()]))).filter(([, words]) => words!.includes('=')))
    const data = async (name: string) => sweep.locator(`[data-testid=node][data-node=${name}]`).getByTestId('data').textContent()
    for (const [leaf, path] of [
      ['a', ['e', 'f']],
      ['b', ['e', 'f']],
      ['c', ['f']],
    ] as const) {
      await sweep.getByRole('button', { name: `nudge ${leaf}` }).click()
      const { nodes } = engine.nudge(text, [], node(leaf), 0.1)
      const expected: Record<string, string> = {}
      let before: string = leaf
      for (const user of path) {
        const operand = walk.nodes[node(user)]!.operands.indexOf(node(before))
        expected[`${node(user)}:${operand}`] = `${term(nodes[node(before)]!.moved)} × ${term(walk.nodes[node(user)]!.locals[operand]!.value)} = ${signed(nodes[node(user)]!.moved)}`
        before = user
      }
      expect(await pills()).toEqual(expected)
      for (const [i, one] of walk.nodes.entries()) expect(`${one.name} ${await data(one.name)}`).toBe(`${one.name} ${plain(nodes[i]!.after)}`)
    }
    await sweep.getByRole('button', { name: 'nudge a' }).click()
    expect(await textOf(sweep.getByTestId('sweep-told'))).toBe('a moves by +0.1. e moves as fast as a. f moves 10 times as fast as e. So f moves 10 · 1 = 10 times as fast as a: the gradient of a is 10.')
    expect(await cellsOf(sweep.getByTestId('sweep-table'))).toEqual([
      ['by nudges forward', '+10', '+10', '−1', '3', '5'],
      ['by walking back', '·', '·', '·', '0', '0'],
    ])
    expect(await page.getByTestId('task-back-nudge').getAttribute('data-done')).toBe('false')
    await sweep.getByRole('button', { name: 'walk back' }).click()
    expect(new Set(Object.values(await pills()))).toEqual(new Set(['1 × 10 = +10', '1 × (−1) = −1', '10 × 1 = +10']))
    for (const [i, one] of walk.nodes.entries()) expect(await sweep.locator(`[data-testid=node][data-node=${one.name}]`).getByTestId('grad').textContent()).toBe(signed(walk.outcomes[i]!.grad))
    expect((await cellsOf(sweep.getByTestId('sweep-table')))[1]).toEqual(['by walking back', '+10', '+10', '−1', '1', '4'])
    expect(await page.getByTestId('task-back-nudge').getAttribute('data-done')).toBe('true')
    // Nothing is called paying before the words do.
    expect((await textOf(sweep)).replace(/✓ Task done.*/, '')).not.toMatch(/\bpa(y|id|ys)\b|deposit|coin|ledger/)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width)
  })

  test('the square grows by two strips, and ten diamonds have 1,024 paths and 40 deposits', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#twice')
    const square = figure(page, 'twice-square')
    const strips = () => square.getByTestId('strip').evaluateAll((all) => all.map((one) => [Number(one.getAttribute('width')), Number(one.getAttribute('height'))].sort((a, b) => a - b)))
    for (const tenths of [10, 5, 1]) {
      await square.getByTestId('square-by').fill(String(tenths))
      const [one, other] = await strips()
      expect(one).toEqual(other)
      expect(one![0]! / one![1]!).toBeCloseTo(tenths / 30, 6)
      const rate = engine.nudge('a=3; f=a*a', [], 0, tenths / 10).nodes[1]!.rate
      expect(await textOf(square.getByTestId('square-told'))).toContain(`So it grows ${plain(rate)} times as much as a.`)
    }
    expect(await textOf(square.getByTestId('square-told'))).toContain('The two strips remain: 3 + 3 = 6, the gradient of a.')
    const paths = figure(page, 'twice-paths')
    const counts = async () => [await textOf(paths.getByTestId('paths-paths')), await textOf(paths.getByTestId('paths-deposits'))]
    expect(await counts()).toEqual(['2', '4'])
    await paths.getByTestId('paths-count').fill('5')
    expect(await counts()).toEqual(['32', '20'])
    await paths.getByTestId('paths-count').fill('10')
    expect(await counts()).toEqual(['1,024', '40'])
    expect(await page.getByTestId('task-twice-paths').getAttribute('data-done')).toBe('true')
  })
})

test('in motion a number changes only where the nudge lands, and the factors are met on the edges', async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await open('#back')
  const sweep = figure(page, 'back-sweep')
  await sweep.evaluate((one) => one.scrollIntoView())
  const seen = await sweep.evaluate(async (one) => {
    const texts: string[] = []
    one.querySelector<HTMLButtonElement>('.bar button')!.click()
    for (let i = 0; i < 900 && one.getAttribute('data-over') !== 'true'; i++) {
      await new Promise((drawn) => requestAnimationFrame(drawn))
      const tokens = [...one.querySelectorAll('[data-testid=token]')].map((token) => `${token.getAttribute('data-kind')} ${token.textContent!.trim()}`).join()
      const data = ['a', 'e', 'f'].map((name) => one.querySelector(`[data-node=${name}] [data-testid=data]`)!.textContent).join(' ')
      if (texts.at(-1) !== `${tokens} | ${data}`) texts.push(`${tokens} | ${data}`)
    }
    return texts
  })
  const kinds = seen.map((one) => one.split(' | ')[0]!).filter(Boolean)
  expect(kinds.filter((one, i) => one !== kinds[i - 1])).toEqual([
    ...['data +0.1', 'carry +0.1', 'meet 0.1 × 1', 'product 0.1 × 1 = +0.1', 'arrive +0.1'],
    ...['carry +0.1', 'meet 0.1 × 10', 'product 0.1 × 10 = +1', 'arrive +1'],
  ])
  const data = seen.map((one) => one.split(' | ')[1]!)
  expect(data.filter((one, i) => one !== data[i - 1])).toEqual(['2 −1 −10', '2.1 −1 −10', '2.1 −0.9 −10', '2.1 −0.9 −9'])
})

test('the words that a learner will meet elsewhere are taught where they first matter', async ({ visit }) => {
  const { page, open } = await visit()
  const said: Record<string, string> = {}
  for (const chapter of ['fill', 'back', 'rules', 'neuron', 'twice', 'order', 'sort']) {
    await open(`#${chapter}`)
    said[chapter] = await textOf(page.locator('article'))
  }
  for (const [word, chapter] of [
    ['chain rule', 'back'],
    ['reverse-mode automatic differentiation', 'back'],
    ['PyTorch', 'back'],
    ['JAX', 'back'],
    ['uses nothing up', 'back'],
    ['6.8814', 'neuron'],
    ['topological sort', 'sort'],
  ] as const) {
    const first = Object.keys(said).find((one) => said[one]!.includes(word))
    expect(`${word}: ${first}`).toBe(`${word}: ${chapter}`)
  }
})
