// SPDX-License-Identifier: MIT
// A layer as four neurons and as one matrix: both walks end with the gradients that arithmetic on matrices gives, the cells stand where
// rows and columns are read, and every cell opens to its scalars.
import type { Locator } from 'playwright-core'
import { describe, expect } from 'vitest'
import { chapters as lesson } from '../../src/lesson/chapters.ts'
import type { LayerNumbers } from '../../src/lib/layer.ts'
import { plain, signed } from '../../src/lib/number.ts'
import { advance, figure, narrow, next, test, textOf, virtualClock, walkToEnd, wide } from './lesson.ts'

const { x, w } = lesson.flatMap((chapter) => chapter.blocks).find((one) => typeof one === 'object' && one.figure === 'layer') as unknown as LayerNumbers
const h = w.map((row) => row.reduce((sum, one, j) => sum + one * x[j]!, 0))
const subscript = (n: number) => String.fromCodePoint(0x2081 + n)
const expected: Record<string, string> = {}
for (const [j] of x.entries()) expected[`x${subscript(j)}`] = signed(w.reduce((sum, row, i) => sum + 2 * h[i]! * row[j]!, 0))
for (const [i, row] of w.entries()) {
  expected[`h${subscript(i)}`] = signed(2 * h[i]!)
  for (const [j] of row.entries()) expected[`w${subscript(i)}${subscript(j)}`] = signed(2 * h[i]! * x[j]!)
}

const gradients = (layer: Locator) =>
  layer.getByTestId('cell').evaluateAll((cells) => Object.fromEntries(cells.map((cell) => [cell.getAttribute('data-cell')!, cell.querySelector('[data-testid=cell-grad]')?.textContent ?? ''])))
/** By cell: its place on the page. */
const places = (layer: Locator) =>
  layer.getByTestId('cell').evaluateAll((cells) =>
    Object.fromEntries(
      cells.map((cell) => {
        const { left, right, top, bottom } = cell.querySelector('rect')!.getBoundingClientRect()
        return [cell.getAttribute('data-cell')!, { left, right, top, bottom }]
      }),
    ),
  )
const cell = (layer: Locator, name: string) => layer.locator(`[data-testid=cell][data-cell="${name}"]`)

describe.each([wide, narrow])('at $width px', (viewport) => {
  test('four neurons and one matrix end with the same gradients, in eleven presses and in five', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#tensors')
    const layer = figure(page, 'tensors-layer')
    await layer.getByTestId('layer').waitFor()
    expect(await walkToEnd(layer)).toBe(11)
    expect(await gradients(layer)).toEqual(expected)
    expect(await page.getByTestId('task-tensors-neurons').getAttribute('data-done')).toBe('true')
    expect(await page.getByTestId('task-tensors-matrix').getAttribute('data-done')).toBe('false')
    await layer.getByRole('button', { name: 'one matrix' }).click()
    expect(new Set(Object.values(await gradients(layer)))).toEqual(new Set(['']))
    expect(await layer.getByTestId('matrix-name').textContent()).toBe('W')
    expect(await walkToEnd(layer)).toBe(5)
    expect(await layer.getByTestId('matrix-name').textContent()).toBe('Wᵀ')
    expect(await gradients(layer)).toEqual(expected)
    expect(await page.getByTestId('task-tensors-matrix').getAttribute('data-done')).toBe('true')
    const code = await textOf(layer.getByTestId('layer-code'))
    expect(code).toContain('loss.backward()')
    for (const [i] of w.entries()) expect(code).toContain(`[${x.map((one) => `${2 * h[i]! * one}.`).join(', ')}]`)
  })

  test('forward the weights of a neuron stand in its row, backward those of an input do; nothing overlaps', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#tensors')
    const layer = figure(page, 'tensors-layer')
    await layer.getByTestId('layer').waitFor()
    for (const view of ['four neurons', 'one matrix']) {
      await layer.getByRole('button', { name: view }).click()
      for (const isBack of [false, true]) {
        if (isBack) await walkToEnd(layer)
        const at = await places(layer)
        const middle = (name: string) => (at[name]!.top + at[name]!.bottom) / 2
        for (const [i] of w.entries())
          for (const [j] of x.entries()) expect(Math.abs(middle(`w${subscript(i)}${subscript(j)}`) - middle(isBack ? `x${subscript(j)}` : `h${subscript(i)}`))).toBeLessThan(10)
        const all = Object.entries(at)
        const [edge] = all.map(([, box]) => box.right).sort((one, other) => other - one)
        expect(edge).toBeLessThanOrEqual(viewport.width)
        for (const [k, [one, a]] of all.entries())
          for (const [other, b] of all.slice(k + 1))
            expect(a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5, `${view}: ${one} and ${other}`).toBe(false)
      }
    }
  })

  test('a cell opens to the walk of its scalars, by mouse and by keyboard', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#tensors')
    const layer = figure(page, 'tensors-layer')
    await cell(layer, 'w₁₂').click()
    await expect.poll(() => textOf(page.getByTestId('layer-cell'))).toContain(`w₁₂.grad gets one deposit: what h₁ has, times x₂: (${plain(2 * h[0]!)}) · (${plain(x[1]!)}) = ${expected['w₁₂']}.`)
    const scalars = figure(page, 'tensors-layer-cell')
    await walkToEnd(scalars)
    expect(await scalars.locator('[data-testid=node][data-node=w12]').getByTestId('grad').textContent()).toBe(expected['w₁₂'])
    expect(await page.getByTestId('task-tensors-cell').getAttribute('data-done')).toBe('true')
    for (const [name, node] of [['x₃', 'x3'], ['h₂', 'h2']] as const) {
      await cell(layer, name).getByRole('button').press('Enter')
      await scalars.locator(`[data-testid=node][data-node=${node}]`).waitFor()
      await scalars.press('End')
      expect(await scalars.locator(`[data-testid=node][data-node=${node}]`).getByTestId('grad').textContent()).toBe(expected[name])
    }
    await page.getByTestId('layer-cell').getByRole('button', { name: 'close' }).click()
    expect(await page.getByTestId('layer-cell').count()).toBe(0)
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('tensors-layer')
  })
})

test('a link opens the same drawing at the same step, and the same cell', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#tensors/tensors-layer?v=matrix&s=6')
  const layer = figure(page, 'tensors-layer')
  expect(await layer.getByTestId('matrix-name').textContent()).toBe('Wᵀ')
  expect(await next(layer).textContent()).toBe('visit L')
  await next(layer).click()
  await expect.poll(() => page.evaluate(() => location.hash)).toBe('#tensors/tensors-layer?v=matrix&s=7')
  await cell(layer, 'x₁').click()
  await next(figure(page, 'tensors-layer-cell')).click()
  await expect.poll(() => page.evaluate(() => location.hash)).toContain('#tensors/tensors-layer-cell?e=x1')
  const hash = await page.evaluate(() => location.hash)
  await open(hash)
  await figure(page, 'tensors-layer-cell').locator('[data-testid=node][data-node=x1]').waitFor()
})

test('what is done with the walk playing by itself, or at a jump, is no task', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#tensors')
  const layer = figure(page, 'tensors-layer')
  await layer.getByTestId('layer').waitFor()
  await layer.press('End')
  await expect.poll(() => gradients(layer)).toEqual(expected)
  expect(await page.getByTestId('task-tensors-neurons').getAttribute('data-done')).toBe('false')
})

test('in motion a neuron has its number when its row has been added up, not before', async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await page.addInitScript(virtualClock)
  await open('#tensors')
  const layer = figure(page, 'tensors-layer')
  await next(layer).click()
  const seen: string[] = []
  for (let i = 0; i < 60; i++) {
    await advance(page, 50)
    seen.push(`${await cell(layer, 'w₁₁').getByTestId('cell-line').count()} ${await cell(layer, 'h₁').getByTestId('cell-data').textContent()}`)
  }
  expect(seen).toContain('1 ')
  expect(seen.at(-1)).toMatch(new RegExp(` ${plain(h[0]!)}$`))
  expect(seen.indexOf('1 ')).toBeLessThan(seen.findIndex((one) => one.endsWith(` ${plain(h[0]!)}`)))
})
