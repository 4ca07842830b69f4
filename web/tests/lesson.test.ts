// SPDX-License-Identifier: MIT
// The lesson's data and the small tools of the page, against the engine: presets show the numbers they are there for,
// walks replay to their end, formulas and links survive the way there and back.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { createEngine, type Engine } from '../src/engine/engine.ts'
import { walkRules } from '../src/engine/types.ts'
import { preset, presets } from '../src/lesson/presets.ts'
import { toTex } from '../src/lib/formula.ts'
import { embedHash, formatLink, readLink } from '../src/lib/link.ts'
import { close, plain, readNumber, signed } from '../src/lib/number.ts'
import { replay, stepsOf, together } from '../src/lib/replay.ts'
import { format, parse } from '../src/lib/training.ts'
import { actionAt, tell } from '../src/lib/words.ts'
import { withLeaf } from '../src/lib/walker.svelte.ts'

let engine: Engine
beforeAll(async () => {
  engine = await createEngine(readFileSync(new URL('../src/engine/gradwalk.wasm', import.meta.url)))
})

const shows: Record<string, { data?: Record<string, number>; grad: Record<string, number> }> = {
  'sum-times': { data: { e: -1, f: -10 }, grad: { a: 10, b: 10, c: -1, e: 10 } },
  neuron: { data: { n: 0.8814, o: 0.7071 }, grad: { x1: -1.5, w1: 1, x2: 0.5, w2: 0, n: 0.5 } },
  square: { data: { f: 9 }, grad: { a: 6 } },
  double: { data: { f: 6 }, grad: { a: 2 } },
  'product-of-both': { data: { f: -6 }, grad: { a: -3, b: -8 } },
  shared: { data: { e: 64 }, grad: { d: 16, c: 16, a: 64, b: 32 } },
  diamond: { data: { d: 18 }, grad: { a: 15 } },
  'deep-diamond': { data: { d: 60 }, grad: { x: 108 } },
}

describe('presets', () => {
  test('all of them are checked', () => expect(presets.map((one) => one.id).sort()).toEqual(Object.keys(shows).sort()))

  test.each(Object.keys(shows))('%s shows its numbers', (id) => {
    const walk = engine.walk(preset(id).text)
    const node = (name: string) => walk.nodes.findIndex((one) => one.name === name)
    for (const [name, value] of Object.entries(shows[id]!.data ?? {}))
      expect(walk.outcomes[node(name)]!.data).toBeCloseTo(value, 4)
    for (const [name, value] of Object.entries(shows[id]!.grad))
      expect(walk.outcomes[node(name)]!.grad).toBeCloseTo(value, 6)
  })

  test.each(walkRules)('by the rule %s a replay ends as the walk says', (rule) => {
    for (const { text } of presets) {
      const walk = engine.walk(text, { rule })
      const steps = stepsOf(walk)
      const frame = replay(walk, steps, steps.length)
      for (const [i, node] of walk.nodes.entries()) {
        expect(frame.data[i]).toBe(walk.outcomes[i]!.data)
        if (node.op !== 'constant') expect(frame.grad[i]).toBe(walk.outcomes[i]!.grad)
      }
    }
  })

  test('before the first step only leaves have data, and before the seed nobody has a gradient', () => {
    const walk = engine.walk(preset('sum-times').text)
    const steps = stepsOf(walk)
    expect(replay(walk, steps, 0).data).toEqual(walk.nodes.map((one) => (one.op === 'leaf' ? one.data : null)))
    expect(replay(walk, steps, 2).grad.every((one) => one === null)).toBe(true)
    expect(replay(walk, steps, 3).grad.filter((one) => one === 1)).toHaveLength(1)
  })
})

test('leaves that are visited one after the other are one step together', () => {
  const walk = engine.walk(preset('neuron').text)
  const steps = stepsOf(walk)
  const presses: string[] = []
  for (let at = 0; at < steps.length; at = together(walk, steps, at)[1]) presses.push(actionAt(walk, steps, at))
  expect(presses.slice(-7)).toEqual(['visit n', 'visit b', 'visit x1·w1 + x2·w2', 'visit x2·w2', 'visit w2, x2', 'visit x1·w1', 'visit w1, x1'])
  expect(together(walk, steps, steps.length - 1)).toEqual([steps.length - 2, steps.length])
  const told = tell(walk, replay(walk, steps, steps.length), 0)
  expect(`${told.title} ${told.remark}`).toBe('Visit w1, x1. They are leaves, so we are done here: ∂o/∂w1 = 1, ∂o/∂x1 = −1.5.')
})

test('every formula of the op table can be set', () => {
  for (const op of engine.ops())
    for (const formula of [op.value, op.dx, op.dy].filter(Boolean)) expect(toTex(formula), formula).not.toBeNull()
  expect(toTex('1 - r * r')).toBe('1 - {r}^2')
  expect(toTex('-r / y')).toBe('\\frac{-r}{y}')
  expect(toTex('(a + b) * c')).toBe('\\left(a + b\\right) \\cdot c')
  expect(toTex('a +')).toBeNull()
})

test('numbers are written short, with a sign that is more than a colour', () => {
  expect([0.70710678, -3, 1234567, 0.00001234, 0, NaN, -Infinity].map(plain)).toEqual([
    '0.7071',
    '−3',
    '1.235e6',
    '1.234e−5',
    '0',
    'NaN',
    '−∞',
  ])
  expect([10, -1.5, 0].map(signed)).toEqual(['+10', '−1.5', '0'])
})

test('answers may be decimals or fractions', () => {
  expect(['3/2', ' −1.5 ', '1e-3', '0,5', '-1/4', '+2', '.5'].map(readNumber)).toEqual([
    1.5, -1.5, 0.001, 0.5, -0.25, 2, 0.5,
  ])
  expect(['', '1/0', 'a', '1/2/3', '1.2.3', '0x10'].map(readNumber)).toEqual([null, null, null, null, null, null])
  expect([close(0.3333, 1 / 3), close(0.33, 1 / 3)]).toEqual([true, false])
})

test('a link opens what it was made from', () => {
  const figure = {
    figure: 'order-try',
    text: 'a=2; b=a+1 # 100%?\nc=a&b',
    rule: 'twice' as const,
    order: [5, 4, 2, 0],
    ask: 'w1',
    view: 'matrix',
    step: 7,
  }
  expect(readLink(formatLink('order', figure), ['fill', 'order'])).toEqual({
    link: { chapter: 'order', figure },
    problems: [],
  })
})

test('a broken link reports what is wrong and leaves the rest', () => {
  const { link, problems } = readLink('#order/order-try?e=%E0%A4%A&r=zzz&s=2', ['fill', 'order'])
  expect(link).toEqual({ chapter: 'order', figure: { figure: 'order-try', step: 2 } })
  expect(problems).toEqual(['a part of it is garbled', '“r=zzz” means nothing here'])
  expect(readLink('#nowhere', ['fill']).link.chapter).toBe('fill')
})

test('a leaf gets another value in the text itself', () => {
  expect(withLeaf('a=2; b=-3; f=a*b', 'b', 0.5)).toBe('a=2; b=0.5; f=a*b')
  expect(withLeaf('ab = 1e-3; b = 7', 'b', -1)).toBe('ab = 1e-3; b = -1')
  expect(withLeaf('a=2+1; b=a', 'a', 5)).toBeNull()
})

test('a training’s settings and own points survive a link, and what means nothing is refused', () => {
  const settings = { kind: 'moons', layers: '8, 8', activation: 'relu', seed: 7, rate: 3 } as const
  expect(parse(format(settings))).toEqual(settings)
  const points = { x: Float64Array.of(0.25, -1.5), y: Float64Array.of(1, 0.75), label: Uint8Array.of(0, 1) }
  expect(parse(format({ ...settings, points }))).toEqual({ ...settings, points })
  const link = formatLink('learn', { figure: 'learn-network', training: format({ ...settings, points }) })
  expect(readLink(link, ['learn'])).toEqual({ link: { chapter: 'learn', figure: { figure: 'learn-network', training: format({ ...settings, points }) } }, problems: [] })
  for (const text of ['', 'moons', 'moons~9~tanh~1~0.3', 'moons~4~tanh~x~0.3', 'moons~4~tanh~1~7', 'sun~4~tanh~1~0.3', 'moons~4~tanh~1~0.3~1:2', 'moons~4~tanh~1~0.3~1:2:5']) expect(parse(text)).toBeNull()
})

test('a figure alone has a link of its own, with the state of the page’s', () => {
  expect(embedHash('#order/order-try?o=1,0&s=3', 'order-try')).toBe('#embed/order/order-try?o=1,0&s=3')
  expect(embedHash('#order/order-broken?s=3', 'order-try')).toBe('#embed/order/order-try')
  expect(readLink('#embed/order/order-try?s=3', ['order']).link).toEqual({ chapter: 'order', figure: { figure: 'order-try', step: 3 }, isEmbedded: true })
})
