// SPDX-License-Identifier: MIT
// The network of the lesson: it learns, quickly enough to watch, and can be looked into and changed as it does.
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { insideOf } from '../src/lib/inside.ts'
import { pictured } from '../src/lib/pointnames.ts'
import { createEngine, EngineError, type Engine } from '../src/engine/engine.ts'
import type { TrainingOptions } from '../src/engine/types.ts'

let engine: Engine
beforeAll(async () => {
  engine = await createEngine(readFileSync(new URL('../src/engine/gradwalk.wasm', import.meta.url)))
})

const moons: TrainingOptions = {
  ...{ kind: 'moons', samples: 100, noise: 0.1, seed: 1337, hidden: [16, 16], rate: 0.5, activation: 'relu' },
}

test('moons are learned, at 200 steps or more in a second of its own time', () => {
  const training = engine.createTraining(moons)
  const before = training.step(0)
  expect(before).toEqual({ step: 0, loss: NaN, accuracy: NaN })
  // Other programs on the machine are left out.
  const begin = process.cpuUsage()
  const after = training.step(300)
  const { user, system } = process.cpuUsage(begin)
  const speed = 300 / ((user + system) / 1e6)
  console.log(`moons: ${speed.toFixed(0)} steps a second, loss ${after.loss.toFixed(4)}, accuracy ${after.accuracy}`)
  expect(after.step).toBe(300)
  expect(after.accuracy).toBeGreaterThanOrEqual(0.99)
  expect(speed).toBeGreaterThanOrEqual(200)
  const { step, loss, accuracy } = training.history()
  expect([step.length, loss.length, accuracy.length]).toEqual([300, 300, 300])
  expect(loss[0]).toBeGreaterThan(loss[299]!)
})

test('the spiral has three classes and is learned', () => {
  const training = engine.createTraining({ ...moons, kind: 'spiral', samples: 150, noise: 0.02, rate: 0.5, activation: 'tanh' })
  expect(new Set(training.points().label)).toEqual(new Set([0, 1, 2]))
  const after = training.step(2000)
  console.log(`spiral: loss ${after.loss.toFixed(4)}, accuracy ${after.accuracy}`)
  expect(after.accuracy).toBeGreaterThanOrEqual(0.95)
  const { label, confidence } = training.regions({ x0: -1, x1: 1, y0: -1, y1: 1, width: 20, height: 20 })
  expect(new Set(label)).toEqual(new Set([0, 1, 2]))
  expect(Math.min(...confidence)).toBeGreaterThan(1 / 3)
  expect(Math.max(...confidence)).toBeLessThanOrEqual(1)
})

test('a single neuron parts two clouds', () => {
  const training = engine.createTraining({ ...moons, kind: 'neuron', samples: 40, noise: 0.3, hidden: [], rate: 0.1 })
  expect(training.step(100).accuracy).toBe(1)
  const view = { x0: -2, x1: 2, y0: -2, y1: 2, width: 4, height: 4 }
  const { label } = training.regions(view)
  expect([label[3], label[12]]).toEqual([1, 0]) // top right, bottom left
})

test('the same seed gives the same run, another one another', () => {
  const losses = [1, 1, 2].map((seed) => engine.createTraining({ ...moons, seed }).step(5).loss)
  expect(losses[0]).toBe(losses[1])
  expect(losses[0]).not.toBe(losses[2])
})

test('points and rate can be changed, the network stays', () => {
  const training = engine.createTraining(moons)
  training.step(50)
  const { x, y, label } = training.points()
  expect([x.length, y.length, label.length]).toEqual([100, 100, 100])
  training.setPoints({ x: x.slice(0, 10), y: y.slice(0, 10), label: label.slice(0, 10) })
  expect(training.points().x).toEqual(x.slice(0, 10))
  training.setRate(0.01)
  expect(training.step(1)).toMatchObject({ step: 51 })
  expect(() => training.setPoints({ x: new Float64Array(), y: new Float64Array(), label: new Uint8Array() })).toThrow(
    'points: needs 1 to 5000 of them, got 0; keep one',
  )
  expect(training.step(1)).toMatchObject({ step: 52 })
})

test('a point’s own graph, every node in its group', () => {
  const training = engine.createTraining({ ...moons, hidden: [4, 3] })
  training.step(10)
  const report = training.step(0)
  const walk = training.walkPoint(5)
  expect(walk.groups).toHaveLength(walk.nodes.length)
  expect(walk.nodes.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['x1', 'x2', 'layers.0.neurons.3.w.1', 'layers.2.neurons.0', 'loss']),
  )
  walk.nodes.forEach(({ name }, i) => {
    const place = /^layers\.(\d+)\.neurons\.(\d+)/.exec(name)
    if (place) expect(walk.groups[i]).toEqual({ part: 'neuron', layer: Number(place[1]), neuron: Number(place[2]) })
    if (name === 'x1' || name === 'x2') expect(walk.groups[i]!.part).toBe('input')
  })
  expect(walk.groups[walk.root]!.part).toBe('loss')
  expect(new Set(walk.groups.map(({ part, layer, neuron }) => `${part}${layer}.${neuron}`)).size).toBe(2 + 4 + 3 + 1 + 1)
  expect(training.step(0)).toEqual(report)
})

test('looking at a point changes nothing of the run', () => {
  const plain = engine.createTraining(moons)
  const watched = engine.createTraining(moons)
  plain.step(20)
  for (let i = 0; i < 20; ++i) {
    watched.step(1)
    watched.walkPoint(i)
    watched.regions({ x0: -1, x1: 1, y0: -1, y1: 1, width: 5, height: 5 })
  }
  expect(watched.step(1)).toEqual(plain.step(1))
})

test('a rate that makes the loss explode is an error; the run starts again with the same points', () => {
  const training = engine.createTraining(moons)
  const points = { x: Float64Array.of(1, 2, 3), y: Float64Array.of(1, 2, 3), label: Uint8Array.of(0, 1, 0) }
  training.setPoints(points)
  training.setRate(1e200)
  expect(() => training.step(100)).toThrow(EngineError)
  training.setRate(0.1)
  expect(training.points()).toEqual(points)
  expect(training.step(1).step).toBe(1)
})

test('numbers out of bounds are refused', () => {
  for (const bad of [{ samples: 1e6 }, { samples: 0 }, { hidden: [65] }, { hidden: [0] }, { hidden: [2, 2, 2, 2] }, { rate: NaN }, { noise: -1 }, { seed: 0.5 }, { kind: 'sun' as 'moons' }, { activation: 'x' as 'relu' }])
    expect(() => engine.createTraining({ ...moons, ...bad }), JSON.stringify(bad)).toThrow(EngineError)
})

test('a weight’s gradient is the slope of the loss along it, and probing changes nothing', () => {
  const training = engine.createTraining({ ...moons, hidden: [4, 4], activation: 'tanh' })
  training.step(50)
  const view = { x0: -2, x1: 2, y0: -2, y1: 2, width: 4, height: 4 }
  const place = [1, 2, 3] as const
  const before = training.network(view, 2)
  expect(before.sizes).toEqual([2, 4, 4, 1])
  expect(before.weights).toHaveLength(37)
  expect(before.gradients).toHaveLength(37)
  expect(before.seen).toHaveLength(9 * 4)
  const weight = before.weights[4 * 3 + 2 * 5 + 3]!
  const h = 1e-5
  const [low, high] = training.probe(place, [weight - h, weight + h])
  expect(training.network(view, 2).weights).toEqual(before.weights)
  const { loss, gradient } = training.setWeight(place, weight)
  expect((high! - low!) / (2 * h)).toBeCloseTo(gradient, 6)
  expect(loss).toBeGreaterThan(0)
  expect(() => training.probe([9, 0, 0], [1])).toThrow(/layer/)
})

test('what a neuron sees is what it gives at the middle of each cell', () => {
  const training = engine.createTraining({ ...moons, hidden: [4, 4], activation: 'tanh' })
  training.step(20)
  const view = { x0: -1, x1: 1, y0: -1, y1: 1, width: 2, height: 2 }
  const { seen } = training.network(view, 2)
  const points = training.points()
  training.setPoints({ x: Float64Array.of(-0.5), y: Float64Array.of(0.5), label: Uint8Array.of(1) })
  const walk = training.walkPoint(0)
  const output = (layer: number, neuron: number) => walk.nodes.find((node) => node.label === `layers.${layer}.neurons.${neuron}`)!.data
  // The first cell is the one at the top left; neurons follow each other layer by layer.
  expect(seen[0]).toBeCloseTo(output(0, 0), 12)
  expect(seen[5 * 4]).toBeCloseTo(output(1, 1), 12)
  expect(training.point(0)).toEqual({ index: 0, loss: walk.outcomes[walk.root]!.data, scores: [output(2, 0)] })
  expect(points.x.length).toBeGreaterThan(1)
})

test('the worst point is the one whose loss is largest, and is never quite zero', () => {
  const training = engine.createTraining({ ...moons, hidden: [4, 4], activation: 'tanh' })
  training.step(100)
  const worst = training.point(null)
  const losses = Array.from(training.points().x, (_, i) => training.point(i).loss)
  expect(worst.loss).toBe(Math.max(...losses))
  expect(Math.min(...losses)).toBeGreaterThan(0)
})

test('inside a neuron: products, sum and output as the walk has them; an input’s number is this neuron’s deposit alone', () => {
  const training = engine.createTraining({ ...moons, hidden: [4, 4], activation: 'tanh' })
  training.step(30)
  const walk = training.walkPoint(3)
  const inside = insideOf(walk, 1, 2)!
  expect(inside.rows).toHaveLength(4)
  const sum = inside.rows.reduce((total, row) => total + row.product, inside.bias.data)
  expect(sum).toBeCloseTo(inside.sum.data, 12)
  expect(inside.output!.op).toBe('tanh')
  expect(inside.sum.grad).toBeCloseTo(inside.output!.grad * inside.output!.local, 12)
  for (const { input, weight, product } of inside.rows) {
    expect(product).toBeCloseTo(input.data * weight.data, 12)
    expect(weight.grad).toBeCloseTo(inside.sum.grad * input.data, 12)
    expect(input.grad).toBeCloseTo(inside.sum.grad * weight.data, 12)
  }
  // All neurons' deposits together are the input's gradient.
  const whole = walk.outcomes[walk.nodes.findIndex((node) => node.label === 'layers.0.neurons.0')]!.grad
  const paid = [0, 1, 2, 3].reduce((total, neuron) => total + insideOf(walk, 1, neuron)!.rows[0]!.input.grad, 0)
  expect(paid).toBeCloseTo(whole, 12)
})

test('a point’s walk in the names of the picture: every node has one, and the engine’s numbers stay', () => {
  for (const hidden of [[], [4, 4], [16, 16]])
    for (const kind of ['moons', 'spiral'] as const) {
      const walk = engine.createTraining({ ...moons, kind, samples: 30, hidden, activation: 'tanh' }).walkPoint(1)
      const named = pictured(walk)
      for (const [i, node] of named.nodes.entries()) {
        expect(`${node.name} ${node.short} ${node.locals.map((local) => local.with_names).join(' ')}`).not.toMatch(/layers|neurons|\bt\d+\b/)
        expect(node.name).not.toBe('')
        expect({ ...node, name: '', short: undefined, label: '', locals: [] }).toEqual({ ...walk.nodes[i]!, name: '', short: undefined, label: '', locals: [] })
      }
      const names = named.nodes.map((node) => node.name)
      for (const name of hidden.length ? ['x₁', 'h₄', 'w₂ of h₄', 'z of h₁', 'b of k₁', 'w₁·x₁ of h₂', 'loss'] : ['x₁', 'loss']) expect(names).toContain(name)
    }
})
