// SPDX-License-Identifier: MIT
// Tokens on their way, frame by frame under a clock of the test's own: every token's number is the engine's record, a card's number
// changes in the one frame something lands, and a visitor who asks for less motion sees no token at all.
import type { Page } from 'playwright-core'
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { createEngine } from '../../src/engine/engine.ts'
import type { Walk } from '../../src/engine/types.ts'
import { presets } from '../../src/lesson/presets.ts'
import { plain, signed, term } from '../../src/lib/number.ts'
import { stepsOf, together, type Step } from '../../src/lib/replay.ts'
import { menuOf, test, virtualClock } from './lesson.ts'

const engine = await createEngine(readFileSync(new URL('../../src/engine/gradwalk.wasm', import.meta.url)))

interface Seen {
  tokens: [kind: string, text: string, x: number, y: number][]
  grads: Record<string, string>
  data: Record<string, string>
  story: string
  at: number
}

/** Presses step, and gives what is seen in every frame until it is done. */
const watch = (page: Page, id: string, frame: number) =>
  page.evaluate(
    async ([id, frame]) => {
      const figure = document.getElementById(id)!
      const scrubber = figure.querySelector<HTMLInputElement>('[data-testid=scrubber]')!
      const settle = () => new Promise((done) => setTimeout(done))
      const texts = (what: string) =>
        Object.fromEntries([...figure.querySelectorAll('[data-testid=node]')].map((card) => [card.getAttribute('data-node')!, card.querySelector(`[data-testid=${what}]`)?.textContent ?? '']))
      const seen: Seen[] = []
      const look = () =>
        seen.push({
          tokens: [...figure.querySelectorAll('[data-testid=token]')].map((token) => {
            const [x, y] = /translate\(([-\d.]+) ([-\d.]+)\)/.exec(token.querySelector('g')!.getAttribute('transform')!)!.slice(1).map(Number)
            return [token.getAttribute('data-kind')!, token.textContent!.trim(), x!, y!]
          }),
          grads: texts('grad'),
          data: texts('data'),
          story: figure.querySelector('[data-testid=story]')!.textContent!,
          at: Number(scrubber.value),
        })
      const goal = Math.floor(Number(scrubber.value)) + 1
      figure.querySelector<HTMLButtonElement>('[data-testid=next]')!.click()
      await settle()
      for (let i = 0; i < 400 && Number(scrubber.value) < goal; i++) {
        ;(window as unknown as { advance(ms: number): void }).advance(frame as number)
        await settle()
        look()
      }
      return seen
    },
    [id, frame] as const,
  )

const runs = (texts: string[]) => texts.filter((text, i) => text !== texts[i - 1])

function checkForward(walk: Walk, step: Step & { kind: 'forward' }, seen: Seen[]) {
  const name = walk.nodes[step.node]!.name
  const sent = new Set(seen.flatMap((one) => one.tokens.filter(([kind]) => kind === 'data').map(([, text]) => text)))
  const drawn = walk.nodes[step.node]!.operands.flatMap((operand, k) => (walk.nodes[operand]!.op === 'constant' ? [] : [plain(step.operands[k]!)]))
  expect(sent).toEqual(new Set(drawn))
  expect(runs(seen.map((one) => one.data[name]!))).toEqual(['·', plain(step.data)])
}

function checkVisit(walk: Walk, step: Step & { kind: 'visit' | 'deposit' }, seen: Seen[]) {
  const carried = seen.flatMap((one) => one.tokens.map(([kind, text]) => `${kind} ${text}`))
  expect(runs(carried)).toEqual(
    step.deposits.flatMap(({ local, amount }) => [
      `carry ${signed(step.grad)}`,
      `meet ${term(step.grad)} × ${term(local)}`,
      `product ${term(step.grad)} × ${term(local)} = ${signed(amount)}`,
      `arrive ${signed(amount)}`,
    ]),
  )
  // A number changes where something lands, from the old sum to the new with none between.
  const expected = new Map<number, string[]>()
  for (const { to, before, after } of step.deposits) expected.set(to, [...(expected.get(to) ?? [signed(before)]), signed(after)])
  for (const [node, sums] of expected) expect(runs(seen.map((one) => one.grads[walk.nodes[node]!.name]!))).toEqual(runs(sums))
  // And nothing says it before.
  for (const { tokens, grads } of seen)
    if (tokens.some(([kind]) => kind === 'carry') && step.deposits.length === 1) {
      const { to, before } = step.deposits[0]!
      expect(grads[walk.nodes[to]!.name]).toBe(signed(before))
    }
}

test('every preset: the tokens carry the record’s numbers, frame by frame', { timeout: 240_000 }, async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await page.addInitScript(virtualClock)
  for (const [rule, figure, chapter] of [
    ['right', 'back-graph', 'back'],
    ['overwrite', 'twice-broken', 'twice'],
  ] as const)
    for (const { text, id } of presets) {
      if (rule === 'overwrite' && id !== 'deep-diamond') continue
      await page.goto('about:blank')
      await open(`#${chapter}/${figure}?e=${encodeURIComponent(text)}&r=${rule}`)
      const walk = engine.walk(text, { rule })
      for (const step of stepsOf(walk)) {
        const seen = await watch(page, figure, 50)
        if (step.kind === 'forward') checkForward(walk, step, seen)
        else if (step.kind === 'visit') checkVisit(walk, step, seen)
        else if (step.kind === 'seed') expect(runs(seen.flatMap((one) => one.tokens.map(([, told]) => told)))).toEqual([signed(step.after)])
        // Cards never move; what moves goes somewhere.
        const places = seen.flatMap((one) => one.tokens.filter(([kind]) => kind === 'arrive').map(([, , x, y]) => `${x},${y}`))
        if (places.length > 3) expect(new Set(places).size).toBeGreaterThan(2)
      }
      expect(await page.locator(`#${figure} [data-testid=token]`).count()).toBe(0)
    }
})

test('a late deposit knocks at a closed door and stays; one that is wiped out is struck the moment the next lands', { timeout: 120_000 }, async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await page.addInitScript(virtualClock)
  const text = 'a=2; b=a+1; c=3*a; d=b*c'
  const order = ['b', 'd', 'c', 'a'].map((name) => engine.walk(text).nodes.findIndex((node) => node.name === name))
  const walk = engine.walk(text, { order })
  const late = stepsOf(walk).findIndex((step) => 'deposits' in step && step.deposits[0]?.late)
  await open(`#order/order-try?e=${encodeURIComponent(text)}&o=${order.join(',')}&s=${late}`)
  const card = page.locator('#order-try [data-testid=node][data-node=b]')
  expect(await card.getByTestId('door').getAttribute('stroke')).toBe('var(--ink)')
  const places = await page.evaluate(async () => {
    const seen: string[] = []
    document.querySelector<HTMLButtonElement>('#order-try [data-testid=next]')!.click()
    for (let i = 0; i < 60; i++) {
      ;(window as unknown as { advance(ms: number): void }).advance(50)
      await new Promise((done) => setTimeout(done))
      const coin = document.querySelector('#order-try [data-node=b] [data-testid=coin]')
      if (coin) seen.push(coin.getAttribute('transform')!)
    }
    return seen
  })
  expect(new Set(places).size).toBeGreaterThan(4) // it knocks,
  expect(places.at(-1)).toBe(places[0]) // and stays where it landed
  expect(await card.getByTestId('coin').textContent()).toBe('+6 late')
  expect(await card.getByTestId('door').getAttribute('stroke')).toBe('var(--wrong)')
  expect(await page.locator('#order-try').getByTestId('story').textContent()).toContain('Too late: b paid when it had 0. This +6 sits on it and is never passed on.')

  await open('#twice/twice-broken?e=a%3D3%3B%20f%3Da*a&r=overwrite&s=2')
  const struck = await page.evaluate(async () => {
    const seen: string[] = []
    const leaf = () => document.querySelector('#twice-broken [data-node=a]')!
    document.querySelector<HTMLButtonElement>('#twice-broken [data-testid=next]')!.click()
    for (let i = 0; i < 90; i++) {
      ;(window as unknown as { advance(ms: number): void }).advance(50)
      await new Promise((done) => setTimeout(done))
      seen.push(`${leaf().querySelectorAll('[data-testid=coin]').length} coins, ${leaf().querySelectorAll('[data-testid=struck]').length} struck, ${leaf().querySelector('[data-testid=grad]')!.textContent}`)
    }
    return seen
  })
  expect(runs(struck)).toEqual(['0 coins, 0 struck, 0', '1 coins, 0 struck, +3', '2 coins, 1 struck, +3'])
})

test('pressed in flight, a step is completed; scrubbing shows the moment between', async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await page.addInitScript(virtualClock)
  await open(`#back/back-graph?e=${encodeURIComponent(presets[0]!.text)}&s=3`)
  const figure = page.locator('#back-graph')
  const next = figure.getByTestId('next')
  const advance = (ms: number) => page.evaluate((by) => (window as unknown as { advance(ms: number): void }).advance(by), ms)
  await next.click()
  await advance(300)
  await expect.poll(() => figure.getByTestId('token').count()).toBe(1)
  await next.click()
  await expect.poll(() => figure.getByTestId('token').count()).toBe(0)
  expect(Number(await figure.getByTestId('scrubber').inputValue())).toBe(4)
  await figure.getByTestId('scrubber').evaluate((range: HTMLInputElement) => {
    range.value = '3.25'
    range.dispatchEvent(new Event('input', { bubbles: true }))
  })
  await expect.poll(() => figure.getByTestId('token').allTextContents()).toEqual(['1 × 10 = +10'])
  await figure.getByTestId('scrubber').fill('4')
  await expect.poll(() => figure.getByTestId('token').count()).toBe(0)
})

test('a visitor who asks for less motion sees no token; the still says the same', async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'reduce' })
  await open('#back')
  const figure = page.locator('#back-graph')
  const walk = engine.walk(presets[0]!.text)
  const steps = stepsOf(walk)
  for (const [i, step] of steps.entries()) {
    // Leaves that are visited one after the other are one press.
    if (together(walk, steps, i)[0] === i) await figure.getByTestId('next').click()
    expect(await figure.getByTestId('token').count()).toBe(0)
    if (step.kind !== 'visit') continue
    const pills = (await figure.getByTestId('pill').allTextContents()).join(' | ')
    for (const { local, amount, before, after } of step.deposits) {
      expect(pills).toContain(`${term(step.grad)} × ${term(local)} = ${signed(amount)}`)
      expect(await figure.getByTestId('story').textContent()).toContain(`${plain(before)} → ${plain(after)}`)
    }
  }
})

test('three speeds: the same step takes 2.5 times, once and a third of its time', async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await page.addInitScript(virtualClock)
  await open(`#back/back-graph?e=${encodeURIComponent(presets[0]!.text)}&s=2`)
  const graph = page.locator('#back-graph')
  const frames: number[] = []
  for (const speed of ['slow', '1×', 'fast']) {
    await (await menuOf(graph)).getByRole('group', { name: 'speed' }).getByRole('button', { name: speed }).click()
    frames.push((await watch(page, 'back-graph', 30)).length)
    await graph.getByRole('button', { name: 'step back' }).click()
  }
  expect(frames).toEqual([900 / 0.4 / 30, 900 / 30, 900 / 3 / 30])
})

test('the sort beside its code: the line at work is marked, a chip goes from stack to list, and who is listed has a rank', async ({ visit }) => {
  const { page, open } = await visit({ reducedMotion: 'no-preference' })
  await page.addInitScript(virtualClock)
  await open('#sort')
  const text = presets.find((one) => one.id === 'diamond')!.text
  const sort = engine.sort(text)
  const name = (node: number) => sort.nodes[node]!.name
  const lines = { enter: 'visited.add(v)', skip: 'if v not in visited:', finish: 'topo.append(v)' }
  const listed: string[] = []
  for (const { action, node } of sort.steps) {
    const seen = await page.evaluate(async () => {
      const graph = document.getElementById('sort-steps')!
      const flights: string[] = []
      const goal = Math.floor(Number(graph.querySelector<HTMLInputElement>('[data-testid=scrubber]')!.value)) + 1
      graph.querySelector<HTMLButtonElement>('[data-testid=next]')!.click()
      for (let i = 0; i < 60 && Number(graph.querySelector<HTMLInputElement>('[data-testid=scrubber]')!.value) < goal; i++) {
        ;(window as unknown as { advance(ms: number): void }).advance(60)
        await new Promise((done) => setTimeout(done))
        const chip = graph.querySelector<HTMLElement>('[data-testid=flying]')
        if (chip) flights.push(`${chip.textContent} ${chip.style.transform}`)
      }
      return {
        flights,
        line: graph.querySelector('[data-testid=sort-code] [aria-current=step]')!.textContent!.trim(),
        ranks: Object.fromEntries([...graph.querySelectorAll('[data-testid=node]')].flatMap((card) => (card.querySelector('[data-testid=rank]') ? [[card.getAttribute('data-node')!, card.querySelector('[data-testid=rank]')!.textContent!]] : []))),
      }
    })
    if (action === 'finish') listed.push(name(node))
    expect(seen.line).toBe(lines[action])
    expect(seen.ranks).toEqual(Object.fromEntries(listed.map((one, i) => [one, String(i + 1)])))
    if (action !== 'finish') expect(seen.flights).toEqual([])
    else {
      expect(new Set(seen.flights).size).toBeGreaterThan(8)
      expect(seen.flights.every((one) => one.startsWith(`${name(node)} `))).toBe(true)
    }
  }
  // While the list is being read backwards, the words are about that.
  const reading = await page.evaluate(async () => {
    const graph = document.getElementById('sort-steps')!
    graph.querySelector<HTMLButtonElement>('[data-testid=next]')!.click()
    const said = new Set<string>()
    for (let i = 0; i < 40; i++) {
      ;(window as unknown as { advance(ms: number): void }).advance(60)
      await new Promise((done) => setTimeout(done))
      said.add(graph.querySelector('[data-testid=story]')!.textContent!)
    }
    return [...said]
  })
  expect(reading).toEqual(['The list is complete. Now it is read from its end.', 'Read from its end, the list puts every node after the nodes that use it. This is the order of the backward pass.'])
  await page.evaluate(() => document.getElementById('sort-steps')!.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true })))
  const figure = page.locator('#sort-steps')
  await expect.poll(() => figure.locator('[data-testid=sort-code] [aria-current=step]').textContent()).toContain('for v in reversed(topo): v.pay()')
  // Read backwards, the root comes first.
  for (const [i, one] of [...listed].reverse().entries()) expect(await figure.locator(`[data-testid=node][data-node="${one}"]`).getByTestId('rank').textContent()).toBe(String(i + 1))
})
