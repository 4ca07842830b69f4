// SPDX-License-Identifier: MIT
// Card, ledger and wires tell one story: under every rule and in random orders of every preset, after every step and every single
// deposit, a card's gradient is the engine's and the sum of its coins, each coin is a deposit that was made, in order, and a wire
// shows what was last paid along it. A payment that was not made is shown nowhere.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { createEngine, type Engine } from '../src/engine/engine.ts'
import { walkRules, type Deposit, type Walk } from '../src/engine/types.ts'
import { presets } from '../src/lesson/presets.ts'
import { momentAt, duration } from '../src/lib/beats.ts'
import { signed } from '../src/lib/number.ts'
import { edgeKey, replay, stepsOf } from '../src/lib/replay.ts'
import { coinTexts, draw } from '../src/parts/picture.ts'
import { randomNumbers, shuffled } from './random.ts'

let engine: Engine
beforeAll(async () => {
  engine = await createEngine(readFileSync(new URL('../src/engine/gradwalk.wasm', import.meta.url)))
})

/** Plays the record by itself, as docs/walk-format.md says, beside what the page draws. */
function checkWalk(walk: Walk) {
  const steps = stepsOf(walk)
  const grad = walk.nodes.map(() => 0)
  let made: Deposit[][] = walk.nodes.map(() => [])
  let hasBegun = false
  const check = (position: number, landed: number) => {
    const frame = replay(walk, steps, position, landed, landed > 0)
    const picture = draw(walk, frame)
    for (const card of picture.cards) {
      const node = card.node!
      if (card.kind === 'constant') continue
      if (!hasBegun) {
        expect(card.grad).toBeNull()
        expect(card.coins).toEqual([])
        continue
      }
      expect(card.grad).toBe(grad[node])
      const coins = frame.coins[node]!.filter((coin) => !coin.isWiped)
      const sum = coins.reduce((total, coin) => total + coin.amount, 0)
      expect(Math.abs(sum - grad[node]!)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(grad[node]!)))
      expect(frame.coins[node]!.flatMap((coin) => (coin.deposit ? [coin.deposit] : []))).toEqual(made[node])
      if (frame.coins[node]!.length <= 4) expect(card.coins.map((coin) => coin.text.replace(/^seed | late$/g, ''))).toEqual(frame.coins[node]!.map((coin) => signed(coin.amount)))
      expect(card.isLate).toBe(made[node]!.some((one) => one.late))
    }
    for (const wire of picture.wires) {
      const { from, operand } = wire.edge!
      const to = walk.nodes[from]!.operands[operand]!
      const own = frame.paid.get(edgeKey(from, operand))
      expect(wire.paid).toBe(own?.amount ?? null)
      if (own) expect(made[to]!.filter((one) => one.from === from && one.operand === operand).at(-1)).toBe(own)
    }
  }
  check(0, 0)
  for (const [position, step] of steps.entries()) {
    if (step.kind === 'forward' && hasBegun) {
      grad[step.node] = 0
      made[step.node] = []
    }
    if (step.kind === 'seed') {
      hasBegun = true
      grad[step.node] = step.after
      made[step.node] = []
    }
    if ('deposits' in step)
      for (const [i, deposit] of step.deposits.entries()) {
        grad[deposit.to] = deposit.after
        made[deposit.to] = [...made[deposit.to]!, deposit]
        check(position, i + 1)
      }
    check(position + 1, 0)
  }
}

describe.each(walkRules)('by the rule %s', (rule) => {
  test.each(presets.map((one) => one.id))('%s', (id) => checkWalk(engine.walk(presets.find((one) => one.id === id)!.text, { rule })))
})

test.each(presets.map((one) => one.id))('50 random orders of %s', { timeout: 60_000 }, (id) => {
  const { text } = presets.find((one) => one.id === id)!
  const random = randomNumbers(id.length)
  const nodes = engine.sort(text).order
  for (let i = 0; i < 50; i++) {
    checkWalk(engine.walk(text, { order: shuffled(nodes, random) }))
  }
})

test('a moment has as many deposits landed as its time says, at any time', () => {
  for (const { text } of presets) {
    const steps = stepsOf(engine.walk(text))
    for (const [position, step] of steps.entries()) {
      let before = 0
      for (let part = 0.01; part < 1; part += 0.01) {
        const moment = momentAt(steps, position + part)
        expect(moment.position).toBe(position)
        expect(moment.ms).toBeCloseTo(part * duration(step), 3)
        expect(moment.landed).toBeGreaterThanOrEqual(before)
        before = moment.landed
      }
      if ('deposits' in step) expect(before).toBe(step.deposits.length)
      expect(momentAt(steps, position + 1).step).toBeNull()
    }
  }
})

test('a ledger of many deposits shows the last ones and how many came before', () => {
  const walk = engine.walk(`x=2; y=${'x+'.repeat(30)}x`)
  const steps = stepsOf(walk)
  const leaf = walk.nodes.findIndex((node) => node.op === 'leaf')
  const texts = coinTexts(replay(walk, steps, steps.length).coins[leaf]!)
  expect(texts.map((one) => one.text)).toEqual(['28 more', '+1', '+1', '+1'])
})
