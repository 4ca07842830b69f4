// SPDX-License-Identifier: MIT
// A layer as scalars: its walk gives what the products of matrices give, deposit by deposit, and every cell opens to scalars that give
// the same gradient.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createEngine } from '../src/engine/engine.ts'
import { chapters } from '../src/lesson/chapters.ts'
import { cellText, layerOf, layerText, type Cell, type LayerNumbers } from '../src/lib/layer.ts'
import { randomNumbers } from './random.ts'

const engine = await createEngine(readFileSync(new URL('../src/engine/gradwalk.wasm', import.meta.url)))
const block = chapters.flatMap((chapter) => chapter.blocks).find((one) => typeof one === 'object' && one.figure === 'layer') as unknown as LayerNumbers
const random = randomNumbers(7)
const some = () => Math.round((random() * 8 - 4) * 2) / 2 || 1
const fresh = (): LayerNumbers => ({ x: [some(), some(), some(), some()], w: Array.from({ length: 4 }, () => [some(), some(), some(), some()]) })

describe.each([['the lesson’s', block], ...Array.from({ length: 20 }, (_, i) => [`random ${i}`, fresh()] as const)] as const)('%s layer', (_, numbers) => {
  const { x, w } = numbers
  const layer = layerOf(engine, numbers)
  const h = w.map((row) => row.reduce((sum, one, j) => sum + one * x[j]!, 0))

  test('is W x forward, and W transposed times h.grad backward', () => {
    expect(layer.x).toEqual(x)
    expect(layer.w).toEqual(w)
    expect(layer.h).toEqual(h)
    expect(layer.loss).toBe(h.reduce((sum, one) => sum + one * one, 0))
    expect(layer.squares).toEqual(h.map((one) => one * one))
    expect(layer.hGrad).toEqual(h.map((one) => 2 * one))
    for (const [i, row] of w.entries())
      for (const [j, weight] of row.entries()) {
        expect(layer.terms[i]![j]).toBe(weight * x[j]!)
        expect(layer.toX[i]![j]!.amount).toBeCloseTo(2 * h[i]! * weight, 9)
        expect(layer.toW[i]![j]!.after).toBeCloseTo(2 * h[i]! * x[j]!, 9)
      }
    for (const [j] of x.entries()) expect(layer.toX[layer.visits.at(-1)!]![j]!.after).toBeCloseTo(w.reduce((sum, row, i) => sum + row[j]! * 2 * h[i]!, 0), 9)
    expect([...layer.visits].sort()).toEqual([0, 1, 2, 3])
  })

  test('opens every cell to scalars with the same gradient', () => {
    const cells: Cell[] = [0, 1, 2, 3].flatMap((i): Cell[] => [{ of: 'x', j: i }, { of: 'h', i }, ...[0, 1, 2, 3].map((j): Cell => ({ of: 'w', i, j }))])
    const whole = engine.walk(layerText(numbers))
    for (const cell of cells) {
      const name = cell.of === 'x' ? `x${cell.j + 1}` : cell.of === 'h' ? `h${cell.i + 1}` : `w${cell.i + 1}${cell.j + 1}`
      const walk = engine.walk(cellText(engine, numbers, cell))
      const of = (one: typeof walk) => one.outcomes[one.nodes.findIndex((node) => node.name === name)]!
      expect(of(walk).grad, name).toBeCloseTo(of(whole).grad, 9)
      expect(of(walk).data, name).toBe(of(whole).data)
    }
  })
})
