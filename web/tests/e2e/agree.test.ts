// SPDX-License-Identifier: MIT
// On the page itself card, ledger and wires agree: under every broken rule and under 50 random orders of every preset, after every step,
// a card's gradient is the engine's, its coins add up to it, the ledger of the node that was paid last lists the same deposits, and a wire
// shows what was last paid along it. A payment that was not made is shown nowhere.
import { readFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { createEngine } from '../../src/engine/engine.ts'
import { walkRules, type Deposit, type Walk } from '../../src/engine/types.ts'
import { presets } from '../../src/lesson/presets.ts'
import { signed } from '../../src/lib/number.ts'
import { edgeKey, stepsOf, together, type Step } from '../../src/lib/replay.ts'
import { randomNumbers, shuffled } from '../random.ts'
import { figure, test } from './lesson.ts'

const engine = await createEngine(readFileSync(new URL('../../src/engine/gradwalk.wasm', import.meta.url)))

/** The numbers that the page shows at a step. */
interface Seen {
  /** By node: its gradient, then its coins, those that were wiped out struck. */
  cards: Record<string, string[]>
  wires: Record<string, string>
  /** The ledger of the node that was asked for: "node: deposits". */
  ledger: string
}

/** The same from the record, replayed as docs/walk-format.md says. */
function* expected(walk: Walk): Generator<Seen> {
  const own = walk.nodes.flatMap((node, i) => (node.op === 'constant' ? [] : [i]))
  const grad = new Map<number, number>()
  const coins = new Map<number, { amount: number; deposit: Deposit | null; isWiped: boolean }[]>(own.map((i) => [i, []]))
  const wires = new Map<string, Deposit>()
  const look = (paid: number | null): Seen => ({
    cards: Object.fromEntries(
      own.map((i) => {
        const all = coins.get(i)!
        const shown = all.slice(all.length <= 4 ? 0 : all.length - 3).map(({ amount, deposit, isWiped }) => `${isWiped ? '~' : ''}${deposit ? '' : 'seed '}${signed(amount)}${deposit?.late ? ' late' : ''}`)
        return [walk.nodes[i]!.name, [grad.has(i) ? signed(grad.get(i)!) : '·', ...(all.length > 4 ? [`${all.length - 3} more`] : []), ...shown]]
      }),
    ),
    wires: Object.fromEntries([...wires].map(([edge, { amount }]) => [edge, signed(amount)])),
    ledger: paid === null ? '' : `${walk.nodes[paid]!.name}: ${coins.get(paid)!.flatMap(({ amount, deposit, isWiped }) => (deposit ? [`${isWiped ? '~' : ''}${signed(amount)}`] : [])).join(' ')}`,
  })
  const apply = (step: Step) => {
    if (step.kind === 'forward' && grad.has(step.node)) {
      grad.set(step.node, 0)
      coins.set(step.node, [])
      for (const [edge, { to }] of wires) if (to === step.node) wires.delete(edge)
    } else if (step.kind === 'seed') {
      for (const i of own) if (!grad.has(i)) grad.set(i, 0)
      grad.set(step.node, step.after)
      coins.set(step.node, [{ amount: step.after, deposit: null, isWiped: false }])
      wires.clear()
    } else if ('deposits' in step)
      for (const deposit of step.deposits) {
        const ledger = coins.get(deposit.to)!
        if (walk.rule === 'overwrite') for (const coin of ledger) coin.isWiped = true
        ledger.push({ amount: deposit.amount, deposit, isWiped: false })
        grad.set(deposit.to, deposit.after)
        wires.set(edgeKey(deposit.from, deposit.operand), deposit)
      }
  }
  yield look(null)
  for (const step of stepsOf(walk)) {
    apply(step)
    yield look(lastPaid(step))
  }
}
const lastPaid = (step: Step) => ('deposits' in step ? (step.deposits.at(-1)?.to ?? null) : null)

/** Opens each link in turn, steps through it, and returns all that is seen; `asked`: whose ledger is opened after each step. */
async function walked({ links, id }: { links: { hash: string; asked: (string | null)[] }[]; id: string }): Promise<Seen[][]> {
  const settle = () => new Promise<void>((done) => {
    const channel = new MessageChannel()
    channel.port1.onmessage = () => done()
    channel.port2.postMessage(0)
  })
  const shown = (one: Element) => one.textContent!.replace(/\s+/g, ' ').trim()
  const all: Seen[][] = []
  for (const { hash, asked } of links) {
    const followed = new Promise((done) => addEventListener('hashchange', done, { once: true }))
    location.hash = hash
    await followed
    await settle()
    const graph = () => document.getElementById(id)!
    const steps: Seen[] = []
    for (const name of [null, ...asked]) {
      if (steps.length) graph().dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))
      await settle()
      let ledger = ''
      const button = name === null ? null : graph().querySelector(`[data-testid=node][data-node="${CSS.escape(name)}"] [role=button]`)
      if (button) {
        if (button.getAttribute('aria-pressed') !== 'true') button.dispatchEvent(new MouseEvent('click', { bubbles: true }))
        await settle()
        const rows = [...graph().querySelectorAll('[data-testid=ledger] tbody tr')]
        ledger = `${name}: ${rows.map((row) => (getComputedStyle(row.children[0]!).textDecorationLine === 'line-through' ? '~' : '') + shown(row.children[0]!)).join(' ')}`
      }
      steps.push({
        cards: Object.fromEntries(
          [...graph().querySelectorAll('[data-testid=node]')].map((card) => [
            card.getAttribute('data-node')!,
            [shown(card.querySelector('[data-testid=grad]')!), ...[...card.querySelectorAll('[data-testid=coin]')].map((coin) => (coin.querySelector('[data-testid=struck]') ? '~' : '') + shown(coin))],
          ]),
        ),
        wires: Object.fromEntries([...graph().querySelectorAll('[data-testid=edge][data-paid]')].map((wire) => [wire.getAttribute('data-edge')!, wire.getAttribute('data-paid')!])),
        ledger,
      })
    }
    all.push(steps)
  }
  return all
}

/** Leaves that are visited one after the other are one press: the last steps of all presses. */
function presses(walk: Walk): number[] {
  const steps = stepsOf(walk)
  const ends: number[] = []
  for (let at = 0; at < steps.length; at = ends.at(-1)! + 1) ends.push(together(walk, steps, at)[1] - 1)
  return ends
}
const seenIn = (walk: Walk) => {
  const [first, ...rest] = [...expected(walk)]
  return [first, ...presses(walk).map((end) => rest[end])]
}

const link = (walk: Walk, hash: string) => ({
  hash,
  asked: presses(walk).map((end) => {
    const step = stepsOf(walk)[end]!
    const paid = lastPaid(step)
    return paid === null ? null : walk.nodes[paid]!.name
  }),
})

describe.each(presets.map((one) => one.id))('%s', (id) => {
  const { text } = presets.find((one) => one.id === id)!
  const encoded = encodeURIComponent(text)

  test('under every broken rule', { timeout: 180_000 }, async ({ visit }) => {
    const { page, open } = await visit()
    await open('#sort')
    const walks = walkRules.filter((rule) => rule !== 'right').map((rule) => engine.walk(text, { rule }))
    const seen = await page.evaluate(walked, { links: walks.map((walk) => link(walk, `#sort/sort-broken?e=${encoded}&r=${walk.rule}`)), id: 'sort-broken' })
    for (const [i, walk] of walks.entries()) expect({ rule: walk.rule, seen: seen[i] }).toEqual({ rule: walk.rule, seen: seenIn(walk) })
    expect(await figure(page, 'sort-broken').getByTestId('node').count()).toBeGreaterThan(1)
  })

  test('in 50 random orders', { timeout: 300_000 }, async ({ visit }) => {
    const { page, open } = await visit()
    await open('#order')
    const random = randomNumbers(id.length)
    const nodes = engine.sort(text).order
    const walks = Array.from({ length: 50 }, () => engine.walk(text, { order: shuffled(nodes, random) }))
    // The address has to change for a link to be followed.
    const seen = await page.evaluate(walked, { links: walks.map((walk, i) => link(walk, `#order/order-try?e=${encoded}${'%20'.repeat(i % 2)}&o=${walk.order!.join(',')}`)), id: 'order-try' })
    for (const [i, walk] of walks.entries()) expect({ order: walk.order, seen: seen[i] }).toEqual({ order: walk.order, seen: seenIn(walk) })
  })
})
