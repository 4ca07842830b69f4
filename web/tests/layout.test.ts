// SPDX-License-Identifier: MIT
// The layout: bounded in time, the same every time, cards apart, operands before their users, twins in parallel.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { createEngine, type Engine } from '../src/engine/engine.ts'
import { presets } from '../src/lesson/presets.ts'
import { place, type Direction, type Placed } from '../src/lib/layout.ts'
import { pointAt } from '../src/lib/path.ts'
import { draw } from '../src/parts/picture.ts'
import { cardSize, extentOf, wireSize } from '../src/parts/sizes.ts'
import { randomExpression, randomNumbers } from './random.ts'

let engine: Engine
beforeAll(async () => {
  engine = await createEngine(readFileSync(new URL('../src/engine/gradwalk.wasm', import.meta.url)))
})

function laidOut(text: string, direction: Direction): Placed {
  const walk = engine.walk(text)
  const extent = extentOf(walk)
  const { cards, wires } = draw(walk, null)
  const boxes = cards.map((card) => ({ id: card.id, ...cardSize(card, extent, direction, direction === 'right' ? 'tall' : 'flat') }))
  const links = wires.map((wire) => ({ id: wire.id, from: wire.from, to: wire.to, ...wireSize(wire, extent, direction) }))
  return place(boxes, links, direction)
}
const random = randomNumbers(3)
const texts = [...presets.map((one) => one.text), ...Array.from({ length: 60 }, (_, i) => randomExpression(random, 1 + (i % 8)))]

describe.each(['right', 'down'] as const)('%s', (direction) => {
  test('cards do not overlap, lie inside, and come after their operands', () => {
    for (const text of texts) {
      const { boxes, width, height } = laidOut(text, direction)
      const all = [...boxes.values()]
      for (const [i, a] of all.entries()) {
        expect(a.x >= 0 && a.y >= 0 && a.x + a.width <= width + 0.5 && a.y + a.height <= height + 0.5).toBe(true)
        for (const b of all.slice(i + 1)) expect(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y).toBe(true)
      }
      const nodes = engine.walk(text).nodes
      for (const [from, node] of nodes.entries())
        for (const operand of node.operands) {
          const [user, used] = [boxes.get(String(from)), boxes.get(String(operand))]
          if (user && used) expect(direction === 'right' ? used.x + used.width < user.x : used.y + used.height < user.y).toBe(true)
        }
    }
  })

  test('the same graph is laid out the same', () => {
    for (const text of texts.slice(0, 12)) expect(laidOut(text, direction)).toEqual(laidOut(text, direction))
  })

  test('two edges between the same two cards run side by side', () => {
    const { links } = laidOut('a=3; f=a*a', direction)
    const [one, two] = [...links.values()]
    const across = (part: number) => {
      const [a, b] = [pointAt(one!.path, part), pointAt(two!.path, part)]
      return direction === 'right' ? b.y - a.y : b.x - a.x
    }
    for (const part of [0, 0.3, 0.6, 1]) expect(Math.abs(across(part) - across(0))).toBeLessThan(1)
    expect(Math.abs(across(0))).toBeGreaterThanOrEqual(50)
  })

  test('the deep diamond has no crossing', () => {
    const { links } = laidOut(presets.find((one) => one.id === 'deep-diamond')!.text, direction)
    const paths = [...links.values()].map(({ path }) => Array.from({ length: 60 }, (_, i) => pointAt(path, i / 59)))
    for (const [i, a] of paths.entries())
      for (const b of paths.slice(i + 1)) {
        const near = a.some((p) => b.some((q) => Math.hypot(p.x - q.x, p.y - q.y) < 3))
        expect(near).toBe(false)
      }
  })
})

test('a hundred uses of one leaf, and a chain of a hundred, are laid out at once', () => {
  for (const text of [`x=1; y=${'x+'.repeat(110)}x`, `x=1; y=${'tanh('.repeat(110)}x${')'.repeat(110)}`, `a=1;b=2;${Array.from({ length: 110 }, (_, i) => `n${i}=a*b+${i ? `n${i - 1}` : 'a'}`).slice(0, 55).join(';')}`]) {
    for (const direction of ['right', 'down'] as const) {
      const before = performance.now()
      laidOut(text, direction)
      expect(performance.now() - before).toBeLessThan(3000) // 64 s it once took; the page's own bound is in limits.test.ts
    }
  }
})
