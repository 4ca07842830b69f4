// SPDX-License-Identifier: MIT
// dist/show.html, the one block of HTML that a notebook shows a graph with: opened as a file and in a frame of a rendered notebook, no
// server anywhere, it walks the graph a program has put into it, with that program's numbers. Needs the command line tool.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Frame, Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'
import type { Graph, Walk } from '../../src/engine/types.ts'
import { plain, signed } from '../../src/lib/number.ts'
import { shownName } from '../../src/lib/words.ts'
import { count, narrow, next, show, tableOf, test, textOf, walkToEnd } from './lesson.ts'
import { dist } from './server.ts'

const tool = process.env['GRADWALK'] ?? fileURLToPath(new URL('../../../build/release/gradwalk', import.meta.url))
const native = (text: string) => JSON.parse(execFileSync(tool, ['walk', '--json', text], { encoding: 'utf8' })) as Walk
const neuron = 'x1=2; x2=0; w1=-3; w2=1; b=6.8813735870195432; n=x1*w1+x2*w2+b; o=tanh(n)'

const folder = mkdtempSync(join(tmpdir(), 'gradwalk-show-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** As a program does it: one text in place of another. */
const filled = (given: object) => readFileSync(`${dist}show.html`, 'utf8').replace('"GRADWALK_GRAPH"', () => JSON.stringify(given).replaceAll('<', '\\u003c'))
function write(name: string, html: string): string {
  const path = join(folder, name)
  writeFileSync(path, html)
  return pathToFileURL(path).href
}
/** A rendered notebook, as nbconvert writes one: cells, and outputs in frames with their documents in them. */
const notebook = (...outputs: string[]) =>
  `<!doctype html><html><head><meta charset="utf-8"><title>a notebook</title></head><body>${outputs
    .map((html, i) => `<div class="input">In [${i + 1}]: gradwalk.show(o)</div><div class="output"><iframe title="walk ${i + 1}" srcdoc="${html.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}" style="width: 100%; border: 0"></iframe></div>`)
    .join('')}</body></html>`

async function checkWalk(page: Page | Frame, walk: Walk) {
  const graph = page.locator('#shown')
  await graph.waitFor()
  await walkToEnd(graph)
  expect(await count(graph)).toBe(walk.steps.length - 1)
  const table = await tableOf(graph)
  for (const [i, node] of walk.nodes.entries())
    if (node.op !== 'constant') expect({ node: node.name, ...table[shownName(node.name)] }).toMatchObject({ node: node.name, data: plain(node.data), grad: signed(walk.outcomes[i]!.grad) })
}

test('as a file: it walks the graph it was given, its leaves can be changed and its rules broken', async ({ visit }) => {
  const { page } = await visit({ viewport: { width: 1000, height: 800 } }, { isLocal: true })
  const walk = native(neuron)
  await page.goto(write('neuron.html', filled({ graph: walk })))
  await checkWalk(page, walk)
  const graph = page.locator('#shown')
  expect(await graph.getByRole('link').count()).toBe(0) // there is no page it could be a figure of
  await graph.getByLabel('value of x1').fill('-1')
  await graph.getByLabel('value of x1').press('Enter')
  const changed = native(neuron.replace('x1=2', 'x1=-1'))
  await expect.poll(async () => (await tableOf(graph))['o']!.data).toBe(plain(changed.nodes.at(-1)!.data))
  expect((await tableOf(graph))['w1']!.grad).toBe(signed(changed.outcomes[changed.nodes.findIndex((node) => node.name === 'w1')]!.grad))
  await show(graph, 'code')
  expect(await textOf(graph.getByTestId('code'))).toContain('Value o = tanh(n);')
  await graph.locator('[data-testid=node][data-node=n]').click()
  expect(await textOf(graph.getByTestId('ledger'))).toContain('1 − o · o')
  await page.getByTestId('own-break').locator('summary').first().click()
  const broken = page.locator('#shown-broken')
  await broken.getByRole('radio', { name: 'forward order' }).check()
  await broken.getByRole('button', { name: 'run all' }).click()
  expect(await textOf(broken.getByTestId('parting'))).toContain('was visited with 0')
})

test('in a rendered notebook: frames as high as what they show, each with its own walk and step', async ({ visit }) => {
  const { page } = await visit({ viewport: { width: 1000, height: 800 } }, { isLocal: true })
  const walk = native('a=2; b=a+1; c=3*a; d=b*c')
  await page.goto(write('notebook.html', notebook(filled({ graph: walk }), filled({ expression: 'a=3; f=a*a', rule: 'overwrite', step: 3 }))))
  const [first, second] = await Promise.all([1, 2].map(async (i) => (await (await page.getByTitle(`walk ${i}`).elementHandle())!.contentFrame())!))
  await checkWalk(first!, walk)
  const broken = second!.locator('#shown-broken')
  await broken.waitFor()
  expect(Number(await broken.getByTestId('scrubber').inputValue())).toBe(3)
  expect(await textOf(broken.getByTestId('story'))).toContain('Wiped out')
  for (const i of [1, 2]) {
    const frame = page.getByTitle(`walk ${i}`)
    await expect.poll(() => frame.evaluate((one: HTMLIFrameElement) => one.clientHeight - one.contentDocument!.documentElement.scrollHeight)).toBe(0)
    expect(await frame.evaluate((one) => one.clientHeight)).toBeGreaterThan(400)
  }
})

test('graphs no expression could say: any label, a node of one’s own, numbers that are none, more than can be drawn', async ({ visit }) => {
  const { page } = await visit({ viewport: narrow }, { isLocal: true })
  const node = (name: string, op: string, data: number | string, operands: number[] = [], locals: (number | string)[] = [], symbol = op) => ({ name, label: name, op, symbol, data, operands, locals: locals.map((value) => ({ formula: 'given', with_names: 'given', value })) })
  const odd = { nodes: [node('layers.0 </script>\t"w"', 'leaf', 2), node('mine', 'custom', 5, [0, 0], [7, 0.5], 'mine'), node('r', 'log', 'nan', [1], ['-inf'])], root: 2 }
  await page.goto(write('odd.html', filled({ graph: odd })))
  const graph = page.locator('#shown')
  await graph.waitFor()
  await walkToEnd(graph)
  const table = await tableOf(graph)
  expect(table).toMatchObject({ 'layers.0 </script> "w"': { data: '2', grad: '−∞' }, mine: { data: '5', made: 'mine of layers.0 </script> "w" and layers.0 </script> "w"' }, r: { data: 'NaN', grad: '+1' } })
  expect(await graph.getByLabel(/^value of/).count()).toBe(0) // a custom node has no rule to be computed again by
  const large = native(`x=1;y=${'x+'.repeat(149)}x`)
  await page.goto(write('large.html', filled({ graph: large })))
  expect(await textOf(page.getByTestId('too-large'))).toBe('This graph has 150 nodes; up to 120 are drawn.')
  await page.getByTestId('fold').click()
  await next(page.locator('#shown-folded')).click()
  for (const [name, given, message] of [
    ['cycle', { graph: { nodes: [node('a', 'neg', 1, [0], [1])], root: 0 } as unknown as Graph }, 'graph: needs a node in every line, got another text for node 0; write it with to_json(snapshot(root))'],
    ['none', { graph: { nodes: [], root: 0 } }, 'graph: needs at least one node, got none; write it with to_json(snapshot(root))'],
    ['text', { expression: 'a=2; a*' }, 'expression: needs a number, a name or \'(\', got the end; write one here'],
  ] as const) {
    await page.goto(write(`${name}.html`, filled(given)))
    await expect.poll(() => textOf(page.locator('#page'))).toContain(`This graph cannot be shown: ${message}`)
  }
  await page.goto(pathToFileURL(`${dist}show.html`).href) // not filled in: an example
  await page.locator('#shown').waitFor()
})

test('it is one file of less than half a megabyte', () => {
  expect(statSync(`${dist}show.html`).size).toBeLessThan(500_000)
  expect(gzipSync(readFileSync(`${dist}show.html`)).length).toBeLessThan(320_000)
})
