// SPDX-License-Identifier: MIT
// The engine as the page has it: the lesson's own numbers, the same numbers as the command line gives, and input that
// means harm. Needs `npm run wasm`, and the command line in build/release for the comparison.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { createEngine, EngineError, type Engine } from '../src/engine/engine.ts'
import { walkRules, type Graph, type Overrides, type Walk } from '../src/engine/types.ts'
import { toListing, withListedLeaf } from '../src/lib/listing.ts'
import { randomExpression, randomNumbers } from './random.ts'

let engine: Engine
beforeAll(async () => {
  engine = await createEngine(readFileSync(new URL('../src/engine/gradwalk.wasm', import.meta.url)))
})

const diamond = 'a=2; b=a+1; c=3*a; d=b*c'
const deepDiamond = 'x=2; a=x*x; b=a+1; c=3*a; d=b*c'
const neuron = 'x1=2; x2=0; w1=-3; w2=1; b=6.8813735870195432; n=x1*w1+x2*w2+b; o=tanh(n)'

const indexOf = (graph: Graph, name: string) => graph.nodes.findIndex((node) => node.name === name)

function gradients(walk: Walk, names: string[]) {
  return names.map((name) => walk.outcomes[indexOf(walk, name)]!.grad)
}

function failure(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    expect(error).toBeInstanceOf(EngineError)
    return (error as Error).message
  }
  throw new Error('it did not fail')
}

describe('the presets of the lesson', () => {
  test.each([
    ['a=2; b=-3; c=10; e=a+b; f=e*c', { a: 10, b: 10, c: -1, e: 10, f: 1 }, -10],
    [neuron, { x1: -1.5, w1: 1, x2: 0.5, w2: 0, n: 0.5 }, Math.SQRT1_2],
    ['a=3; b=a*a', { a: 6 }, 9],
    ['a=3; b=a+a', { a: 2 }, 6],
    ['a=-2; b=3; d=a*b; e=a+b; f=d*e', { a: -3, b: -8 }, -6],
    ['a=2; b=3; c=a*b; d=c+a; e=d**2', { d: 16, c: 16, a: 64, b: 32 }, 64],
    [diamond, { a: 15 }, 18],
    [deepDiamond, { x: 108 }, 60],
  ])('%s', (text, grads, root) => {
    const walk = engine.walk(text)
    expect(walk.nodes[walk.root]!.data).toBeCloseTo(root, 12)
    for (const [name, grad] of Object.entries(grads))
      expect(walk.outcomes[indexOf(walk, name)]!.grad, name).toBeCloseTo(grad, 12)
    expect(walk.steps.at(-1)!.kind).toBe('end')
  })

  test('leaves can be given other values', () => {
    const overrides: Overrides = [[0, 5]]
    expect(gradients(engine.walk('a=3; b=a*a', { overrides }), ['a'])).toEqual([10])
    expect(engine.explain('a=3; b=a*a', overrides, 0).grad).toBe(10)
    expect(engine.sort('a=3; b=a*a', overrides).nodes[1]!.data).toBe(25)
    expect(engine.code('a=3; b=a*a', overrides).cpp.lines.map(({ text }) => text)).toContain('  Value a = Value(5.0);')
  })
})

describe('orders and broken rules', () => {
  test('8 of the 24 orders of the diamond are right', () => {
    const { orders, results } = engine.orders(diamond)
    expect(orders).toBe(24)
    expect(results.map(({ grads, orders, right }) => [grads[0], orders, right])).toEqual([
      [15, 8, true],
      [0, 8, false],
      [9, 4, false],
      [6, 4, false],
    ])
  })

  test('10 of the 120 orders of the deep diamond are right', () => {
    const { orders, results } = engine.orders(deepDiamond)
    expect([orders, results[0]!.orders, results[0]!.grads]).toEqual([120, 10, [108]])
  })

  test('an order of one’s own says what was lost', () => {
    const order = ['b', 'd', 'c', 'a'].map((name) => indexOf(engine.walk(diamond), name))
    const walk = engine.walk(diamond, { order })
    expect(walk.order).toEqual(order)
    expect(walk.late.map(({ reason }) => reason)).toEqual(['b was visited before the deposit from d arrived: 6 lost'])
    expect(gradients(walk, ['a'])).toEqual([9])
  })

  test.each([
    ['recursion', deepDiamond, 'x', 156, 9],
    ['no-visited', deepDiamond, 'x', 168, undefined],
    ['overwrite', 'a=3; b=a*a', 'a', 3, undefined],
    ['overwrite', 'a=3; b=a+a', 'a', 1, undefined],
    ['twice', 'a=2; b=3; f=(a*b+a)**2', 'a', 240, undefined],
    ['twice', 'a=2; b=3; f=(a*b+a)**2', 'b', 128, undefined],
  ] as const)('%s on %s', (rule, text, name, grad, visits) => {
    const walk = engine.walk(text, { rule })
    expect(gradients(walk, [name])).toEqual([grad])
    if (visits !== undefined) expect(walk.visits).toBe(visits)
    expect(walk.parting).not.toBeNull()
  })

  test('every rule has a walk, and a graph with more paths than time says how many', () => {
    for (const rule of walkRules) expect(engine.walk(deepDiamond, { rule }).rule).toBe(rule)
    const text = 'a=1;' + Array.from({ length: 40 }, (_, i) => `b${i}=${i ? `b${i - 1}` : 'a'}+${i ? `b${i - 1}` : 'a'}`).join(';')
    const walk = engine.walk(text, { rule: 'recursion', mostVisits: 100 })
    expect([walk.complete, walk.visits, walk.visits_needed]).toEqual([false, 100, '2199023255551'])
  })
})

describe('the other views', () => {
  test('parse gives the graph and its names', () => {
    const parsed = engine.parse('a=2; unused=5; b=a*3')
    if (!parsed.ok) throw new Error(parsed.message)
    expect(parsed.names).toEqual([['a', 0], ['b', parsed.root]])
    expect(parsed.nodes.map(({ op }) => op)).toEqual(['leaf', 'constant', 'mul'])
  })

  test('parse says where it stumbled, and throws nothing', () => {
    expect(engine.parse('a=2;\nb=a+*3')).toMatchObject({ ok: false, line: 2, column: 5 })
    expect(engine.parse('')).toMatchObject({ ok: false })
  })

  test('numbers JSON cannot say arrive as numbers, names like them as names', () => {
    const walk = engine.walk('nan=0; inf=1/nan; r=inf-inf')
    expect(walk.nodes.map(({ name }) => name)).toContain('nan')
    expect(walk.nodes.map(({ data }) => data)).toEqual([1, 0, Infinity, NaN])
    const parsed = engine.parse('nan=0; inf=1/nan')
    expect(parsed.ok && parsed.names.map(([name]) => name)).toEqual(['nan', 'inf'])
  })

  test('a nudge moves every node behind the leaf, and no other', () => {
    const { leaf, h, nodes } = engine.nudge('a=2; b=-3; c=10; e=a+b; f=e*c', [], 0, 0.5)
    expect({ leaf, h }).toEqual({ leaf: 0, h: 0.5 })
    const { nodes: names } = engine.walk('a=2; b=-3; c=10; e=a+b; f=e*c')
    expect(Object.fromEntries(nodes.map((node, i) => [names[i]!.name, node]))).toEqual({
      a: { before: 2, after: 2.5, moved: 0.5, rate: 1 },
      b: { before: -3, after: -3, moved: 0, rate: 0 },
      e: { before: -1, after: -0.5, moved: 0.5, rate: 1 },
      c: { before: 10, after: 10, moved: 0, rate: 0 },
      f: { before: -10, after: -5, moved: 5, rate: 10 },
    })
    expect(() => engine.nudge('a=2; f=a*a', [], 1, 0.5)).toThrow('a leaf')
  })

  test('sort, explain and wiggle', () => {
    expect(engine.sort(diamond).steps.map(({ action }) => action)).toContain('skip')
    const explained = engine.explain(diamond, [], indexOf(engine.walk(diamond), 'a'), 1)
    expect([explained.grad, explained.deposits.map(({ amount }) => amount), explained.path_count]).toEqual([15, [9, 6], '2'])
    expect(explained.paths).toHaveLength(1)
    const { gradient, root, points } = engine.wiggle('a=3; b=a*a', [], 0, [1, 0.5])
    expect([gradient, root]).toEqual([6, 9])
    expect(points).toEqual([
      { h: 1, root: 16, quotient: 7, difference: 1 },
      { h: 0.5, root: 12.25, quotient: 6.5, difference: 0.5 },
    ])
  })

  test('ops are the table', () => {
    const ops = engine.ops()
    expect(ops.find(({ name }) => name === 'tanh')).toEqual({
      ...{ name: 'tanh', symbol: 'tanh', operands: 1, domain: 'true', value: 'tanh(x)', dx: '1 - r * r', dy: '' },
    })
    expect(ops.length).toBeGreaterThan(25)
  })

  test('code marks its lines', () => {
    const { cpp, python, pytorch } = engine.code('a=2; b=a*3; c=max(b,a)')
    for (const { lines, backward } of [cpp, python, pytorch]) {
      expect(lines[backward]!.text).toContain('c.backward()')
      expect(lines.filter(({ node }) => node !== null)).toHaveLength(3)
    }
    expect(python.lines.map(({ text }) => text)).toContain('b = a * 3.0')
    expect(pytorch.lines.map(({ text }) => text)).toContain('c = torch.maximum(b, a)')
  })
})

describe('quizzes', () => {
  test('the fixed ones know their mistakes', () => {
    expect(engine.check('a=2; b=-3; c=10; e=a+b; f=e*c', 'a').answer).toBe(10)
    expect(engine.check(neuron, 'w1').answer).toBeCloseTo(1, 12)
    const { answer, mistakes } = engine.check(diamond, 'a')
    expect(answer).toBe(15)
    expect(Object.fromEntries(mistakes.map(({ rule, value }) => [rule, value]))).toEqual({ overwrite: 6, forward: 0 })
    expect(engine.check(deepDiamond, 'x').mistakes).toContainEqual({ rule: 'recursion', value: 156 })
    expect(failure(() => engine.check(diamond, 'z'))).toBe(
      "check: needs a node that is no constant, got 'z'; name one of the graph",
    )
  })

  test('fresh ones follow from their seed, are short, and agree with the walk', () => {
    expect(engine.quiz(7)).toEqual(engine.quiz(7))
    const texts = new Set<string>()
    for (let seed = 0; seed < 300; ++seed) {
      const quiz = engine.quiz(seed)
      texts.add(quiz.expression)
      const walk = engine.walk(quiz.expression)
      expect(walk.nodes[quiz.node]!.name).toBe(quiz.ask)
      expect(walk.outcomes[quiz.node]!.grad).toBe(quiz.answer)
      expect(walk.nodes.filter(({ op }) => op !== 'constant').length).toBeLessThanOrEqual(5)
      expect(Number.isInteger(quiz.answer)).toBe(true)
      expect(quiz.mistakes.length).toBeGreaterThan(0)
      for (const { rule, value } of quiz.mistakes) {
        expect(value).not.toBe(quiz.answer)
        expect(engine.walk(quiz.expression, { rule }).outcomes[quiz.node]!.grad).toBe(value)
      }
    }
    expect(texts.size).toBeGreaterThan(250)
  })
})

describe('the same numbers as outside', () => {
  test('numbers are read to the last bit', () => {
    const random = randomNumbers(1)
    const written = ['0', '0.1', '1.', '.5', '5e-324', '1.7976931348623157e308', '9007199254740993', '2.2250738585072011e-308']
    for (let i = 0; i < 2000; ++i) written.push(`${random()}e${Math.floor(random() * 600 - 300)}`)
    for (const text of written) {
      const parsed = engine.parse(`a=${text}`)
      expect(parsed.ok && parsed.nodes[0]!.data, text).toBe(Number(text))
    }
    expect(engine.parse('a=1e400').ok).toBe(false)
    expect(engine.parse('a=1e-400').ok).toBe(false)
  })

  const native = new URL('../../build/release/gradwalk', import.meta.url).pathname
  test('200 random expressions, by every rule in turn', () => {
    const random = randomNumbers(42)
    let numbers = 0
    let different = 0
    let largest = 0
    let exact = false // + - * / max and relu have one right answer; the C libraries differ in the last bit of the others
    const compare = (ours: unknown, theirs: unknown, path: string): void => {
      if (typeof ours === 'number') {
        const other = typeof theirs === 'string' ? Number(theirs.replace('inf', 'Infinity')) : (theirs as number)
        ++numbers
        if (Object.is(ours, other)) return
        ++different
        expect(exact, `${path}: ${ours} and ${other}`).toBe(false)
        expect(ours.toPrecision(6), path).toBe(other.toPrecision(6)) // what the page prints
        const off = Math.abs(ours - other) / Math.max(Math.abs(ours), Math.abs(other), 1e-3)
        largest = Math.max(largest, off)
        expect(off, `${path}: ${ours} and ${other}`).toBeLessThan(1e-12)
        return
      }
      if (typeof ours !== 'object' || ours === null) {
        if (!path.endsWith('.reason')) expect(ours, path).toBe(theirs)
        return
      }
      expect(Object.keys(ours), path).toEqual(Object.keys(theirs as object))
      for (const [key, one] of Object.entries(ours)) compare(one, (theirs as Record<string, unknown>)[key], `${path}.${key}`)
    }
    for (let i = 0; i < 200; ++i) {
      const text = randomExpression(random, 1 + Math.floor(random() * 12))
      const rule = walkRules[i % 2 ? 0 : (i / 2) % walkRules.length]!
      exact = !/tanh|sin|cos|exp|sigmoid|\*\*/.test(text)
      const args = ['walk', '--json', ...(rule === 'right' ? [] : ['--broken', rule]), text]
      const theirs: unknown = JSON.parse(execFileSync(native, args, { encoding: 'utf8', maxBuffer: 1 << 28 }))
      compare(engine.walk(text, { rule }), theirs, text)
    }
    console.log(`${numbers} numbers, ${different} of them differ in their last bits, by ${largest.toExponential(1)} at most`)
    expect(numbers).toBeGreaterThan(10_000)
  }, 120_000)
})

describe('input that means harm', () => {
  const works = () => expect(gradients(engine.walk(diamond), ['a'])).toEqual([15])

  test('a megabyte of text', () => {
    const text = 'a+'.repeat(500_000) + 'a'
    expect(engine.parse(text)).toEqual({
      ok: false,
      message: 'expression: needs at most 20000 bytes, got 1000001; try a shorter one',
      line: 0,
      column: 0,
    })
    expect(failure(() => engine.walk(text))).toContain('at most 20000 bytes')
    works()
  })

  test('too many nodes', () => {
    const text = 'a=1;' + 'a+'.repeat(2500) + 'a'
    expect(engine.parse(text)).toMatchObject({ ok: false, message: 'expression: needs at most 2000 nodes, got 2501; try a smaller one' })
    expect(failure(() => engine.orders(text))).toContain('at most 2000 nodes')
    works()
  })

  test('deep nesting', () => {
    expect(engine.parse('('.repeat(9000) + '1' + ')'.repeat(9000)).ok).toBeDefined()
    expect(engine.parse('('.repeat(19_000)).ok).toBe(false)
    expect(engine.parse('a=1; ' + '-'.repeat(1900) + 'a').ok).toBe(true)
    works()
  })

  test('every C++ error is an EngineError, and the next call works', () => {
    expect(failure(() => engine.walk(diamond, { order: [0, 0] }))).toContain('each node once')
    works()
    expect(failure(() => engine.walk(diamond, { order: [0.5, NaN, -1, 1e300] }))).toContain('a whole number')
    works()
    expect(failure(() => engine.walk(diamond, { rule: 'magic' as 'right' }))).toContain("'magic'")
    works()
    expect(failure(() => engine.orders('a=1;b=a+a;c=b+b;d=c+c;e=d+d;f=e+e;g=f+f;h=g+g;i=h+h'))).toContain('8')
    works()
    expect(failure(() => engine.walk('a=1', { overrides: [[7, 1]] }))).toContain('override')
    expect(failure(() => engine.explain(diamond, [], 99))).toContain('explain')
    expect(failure(() => engine.wiggle(diamond, [], 1, [0.1]))).toContain('a leaf')
    expect(failure(() => engine.quiz(-1))).toContain('quiz')
    works()
  })

  test('a hundred errors leak nothing', () => {
    for (let i = 0; i < 100; ++i) failure(() => engine.walk(diamond, { order: [0] }))
    works()
  })

  test('random bytes', () => {
    const random = randomNumbers(3)
    for (let i = 0; i < 2000; ++i) {
      const text = Array.from({ length: random() * 40 }, () => 'ab12.+-*/^()=;, \n²·tanhexp\u0000é😀'.at(random() * 34)).join('')
      const parsed = engine.parse(text)
      if (parsed.ok) engine.walk(text)
    }
    works()
  })
})

describe('graphs made elsewhere, listed node by node', () => {
  test('random ones are walked, sorted, explained and written as code like the texts they come from', () => {
    const random = randomNumbers(9)
    for (let i = 0; i < 40; i++) {
      const text = randomExpression(random, 1 + (i % 6))
      const listing = toListing(engine.walk(text))
      for (const rule of walkRules) expect(engine.walk(listing, { rule })).toEqual(engine.walk(text, { rule }))
      expect(engine.sort(listing)).toEqual(engine.sort(text))
      expect(engine.explain(listing, [], 0)).toEqual(engine.explain(text, [], 0))
      expect(engine.code(listing)).toEqual(engine.code(text))
      expect(engine.parse(listing)).toEqual({ ...engine.parse(text), names: [] })
    }
  })

  test('with another value of a leaf everything is computed anew', () => {
    const listing = withListedLeaf(toListing(engine.walk(neuron)), 'x1', -1)!
    expect(engine.walk(listing)).toEqual(engine.walk(neuron.replace('x1=2', 'x1=-1')))
    expect(withListedLeaf(listing, 'o', 1)).toBeNull()
  })

  test.each([
    ['# gradwalk-graph', 'graph: needs at least one node, got none; write it with to_json(snapshot(root))'],
    ['# gradwalk-graph\nleaf\t\t2\t\t\ta\ta\nmul\t*\t4\t0 1\t2 2\t\ta*a', 'node 1'],
    ['# gradwalk-graph\nleaf\t\t2\t\t\ta\ta\nmul\t*\t4\t0\t2\t\ta*a', 'node 1'],
    ['# gradwalk-graph\nleaf\t\ttwo\t\t\ta\ta', 'node 0'],
    ['# gradwalk-graph\nleaf\t\t2\t-1\t1\ta\ta', 'node 0'],
    ['# gradwalk-graph\nplus\t\t2\t\t\ta\ta', 'node 0'],
    [`# gradwalk-graph\n${'leaf\t\t2\t\t\ta\ta\n'.repeat(2001)}`, 'at most 2000 nodes'],
    [`# gradwalk-graph\n${'x'.repeat(1_000_001)}`, 'at most 1000000 bytes'],
  ])('%#: a listing that is none is refused', (text, message) => {
    expect(failure(() => engine.walk(text))).toContain(message)
    expect(engine.parse(text)).toMatchObject({ ok: false, line: 0 })
    expect(engine.walk('a=3; b=a*a').outcomes[0]!.grad).toBe(6) // and the next call is answered
  })
})
